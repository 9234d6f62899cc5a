package index_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

func TestSnapshotIsolation(t *testing.T) {
	ix := newIndex("root", "root", "a", "b<a", "c<a")
	root, a, b, c := ix.Root(), lookup(t, ix.Tree, "a"), lookup(t, ix.Tree, "b"), lookup(t, ix.Tree, "c")
	charge(ix, b, res{cpu: 1, gpu: 1000}.vector())

	first := index.Over(ix.Version())
	charge(ix, b, res{cpu: 10}.vector())
	second := index.Over(ix.Version())
	charge(ix, c, res{cpu: 100, far: 5}.vector())
	charge(&first, c, res{cpu: 1000, far: 7}.vector())
	refund(&second, b, res{cpu: 11}.vector())

	tests := []struct {
		name string
		of   accounts
		want map[index.Queue]res
	}{
		{"the index", ix, map[index.Queue]res{
			root: {cpu: 111, gpu: 1000, far: 5}, a: {cpu: 111, gpu: 1000, far: 5},
			b: {cpu: 11, gpu: 1000}, c: {cpu: 100, far: 5}}},
		{"the first snapshot", &first, map[index.Queue]res{
			root: {cpu: 1001, gpu: 1000, far: 7}, a: {cpu: 1001, gpu: 1000, far: 7},
			b: {cpu: 1, gpu: 1000}, c: {cpu: 1000, far: 7}}},
		{"the second snapshot", &second, map[index.Queue]res{
			root: {gpu: 1000}, a: {gpu: 1000}, b: {gpu: 1000}, c: {}}},
	}
	for _, test := range tests {
		for q, want := range test.want {
			assert.Equal(t, want, resOf(test.of.Allocated(q)), "%s of %s", ix.Name(q), test.name)
		}
		assert.Equal(t, []index.Queue{c, a, root}, test.of.Path(c))
	}
}

func TestClonesAreIndependent(t *testing.T) {
	ix := newIndex("root", "root", "a", "b")
	a, b := lookup(t, ix.Tree, "a"), lookup(t, ix.Tree, "b")
	charge(ix, a, res{cpu: 1}.vector())

	untouched := index.Over(ix.Version())
	changed := untouched.Clone()
	charge(&changed, a, res{cpu: 10}.vector())
	ofChanged := changed.Clone()
	charge(&ofChanged, a, res{cpu: 100}.vector())
	charge(&changed, b, res{cpu: 1000}.vector())
	charge(&ofChanged, b, res{cpu: 5000}.vector())

	for _, test := range []struct {
		name             string
		of               *index.Overlay
		onA, onB, onRoot float64
	}{
		{"the snapshot", &untouched, 1, 0, 1},
		{"its clone", &changed, 11, 1000, 1011},
		{"the clone of its clone", &ofChanged, 111, 5000, 5111},
	} {
		assert.Equal(t, test.onA, test.of.Allocated(a).Get(cpu), "a in %s", test.name)
		assert.Equal(t, test.onB, test.of.Allocated(b).Get(cpu), "b in %s", test.name)
		assert.Equal(t, test.onRoot, test.of.Allocated(ix.Root()).Get(cpu), "root in %s", test.name)
	}
}

func TestValid(t *testing.T) {
	ix := newIndex("root", "root", "a")
	first := ix.Version()
	charge(ix, lookup(t, ix.Tree, "a"), res{cpu: 1}.vector())
	assert.True(t, first.Valid(), "a charge does not end the session")

	ix.Reset(ix.Tree, dims)
	second := ix.Version()
	assert.False(t, first.Valid())
	assert.True(t, second.Valid())
}

