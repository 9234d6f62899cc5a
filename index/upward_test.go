package index

import (
	"slices"
	"testing"
)

// TestUpward ends at the top, and in a cycle of parents.
func TestUpward(t *testing.T) {
	parents := map[string]string{"a": "b", "b": "c", "x": "y", "y": "z", "z": "y"}
	parent := func(name string) string { return parents[name] }
	for queue, want := range map[string][]string{"a": {"a", "b", "c"}, "c": {"c"}, "": nil, "x": {"x", "y", "z"}, "y": {"y", "z"}} {
		if got := slices.Collect(Upward(queue, parent)); !slices.Equal(got, want) {
			t.Errorf("Upward(%q) is %v, want %v", queue, got, want)
		}
	}
}
