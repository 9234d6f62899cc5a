package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// seeds adds the first inputs.
func seeds(f *testing.F) {
	for _, text := range []string{"", "a", "quota", "root and leaves", "\x00\x00\x00\x00", "\xff\xfe\xfd\xfc\xfb", "0123456789abcdef0123456789abcdef"} {
		f.Add([]byte(text))
	}
}

// FuzzOracle makes the same changes in the engine and in the oracle, including changes that the rules refuse. It
// compares accounts and verdicts after each event.
func FuzzOracle(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, workload.Bytes(data))
		w.compareBounds()
		w.compareAccounts()
		for range 4 + w.rand.IntN(12) {
			w.event()
			w.compareAccounts()
			w.compareVerdicts()
		}
	})
}

// event charges, refunds or enqueues. Some refunds have no charge.
func (w *world) event() {
	t := pick(w.rand, w.known())
	if j := pick(w.rand, w.jobs); j != nil && w.rand.IntN(4) == 0 && w.number(j.Queue) != index.None && j.MinResources != nil {
		w.enqueue(j)
		return
	}
	if t != nil {
		w.place(t, w.rand.IntN(4) == 0 == t.placed)
	}
}

func (w *world) compareBounds() {
	for _, name := range w.oracle.Names() {
		q := w.number(name)
		require.NotEqual(w.t, index.None, q, name)
		require.Equal(w.t, w.oracle.Broken(name), w.ix.Broken(q) != nil, name)
		require.Equal(w.t, w.oracle.Leaf(name), w.ix.IsLeaf(q), name)
		w.comparePath(name)
		if w.oracle.Broken(name) {
			continue // broken queues have no bound
		}
		w.same(w.oracle.Bound(name), w.ix.RealCapability.Row(q), false, "realCapability of ", name)
		w.same(w.oracle.Capability(name), w.ix.Capability.Row(q), w.ix.Rooted(), "capability of ", name)
		w.same(w.oracle.Deserved(name), w.ix.Deserved.Row(q), true, "deserved of ", name)
		w.same(w.oracle.Guarantee(name), w.ix.Guarantee.Row(q), false, "guarantee of ", name)
	}
}

func (w *world) comparePath(name string) {
	var path []string
	for _, p := range w.ix.Path(w.number(name)) {
		path = append(path, w.ix.Name(p))
	}
	require.Equal(w.t, w.oracle.Path(name), path)
}

func (w *world) compareAccounts() {
	for _, name := range w.oracle.Names() {
		q := w.number(name)
		w.same(w.oracle.Allocated(name), w.ix.Allocated(q), false, "allocated of ", name)
		w.same(w.oracle.Request(name), w.ix.Request.Row(q), false, "request of ", name)
		w.same(w.oracle.Inqueue(name), w.ix.Inqueue.Row(q), false, "inqueue of ", name)
		w.same(w.oracle.Elastic(name), w.ix.Elastic.Row(q), false, "elastic of ", name)
		if share := w.oracle.Share(name); share != w.ix.Share(q) {
			w.t.Fatalf("share of %s is %v in the oracle, and %v in the engine", name, share, w.ix.Share(q))
		}
	}
}

// compareVerdicts compares every rule for some queues, tasks and jobs.
func (w *world) compareVerdicts() {
	names := w.oracle.Names()
	pending := w.findPending()
	for range 6 {
		l, r, p := pick(w.rand, names), pick(w.rand, names), pick(w.rand, names)
		lq, rq := w.number(l), w.number(r)
		require.Equal(w.t, w.oracle.Order(l, r), quota.Order(w.ix, lq, rq), "order of %s, %s: %v %v %v %v", l, r, w.oracle.Share(l), w.oracle.Share(r), w.oracle.Deserved(l), w.oracle.Deserved(r))
		levels := w.rand.IntN(4)
		require.Equal(w.t, w.oracle.OrderByReclaim(pending, l, r, levels), quota.OrderByReclaim(w.ix, &w.pending, lq, rq, levels), "reclaim of %s, %s", l, r)
		require.Equal(w.t, w.oracle.VictimOrder(l, r, p), quota.VictimOrder(w.ix, lq, rq, w.number(p)), "victims of %s, %s for %s", l, r, p)
		w.compareAdmission(l)
	}
	w.compareVictims()
}

func (w *world) compareAdmission(name string) {
	q := w.number(name)
	require.Equal(w.t, w.oracle.Eligible(name), reasonOf(quota.Eligible(w.ix.Tree, q)), name)
	if w.oracle.Broken(name) {
		return
	}
	if t := pick(w.rand, w.tasks); t != nil {
		request := w.vector(t.request)
		require.Equal(w.t, w.oracle.Allocatable(name, t.request),
			w.at(quota.Allocatable(w.ix, &w.ix.RealCapability, q, request)), "allocatable: %v in %s", t.request, name)
		require.Equal(w.t, w.oracle.LendsAll(name, t.request), w.lends(w.ix, q, request), "lends %v to %s", t.request, name)
		overlay := index.Over(w.ix.Version())
		s := snapshot{&overlay, w.oracle.Clone()}
		for range w.rand.IntN(4) {
			if c := pick(w.rand, w.known()); c != nil {
				s.change(w, step{c, w.rand.IntN(2) == 0}, w.vector(c.request), w.scratch)
				require.Equal(w.t, s.oracle.LendsAll(name, t.request), w.lends(s.overlay, q, request), "lends %v to %s in a simulation", t.request, name)
			}
		}
		levels := w.rand.IntN(4)
		require.Equal(w.t, w.oracle.Preemptive(name, t.request, levels), reasonOf(w.preemption(levels).Preemptive(q, request)),
			"preemptive: %v in %s", t.request, name)
	}
	if j := pick(w.rand, w.jobs); j != nil {
		min := amounts(j.MinResources)
		require.Equal(w.t, w.oracle.CountsRefuse(name).Queue, w.at(w.bounded.Fits(q)), "max-jobs of %s", name)
		require.Equal(w.t, w.oracle.Enqueueable(name, min), w.at(quota.Enqueueable(w.ix, q, w.vector(min))), "enqueueable: %v in %s", min, name)
		w.compareReturned(name, min)
	}
}

