package format

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
)

func TestReadable(t *testing.T) {
	assert.Equal(t, 1.5, Readable(fastres.CPU, 1500))
	assert.Equal(t, 1500.0, Readable(fastres.Memory, 1500))
	assert.Equal(t, 3.0, Readable(fastres.Pods, 3))
	assert.Equal(t, 0.5, Readable(fastres.Pods+1, 500), "a card")
}

func TestCardHours(t *testing.T) {
	for hours, want := range map[float64]string{0.12345: "0.123", 0.9999: "1", 1.26: "1.3", 1234: "1234"} {
		assert.Equal(t, want, CardHours(hours))
	}
}

func TestMinute(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.FixedZone("CET", 3600))

	assert.Equal(t, "2026-12-01T11:00Z", Minute(noon))
	assert.Equal(t, "2026-12-01T11:01Z", Minute(noon.Add(time.Second)), "rounded up")
	assert.Empty(t, Minute(time.Time{}))
}

func TestAmount(t *testing.T) {
	assert.Equal(t, "1.5Gi", Amount("memory", 1.5*(1<<30), Gi))
	assert.Equal(t, "512Mi", Amount("memory", 1<<29, Mi))
	assert.Equal(t, "1.5", Amount("cpu", 1.5, Gi))
}
