package card

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// NameKey is the annotation of a pod with its card list, such as "NVIDIA-H200" or
// "NVIDIA-H200|NVIDIA-H800".
const NameKey = "volcano.sh/card.name"

// nameAlias counts if NameKey names no card. Manifests in use have it.
const nameAlias = "volcano.sh/card.card"

// separator separates the cards of a list, so no name contains it.
const separator = "|"

// List is a card list: the cards that a pod can use, the preferred first. It has no empty
// name and no name twice. The nil List names no card.
type List []string

// mostNames bounds the names of a list, which any user can write. No resource has as many cards.
const mostNames = 64

// ParseList parses names with "|" between them. It removes space around names, empty
// names, repetitions, and the names after the first 64. It returns nil if no name is left.
func ParseList(text string) List {
	if !strings.Contains(text, separator) {
		if name := strings.TrimSpace(text); name != "" {
			return List{name}
		}
		return nil
	}

	var list List
	seen := sets.New[string]()
	for name := range strings.SplitSeq(text, separator) {
		name = strings.TrimSpace(name)
		if name != "" && !seen.Has(name) && len(list) < mostNames {
			seen.Insert(name)
			list = append(list, name)
		}
	}

	return list
}

// String returns the list as ParseList parses it, "" for the nil List.
func (l List) String() string { return strings.Join(l, separator) }

// NameOf returns the card list of a pod with the given annotations, or nil if it names no
// card.
func NameOf(annotations map[string]string) List {
	if list := ParseList(annotations[NameKey]); list != nil {
		return list
	}
	return ParseList(annotations[nameAlias])
}
