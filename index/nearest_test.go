package index

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"capability", "deserved", "NVIDIA-H200", "NVIDIA-H800", "gpu", "deserve", "B"}
	for name, want := range map[string]string{
		"capabilty": "capability", "Capability": "capability", "desevred": "deserved", "NVIDIA-H20": "NVIDIA-H200", "nvidia-h800": "NVIDIA-H800",
		"NVIDIA-H300": "NVIDIA-H200",                // the first of two that are as near
		"cpu":         "gpu", "deserved": "deserve", // never the name itself
		"guarantee": "", "": "", "xyz": "", "größe": "", "NVIDIA-A100": "", "A": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestNearestOfLongNames compares no names of any length: two of a megabyte would need a terabyte.
func TestNearestOfLongNames(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for name, names := range map[string][]string{long: {"a", long + "b"}, "a": {long}} {
		if got := Nearest(name, names); got != "" {
			t.Errorf("the nearest of a name of %d characters has %d", len(name), len(got))
		}
	}
	longest := long[:mostCompared]
	if got := Nearest(longest[1:]+"b", []string{longest}); got != longest {
		t.Errorf("the longest name has no nearest")
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"wieght", "weight", 1}, {"ca", "abc", 3}, {"größe", "grösse", 2}} {
		if got := distance([]rune(c.from), []rune(c.to)); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.from, c.to, got, c.want)
		}
	}
}
