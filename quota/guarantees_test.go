package quota_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestGuaranteesFollowCharges charges and refunds random queues. The answers equal the answers of Guarantees that read
// the same accounts again.
func TestGuaranteesFollowCharges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range 200 {
		ix := guaranteed(r)
		available := res{gpu: 9}.vector()
		var follows, fresh quota.Guarantees
		follows.Reset(ix, ix, available)
		scratch := fastres.NewVector(dims)
		for range 20 {
			q, amount := index.Queue(r.IntN(ix.Len())), res{gpu: float64(1 + r.IntN(4))}.vector()
			if r.IntN(3) == 0 {
				follows.Update(q, quota.Refund(ix, q, amount, scratch), -1)
			} else {
				quota.Charge(ix, q, amount)
				follows.Update(q, amount, 1)
			}
			fresh.Reset(ix, ix, available)
			for q := range index.Queue(ix.Len()) {
				want := fresh.Fits(ix, q, gpu, 2)
				require.Equal(t, verdict(ix, want), verdict(ix, follows.Fits(ix, q, gpu, 2)), ix.Name(q))
				if !want.OK() {
					refused++
				}
			}
		}
	}
	require.Greater(t, refused, 1000)
}

// TestGuaranteesSeeVictims asks about accounts without some victims, or with one more pod. The answers equal the
// answers of Guarantees of just these accounts. The part of a guarantee that victims leave is unused, and the part that
// a pod takes of its own guarantee is used.
func TestGuaranteesSeeVictims(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	differ := 0
	for range 500 {
		ix := guaranteed(r)
		available, scratch := res{gpu: 9}.vector(), fastres.NewVector(dims)
		for range 4 {
			quota.Charge(ix, index.Queue(r.IntN(ix.Len())), res{gpu: float64(1 + r.IntN(3))}.vector())
		}
		var before, after quota.Guarantees
		before.Reset(ix, ix, available)
		view := index.Over(ix)
		for range 2 {
			q, amount := index.Queue(r.IntN(ix.Len())), res{gpu: float64(1 + r.IntN(3))}.vector()
			if r.IntN(3) == 0 {
				quota.Charge(&view, q, amount)
			} else {
				quota.Refund(&view, q, amount, scratch)
			}
		}
		after.Reset(ix, &view, available)
		for q := range index.Queue(ix.Len()) {
			want := verdict(ix, after.Fits(&view, q, gpu, 2))
			require.Equal(t, want, verdict(ix, before.Fits(&view, q, gpu, 2)), ix.Name(q))
			if want != verdict(ix, before.Fits(ix, q, gpu, 2)) {
				differ++
			}
		}
	}
	require.Greater(t, differ, 100)
}

// guaranteed draws queues that are guaranteed devices.
func guaranteed(r *rand.Rand) *index.Index {
	ix := randomTree(r, 6)
	if r.IntN(4) == 0 {
		ix = session("", queue{name: "x"}, queue{name: "y"}, queue{name: "z"})
	}
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		ix.Guarantee.Row(q).Set(gpu, float64(r.IntN(4)))
		for _, child := range ix.Children(q) {
			ix.ChildGuarantees.Row(q).Add(ix.Guarantee.Row(child))
		}
		ix.Guarantee.Row(q).RaiseTo(ix.ChildGuarantees.Row(q))
		ix.RealCapability.Row(q).Set(gpu, float64(4*(1+r.IntN(3))))
	}
	return ix
}

// TestWhoseGuaranteesLack asks for a card for a queue of team, where the two cards that are left are guaranteed to b.
// Queues below team take a part of the missing cards, and other does not.
func TestWhoseGuaranteesLack(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{gpu: 9}}, queue{name: "team", bound: res{gpu: 4}},
		queue{name: "a<team", bound: res{gpu: 4}}, queue{name: "b<team", bound: res{gpu: 4}, guarantee: res{gpu: 2}},
		queue{name: "c<team", bound: res{gpu: 4}, allocated: res{gpu: 2}}, queue{name: "other", bound: res{gpu: 9}, allocated: res{gpu: 1}})
	var guarantees quota.Guarantees
	guarantees.Reset(ix, ix, res{gpu: 9}.vector())
	for from, want := range map[string]bool{"c": true, "team": true, "other": false} {
		require.Equal(t, want, guarantees.Lacks(ix, lookup(t, ix, "a"), lookup(t, ix, from), gpu, 1), from)
		require.False(t, guarantees.Lacks(ix, lookup(t, ix, "b"), lookup(t, ix, from), gpu, 1), "its own guarantee")
	}
}

// TestGuaranteesAboveTheirParent has two teams with a guarantee of four each, in a department that can have four of
// eight. Four are kept free for the department, less its allocation.
func TestGuaranteesAboveTheirParent(t *testing.T) {
	for name, test := range map[string]struct {
		first, borrower float64 // allocated
		want            bool    // the borrower gets one more
	}{
		"nobody has any":                        {0, 0, true},
		"three are borrowed":                    {0, 3, true},
		"four are borrowed":                     {0, 4, false},
		"the department has two, four are lent": {2, 4, false},
		"the department has all it can have":    {4, 3, true},
		"the department has more":               {5, 2, true},
		"nothing is left":                       {4, 4, true}, // the nodes decide
	} {
		t.Run(name, func(t *testing.T) {
			team := res{gpu: 4}
			ix := session("root", queue{name: "root", bound: res{gpu: 9}}, queue{name: "department", bound: team, guarantee: team},
				queue{name: "first<department", bound: team, guarantee: team}, queue{name: "second<department", bound: team, guarantee: team},
				queue{name: "borrower", bound: res{gpu: 9}})
			var guarantees quota.Guarantees
			guarantees.Reset(ix, ix, res{gpu: 8}.vector())
			for name, amount := range map[string]float64{"first": test.first, "borrower": test.borrower} {
				q, charge := lookup(t, ix, name), res{gpu: amount}.vector()
				quota.Charge(ix, q, charge)
				guarantees.Update(q, charge, 1)
			}
			require.Equal(t, test.want, guarantees.Fits(ix, lookup(t, ix, "borrower"), gpu, 1).OK())
		})
	}
}
