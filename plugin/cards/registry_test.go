package cards

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
)

// TestRenewNamesResolvesSelectors makes the next session resolve all selectors again,
// even if it has as many names as before.
func TestRenewNamesResolvesSelectors(t *testing.T) {
	r := NewRegistry()
	r.names = 7
	r.RenewNames(func(d fastres.Dim) fastres.Dim { return d })
	assert.Zero(t, r.names)
}
