package card

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGroupWeights(t *testing.T) {
	const seventh = 149796.0 / (1 << 20)
	for _, tt := range []struct {
		name    string
		entries map[string]string
		want    map[string]float64
	}{
		{"cards by name", map[string]string{"A": "1", "B": "2.5"}, map[string]float64{"A": 1, "B": 2.5, "C": 0, "A/mig-1g.10gb-mixed": 0}},
		{"a fraction is rounded down to a multiple of 2^-20", map[string]string{"A": "1/7", "B": "1/2"}, map[string]float64{"A": seventh, "B": 0.5}},
		{"all others", map[string]string{"A": "2", "*": "1/2"}, map[string]float64{"A": 2, "B": 0.5, "A/ts*1/4": 0.5}},
		{"the longest pattern", map[string]string{"NVIDIA-*": "1", "NVIDIA-A*": "2", "NVIDIA-A100": "3"},
			map[string]float64{"NVIDIA-H200": 1, "NVIDIA-A30": 2, "NVIDIA-A100": 3, "Ascend910": 0}},
		{"the parts of slices", map[string]string{"A": "1", "A/*": "share"},
			map[string]float64{"A": 1, "A/mig-1g.10gb-mixed": seventh, "A/mps-80g*1/8": 0.125, "A/ts*1/4": 0.25, "A/other": 0, "B/ts*1/4": 0}},
		{"the slices of an A30", map[string]string{"*": "share"}, map[string]float64{"NVIDIA-A30/mig-1g.6gb-mixed": 0.25, "NVIDIA-A30": 1}},
		{"compute slices", map[string]string{"*": "g"},
			map[string]float64{"A/mig-3g.40gb-mixed": 3, "A/mig-1c.3g.40gb-mixed": 3, "A/mig-1g.10gb.me-mixed": 1, "A": 0, "A/mps-80g*1/8": 0}},
		{"memory", map[string]string{"*": "memory"},
			map[string]float64{"A/mig-3g.40gb-mixed": 40, "A/mps-80g*1/8": 10, "A/ts*1/4": 0, "A": 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := NewGroup("g", tt.entries)
			require.NoError(t, err)
			for card, want := range tt.want {
				weight, has := g.Of(card)
				assert.Equal(t, want > 0, has, card)
				if has {
					assert.Equal(t, want, weight, card)
				}
			}
		})
	}
}

// TestSevenSeventhsFitIntoOne adds the parts of a card up.
func TestSevenSeventhsFitIntoOne(t *testing.T) {
	for n := 1; n <= 64; n++ {
		g, err := NewGroup("g", map[string]string{"A": fmt.Sprintf("1/%d", n)})
		require.NoError(t, err)
		weight, _ := g.Of("A")
		sum := 0.0
		for range n {
			sum += weight * 1000
		}
		assert.LessOrEqual(t, sum, 1000.0, n)
		assert.Greater(t, sum, 999.9, n)
		for range n {
			sum -= weight * 1000
		}
		assert.Zero(t, sum, n)
	}
}

func TestBadGroups(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries map[string]string
		want    string
	}{
		{"Big Cards", map[string]string{"A": "1"}, "the name is not valid: "},
		{"g", nil, "it has no cards"},
		{"g", map[string]string{"A|B": "1"}, `"A|B" is not a card`},
		{"g", map[string]string{"@h": "1"}, `"@h" is not a card`},
		{"g", map[string]string{"": "1"}, `"" is not a card`},
		{"g", map[string]string{"A": "0"}, `the weight "0" of A is not a number above 0`},
		{"g", map[string]string{"A": "-1"}, `the weight "-1" of A is not a number above 0`},
		{"g", map[string]string{"A": "1/0"}, `the weight "1/0" of A is not a number above 0`},
		{"g", map[string]string{"A": "NaN"}, `the weight "NaN" of A is not a number above 0`},
		{"g", map[string]string{"A": "1e9"}, `the weight "1e9" of A is not a number above 0 and up to 4096`},
		{"g", map[string]string{"A": "1e-9"}, `the weight "1e-9" of A is not a number above 0`},
		{"g", map[string]string{"A": "much"}, `the weight "much" of A is not a number above 0 and up to 4096, a fraction such as 1/7, share, g or memory`},
	} {
		g, err := NewGroup(tt.name, tt.entries)
		assert.Nil(t, g)
		require.ErrorContains(t, err, tt.want)
	}
}

func TestOverlappingGroups(t *testing.T) {
	group := func(patterns ...string) Group {
		entries := map[string]string{}
		for _, p := range patterns {
			entries[p] = "1"
		}
		g, err := NewGroup("g", entries)
		require.NoError(t, err)
		return g
	}
	for _, tt := range []struct {
		groups Groups
		want   []string
	}{
		{Groups{"x": group("A"), "y": group("B")}, nil},
		{Groups{"x": group("A", "C"), "y": group("B", "C"), "z": group("D")}, []string{"x", "y"}},
		{Groups{"x": group("A"), "y": group("A/*")}, nil},
		{Groups{"x": group("A/mig-1g.10gb-mixed"), "y": group("A/*")}, []string{"x", "y"}},
		{Groups{"x": group("A*"), "y": group("A/*"), "z": group("B*")}, []string{"x", "y"}},
		{Groups{"x": group("*"), "y": group("B")}, []string{"x", "y"}},
	} {
		assert.Equal(t, tt.want, tt.groups.Overlapping())
	}
}
