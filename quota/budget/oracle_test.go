package budget_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// TestUseFollowsTheDocumentation compares the use of queues in a tree with the oracle, in windows of all kinds. Queues
// move at random.
func TestUseFollowsTheDocumentation(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	queues := []string{"a", "b", "c"}
	for _, window := range []string{"day", "week", "month", "5d", "7h", "3d sliding", "8h sliding"} {
		c := column(t, window)
		for range 20 {
			l, now, own := &budget.Ledger{}, start.Add(time.Duration(r.IntN(100))*time.Hour), map[string]*oracle.Use{}
			for _, q := range queues {
				own[q] = &oracle.Use{}
			}
			for range 60 {
				held, next := map[string]float64{}, now.Add(time.Duration(r.Int64N(int64(9*time.Hour))))
				for _, q := range queues {
					held[q] = float64(r.IntN(4))
					own[q].Had(now, next, held[q])
				}
				pass(l, now, next, held, c)
				now = next
				parent := queues[r.IntN(2)]
				tr := tree("a", "", "b", "", "c", parent)
				l.Bind(tr)
				is := hours(l, tr, c)
				for _, q := range append(queues, "root") {
					use := &oracle.Use{}
					for _, below := range queues {
						if q == "root" || below == q || below == "c" && parent == q {
							use.Add(own[below])
						}
					}
					least, most := use.Used(window, now)
					require.GreaterOrEqual(t, is[q], least-1e-9*max(1, least), "%s of %s at %s", window, q, now)
					require.LessOrEqual(t, is[q], most+1e-9*max(1, most), "%s of %s at %s", window, q, now)
				}
			}
		}
	}
}
