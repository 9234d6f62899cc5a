package index_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// accountsOf returns the vectors of q in the accounts that are rolled up, by account.
func accountsOf(ix *index.Index, q index.Queue) map[string]fastres.Vector {
	return map[string]fastres.Vector{
		"allocated":   ix.Allocated(q),
		"request":     ix.Request.Row(q),
		"terminating": ix.Terminating.Row(q),
		"elastic":     ix.Elastic.Row(q),
	}
}

func TestRollUp(t *testing.T) {
	ix := newIndex("root", "root", "eng", "prod<eng", "dev<eng", "biz", "lost<nobody", "tail<lost")
	own := map[string]res{
		"prod": {cpu: 4, memory: 10, gpu: 1000},
		"dev":  {cpu: 2, far: 0},
		"biz":  {cpu: 1, memory: 5},
		"eng":  {memory: 7},
		"tail": {cpu: 100},
	}
	// Each account has its own multiple, so that a test detects a mix-up of accounts.
	multiples := map[string]float64{"allocated": 1, "request": 2, "terminating": 3, "elastic": 5}
	times := func(r res, multiple float64) res {
		x := r.vector()
		x.Scale(multiple)
		return resOf(x)
	}
	for name, r := range own {
		q := lookup(t, ix.Tree, name)
		ix.Mutable(q)
		for account, x := range accountsOf(ix, q) {
			x.Add(times(r, multiples[account]).vector())
		}
		ix.NoteOwnJobs(q)
	}
	ix.RollUp()

	want := map[string]res{
		"root": {cpu: 7, memory: 22, gpu: 1000, far: 0},
		"eng":  {cpu: 6, memory: 17, gpu: 1000, far: 0},
		"prod": own["prod"],
		"dev":  own["dev"],
		"biz":  own["biz"],
		"lost": own["tail"],
		"tail": own["tail"],
	}
	for name, r := range want {
		for account, x := range accountsOf(ix, lookup(t, ix.Tree, name)) {
			assert.Equal(t, times(r, multiples[account]), resOf(x), "%s of %s", account, name)
		}
	}
}

func TestRollUpWhenFlat(t *testing.T) {
	ix := newIndex("", "root", "a", "b<a")
	for _, name := range []string{"root", "a", "b"} {
		ix.Mutable(lookup(t, ix.Tree, name)).Add(res{cpu: 5}.vector())
	}
	ix.RollUp()
	for q := range index.Queue(ix.Len()) {
		assert.Equal(t, res{cpu: 5}, resOf(ix.Allocated(q)), "a queue has no parent in flat mode")
	}
}

// TestRollUpIsNotSeen rolls up after a snapshot, when the first change of every row copies
// it.
func TestRollUpIsNotSeen(t *testing.T) {
	ix := newIndex("root", "root", "a", "b<a", "c<b")
	c := lookup(t, ix.Tree, "c")
	ix.Mutable(c).Add(res{cpu: 5, gpu: 1000}.vector())
	before := ix.Version()
	ix.RollUp()
	for q := range index.Queue(ix.Len()) {
		assert.Equal(t, res{cpu: 5, gpu: 1000}, resOf(ix.Allocated(q)))
		if q != c {
			assert.Equal(t, res{}, resOf(before.Allocated(q)), "the snapshot shows the change")
		}
	}
}

// TestRollUpRandom compares the sums with one walk along the path of every queue.
func TestRollUpRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 50 {
		ix := &index.Index{}
		ix.Reset(index.BuildTree(randomNodes(r, 30), "root"), dims)
		var want index.Rows
		want.Reset(ix.Len(), dims)
		for q := range index.Queue(ix.Len()) {
			x := randomCharge(r)
			ix.Mutable(q).Add(x)
			ix.NoteOwnJobs(q)
			for _, p := range ix.Path(q) {
				want.Row(p).Add(x)
			}
		}
		ix.RollUp()
		for q := range index.Queue(ix.Len()) {
			require.Equal(t, resOf(want.Row(q)), resOf(ix.Allocated(q)))
		}
	}
}

func TestShares(t *testing.T) {
	ix := newIndex("root", "root", "a", "b")
	for q := range index.Queue(ix.Len()) {
		ix.SetShare(q, float64(q)+0.5)
	}
	for q := range index.Queue(ix.Len()) {
		assert.Equal(t, float64(q)+0.5, ix.Share(q))
	}
}

// TestReset fills every account of an index. The next session starts with empty accounts,
// with more queues and with fewer.
func TestReset(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	ix := &index.Index{}
	for session, n := range []int{10, 3, 40, 40, 0, 1} {
		length := dims - session
		ix.Reset(index.BuildTree(randomNodes(r, n), "root"), length)
		require.Equal(t, n+1, ix.Len())
		require.Equal(t, length, ix.Dims())
		rows := []*index.Rows{
			&ix.Capability, &ix.RealCapability, &ix.Deserved, &ix.Guarantee, &ix.ChildGuarantees,
			&ix.Request, &ix.Inqueue, &ix.Elastic,
		}
		full := fastres.NewVector(length)
		full.Fill(7)
		for q := range index.Queue(ix.Len()) {
			require.Equal(t, res{}, resOf(ix.Allocated(q)))
			require.Equal(t, length, ix.Allocated(q).Len())
			require.Zero(t, ix.Share(q))
			ix.SetShare(q, 3)
			for i, account := range rows {
				require.Equal(t, ix.Len(), account.Len())
				require.Equal(t, res{}, resOf(account.Row(q)), "account %d", i)
				account.Row(q).CopyFrom(full)
			}
		}
		for q := range index.Queue(ix.Len()) {
			ix.NoteOwnJobs(q)
			_ = ix.Version()
			charge(ix, q, full)
		}
	}
}

// TestChargesCancel refunds random charges in another order. Afterwards every account has
// the same bits as before, at every level, with and without snapshots in between.
func TestChargesCancel(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for round := range 40 {
		ix := &index.Index{}
		ix.Reset(index.BuildTree(randomNodes(r, 30), "root"), dims)
		everything := fastres.NewVector(dims)
		everything.Fill(0)
		for q := range index.Queue(ix.Len()) {
			ix.NoteOwnJobs(q)
			charge(ix, q, everything)
			charge(ix, q, randomCharge(r))
		}
		before := allAllocated(ix)

		type pending struct {
			q index.Queue
			x fastres.Vector
		}
		var charges []pending
		for range 200 {
			c := pending{index.Queue(r.IntN(ix.Len())), randomCharge(r)}
			charges = append(charges, c)
			charge(ix, c.q, c.x)
		}
		r.Shuffle(len(charges), func(i, j int) { charges[i], charges[j] = charges[j], charges[i] })
		for _, c := range charges {
			if round%2 == 0 {
				_ = ix.Version()
			}
			refund(ix, c.q, c.x)
			ix.Check()
		}
		for q, want := range before {
			got := ix.Allocated(index.Queue(q))
			for d := range fastres.Dim(dims) {
				require.Equal(t, math.Float64bits(want.Get(d)), math.Float64bits(got.Get(d)))
				require.Equal(t, want.Has(d), got.Has(d))
			}
		}
	}
}
