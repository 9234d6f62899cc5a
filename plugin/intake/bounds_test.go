package intake

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
)

// TestOwnBound has the bound of a root with the rules of Volcano v1.14.2 and later. A root with 0 of everything is a root
// without a capability, as upstream has it.
func TestOwnBound(t *testing.T) {
	const gpu, other = fastres.Pods + 1, fastres.Pods + 2
	vector := func(quantities map[fastres.Dim]float64) fastres.Vector {
		v := fastres.NewVector(5)
		for d, quantity := range quantities {
			v.Set(d, quantity)
		}
		return v
	}

	open := map[fastres.Dim]float64{
		fastres.CPU: fastres.MaxQuantity, fastres.Memory: fastres.MaxQuantity, gpu: fastres.MaxQuantity,
	}
	for name, test := range map[string]struct{ capability, want map[fastres.Dim]float64 }{
		"nothing is set":      {nil, open},
		"0 of a resource":     {map[fastres.Dim]float64{other: 0}, open},
		"a bound of cpu":      {map[fastres.Dim]float64{fastres.CPU: 8000}, map[fastres.Dim]float64{fastres.CPU: 8000}},
		"a bound of a scalar": {map[fastres.Dim]float64{gpu: 8000}, map[fastres.Dim]float64{gpu: 8000}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &State{rootBound: vector(nil), total: vector(map[fastres.Dim]float64{gpu: 16000})}

			s.ownBound(vector(test.capability))
			assert.True(t, s.rootBound.Equal(vector(test.want)), "%v", s.rootBound)
			assert.Equal(t, test.want[other] != 0, s.rootBound.Has(other))
		})
	}
}