// TestOverlayOfManyQueues begins overlays of up to 30 queues in the same memory, in a new order each time, and undoes a
// part of the changes. A change is seen in its queue alone, once the overlay has few queues or many.
func TestOverlayOfManyQueues(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var queues []string
	for i := range 30 {
		queues = append(queues, fmt.Sprintf("q%d", i))
	}
	ix := newIndex("", queues...)
	for q := range index.Queue(ix.Len()) {
		charge(ix, q, res{gpu: float64(q)}.vector())
	}

	var o index.Overlay
	for range 50 {
		o.Begin(ix)
		require.Empty(t, o.Changed())
		want := map[index.Queue]float64{}
		var changed []index.Queue
		check := func() {
			require.Equal(t, changed, o.Changed())
			clone := o.Clone()
			for q := range index.Queue(ix.Len()) {
				now, is := want[q]
				if !is {
					now = ix.Allocated(q).Get(gpu)
				}
				require.Equal(t, now, o.Allocated(q).Get(gpu), "%s of %d", ix.Name(q), len(changed))
				require.Equal(t, now, o.AllocatedAt(q, gpu))
				require.Equal(t, now, clone.AllocatedAt(q, gpu), "the clone")
				_, own := o.Own(q)
				require.Equal(t, is, own)
			}
		}
		change := func() {
			q := index.Queue(r.IntN(ix.Len()))
			if _, again := want[q]; !again {
				want[q] = ix.Allocated(q).Get(gpu)
				changed = append(changed, q)
			}
			want[q]++
			o.Mutable(q).Increase(gpu, 1)
		}

		for range 1 + r.IntN(60) {
			change()
			check()
		}
		mark, kept, before := o.Mark(), slices.Clone(changed), maps.Clone(want)
		for range r.IntN(60) {
			change()
		}
		check()
		o.Undo(mark)
		changed, want = kept, before
		check()
		change()
		check()
	}
}

// whatIf is an overlay with its model: a deep copy of allocated at the same moment, with the
// same changes.
type whatIf struct {
	index.Overlay
	want []fastres.Vector
}

// model compares an index and its overlays with copies of all their rows.
type model struct {
	r       *rand.Rand
	ix      *index.Index
	want    []fastres.Vector
	alive   []*whatIf
	charges []pendingCharge // those that are not refunded
}

type pendingCharge struct {
	q index.Queue
	x fastres.Vector
}

func (m *model) queue() index.Queue { return index.Queue(m.r.IntN(m.ix.Len())) }

// step makes one random change: of the index, of an overlay, or of the set of overlays.
func (m *model) step(most int) {
	var w *whatIf
	at := -1
	if len(m.alive) > 0 {
		at = m.r.IntN(len(m.alive))
		w = m.alive[at]
	}
	switch do := m.r.IntN(12); {
	case do < 3:
		c := pendingCharge{m.queue(), randomCharge(m.r)}
		m.charges = append(m.charges, c)
		m.ix.NoteOwnJobs(c.q)
		charge(m.ix, c.q, c.x)
		m.apply(m.want, c, fastres.Vector.Add)
	case do < 5 && len(m.charges) > 0:
		i := m.r.IntN(len(m.charges))
		c := m.charges[i]
		m.charges[i] = m.charges[len(m.charges)-1]
		m.charges = m.charges[:len(m.charges)-1]
		refund(m.ix, c.q, c.x)
		m.apply(m.want, c, fastres.Vector.Sub)
	case do < 8 && len(m.alive) < most:
		m.alive = append(m.alive, &whatIf{index.Over(m.ix.Version()), copyAll(m.want)})
	case w == nil:
	case do < 9 && len(m.alive) < most:
		m.alive = append(m.alive, &whatIf{w.Clone(), copyAll(w.want)})
	case do < 11:
		c := pendingCharge{m.queue(), randomCharge(m.r)}
		if m.r.IntN(2) == 0 {
			charge(w, c.q, c.x)
			m.apply(w.want, c, fastres.Vector.Add)
		} else {
			refund(w, c.q, c.x)
			m.apply(w.want, c, fastres.Vector.Sub)
		}
	case m.r.IntN(4) == 0:
		m.alive[at] = m.alive[len(m.alive)-1]
		m.alive = m.alive[:len(m.alive)-1]
	}
}

