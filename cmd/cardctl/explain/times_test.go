package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEarlier(t *testing.T) {
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
		assert.Equal(t, c.want, earlier(c.a, c.b), name)
	}
}
