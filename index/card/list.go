package card

import "strings"

// NameKey is the annotation of a pod that lists the cards it can use, such as
// "NVIDIA-H200" or "NVIDIA-H200|NVIDIA-H800".
const NameKey = "volcano.sh/card.name"

// nameAlias is read where NameKey names no card; manifests with it are in use.
const nameAlias = "volcano.sh/card.card"

// separator stands between the cards of a list, so no name contains it.
const separator = "|"

// List is an either-or of cards, the preferred first. It has no empty names and
// no name twice. The nil List names no card.
type List []string

// ParseList reads names with "|" between them. Space around a name, empty names
// and repetitions are dropped; it returns nil where no name is left.
func ParseList(text string) List {
	if !strings.Contains(text, separator) {
		if name := strings.TrimSpace(text); name != "" {
			return List{name}
		}
		return nil
	}
	var list List
	seen := map[string]bool{}
	for name := range strings.SplitSeq(text, separator) {
		if name = strings.TrimSpace(name); name != "" && !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// String is the list as ParseList reads it, "" for the nil List.
func (l List) String() string { return strings.Join(l, separator) }

// NameOf returns the list of a pod with these annotations, nil if it names no
// card.
func NameOf(annotations map[string]string) List {
	if list := ParseList(annotations[NameKey]); list != nil {
		return list
	}
	return ParseList(annotations[nameAlias])
}