func (m *model) apply(rows []fastres.Vector, c pendingCharge, op func(x, y fastres.Vector)) {
	for q := c.q; q != index.None; q = m.ix.Parent(q) {
		op(rows[q], c.x)
	}
}

func (m *model) requireSame(t *testing.T, want []fastres.Vector, got accounts, q index.Queue) {
	t.Helper()
	if !want[q].Equal(got.Allocated(q)) {
		require.Equal(t, resOf(want[q]), resOf(got.Allocated(q)), "%s of %T", m.ix.Name(q), got)
	}
}

func (m *model) requireAll(t *testing.T) {
	t.Helper()
	for q := range index.Queue(m.ix.Len()) {
		m.requireSame(t, m.want, m.ix, q)
		for _, w := range m.alive {
			m.requireSame(t, w.want, w, q)
		}
	}
}

// TestOverlaysAgainstCopies interleaves random charges, refunds, snapshots and clones in
// several sessions of one index, with several hundred overlays at the same time.
func TestOverlaysAgainstCopies(t *testing.T) {
	const steps, most = 3000, 400
	r := rand.New(rand.NewPCG(17, 18))
	ix := &index.Index{}
	for range 3 {
		ix.Reset(index.BuildTree(randomNodes(r, 20), "root"), dims)
		m := &model{r: r, ix: ix, want: allAllocated(ix)}
		peak := 0
		for i := range steps {
			m.step(most)
			ix.Check()
			peak = max(peak, len(m.alive))
			for range 3 {
				q := m.queue()
				m.requireSame(t, m.want, ix, q)
				if len(m.alive) > 0 {
					w := m.alive[r.IntN(len(m.alive))]
					m.requireSame(t, w.want, w, q)
				}
			}
			if i%300 == 0 {
				m.requireAll(t)
			}
		}
		m.requireAll(t)
		assert.Greater(t, peak, 300, "too few overlays existed at the same time")
	}
}

// TestParallelClones clones one overlay in many goroutines. Each goroutine charges and reads
// its own clone. The race detector finds shared memory.
func TestParallelClones(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	ix := &index.Index{}
	ix.Reset(index.BuildTree(randomNodes(r, 30), "root"), dims)
	for q := range index.Queue(ix.Len()) {
		charge(ix, q, randomCharge(r))
	}
	shared := index.Over(ix.Version())
	for q := range index.Queue(ix.Len()) {
		charge(ix, q, randomCharge(r)) // the snapshot reads older rows
	}
	charge(&shared, index.Queue(ix.Len()-1), randomCharge(r))
	before := make([]fastres.Vector, ix.Len())
	for q := range before {
		before[q] = copyOf(shared.Allocated(index.Queue(q)))
	}

	const goroutines, charges = 16, 50
	var running sync.WaitGroup
	for g := range goroutines {
		running.Add(1)
		go func() {
			defer running.Done()
			r := rand.New(rand.NewPCG(21, uint64(g)))
			own, want := shared.Clone(), copyAll(before)
			for range charges {
				q, x := index.Queue(r.IntN(ix.Len())), randomCharge(r)
				charge(&own, q, x)
				for _, p := range ix.Path(q) {
					want[p].Add(x)
				}
				_ = shared.Allocated(q).Get(cpu) + ix.Allocated(q).Get(cpu)
			}
			for q := range index.Queue(ix.Len()) {
				assert.True(t, want[q].Equal(own.Allocated(q)), "goroutine %d, %s", g, ix.Name(q))
			}
		}()
	}
	running.Wait()
	for q := range index.Queue(ix.Len()) {
		assert.True(t, before[q].Equal(shared.Allocated(q)), "a clone changed %s of the original", ix.Name(q))
	}
}
