//go:build invariants

package session

import (
	"fmt"

	"github.com/capacity-card/capacity-card/index"
)

// check panics if an invariant is broken, in builds with the tag "invariants".
func (s *Session) check() {
	s.Index.Check()
	for q := range index.Queue(s.Index.Len()) {
		if has, want := s.Index.Share(q), s.rules.share(s.Index.Allocated(q), s.Index.Deserved.Row(q)); has != want {
			panic(fmt.Sprintf("plugin: share of %q is %v, by its accounts %v", s.Index.Name(q), has, want))
		}
	}
}
