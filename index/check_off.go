//go:build !invariants

package index

// Check panics if an invariant is broken, in builds with the tag "invariants".
func (ix *Index) Check() {}
