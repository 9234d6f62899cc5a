package card

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// productSuffix ends the label that names the whole cards of <vendor>/<type>.
const productSuffix = ".product"

// The labels that NVIDIA GPU feature discovery gives a node, as far as the names
// of shared cards need them.
const (
	productLabel  = "nvidia.com/gpu.product"
	memoryLabel   = "nvidia.com/gpu.memory"   // of one whole card, in MiB
	replicasLabel = "nvidia.com/gpu.replicas" // shared cards per whole card
)

// The resources that the NVIDIA device plugin gives shared cards: MPS with
// renameByDefault, MIG with the mixed strategy.
const (
	mpsResource = "nvidia.com/gpu.shared"
	migPrefix   = "nvidia.com/mig-" // followed by the profile, such as 1g.18gb
)

// Card is one kind of card that a node has.
type Card struct {
	Name     string
	Resource v1.ResourceName
	Milli    Milli // allocatable, 0 or more
}

// Unlabeled is a card resource of a node that lacks the label that names the card.
type Unlabeled struct {
	Resource v1.ResourceName
	Label    string // the label that is missing or bad
}

// Inventory is what a node has. A resource is in it at most once.
type Inventory struct {
	Cards     []Card      // sorted by Resource
	Unlabeled []Unlabeled // sorted by Resource
}

// Discover returns the cards of a node with these labels and this
// status.allocatable. Whole cards come from any label <vendor>/<type>.product,
// and have 0 where the resource <vendor>/<type> is not allocatable: their pods
// still run while a device plugin restarts. Shared cards come from allocatable,
// and need the labels of NVIDIA GPU feature discovery for their names.
func Discover(labels map[string]string, allocatable v1.ResourceList) Inventory {
	var found Inventory
	for label, product := range labels {
		name, ok := wholeResource(label)
		if !ok {
			continue
		}
		quantity, has := allocatable[name]
		if plain(product) {
			found.Cards = append(found.Cards, Card{Name: product, Resource: name, Milli: MilliOf(quantity)})
		} else if has {
			found.Unlabeled = append(found.Unlabeled, Unlabeled{Resource: name, Label: label})
		}
	}
	for name, quantity := range allocatable {
		if !shared(string(name)) {
			continue
		}
		if card, bad := sharedName(string(name), labels); bad == "" {
			found.Cards = append(found.Cards, Card{Name: card, Resource: name, Milli: MilliOf(quantity)})
		} else {
			found.Unlabeled = append(found.Unlabeled, Unlabeled{Resource: name, Label: bad})
		}
	}
	slices.SortFunc(found.Cards, func(a, b Card) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	slices.SortFunc(found.Unlabeled, func(a, b Unlabeled) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return found
}

// wholeResource returns the resource of the whole cards that a label names.
// Feature discovery gives MIG profiles product labels too; those are not whole.
func wholeResource(label string) (v1.ResourceName, bool) {
	name, ok := strings.CutSuffix(label, productSuffix)
	if !ok {
		return "", false
	}
	vendor, kind, _ := strings.Cut(name, "/")
	return v1.ResourceName(name), vendor != "" && kind != "" && name != mpsResource && !strings.HasPrefix(name, migPrefix)
}

// shared reports whether a resource is that of a shared card.
func shared(name string) bool {
	profile, mig := strings.CutPrefix(name, migPrefix)
	return mig && plain(profile) || name == mpsResource
}

// sharedName returns the name of the shared card of a resource, or the first
// label it needs that is missing or bad.
func sharedName(name string, labels map[string]string) (card, bad string) {
	product := labels[productLabel]
	if !plain(product) {
		return "", productLabel
	}
	if profile, ok := strings.CutPrefix(name, migPrefix); ok {
		return product + "/mig-" + profile + "-mixed", ""
	}
	mebibytes := count(labels[memoryLabel])
	gibibytes := mebibytes/1024 + (mebibytes%1024+512)/1024 // rounded to the nearest
	if gibibytes == 0 {
		return "", memoryLabel
	}
	replicas := count(labels[replicasLabel])
	if replicas == 0 {
		return "", replicasLabel
	}
	return product + "/mps-" + strconv.FormatUint(gibibytes, 10) + "g*1/" + strconv.FormatUint(replicas, 10), ""
}

// ResourceOf returns the resource that the name of a shared card implies, and
// false for any other name: the resource of a whole card is known to nodes only.
func ResourceOf(name string) (v1.ResourceName, bool) {
	product, part, _ := strings.Cut(name, "/")
	if !plain(product) {
		return "", false
	}
	if size, ok := strings.CutPrefix(part, "mps-"); ok {
		gibibytes, replicas, _ := strings.Cut(size, "g*1/")
		if count(gibibytes) > 0 && count(replicas) > 0 {
			return mpsResource, true
		}
		return "", false
	}
	part, mixed := strings.CutSuffix(part, "-mixed")
	if profile, ok := strings.CutPrefix(part, "mig-"); ok && mixed && plain(profile) {
		return v1.ResourceName(migPrefix + profile), true
	}
	return "", false
}

// plain reports whether a text can be a part of a card name: it is not empty, and
// has nothing that separates parts or names. A label value that Kubernetes
// accepts is plain, unless it is empty.
func plain(text string) bool {
	return text != "" && !strings.ContainsAny(text, "/"+separator) && text == strings.TrimSpace(text)
}

// count reads a positive whole number, 0 if the text is none.
func count(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
