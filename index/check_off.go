//go:build !invariants

package index

// Check panics if an invariant is broken, in builds with the tag "invariants".
func (ix *Index) Check() {}

// NoteOwnJobs records that jobs of q itself changed its accounts, in builds with
// the tag "invariants": only such a queue may have more than its children have.
func (ix *Index) NoteOwnJobs(Queue) {}

// ownJobs is empty: only the invariant build reads it.
type ownJobs struct{}

func (ownJobs) reset(int) {}
