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

// The labels of NVIDIA GPU feature discovery that the names of shared cards need, beside that of the
// product.
const (
	memoryLabel   = "nvidia.com/gpu.memory"           // of one whole card, in MiB
	replicasLabel = "nvidia.com/gpu.replicas"         // shared cards per whole card
	sharingLabel  = "nvidia.com/gpu.sharing-strategy" // none, mps or time-slicing
	timeSlicing   = "time-slicing"
)

// The resources of the NVIDIA device plugin: whole cards, MPS or time slices with renameByDefault, and
// MIG with the mixed strategy.
const (
	wholeNVIDIA    = "nvidia.com/gpu"
	sharedResource = "nvidia.com/gpu.shared"
	migPrefix      = "nvidia.com/mig-" // followed by the profile, such as 1g.18gb
)

// Card is a card that a node has, with the number of them.
type Card struct {
	Name     string
	Resource v1.ResourceName
	Milli    Milli // allocatable, at least 0
	// Former is the name of an MPS slice that a time slice had once, "" for none. Annotations may still have it.
	Former string
	// Model is the least that one of the cards has, if pods can have fractions of them.
	Model
}

// Unlabeled is a card resource of a node that lacks the label that names the card.
type Unlabeled struct {
	Resource v1.ResourceName
	Label    string // the label, or annotation of a Sharing, which is missing or bad
}

// Inventory is the cards of a node. It has a resource at most once, but for several models of which pods can
// have fractions.
type Inventory struct {
	Cards     []Card      // sorted by Resource, and by Name
	Unlabeled []Unlabeled // sorted by Resource
	Devices   []Device    // that the node registers, sorted by Number and UUID
	Problems  []Problem   // of registrations; the Key is the annotation
}

// Discover returns the cards of a node from its labels and its status.allocatable. The
// result depends on these and on named alone.
//
// A label <vendor>/<type>.product, or an entry of named, names a whole card with the resource
// <vendor>/<type>. If the resource is not allocatable, the node has 0 of them: pods on a node keep
// their cards while the device plugin restarts. Without such a label, the one that the vendor documents
// names what is allocatable. Shared cards come from allocatable, and their names
// from the labels of NVIDIA GPU feature discovery. A resource that named or OfVendor knows is a card's
// without a label as well.
func Discover(labels map[string]string, allocatable v1.ResourceList, named Labels) Inventory {
	var found Inventory
	whole := func(resource v1.ResourceName, label string) {
		product := labels[label]
		quantity, has := allocatable[resource]
		if plain(product) {
			found.Cards = append(found.Cards, Card{Name: product, Resource: resource, Milli: MilliOf(quantity)})
		} else if has {
			found.Unlabeled = append(found.Unlabeled, Unlabeled{Resource: resource, Label: label})
		}
	}
	for label := range labels {
		if resource, ok := wholeResource(label); ok && named.on(labels, resource) == label {
			whole(resource, label)
		}
	}
	for resource, label := range named {
		if _, ok := labels[label]; ok && label != string(resource)+productSuffix {
			whole(resource, label)
		}
	}
	for resource, quantity := range allocatable {
		if shared(string(resource)) {
			if c, bad := sharedCard(string(resource), labels, named); bad == "" {
				c.Milli = MilliOf(quantity)
				found.Cards = append(found.Cards, c)
			} else {
				found.Unlabeled = append(found.Unlabeled, Unlabeled{Resource: resource, Label: bad})
			}
			continue
		}
		switch label := named.on(labels, resource); {
		case label == "" && named.Known(resource):
			found.Unlabeled = append(found.Unlabeled, Unlabeled{Resource: resource, Label: named.Of(resource)})
		case label != "" && named[resource] == "" && label != string(resource)+productSuffix:
			whole(resource, label)
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
	return v1.ResourceName(name), vendor != "" && cardType != "" && name != sharedResource && !strings.HasPrefix(name, migPrefix)
}

// shared reports whether a resource is the resource of a shared card.
func shared(name string) bool {
	profile, mig := strings.CutPrefix(name, migPrefix)
	return mig && plain(profile) || name == sharedResource
}

// sharedCard returns the shared card of a resource, or the first of the labels for its name that is
// missing or bad.
func sharedCard(resource string, labels map[string]string, named Labels) (c Card, bad string) {
	c.Resource = v1.ResourceName(resource)
	label := named.Of(wholeNVIDIA)
	product := labels[label]
	if !plain(product) {
		return c, label
	}
	if profile, ok := strings.CutPrefix(resource, migPrefix); ok {
		c.Name = product + "/mig-" + profile + "-mixed"
		return c, ""
	}
	mebibytes, replicas := count(labels[memoryLabel]), count(labels[replicasLabel])
	gibibytes := mebibytes/1024 + (mebibytes%1024+512)/1024 // rounded to the nearest
	mps := product + "/mps-" + strconv.FormatUint(gibibytes, 10) + "g*1/" + strconv.FormatUint(replicas, 10)
	slices := labels[sharingLabel] == timeSlicing
	switch {
	case !slices && gibibytes == 0:
		return c, memoryLabel
	case replicas == 0:
		return c, replicasLabel
	case !slices:
		c.Name = mps
		return c, ""
	}
	c.Name = product + "/ts*1/" + strconv.FormatUint(replicas, 10)
	if gibibytes > 0 {
		c.Former = mps
	}
	return c, ""
}

// ResourceOf returns the resource of a shared card, which its name implies. It returns
// false for every other name: only nodes show the resource of a whole card.
func ResourceOf(name string) (v1.ResourceName, bool) {
	product, part, _ := strings.Cut(name, "/")
	if !plain(product) {
		return "", false
	}
	if replicas, ok := strings.CutPrefix(part, "ts*1/"); ok {
		return sharedResource, count(replicas) > 0
	}
	if size, ok := strings.CutPrefix(part, "mps-"); ok {
		gibibytes, replicas, _ := strings.Cut(size, "g*1/")
		if count(gibibytes) > 0 && count(replicas) > 0 {
			return sharedResource, true
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
