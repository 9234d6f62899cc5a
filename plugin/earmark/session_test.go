package earmark

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

const (
	cards     = fastres.FirstFree
	dimsOfAll = 8
)

// guaranteed returns random queues that are guaranteed cards, in a tree or flat. Some pods end.
func guaranteed(r *rand.Rand) *index.Index {
	nodes, root, parents := []index.Node{}, "", []string{""}
	if r.IntN(2) == 0 {
		root, parents = "root", []string{"root"}
		nodes = append(nodes, index.Node{Name: root})
	}
	for i := range 6 {
		n := index.Node{Name: fmt.Sprintf("q%d", i), Parent: parents[r.IntN(len(parents))]}
		nodes = append(nodes, n)
		if root != "" {
			parents = append(parents, n.Name)
		}
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, root), dimsOfAll)
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		ix.Guarantee.Row(q).Set(cards, float64(r.IntN(4)))
		for _, child := range ix.Children(q) {
			ix.ChildGuarantees.Row(q).Add(ix.Guarantee.Row(child))
		}
		ix.Guarantee.Row(q).RaiseTo(ix.ChildGuarantees.Row(q))
		ix.RealCapability.Row(q).Set(cards, 12)
		ix.NoteOwnJobs(q)
	}
	ix.RollUp()
	for range r.IntN(3) {
		q, amount := index.Queue(r.IntN(ix.Len())), some(r)
		quota.Charge(ix, q, amount)
		for _, p := range ix.Path(q) {
			ix.Terminating.Row(p).Add(amount)
		}
	}
	return ix
}

func some(r *rand.Rand) fastres.Vector {
	x := fastres.NewVector(dimsOfAll)
	x.Set(cards, float64(1+r.IntN(3)))
	return x
}

// TestGuaranteesFollowTheSession charges and refunds random queues, now and in the future. The guarantees are then
// equal to guarantees that are read again from the same accounts.
func TestGuaranteesFollowTheSession(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	refused := map[string]int{}
	for range 300 {
		ix, available := guaranteed(r), fastres.NewVector(dimsOfAll)
		for d := range fastres.Dim(dimsOfAll) {
			available.Set(d, fastres.MaxQuantity)
		}
		available.Set(cards, 9)
		var now quota.Guarantees
		now.Reset(ix, ix, available)
		var s Accounts
		s.Open(quota.Books{Queues: ix, Guarantees: &now}, ix, nil, available)
		type charge struct {
			q      index.Queue
			amount fastres.Vector
		}
		var pods, marks []charge
		scratch := fastres.NewVector(dimsOfAll)
		for range 12 {
			c := charge{index.Queue(r.IntN(ix.Len())), some(r)}
			switch kind := r.IntN(5); {
			case kind == 0:
				s.Charge(c.q, index.None, c.amount)
				marks = append(marks, c)
			case kind == 1 && len(marks) > 0:
				s.Refund(marks[0].q, index.None, marks[0].amount)
				marks = marks[1:]
			case kind == 2 && len(pods) > 0:
				s.Refunded(pods[0].q, quota.Refund(ix, pods[0].q, pods[0].amount, scratch))
				pods = pods[1:]
			default:
				quota.Charge(ix, c.q, c.amount)
				s.Charged(c.q, c.amount)
				pods = append(pods, c)
			}
			for at, books := range map[string]*quota.Books{"now": &s.Now, "future": &s.Future} {
				var fresh quota.Guarantees
				fresh.Reset(ix, books.Queues, available)
				for q := range index.Queue(ix.Len()) {
					want := fresh.Fits(books.Queues, q, cards, 2)
					require.Equal(t, want, books.Guarantees.Fits(books.Queues, q, cards, 2), "%s: %s", at, ix.Name(q))
					if !want.OK() {
						refused[at]++
					}
				}
			}
		}
	}
	require.Greater(t, min(refused["now"], refused["future"]), 1000)
}

// TestEarmarksEndWithTheSession places the pod of an earmark. The next session has no earmark if the pod is bound. It
// still has the earmark if the place is discarded, or if the pod is allocated together with pipelined pods of its
// gang.
func TestEarmarksEndWithTheSession(t *testing.T) {
	for status, want := range map[api.TaskStatus]int{api.Binding: 0, api.Allocated: 1, api.Pending: 1} {
		of := newStage()
		of.claim.Job = "claim" // as in the session
		r, ix := of.evict(), &index.Index{}
		ix.Reset(index.BuildTree([]index.Node{{Name: "q"}}, ""), dimsOfAll)
		ix.RollUp()
		var now quota.Guarantees
		now.Reset(ix, ix, fastres.NewVector(dimsOfAll))
		var s Accounts
		s.Open(quota.Books{Queues: ix, Guarantees: &now}, ix, nil, fastres.NewVector(dimsOfAll))
		charge := fastres.NewVector(dimsOfAll)
		charge.Set(cards, 1000)
		for _, mark := range r.Open(of.Session, time.Unix(1, 0)) {
			s.Add(Mark{Earmark: mark, Account: index.None, Charge: charge})
		}
		require.False(t, s.Empty())
		s.Placed(of.claim, charge)
		require.Zero(t, s.Future.Queues.Allocated(0).Get(cards))
		s.Close(r, func(api.JobID, api.TaskID) api.TaskStatus { return status })
		require.Len(t, r.Open(of.Session, time.Unix(2, 0)), want, status.String())
	}
}
