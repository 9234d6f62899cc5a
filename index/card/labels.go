package card

import (
	"cmp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Labels are labels of nodes that name the whole cards of resources, by resource: the argument
// cardLabels. A resource without an entry has the label of its vendor. The nil Labels have no entry.
type Labels map[v1.ResourceName]string

// documented are the labels with which vendors name a card if the label is not <resource>.product, by
// the pattern of the resource (path.Match).
var documented = []struct{ resource, label string }{
	{"amd.com/gpu", "amd.com/gpu.product-name"},                // the node labeller of the ROCm device plugin
	{"gpu.intel.com/i915", "gpu.intel.com/product"},            // node feature rules of the device plugins
	{"gpu.intel.com/xe", "gpu.intel.com/product"},              //
	{"huawei.com/Ascend*", "node.kubernetes.io/npu.chip.name"}, // NodeD and the Ascend device plugin
	{"hygon.com/dcu", "hygon.com/dcu.name"},                    // the DCU device plugin
}

// Of returns the label that names the cards of a resource. It returns the annotation of the registration if nodes
// register the cards. Shared cards need more labels.
func (l Labels) Of(resource v1.ResourceName) string {
	if annotation := registers(resource); annotation != "" {
		return annotation
	}

	if shared(string(resource)) {
		resource = wholeNVIDIA
	}

	return cmp.Or(l[resource], documentedLabel(resource), string(resource)+productSuffix)
}

// on returns the label of a node that names the cards of a resource, "" for none. A label
// <resource>.product comes before the one that the vendor documents.
func (l Labels) on(labels map[string]string, resource v1.ResourceName) string {
	label := string(resource) + productSuffix
	if given := l[resource]; given != "" {
		label = given
	} else if _, ok := labels[label]; !ok {
		label = documentedLabel(resource)
	}

	if _, ok := labels[label]; !ok {
		return ""
	}

	return label
}

// Known reports whether a resource belongs to cards, whatever the labels of nodes.
func (l Labels) Known(resource v1.ResourceName) bool { return l[resource] != "" || OfVendor(resource) }

// documentedLabel returns the label that the vendor of a resource documents. It returns "" for none, and for a part
// of a card, such as huawei.com/Ascend310P-2c.
func documentedLabel(resource v1.ResourceName) string {
	// A part of a card has no label.
	if strings.Contains(string(resource), "-") {
		return ""
	}

	for _, d := range documented {
		if matches(d.resource, resource) {
			return d.label
		}
	}

	return ""
}

// NamesWhole reports whether a resource can have a label of its own. The names of slices follow from
// the labels of the whole card.
func NamesWhole(resource v1.ResourceName) bool {
	return extended(resource) && !shared(string(resource))
}
