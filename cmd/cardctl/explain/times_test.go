package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index/override"
)

// TestChangeTimes begins with the earlier one of the dates of two windows.
func TestChangeTimes(t *testing.T) {
	var none time.Time
	one := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	two := one.Add(time.Hour)
	for name, c := range map[string]struct{ a, b, want time.Time }{
		"the first":        {one, two, one},
		"the second":       {two, one, one},
		"only the first":   {one, none, one},
		"only the second":  {none, two, two},
		"none of the two":  {none, none, none},
		"both at one time": {one, one, one},
	} {
		var all override.Overrides
		for _, from := range []time.Time{c.a, c.b} {
			if !from.IsZero() {
				own, problems := override.Parse(`[{"from": "` + from.Format("2006-01-02T15:04Z07:00") + `", "until": "2027-01-01T00:00Z", "weight": 2}]`)
				require.Empty(t, problems)
				all = append(all, own...)
			}
		}

		times, complete := changeTimes(all, one.Add(-time.Hour))
		assert.True(t, complete, name)
		var first time.Time
		if len(times) > 0 {
			first = times[0].UTC()
		}
		assert.Equal(t, c.want, first, name)
	}
}
