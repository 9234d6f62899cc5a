package policy

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/capacity-card/capacity-card/index/card"
)

// The annotations of jobs that name whose they are, on the PodGroup or the pods.
const (
	UserKey   = "volcano.sh/user"
	GroupsKey = "volcano.sh/groups" // separated by commas
)

// The keys of limits. labelPrefix begins that of a label.
const (
	userLimits  = "user"
	groupLimits = "group"
	labelPrefix = "label:"
	others      = "*"
)

// HolderLimits are the limits that a queue has for one key of jobs: user, group, or label: and the name of a label.
type HolderLimits struct {
	Key    string
	Limits []HolderLimit
}

// HolderLimit is the limit of a value, or of each other value by itself. One without cards limits nothing.
type HolderLimit struct {
	Value string // "" for the jobs without the key
	Other bool
	Cards []card.Entry
}

// CountHolderLimits returns the number of limits that a queue has, those of namespaces as one. cards reports whether
// cards count.
func (v *Values) CountHolderLimits(cards bool) (n int) {
	if v[NamespaceCards].Set || v[NamespaceCapability].Set {
		n++
	}
	if cards {
		for _, of := range v[HolderCards].Holders {
			n += len(of.Limits)
		}
	}
	return n
}

// HolderCardNames returns the cards and groups of cards that limits of holders name, in order.
func HolderCardNames(annotations map[string]string) (names []string) {
	var v Value
	if !parseHolders(&v, annotations[card.HolderKey]) {
		return nil
	}
	for _, of := range v.Holders {
		for _, limit := range of.Limits {
			for _, entry := range limit.Cards {
				names = append(names, entry.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CompareHolderKeys orders keys as they are asked: namespace, user, group, and labels by name.
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
	return 0
}

// parseHolders parses limits of holders, sorted by key and value. One bad key makes the whole annotation wrong.
func parseHolders(v *Value, text string) bool {
	keys, ok := members(text)
	for _, key := range keys {
		values, good := members(key.Text)
		ok = ok && good && isHolderKey(key.Name)
		of := HolderLimits{Key: key.Name}
		for _, value := range values {
			entries, problems := card.ParseQuota(value.Text)
			ok = ok && len(problems) == 0
			limit := HolderLimit{Value: value.Name, Other: value.Name == others, Cards: entries}
			if limit.Other {
				limit.Value = ""
			}
			of.Limits = append(of.Limits, limit)
		}
		if len(of.Limits) > 0 {
			v.Holders = append(v.Holders, of)
		}
	}
	slices.SortFunc(v.Holders, func(x, y HolderLimits) int { return CompareHolderKeys(x.Key, y.Key) })
	return ok
}

// members returns the members of a JSON object, sorted by name, and whether each name is there once.
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

// isHolderKey reports whether a key of jobs can have limits.
func isHolderKey(key string) bool {
	label, isLabel := strings.CutPrefix(key, labelPrefix)
	if isLabel {
		return len(validation.IsQualifiedName(label)) == 0
	}
	return key == userLimits || key == groupLimits
}
