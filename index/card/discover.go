package card

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// productSuffix ends the label <vendor>/<type>.product, which names the whole cards of a
// node.
const productSuffix = ".product"

// The labels of NVIDIA GPU feature discovery that the names of shared cards need.
const (
	productLabel  = "nvidia.com/gpu.product"
	memoryLabel   = "nvidia.com/gpu.memory"   // of one whole card, in MiB
	replicasLabel = "nvidia.com/gpu.replicas" // shared cards per whole card
)

// The resources of shared cards in the NVIDIA device plugin: MPS with renameByDefault, MIG
// with the mixed strategy.
const (
	mpsResource = "nvidia.com/gpu.shared"
	migPrefix   = "nvidia.com/mig-" // followed by the profile, such as 1g.18gb
)

// Card is a card that a node has, with the number of them.
type Card struct {
	Name     string
	Resource v1.ResourceName
	Milli    Milli // allocatable, at least 0
}

// Unlabeled is a card resource of a node that lacks the label that names the card.
type Unlabeled struct {
	Resource v1.ResourceName
	Label    string // the label, which is missing or bad
}

// Inventory is the cards of a node. It has a resource at most once.
type Inventory struct {
	Cards     []Card      // sorted by Resource
	Unlabeled []Unlabeled // sorted by Resource
}

// Discover returns the cards of a node from its labels and its status.allocatable. The
// result depends on these two alone.
//
// A label <vendor>/<type>.product names a whole card with the resource <vendor>/<type>. If
// the resource is not allocatable, the node has 0 of them: pods on a node keep their cards
// while the device plugin restarts. Shared cards come from allocatable, and their names
// from the labels of NVIDIA GPU feature discovery. A resource that OfVendor knows is a card's
// without a label as well.
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
			if _, read := labels[Label(name)]; !read && OfVendor(name) {
				found.Unlabeled = append(found.Unlabeled, Unlabeled{Resource: name, Label: Label(name)})
			}
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

// wholeResource returns the resource of the whole cards that a label names. MIG profiles
// have product labels too, but are not whole cards.
func wholeResource(label string) (v1.ResourceName, bool) {
	name, ok := strings.CutSuffix(label, productSuffix)
	if !ok {
		return "", false
	}
	vendor, cardType, _ := strings.Cut(name, "/")
	return v1.ResourceName(name), vendor != "" && cardType != "" && name != mpsResource && !strings.HasPrefix(name, migPrefix)
}

// shared reports whether a resource is the resource of a shared card.
func shared(name string) bool {
	profile, mig := strings.CutPrefix(name, migPrefix)
	return mig && plain(profile) || name == mpsResource
}

// sharedName returns the name of the shared card of a resource, or the first of the labels
// for its name that is missing or bad.
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

// ResourceOf returns the resource of a shared card, which its name implies. It returns
// false for every other name: only nodes show the resource of a whole card.
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

// plain reports whether a text can be a part of a card name: it is not empty, is trimmed,
// and contains neither "/" nor "|". Every label value that Kubernetes accepts is plain,
// except the empty one.
func plain(text string) bool {
	return text != "" && !strings.ContainsAny(text, "/"+separator) && text == strings.TrimSpace(text)
}

// count parses a positive whole number. It returns 0 for any other text.
func count(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
