package card

import (
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// vendors are the resources of cards in the device plugins of their vendors, as patterns of
// path.Match. Add a line for a vendor, with a case in the test. A node has cards even without a line here,
// because its labels name them. With a line, pods cannot use the cards of a node that lost its
// labels.
var vendors = []string{
	"nvidia.com/gpu",
	"amd.com/gpu",
	"amd.com/?px_nps?", // partitions, such as cpx_nps4, with the naming strategy mixed
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

// parts are the resources of memory and cores that vendors put next to a card, as patterns of path.Match. A pod
// requests them with the card, and counts as the cards that it requests. Few device plugins add them to the
// allocatable resources of nodes. Add a name only if a vendor or a scheduler documents it.
//
// Source: volcano.sh/volcano, pkg/scheduler/api/devices/config and pkg/scheduler/api/devices/nvidia/gpushare;
// github.com/Project-HAMi/HAMi, docs and charts/hami/templates/scheduler/device-configmap.yaml.
var parts = []string{
	"volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores", "volcano.sh/gpu-memory",
	"nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
	"huawei.com/Ascend*-memory", "huawei.com/Ascend*-core",
	"hygon.com/dcumem", "hygon.com/dcucores",
	"cambricon.com/mlu*.vmemory", "cambricon.com/mlu*.vcore",
	"metax-tech.com/vmemory", "metax-tech.com/vcore",
	"mthreads.com/sgpu-memory", "mthreads.com/sgpu-core",
	"iluvatar.ai/vcuda-memory", "iluvatar.ai/vcuda-core", "iluvatar.ai/*.vMem", "iluvatar.ai/*.vCore",
	"enflame.com/gcu-memory", "enflame.com/gcu-core",
	"kunlunxin.com/vxpu-memory",
}

// matches reports whether a resource matches a pattern of path.Match.
func matches(pattern string, resource v1.ResourceName) bool {
	ok, _ := path.Match(pattern, string(resource))
	return ok
}

func matchesAny(patterns []string, resource v1.ResourceName) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, resource) })
}

// OfVendor reports whether a resource belongs to cards of a known vendor, whatever the labels of nodes.
func OfVendor(resource v1.ResourceName) bool {
	if shared(string(resource)) {
		return true
	}

	extended := strings.Contains(string(resource), "/")
	return extended && matchesAny(vendors, resource) && !IsMemoryOrCores(resource)
}

// IsMemoryOrCores reports whether a resource is memory or cores of a card, requested next to the card.
func IsMemoryOrCores(resource v1.ResourceName) bool { return matchesAny(parts, resource) }
