package validate

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExceeding(t *testing.T) {
	sums := map[string]float64{"A": 3, "B": 2, "C": 5, "D": 9}
	most := map[string]float64{"A": 2, "B": 2, "C": 4}
	assert.Equal(t, []string{"A", "C"}, exceeding(sums, most), "B is within the bound, and D has none")
}
