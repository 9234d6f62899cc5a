//go:build invariants

package plugin

import (
	"fmt"

	"github.com/capacity-card/capacity-card/index"
)

// check panics if an invariant is broken, in builds with the tag "invariants".
func (o *session) check() {
	o.ix.Check()
	for q := range index.Queue(o.ix.Len()) {
		if has, want := o.ix.Share(q), o.share(o.ix.Allocated(q), o.ix.Deserved.Row(q)); has != want {
			panic(fmt.Sprintf("plugin: share of %q is %v, by its accounts %v", o.ix.Name(q), has, want))
		}
	}
}