// findPending sets pending to the pending tasks, and returns them by queue. A task has the
// request of another one as a second choice, or none.
func (w *world) findPending() map[string][][]oracle.Amounts {
	all := map[string][][]oracle.Amounts{}
	w.pending.Reset(w.ix, w.names)
	for _, t := range w.known() {
		if t.placed {
			continue
		}
		choices := []oracle.Amounts{t.request}
		if other := pick(w.rand, w.tasks); w.rand.IntN(2) == 0 {
			choices = append(choices, other.request)
		}
		rows := &fastres.Rows{}
		rows.Reset(0, w.ix.Dims())
		for _, request := range choices {
			rows.Append(w.vector(request))
		}
		all[t.queue] = append(all[t.queue], choices)
		w.pending.Add(w.number(t.queue), rows, 0, func(int, int) bool { return true }) // nodes have room
	}
	return all
}

// reasonOf returns the oracle's word for the reason of a verdict.
func reasonOf(v quota.Verdict) string {
	word, known := map[quota.Reason]string{
		quota.Admitted: "", quota.BrokenQueue: "broken", quota.InnerQueue: "inner",
		quota.OverQuota: "over quota", quota.OverDeserved: "over deserved",
	}[v.Reason]
	if !known {
		return v.Reason.String()
	}
	return word
}

// at returns the queue of a refusal, or "".
func (w *world) at(v quota.Verdict) string {
	if v.OK() {
		return ""
	}
	return w.ix.Name(v.Queue)
}

// lends reports whether a request leaves the guarantees of other queues free.
func (w *world) lends(a quota.View, q index.Queue, request fastres.Vector) bool {
	for d := range request.Requested() {
		if !w.kept.Fits(a, q, d, request.Get(d)).OK() {
			return false
		}
	}
	return true
}

// compareProtection compares and returns how a task of one service class is protected from another one.
func (w *world) compareProtection() quota.Protection {
	names := map[quota.Class]string{quota.Unclassified: "", quota.Training: "training", quota.Inference: "inference"}
	texts := map[quota.Protection]string{quota.Spared: oracle.Spared, quota.ByDeserved: oracle.ByDeserved, quota.ByGuarantee: oracle.ByGuarantee}
	reclaimer, victim := quota.Class(w.rand.IntN(3)), quota.Class(w.rand.IntN(3))
	protection := quota.ProtectionOf(reclaimer, victim)
	require.Equal(w.t, oracle.ProtectionOf(names[reclaimer], names[victim]), texts[protection], "%q meets %q", names[reclaimer], names[victim])
	return protection
}

func (w *world) compareVictims() {
	tasks := w.known()
	reclaimer := pick(w.rand, tasks)
	if reclaimer == nil {
		return
	}
	w.beginVictims()
	victims := w.oracle.Victims()
	levels, mode := 1+w.rand.IntN(4), w.rand.IntN(7)
	for range w.rand.IntN(10) {
		v := pick(w.rand, tasks)
		if w.oracle.Broken(v.queue) {
			continue
		}
		q, victim, request := w.number(v.queue), w.vector(v.request), w.vector(reclaimer.request)
		var want, got bool
		switch to := w.number(reclaimer.queue); mode {
		case 0:
			want, got = victims.Take(v.queue, v.request, reclaimer.queue, reclaimer.request), w.victims.Take(q, victim, to, request)
		case 1:
			protection := w.compareProtection()
			want = victims.TakeForGang(v.queue, v.request, reclaimer.queue, protection == quota.ByGuarantee)
			got = w.victims.TakeForGang(q, victim, to, protection)
		case 2:
			want = victims.TakeContended(v.queue, v.request, reclaimer.queue, reclaimer.request, w.oracle.Deserves(reclaimer.queue, reclaimer.request), levels)
			got = w.victims.TakeContended(q, victim, to, request, request.Intersects(w.ix.Deserved.Row(to)), levels)
		case 3, 4:
			damping := levels - 1
			want = victims.TakeByGuarantee(v.queue, v.request, reclaimer.queue, reclaimer.request, damping)
			got = w.victims.TakeByGuarantee(q, victim, to, request, damping)
		default:
			want = victims.TakeDamped(v.queue, v.request, reclaimer.queue, reclaimer.request, levels)
			got = w.victims.TakeDamped(q, victim, to, request, levels)
		}
		require.Equal(w.t, want, got, "%v of %s for %v", v.request, v.queue, reclaimer.request)
		for name := range v.request {
			d, _ := w.names.Lookup(name)
			require.Equal(w.t, victims.KeepsCard(v.queue, name), w.victims.KeepsCard(w.number(v.queue), d), "%s of %s", name, v.queue)
		}
	}
	if to := reclaimer.queue; !w.oracle.Broken(to) {
		q, request := w.number(to), w.vector(reclaimer.request)
		require.Equal(w.t, victims.Suffice(to, reclaimer.request), quota.Allocatable(&w.left, &w.ix.RealCapability, q, request).OK() && w.lends(&w.left, q, request),
			"%v of %s", reclaimer.request, to)
	}
}
