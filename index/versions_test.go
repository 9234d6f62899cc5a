package index_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
)

// stray is the number of allocations in one run that may have other causes: the garbage
// collector and the race detector allocate too. An arena that grows by mistake allocates
// more often.
const stray = 2.0

func TestSnapshotAllocatesNothing(t *testing.T) {
	ix := newIndex("root", "root", "a", "b<a")
	b, x := lookup(t, ix.Tree, "b"), res{cpu: 1, gpu: 1000}.vector()
	charge(ix, b, x)
	var version index.Version
	var taken index.Overlay
	seen := 0.0
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		version = ix.Version()
		taken = index.Over(&version)
		seen += taken.Allocated(b).Get(cpu)
	}))
	assert.Equal(t, 1001.0, seen)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { taken = taken.Clone() }), "a clone of no changes")
}

func TestChargeAllocatesNothing(t *testing.T) {
	ix := newIndex("root", "root", "a", "b<a")
	b, x := lookup(t, ix.Tree, "b"), res{cpu: 1, gpu: 1000}.vector()
	for _, when := range []string{"before any snapshot", "after the first charge since a snapshot"} {
		// One run has many charges, because an arena that grows rarely allocates.
		assert.LessOrEqual(t, testing.AllocsPerRun(1, func() {
			for range 5000 {
				charge(ix, b, x)
				refund(ix, b, x)
			}
		}), stray, when)
		_ = ix.Version()
		charge(ix, b, x)
		refund(ix, b, x)
	}
}

// TestSnapshotsEndWithTheSession charges each queue once, in a session after one with
// snapshots. No snapshot reads these rows, so no row is copied.
func TestSnapshotsEndWithTheSession(t *testing.T) {
	const half = 1000
	var queues []string
	for i := range 2 * half {
		queues = append(queues, fmt.Sprintf("q%d", i))
	}
	ix, x := newIndex("", queues...), res{cpu: 1}.vector()
	for _, snapshotLast := range []bool{false, true} {
		_ = ix.Version()
		charge(ix, 0, x)
		if snapshotLast {
			_ = ix.Version()
		}
		ix.Reset(ix.Tree, dims)
		next := index.Queue(0)
		assert.LessOrEqual(t, testing.AllocsPerRun(1, func() {
			for range half {
				charge(ix, next, x)
				next++
			}
		}), stray, "snapshot last: %t", snapshotLast)
	}
}

func TestOverlayAllocatesOncePerQueue(t *testing.T) {
	ix := newIndex("root", "root", "a", "b<a")
	b, x := lookup(t, ix.Tree, "b"), res{cpu: 1, gpu: 1000}.vector()
	o := index.Over(ix.Version())
	charge(&o, b, x)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		charge(&o, b, x)
		refund(&o, b, x)
	}), "a row that is changed already is changed in place")
}

// TestSnapshotsBetweenChanges takes many snapshots between two changes. All of them read
// the same, and none reads the next change.
func TestSnapshotsBetweenChanges(t *testing.T) {
	ix := newIndex("", "a")
	x := res{cpu: 1}.vector()
	var taken []index.Version
	for range 100 {
		for range 3 {
			taken = append(taken, ix.Version())
		}
		charge(ix, 0, x)
		charge(ix, 0, x)
	}
	for i := range taken {
		assert.Equal(t, float64(i/3*2), taken[i].Allocated(0).Get(cpu))
	}
	assert.Equal(t, 200.0, ix.Allocated(0).Get(cpu))
}
