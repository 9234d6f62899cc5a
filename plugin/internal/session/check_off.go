//go:build !invariants

package session

// check panics if an invariant is broken, in builds with the tag "invariants".
func (s *Session) check() {}
