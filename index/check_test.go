package index_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
)

// TestCheck violates invariants of an index. A build with the tag "invariants" panics, and
// other builds do not.
func TestCheck(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(ix *index.Index, a, b index.Queue) // b is a child of a
		sound bool
	}{
		{"no change", func(*index.Index, index.Queue, index.Queue) {}, true},
		{"a parent with jobs of its own", func(ix *index.Index, a, _ index.Queue) {
			ix.NoteOwnJobs(a)
			charge(ix, a, res{cpu: 3}.vector())
		}, true},
		{"a charge and its refund", func(ix *index.Index, _, b index.Queue) {
			refund(ix, b, res{cpu: 5}.vector())
		}, true},
		{"a charge that skips the parents", func(ix *index.Index, _, b index.Queue) {
			ix.Mutable(b).Add(res{cpu: 1}.vector())
		}, false},
		{"a parent charged alone", func(ix *index.Index, a, _ index.Queue) {
			ix.Mutable(a).Add(res{gpu: 1}.vector())
		}, false},
		{"a parent with jobs of its own, and less than its children", func(ix *index.Index, a, _ index.Queue) {
			ix.NoteOwnJobs(a)
			ix.Mutable(a).Sub(res{cpu: 1}.vector())
		}, false},
		{"the root charged alone", func(ix *index.Index, _, _ index.Queue) {
			ix.Mutable(ix.Root()).Add(res{far: 1}.vector())
		}, false},
		{"jobs of its own in the session before", func(ix *index.Index, a, _ index.Queue) {
			ix.NoteOwnJobs(a)
			ix.Reset(ix.Tree, dims)
			charge(ix, a, res{cpu: 1}.vector())
		}, false},
		{"a negative quantity on the whole path", func(ix *index.Index, _, b index.Queue) {
			charge(ix, b, res{memory: -1}.vector())
		}, false},
		{"a request that skips the parents", func(ix *index.Index, _, b index.Queue) {
			ix.Request.Row(b).Add(res{cpu: 1}.vector())
		}, false},
		{"terminating pods of a parent alone", func(ix *index.Index, a, _ index.Queue) {
			ix.Terminating.Row(a).Add(res{cpu: 1}.vector())
		}, false},
		{"terminating pods of a parent with jobs of its own, without the root", func(ix *index.Index, a, _ index.Queue) {
			ix.NoteOwnJobs(a)
			ix.Terminating.Row(a).Add(res{cpu: 1}.vector())
		}, false},
		{"elastic on the whole path", func(ix *index.Index, _, b index.Queue) {
			for _, p := range ix.Path(b) {
				ix.Elastic.Row(p).Add(res{cpu: 1}.vector())
			}
		}, true},
		{"a snapshot in between", func(ix *index.Index, _, b index.Queue) {
			_ = ix.Version()
			charge(ix, b, res{cpu: 1}.vector())
			_ = ix.Version()
			charge(ix, b, res{cpu: 1}.vector())
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := newIndex("root", "root", "a", "b<a", "c<a", "lost<nobody", "tail<lost", "x<y", "y<x")
			charge(ix, lookup(t, ix.Tree, "b"), res{cpu: 5, gpu: 1000}.vector())
			charge(ix, lookup(t, ix.Tree, "tail"), res{cpu: 5}.vector())
			assert.NotPanics(t, ix.Check)
			test.spoil(ix, lookup(t, ix.Tree, "a"), lookup(t, ix.Tree, "b"))
			if test.sound || !checked {
				assert.NotPanics(t, ix.Check)
			} else {
				assert.Panics(t, ix.Check)
			}
		})
	}
}
