//go:build invariants

package plugin

import (
	"fmt"

	"github.com/capacity-card/capacity-card/index"
)

// check panics if an invariant is broken, in builds with the tag "invariants".
func (s *session) check() {
	s.ix.Check()
	for q := range index.Queue(s.ix.Len()) {
		if has, want := s.ix.Share(q), s.share(s.ix.Allocated(q), s.ix.Deserved.Row(q)); has != want {
			panic(fmt.Sprintf("plugin: share of %q is %v, by its accounts %v", s.ix.Name(q), has, want))
		}
	}
}
