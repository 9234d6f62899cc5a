package earmark

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// The queues of these tests.
const (
	root index.Queue = iota
	team
	other
)

// opened returns the accounts of a session. Two queues have some cards, and a part of the cards of the queue team is of
// pods that are being deleted.
func opened(s *Accounts, ofTeam, terminating, ofOther float64) *index.Index {
	nodes := []index.Node{{Name: "root"}, {Name: "team", Parent: "root"}, {Name: "other", Parent: "root"}}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, "root"), dimsOfAll)
	ix.RollUp()
	quota.Charge(ix, team, of(ofTeam))
	quota.Charge(ix, other, of(ofOther))
	for _, p := range ix.Path(team) {
		ix.Terminating.Row(p).Add(of(terminating))
	}

	var guarantees quota.Guarantees
	available := fastres.NewVector(dimsOfAll)
	guarantees.Reset(ix, ix, available)
	s.Open(quota.Books{Queues: ix, Guarantees: &guarantees}, ix, nil, available)
	return ix
}

func of(amount float64) fastres.Vector {
	x := fastres.NewVector(dimsOfAll)
	if amount > 0 {
		x.Set(cards, amount)
	}
	return x
}

// has returns the cards of the three queues.
func has(a index.Accounts) []float64 {
	return []float64{a.AllocatedAt(root, cards), a.AllocatedAt(team, cards), a.AllocatedAt(other, cards)}
}

// TestFuture is the example of Accounts: there are three pods of one card, and two of them end for a gang that needs
// four cards.
func TestFuture(t *testing.T) {
	var s Accounts
	ix := opened(&s, 3, 2, 1)
	assert.Equal(t, []float64{2, 1, 1}, has(s.Future.Queues))

	s.Charge(team, index.None, of(4))
	assert.Equal(t, []float64{6, 5, 1}, has(s.Future.Queues))
	assert.Equal(t, []float64{4, 3, 1}, has(s.Now.Queues))

	scratch := fastres.NewVector(dimsOfAll)
	for _, q := range []index.Queue{team, other} { // other has no row of its own in the future
		quota.Charge(ix, q, of(1))
		s.Charged(q, of(1))
		assert.Equal(t, 7.0, s.Future.Queues.AllocatedAt(root, cards), ix.Name(q))
		s.Refunded(q, quota.Refund(ix, q, of(1), scratch))
	}

	s.Refund(team, index.None, of(4))
	assert.Equal(t, []float64{2, 1, 1}, has(s.Future.Queues))
}

// TestFutureIsNow opens a session in which nothing terminates, after one in which something did.
func TestFutureIsNow(t *testing.T) {
	var s Accounts
	opened(&s, 3, 3, 0)
	assert.NotSame(t, s.Now.Queues, s.Future.Queues)

	ix := opened(&s, 3, 0, 0)
	assert.Same(t, s.Now.Queues, s.Future.Queues)
	quota.Charge(ix, team, of(1))
	s.Charged(team, of(1))
	assert.Equal(t, []float64{4, 4, 0}, has(s.Future.Queues))
}

// TestFutureOfASnapshot copies the future to a snapshot: the queues that differ, and no other.
func TestFutureOfASnapshot(t *testing.T) {
	var s Accounts
	ix := opened(&s, 3, 2, 1)
	snapshot := index.Over(ix.Version())
	s.CopyTo(&snapshot, nil)
	assert.Equal(t, []float64{2, 1, 1}, has(&snapshot))
	assert.Equal(t, []index.Queue{root, team}, snapshot.Changed())
	assert.Equal(t, []float64{4, 3, 1}, has(ix))
}

// TestFutureFollowsClaims charges claims while a pod of the queue ends. Each level has its own devices in the future: a
// parent counts a shared claim once.
func TestFutureFollowsClaims(t *testing.T) {
	const devices = cards + 1
	var s Accounts
	ix := opened(&s, 2, 1, 0)
	shared := []index.DeviceClaim{{Name: "ns/a", Devices: []index.Devices{{Dim: devices, Quantity: 2}}}}
	own := []index.DeviceClaim{{Name: "ns/b", Devices: []index.Devices{{Dim: devices, Quantity: 3}}}}

	for _, step := range []struct {
		q      index.Queue
		claims []index.DeviceClaim
		change func(quota.Accounts, index.Queue, []index.DeviceClaim)
		want   []float64 // of root, team and other
	}{
		{other, own, quota.ChargeDeviceClaims, []float64{3, 0, 3}},
		{team, shared, quota.ChargeDeviceClaims, []float64{5, 2, 3}},
		{other, shared, quota.ChargeDeviceClaims, []float64{5, 2, 5}},
		{team, shared, quota.RefundDeviceClaims, []float64{5, 0, 5}},
		{other, append(own, shared...), quota.RefundDeviceClaims, []float64{0, 0, 0}},
	} {
		step.change(ix, step.q, step.claims)
		s.ChargedDeviceClaims(step.q, step.claims)

		future := s.Future.Queues
		got := []float64{future.AllocatedAt(root, devices), future.AllocatedAt(team, devices), future.AllocatedAt(other, devices)}
		assert.Equal(t, step.want, got)
		assert.Equal(t, 1.0, future.AllocatedAt(team, cards))
	}
}
