package policy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/capacity-card/capacity-card/index/card"
)

// The annotations of jobs that name their holders, on the PodGroup or the pods.
const (
	UserKey   = "volcano.sh/user"
	GroupsKey = "volcano.sh/groups" // separated by commas
)

// The keys of limits. A key of a label begins with labelPrefix.
const (
	namespaceLimits = "namespace"
	userLimits      = "user"
	groupLimits     = "group"
	labelPrefix     = "label:"
	others          = "*"
)

// HolderLimits are the limits of a queue for one key of jobs: namespace, user, group, or label: and the name of a
// label.
type HolderLimits struct {
	Key    string
	Limits []HolderLimit
}

// HolderLimit is the limit of one value, or of every other value by itself. It bounds nothing that it does not name.
type HolderLimit struct {
	Value     string // "" for the jobs without the key
	Other     bool
	Cards     []card.Entry
	Resources v1.ResourceList
}

// Bounds reports whether the limit names anything that counts. cards reports whether cards count.
func (l *HolderLimit) Bounds(cards bool) bool {
	return len(l.Resources) > 0 || cards && len(l.Cards) > 0
}

// Holders returns the limits of the queue itself, by key.
func (v *Values) Holders() []HolderLimits { return v[HolderQuota].Holders }

// CountHolderLimits returns the number of limits of a queue that bound anything. cards reports whether cards count.
func (v *Values) CountHolderLimits(cards bool) (n int) {
	for _, h := range v.Holders() {
		for i := range h.Limits {
			if h.Limits[i].Bounds(cards) {
				n++
			}
		}
	}

	return n
}

// HolderCardNames returns the sorted names of the cards and groups of cards in the limits of holders.
func HolderCardNames(annotations map[string]string) (names []string) {
	var v Value
	if !parseHolders(&v, annotations[card.HolderKey]) {
		return nil
	}

	for _, h := range v.Holders {
		for _, limit := range h.Limits {
			for _, entry := range limit.Cards {
				names = append(names, entry.Name)
			}
		}
	}

	slices.Sort(names)
	return slices.Compact(names)
}

// UnboundKeys returns the keys with a limit for every value, and none for jobs without the key: nothing bounds such
// jobs. Every job has a namespace.
func UnboundKeys(annotations map[string]string) (keys []string) {
	var v Value
	if !parseHolders(&v, annotations[card.HolderKey]) {
		return nil
	}

	for _, h := range v.Holders {
		without := func(l HolderLimit) bool { return l.Value == "" && !l.Other }
		every := func(l HolderLimit) bool { return l.Other }
		if h.Key != namespaceLimits && slices.ContainsFunc(h.Limits, every) && !slices.ContainsFunc(h.Limits, without) {
			keys = append(keys, h.Key)
		}
	}
	return keys
}

// CompareHolderKeys orders keys as they are checked: namespace, user, group, and labels by name.
func CompareHolderKeys(x, y string) int {
	return cmp.Or(cmp.Compare(rankOf(x), rankOf(y)), strings.Compare(x, y))
}

func rankOf(key string) int {
	switch {
	case strings.HasPrefix(key, labelPrefix):
		return 3
	case key == groupLimits:
		return 2
	case key == userLimits:
		return 1
	}
	return 0 // namespaceLimits
}

// parseHolders parses limits of holders, sorted by key and value. One bad key makes the whole annotation wrong.
func parseHolders(v *Value, text string) bool {
	keys, ok := members(text)
	for _, key := range keys {
		limits, good := parseLimits(key.Text)
		ok = ok && good && IsHolderKey(key.Name)
		if len(limits) > 0 {
			v.Holders = append(v.Holders, HolderLimits{Key: key.Name, Limits: limits})
		}
	}

	slices.SortFunc(v.Holders, func(x, y HolderLimits) int { return CompareHolderKeys(x.Key, y.Key) })

	return ok
}

// parseLimits parses the limits of one key, sorted by value.
func parseLimits(text string) (limits []HolderLimit, ok bool) {
	values, ok := members(text)
	for _, value := range values {
		limit := HolderLimit{Value: value.Name}
		good := limit.parse(value.Text)
		ok = ok && good

		if value.Name == others {
			limit.Value = ""
			limit.Other = true
		}
		limits = append(limits, limit)
	}

	return limits, ok
}

// parse parses the amounts of a limit: a string is a quantity of a resource, and anything else is a number of cards.
func (l *HolderLimit) parse(text string) bool {
	all, ok := members(text)
	counts := map[string]json.RawMessage{}
	for _, m := range all {
		if !strings.HasPrefix(m.Text, `"`) {
			counts[m.Name] = json.RawMessage(m.Text)
			continue
		}

		name := v1.ResourceName(strings.TrimSpace(m.Name))
		quantity, good := parseQuantity(m.Text)
		_, again := l.Resources[name]
		ok = ok && good && !again && name != ""
		if l.Resources == nil {
			l.Resources = v1.ResourceList{}
		}
		l.Resources[name] = quantity
	}

	cards, _ := json.Marshal(counts) // all members are valid JSON
	entries, problems := card.ParseQuota(string(cards))
	l.Cards = entries

	return ok && len(problems) == 0
}

// members returns the members of a JSON object, sorted by name. ok is false for a text that is not one JSON object, or
// in which a name is repeated.
func members(text string) (all []card.Member, ok bool) {
	all, problem := card.ReadObject(text)
	slices.SortFunc(all, func(x, y card.Member) int { return strings.Compare(x.Name, y.Name) })
	for i := 1; i < len(all); i++ {
		if all[i].Name == all[i-1].Name {
			return all, false
		}
	}

	return all, problem == ""
}

// IsHolderKey reports whether a key of jobs can have limits.
func IsHolderKey(key string) bool {
	label, isLabel := strings.CutPrefix(key, labelPrefix)
	if isLabel {
		return len(validation.IsQualifiedName(label)) == 0
	}

	return key == namespaceLimits || key == userLimits || key == groupLimits
}
