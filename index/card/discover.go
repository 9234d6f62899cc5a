package card

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// productSuffix ends the label <vendor>/<type>.product, which names the whole cards of a
// node.
const productSuffix = ".product"

// The labels of NVIDIA GPU feature discovery that the names of shared cards need, besides the label of the
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

// Card is a card of a node, and how many of them the node has.
type Card struct {
	Name     string
	Resource v1.ResourceName
	Milli    Milli // allocatable, at least 0
	// Former is the earlier name of a time slice, which named it as an MPS slice. It is "" if there was none.
	// Annotations may still use it.
	Former string
	// Model is the smallest model among the cards, if pods can have fractions of them.
	Model
}

func (c Card) compare(other Card) int {
	return cmp.Or(cmp.Compare(c.Resource, other.Resource), cmp.Compare(c.Name, other.Name))
}

// Unlabeled is a card resource of a node that lacks the label that names the card.
type Unlabeled struct {
	Resource v1.ResourceName
	Label    string // the label, or annotation of a Sharing, which is missing or bad
}

func (u Unlabeled) compare(other Unlabeled) int { return cmp.Compare(u.Resource, other.Resource) }

// Inventory is the cards of a node. It has each resource once. Only a resource with several models that pods can have
// fractions of is there once per model.
type Inventory struct {
	Cards     []Card      // sorted by Resource, and by Name
	Unlabeled []Unlabeled // sorted by Resource
	Devices   []Device    // registered by the node, sorted by Number and UUID
	Problems  []Problem   // problems of registrations; the Key is the annotation
}

// Discover returns the cards of a node. They follow from its labels, its status.allocatable, and named.
//
// A label <vendor>/<type>.product, or an entry of named, names a whole card with the resource
// <vendor>/<type>. Without such a label, the label that the vendor documents names an allocatable resource.
// Shared cards come from allocatable, and their names from the labels of NVIDIA GPU feature discovery. A
// resource that named or OfVendor knows belongs to a card even without a label.
func Discover(labels map[string]string, allocatable v1.ResourceList, named Labels) Inventory {
	d := discovery{labels: labels, allocatable: allocatable, named: named}

	// A labeled card counts even if its resource is not allocatable: pods on a node keep their cards while the
	// device plugin restarts.
	for label := range labels {
		resource, ok := wholeResource(label)
		if ok && named.on(labels, resource) == label {
			d.addWhole(resource, label)
		}
	}
	for resource, label := range named {
		_, labeled := labels[label]
		if labeled && label != string(resource)+productSuffix {
			d.addWhole(resource, label)
		}
	}

	for resource, quantity := range allocatable {
		if shared(string(resource)) {
			d.addShared(resource, quantity)
		} else {
			d.addAllocatable(resource)
		}
	}

	slices.SortFunc(d.found.Cards, Card.compare)
	slices.SortFunc(d.found.Unlabeled, Unlabeled.compare)

	return d.found
}

// discovery holds the arguments of Discover, and the cards found so far.
type discovery struct {
	labels      map[string]string
	allocatable v1.ResourceList
	named       Labels
	found       Inventory
}

// addWhole adds the whole cards of a resource. The label names them.
func (d *discovery) addWhole(resource v1.ResourceName, label string) {
	product := d.labels[label]
	quantity, allocatable := d.allocatable[resource]
	if plain(product) {
		d.found.Cards = append(d.found.Cards, Card{Name: product, Resource: resource, Milli: MilliOf(quantity)})
	} else if allocatable {
		d.addUnlabeled(resource, label)
	}
}

// addShared adds the shared cards of a resource.
func (d *discovery) addShared(name v1.ResourceName, quantity resource.Quantity) {
	c, bad := sharedCard(string(name), d.labels, d.named)
	if bad != "" {
		d.addUnlabeled(name, bad)
		return
	}

	c.Milli = MilliOf(quantity)
	d.found.Cards = append(d.found.Cards, c)
}

// addAllocatable adds an allocatable resource of whole cards, unless a label of its own named it already.
func (d *discovery) addAllocatable(resource v1.ResourceName) {
	label := d.named.on(d.labels, resource)
	switch {
	case label == "" && d.named.Known(resource):
		d.addUnlabeled(resource, d.named.Of(resource))
	case label != "" && d.named[resource] == "" && label != string(resource)+productSuffix:
		d.addWhole(resource, label)
	}
}

func (d *discovery) addUnlabeled(resource v1.ResourceName, label string) {
	d.found.Unlabeled = append(d.found.Unlabeled, Unlabeled{Resource: resource, Label: label})
}

// wholeResource returns the resource of the whole cards that a label names. MIG profiles
// have product labels too, but are not whole cards.
func wholeResource(label string) (v1.ResourceName, bool) {
	name, ok := strings.CutSuffix(label, productSuffix)
	if !ok {
		return "", false
	}

	vendor, cardType, _ := strings.Cut(name, "/")
	isPart := name == sharedResource || strings.HasPrefix(name, migPrefix)

	return v1.ResourceName(name), vendor != "" && cardType != "" && !isPart
}

// shared reports whether a resource is the resource of a shared card.
func shared(name string) bool {
	profile, mig := strings.CutPrefix(name, migPrefix)
	return mig && plain(profile) || name == sharedResource
}

// sharedCard returns the shared card of a resource, or the first label for its name that is
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

	mebibytes := count(labels[memoryLabel])
	gibibytes := mebibytes/1024 + (mebibytes%1024+512)/1024 // rounded to the nearest
	replicas := count(labels[replicasLabel])
	timeSliced := labels[sharingLabel] == timeSlicing

	mps := product + "/mps-" + strconv.FormatUint(gibibytes, 10) + "g*1/" + strconv.FormatUint(replicas, 10)
	switch {
	case !timeSliced && gibibytes == 0:
		return c, memoryLabel
	case replicas == 0:
		return c, replicasLabel
	case !timeSliced:
		c.Name = mps
		return c, ""
	}

	c.Name = product + "/ts*1/" + strconv.FormatUint(replicas, 10)
	if gibibytes > 0 {
		c.Former = mps
	}

	return c, ""
}

// ResourceOf returns the resource of a shared card, which the name of the card implies. It returns
// false for every other name, because only nodes show the resource of a whole card.
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
