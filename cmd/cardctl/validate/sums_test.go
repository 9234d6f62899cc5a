package validate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestExceeding(t *testing.T) {
	sums := map[string]float64{"A": 3, "B": 2, "C": 5, "D": 9}
	most := map[string]float64{"A": 2, "B": 2, "C": 4}
	assert.Equal(t, []string{"A", "C"}, exceeding(sums, most), "B is within the bound, and D has none")
}

func TestCapped(t *testing.T) {
	for text, want := range map[string]string{
		"64Gi": "64Gi", "-5": "0", "1e2000000000": "9223372036854775807", "-1e2000000000": "0", "0e2000000000": "0",
	} {
		bound := capped(resource.MustParse(text))
		assert.Equal(t, want, bound.String(), text)
	}
}
