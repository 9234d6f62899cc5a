package card

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestMilli(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "8": 8000, "500m": 500, "1n": 1, "-1": 0, "-1e30": 0, "9223372036854774": 9223372036854774000,
		"9223372036854775.5": math.MaxInt64, "9223372036854775807": math.MaxInt64, "1Ei": math.MaxInt64, "100Ei": math.MaxInt64,
		"99999999999999999999999999": math.MaxInt64, "1e2147483647": math.MaxInt64, "-1e2147483647": 0,
		"0e2147483647": 0,
	} {
		assert.Equal(t, want, thousandths(resource.MustParse(text)), text)
		assert.Equal(t, Milli(want), MilliOf(resource.MustParse(text)), text)
	}
}

// TestFits has quantities with more digits than fit into memory.
func TestFits(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "1n": true, "9223372036854775807": true, "9223372036854775807.5": false, "9223372036854775808": false,
		"8Ei": true, "100E": false, "1e999": false, "1e2000000000": false,
	} {
		assert.Equal(t, want, Fits(resource.MustParse(text)), text)
	}
}

// TestLongExponents has quantities as they stand in JSON, and what only looks like one.
func TestLongExponents(t *testing.T) {
	for text, want := range map[string]bool{
		"1e-2000000000": true, `{"cpu":"1E+2000000000"}`: true, `{"cpu":-1.5e1000}`: true, `" .5e0001 "`: true,
		"": false, "e": false, "1e": false, "1e+": false, "1e999": false, "16Ei": false, `{"e1234":1}`: false, "e2000": false,
		`"7e1234f"`: false, `"a7e12345"`: false, `"71e23456-e89b-12d3-a456-426614174000"`: false, "sha256:f00e1234": false,
	} {
		assert.Equal(t, want, LongExponent([]byte(text)), text)
	}
}

func TestMilliOfWholeCards(t *testing.T) {
	assert.Equal(t, Milli(3000), Cards(3))
	assert.Equal(t, 3.0, Cards(3).Cards())
	assert.Equal(t, 0.5, Milli(500).Cards())
	assert.Equal(t, float64(MaxCards)*1000, float64(Cards(MaxCards)))
}
