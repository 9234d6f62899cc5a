//go:build !invariants

package index

// Check panics if an invariant of package index is violated, in builds with the tag
// "invariants". Other builds do nothing.
func (ix *Index) Check() {}

// NoteOwnJobs records that jobs of q itself changed its accounts, in builds with the tag
// "invariants". Only such a queue may have more than its children. Other builds do
// nothing.
func (ix *Index) NoteOwnJobs(Queue) {}

// ownJobs is empty: only builds with the tag "invariants" read it.
type ownJobs struct{}

func (ownJobs) reset(int) {}
