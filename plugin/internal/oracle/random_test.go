package oracle_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

var sessions = flag.Int("sessions", 2000, "how many random sessions TestRandomSessions compares with the oracle, from -seed on")

// TestRandomSessions is FuzzSession with random bytes. It tries a thousand inputs a second, and the
// fuzzer fewer than a hundred: sessions have so many paths that coverage guides it little.
func TestRandomSessions(t *testing.T) {
	for seed := *testbed.FirstSeed; seed < *testbed.FirstSeed+uint64(*sessions); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			data := make([]byte, 200+r.IntN(4000))
			for i := range data {
				data[i] = byte(r.UintN(256))
			}
			compareSession(t, data)
		})
	}
}
