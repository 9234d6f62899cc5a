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

// parts are the resources of memory and cores that vendors put next to a card, as patterns of path.Match: a pod
// requests them with the card, and each pod counts as the cards that it requests. Few device plugins add them to the
// allocatable resources of nodes. Add a line only for names that a vendor or a scheduler documents, with the source.
var parts = []struct{ pattern, source string }{
	{"volcano.sh/vgpu-memory", volcanoDevices}, {"volcano.sh/vgpu-memory-percentage", volcanoDevices}, {"volcano.sh/vgpu-cores", volcanoDevices},
	{"volcano.sh/gpu-memory", "volcano.sh/volcano, pkg/scheduler/api/devices/nvidia/gpushare"},
	{"nvidia.com/gpumem", hami}, {"nvidia.com/gpumem-percentage", hami}, {"nvidia.com/gpucores", hami},
	{"huawei.com/Ascend*-memory", volcanoDevices}, {"huawei.com/Ascend*-core", hami},
	{"hygon.com/dcumem", hami}, {"hygon.com/dcucores", hami},
	{"cambricon.com/mlu*.vmemory", hami}, {"cambricon.com/mlu*.vcore", hami},
	{"metax-tech.com/vmemory", hami}, {"metax-tech.com/vcore", hami},
	{"mthreads.com/sgpu-memory", hami}, {"mthreads.com/sgpu-core", hami},
	{"iluvatar.ai/vcuda-memory", hami}, {"iluvatar.ai/vcuda-core", hami}, {"iluvatar.ai/*.vMem", hami}, {"iluvatar.ai/*.vCore", hami},
	{"enflame.com/gcu-memory", hami}, {"enflame.com/gcu-core", hami},
	{"kunlunxin.com/vxpu-memory", hami},
}

// The sources of parts.
const (
	volcanoDevices = "volcano.sh/volcano, pkg/scheduler/api/devices/config"
	hami           = "github.com/Project-HAMi/HAMi, docs and charts/hami/templates/scheduler/device-configmap.yaml"
)

// OfVendor reports whether a resource is known to be one of cards, whatever the labels of nodes.
func OfVendor(resource v1.ResourceName) bool {
	name := string(resource)
	return shared(name) || strings.Contains(name, "/") &&
		slices.ContainsFunc(vendors, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) && !IsMemoryOrCores(resource)
}

// IsMemoryOrCores reports whether a resource is memory or cores of a card, requested next to the card.
func IsMemoryOrCores(resource v1.ResourceName) bool {
	for _, p := range parts {
		if ok, _ := path.Match(p.pattern, string(resource)); ok {
			return true
		}
	}
	return false
}
