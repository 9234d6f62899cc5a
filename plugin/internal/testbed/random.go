package testbed

import (
	"flag"
	"math"
	"testing"
)

// Near tolerates sums of fractions in another order, and upstream's two numbers for no bound.
func Near(x, y float64) bool {
	const unlimited = (1 - 1e-9) * math.MaxInt64
	return x == y || x >= unlimited && y >= unlimited || math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}

// Clusters is how many clusters the tests of random clusters draw, and FirstSeed the seed of the first one.
var (
	Clusters  = flag.Int("clusters", 1000, "how many random clusters a test draws, TestDifferential for each plugin")
	FirstSeed = flag.Uint64("seed", 1, "the seed of the first of them")
)

// AddSeeds adds inputs to start from.
func AddSeeds(f *testing.F) {
	for _, text := range []string{
		"", "a", "quota", "root and leaves",
		"\x00\x00\x00\x00", "\xff\xfe\xfd\xfc\xfb", "0123456789abcdef0123456789abcdef",
	} {
		f.Add([]byte(text))
	}
}
