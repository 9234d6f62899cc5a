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

// GroupPrefix begins the name of a group of cards in a quota. Names of cards in labels do not begin with it.
const GroupPrefix = "@"

// Groups are groups of cards by name, without GroupPrefix: the argument cardGroups.
type Groups map[string]Group

// Group is a group of cards. Each entry has a pattern of cards, and the weight of a card that matches. An entry with
// the exact name of the card comes first, then the longest pattern.
type Group []Weight

// Weight is one entry of a group: a number, or a word that gives the weight of slices.
type Weight struct {
	Pattern string // a card; or a prefix of cards, with "*" behind it
	Text    string // as given
}

// The words that take the weight of a slice from its name.
const (
	byShare  = "share"  // the part of the card: 1/7 per compute slice of MIG, 1/replicas of MPS and time slices
	bySlices = "g"      // the compute slices of MIG
	byMemory = "memory" // the memory in GB of MIG, in GiB of MPS
)

// weightUnit is the unit of weights. A weight is rounded down to a multiple of it, so that seven sevenths of a card fit
// into one card.
const weightUnit = 1.0 / (1 << 20)

// maxWeight keeps sums of weighted cards exact.
const maxWeight = 1 << 12

// NewGroup returns a group with the given entries, or the reason why they are not valid.
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
		if !w.valid() {
			return nil, fmt.Errorf(
				"the weight %q of %s is not a number above 0 and up to %d, a fraction such as 1/7, %s, %s or %s",
				cut(w.Text), cut(pattern), maxWeight, byShare, bySlices, byMemory)
		}
		g = append(g, w)
	}

	slices.SortStableFunc(g, func(x, y Weight) int { return cmp.Compare(len(y.Pattern), len(x.Pattern)) })
	return g, nil
}

// Of returns the weight of a card in the group, and whether the group has the card. A card has no weight by a word
// that does not apply to it. Then the group does not have the card.
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

// valid reports whether the text of the weight is a word, or a number in range.
func (w Weight) valid() bool {
	switch w.Text {
	case byShare, bySlices, byMemory:
		return true
	}

	x, ok := parseWeight(w.Text)
	return ok && x >= weightUnit && x <= maxWeight
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

// slice is the part of a card that the name of the card states. A quantity is 0 if the name does not state it.
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
		all := 7.0 // compute slices of the card
		if strings.HasSuffix(product, "-A30") {
			all = 4
		}

		if _, rest, c := strings.Cut(profile, "c."); c {
			profile = rest // 1c.3g.20gb: a compute instance uses the memory of its GPU instance
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

// Add adds an amount of a card to the sums of the groups. The sums are by name, with GroupPrefix. Each group gets
// an entry.
func (g Groups) Add(sums map[string]float64, name string, amount float64) {
	for group, cards := range g {
		weight, _ := cards.Of(name)
		sums[GroupPrefix+group] += weight * amount
	}
}

// Overlapping returns the names of the groups that can share a card with another group, sorted.
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

// meets reports whether both groups can match the same card.
func (g Group) meets(other Group) bool {
	return slices.ContainsFunc(g, func(x Weight) bool {
		return slices.ContainsFunc(other, func(y Weight) bool { return x.covers(y.Pattern) || y.covers(x.Pattern) })
	})
}

// covers reports whether the pattern matches a card, or every card that another pattern matches.
func (w Weight) covers(pattern string) bool {
	prefix, open := strings.CutSuffix(w.Pattern, "*")
	return w.Pattern == pattern || open && strings.HasPrefix(pattern, prefix)
}
