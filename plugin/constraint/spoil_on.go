//go:build invariants

package constraint

import (
	"math"

	"github.com/capacity-card/capacity-card/fastres"
)

// spoil makes a vector of a closed frame useless.
func spoil(x fastres.Vector) {
	for d := range fastres.Dim(x.Len()) {
		x.Set(d, math.NaN())
	}
}
