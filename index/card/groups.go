package card

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// GroupPrefix begins the name of a group of cards in a quota. No label of a node does.
const GroupPrefix = "@"

// Groups are groups of cards by name, without GroupPrefix: the argument cardGroups.
type Groups map[string]Group

// Group is a group of cards. Entries are patterns of cards, each with the weight of a whole card of
// that name. Where several match a card, its own name counts, or else the longest pattern.
type Group []Weight

// Weight is one entry of a group: a number, or a word that gives the weight of slices.
type Weight struct {
	Pattern string // a card; or a prefix of cards, with "*" behind it
	Text    string // as given
}

// The words that give a slice of a card the weight that its name states.
const (
	byShare  = "share"  // the part of the card: 1/7 per compute slice of MIG, 1/replicas of MPS and time slices
	bySlices = "g"      // the compute slices of MIG
	byMemory = "memory" // the memory in GB of MIG, in GiB of MPS
)

// weightUnit is the unit of weights. Larger than that, a weight is rounded down to a multiple: seven
// sevenths of a card fit into one.
const weightUnit = 1.0 / (1 << 20)

// maxWeight keeps sums of weighted cards exact.
const maxWeight = 1 << 12

// NewGroup returns a group of the entries, or why it cannot be one.
func NewGroup(name string, entries map[string]string) (Group, error) {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return nil, fmt.Errorf("the name is not valid: %s", wrong[0])
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("it has no cards")
	}
	var g Group
	for _, pattern := range slices.Sorted(maps.Keys(entries)) {
		w := Weight{pattern, entries[pattern]}
		if pattern == "" || strings.HasPrefix(pattern, GroupPrefix) || strings.Contains(pattern, separator) {
			return nil, fmt.Errorf("%q is not a card", cut(pattern))
		}
		if !slices.Contains([]string{byShare, bySlices, byMemory}, w.Text) {
			if x, ok := parseWeight(w.Text); !ok || x < weightUnit || x > maxWeight {
				return nil, fmt.Errorf("the weight %q of %s is not a number above 0 and up to %d, a fraction such as 1/7, %s, %s or %s",
					cut(w.Text), cut(pattern), maxWeight, byShare, bySlices, byMemory)
			}
		}
		g = append(g, w)
	}
	slices.SortStableFunc(g, func(x, y Weight) int { return cmp.Compare(len(y.Pattern), len(x.Pattern)) })
	return g, nil
}

// Of returns the weight of a card in the group, and whether the group has the card. A word gives a
// card that is no such slice no weight, and the group does not have it.
func (g Group) Of(name string) (weight float64, has bool) {
	if i := slices.IndexFunc(g, func(w Weight) bool { return w.Pattern == name }); i >= 0 {
		return g[i].of(name)
	}
	for _, w := range g { // the longest first
		if prefix, ok := strings.CutSuffix(w.Pattern, "*"); ok && strings.HasPrefix(name, prefix) {
			return w.of(name)
		}
	}
	return 0, false
}

func (w Weight) of(name string) (weight float64, has bool) {
	x, ok := parseWeight(w.Text)
	if !ok {
		x, ok = sliceOf(name).by(w.Text)
	}
	x = math.Floor(x/weightUnit) * weightUnit
	return x, ok && x > 0
}

// parseWeight parses a decimal or a fraction.
func parseWeight(text string) (x float64, ok bool) {
	above, below, fraction := strings.Cut(text, "/")
	x, err := strconv.ParseFloat(above, 64)
	if err == nil && fraction {
		var by float64
		by, err = strconv.ParseFloat(below, 64)
		x /= by
	}
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// slice is the part of a card that the name of a card states. A quantity that the name does not state
// is 0.
type slice struct{ share, compute, memory float64 }

func (s slice) by(word string) (x float64, ok bool) {
	switch word {
	case byShare:
		x = s.share
	case bySlices:
		x = s.compute
	case byMemory:
		x = s.memory
	}
	return x, x > 0
}

// sliceOf reads the name of a card. A whole card is the share 1 of itself.
func sliceOf(name string) slice {
	product, part, sliced := strings.Cut(name, "/")
	if !sliced {
		return slice{share: 1}
	}
	var compute, memory, replicas float64
	if profile, mig := strings.CutPrefix(part, "mig-"); mig {
		all := 7.0
		if strings.HasSuffix(product, "-A30") {
			all = 4
		}
		if _, rest, c := strings.Cut(profile, "c."); c {
			profile = rest // 1c.3g.20gb: a compute instance has the memory of its GPU instance
		}
		if n, _ := fmt.Sscanf(profile, "%fg.%fgb", &compute, &memory); n == 2 {
			return slice{share: compute / all, compute: compute, memory: memory}
		}
		return slice{}
	}
	if n, _ := fmt.Sscanf(part, "mps-%fg*1/%f", &memory, &replicas); n == 2 && replicas > 0 {
		return slice{share: 1 / replicas, memory: memory / replicas}
	}
	if n, _ := fmt.Sscanf(part, "ts*1/%f", &replicas); n == 1 && replicas > 0 {
		return slice{share: 1 / replicas}
	}
	return slice{}
}

// Add adds what the groups have of an amount of a card to sums by name, with GroupPrefix. Each group gets
// an entry.
func (g Groups) Add(sums map[string]float64, name string, amount float64) {
	for group, cards := range g {
		weight, _ := cards.Of(name)
		sums[GroupPrefix+group] += weight * amount
	}
}

// Overlapping returns the names of the groups that can have a card in common with another one, sorted.
func (g Groups) Overlapping() (names []string) {
	for _, pair := range g.Overlaps() {
		names = append(names, pair[:]...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Overlaps returns the pairs of groups that can have a card in common, sorted.
func (g Groups) Overlaps() (pairs [][2]string) {
	names := slices.Sorted(maps.Keys(g))
	for i, name := range names {
		for _, other := range names[i+1:] {
			if g[name].meets(g[other]) {
				pairs = append(pairs, [2]string{name, other})
			}
		}
	}
	return pairs
}

// meets reports whether the name of some card matches an entry of both groups.
func (g Group) meets(other Group) bool {
	return slices.ContainsFunc(g, func(x Weight) bool {
		return slices.ContainsFunc(other, func(y Weight) bool { return x.meets(y.Pattern) || y.meets(x.Pattern) })
	})
}

// meets reports whether the pattern matches a card, or all that another pattern does.
func (w Weight) meets(pattern string) bool {
	prefix, open := strings.CutSuffix(w.Pattern, "*")
	return w.Pattern == pattern || open && strings.HasPrefix(pattern, prefix)
}
