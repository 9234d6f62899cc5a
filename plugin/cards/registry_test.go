package cards

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
)

// TestRenewNamesResolvesSelectors again in the next session, even if as many names
// are known then as before.
func TestRenewNamesResolvesSelectors(t *testing.T) {
	r := NewRegistry()
	r.names = 7
	r.RenewNames(func(d fastres.Dim) fastres.Dim { return d })
	assert.Zero(t, r.names)
}
