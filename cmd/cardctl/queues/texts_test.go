package queues

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestShortTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                              "0s",
		90 * time.Second:               "1m30s",
		10 * time.Minute:               "10m",
		90 * time.Minute:               "1h30m",
		24 * time.Hour:                 "24h",
		24*time.Hour + 5*time.Second:   "24h0m5s",
		100*time.Hour + 10*time.Minute: "100h10m",
	} {
		assert.Equal(t, want, ShortTime(d))
	}
}

// TestRemaining formats the times of budgets and of usage for readers.
func TestRemaining(t *testing.T) {
	low, high := 0.5, 1.5
	for name, test := range map[string]struct {
		until       *metav1.Duration
		level       *float64
		spent, kept string
	}{
		"never":      {nil, &high, "", Never},
		"no level":   {nil, nil, "", ""},
		"now":        {seconds(0), &high, UsedUp, AtOnce},
		"half a day": {seconds(12 * time.Hour), &high, "12h", "12h"},
		"even":       {seconds(time.Hour), &low, "60m", Even},
	} {
		assert.Equal(t, test.spent, (&Budget{SpentIn: test.until}).SpentText(), name)
		assert.Equal(t, test.kept, (&Used{EvenKept: test.until, Level: test.level}).KeptText(), name)
	}
}
