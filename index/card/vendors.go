package card

import (
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// vendors are the resources of cards in the device plugins of their vendors, as patterns of
// path.Match. Add a line for a vendor, with a case in the test. A node needs no line here to have
// cards: its labels name them. A line makes sure that pods cannot use the cards of a node whose
// labels are gone.
var vendors = []string{
	"nvidia.com/gpu",
	"amd.com/gpu", "amd.com/?px_nps?", // partitions, such as cpx_nps4, with the naming strategy mixed
	"gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi",
	"huawei.com/Ascend*",
	"hygon.com/dcu", "hygon.com/dcu-share-*", "hygon.com/dcu-mig-*",
	"cambricon.com/mlu*",
	"metax-tech.com/gpu", "metax-tech.com/sgpu", "metax-tech.com/vfio-gpu",
	"mthreads.com/gpu",
	"iluvatar.com/gpu", "iluvatar.ai/gpu",
	"enflame.com/gcu", "enflame.com/shared-gcu", "enflame.com/drs-gcu",
	"birentech.com/gpu", "birentech.com/*-gpu",
	"kunlunxin.com/xpu", "furiosa.ai/rngd",
	"volcano.sh/vgpu-number", // fractions of NVIDIA's cards
	"aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "google.com/tpu",
}

// parts end the names of resources that are memory or cores of a card, requested beside the card.
var parts = []string{"-memory", "-core", ".vmemory", ".vcore"}

// OfVendor reports whether a resource is known to be one of cards, whatever the labels of nodes.
func OfVendor(resource v1.ResourceName) bool {
	name := string(resource)
	return shared(name) || strings.Contains(name, "/") &&
		slices.ContainsFunc(vendors, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) &&
		!slices.ContainsFunc(parts, func(end string) bool { return strings.HasSuffix(name, end) })
}
