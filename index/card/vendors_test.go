package card

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

func TestOfVendor(t *testing.T) {
	for _, name := range []v1.ResourceName{
		"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "amd.com/gpu", "amd.com/cpx_nps4", "amd.com/spx_nps1",
		"gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", "huawei.com/Ascend910", "huawei.com/Ascend310P-2c",
		"hygon.com/dcu", "hygon.com/dcu-share-30c-16g", "hygon.com/dcu-mig-2g-15gb", "cambricon.com/mlu", "cambricon.com/mlu370.mim-2m.8gb",
		"metax-tech.com/gpu", "metax-tech.com/sgpu", "metax-tech.com/vfio-gpu", "mthreads.com/gpu", "iluvatar.com/gpu", "iluvatar.ai/gpu",
		"enflame.com/gcu", "enflame.com/shared-gcu", "enflame.com/drs-gcu", "birentech.com/gpu", "birentech.com/1-4-gpu",
		"kunlunxin.com/xpu", "furiosa.ai/rngd", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "google.com/tpu",
	} {
		assert.True(t, OfVendor(name), name)
	}
	for _, name := range []v1.ResourceName{
		"", "cpu", "memory", "gpu", "rdma/ib", "nvidia.com/gpumem", "nvidia.com/gpucores", "nvidia.com/hostdev", "nvidia.com/mig-", "example.com/gpu",
		"amd.com/gpumem", "gpu.intel.com/i915_monitoring", "gpu.intel.com/millicores", "huawei.com/Ascend910B3-memory", "huawei.com/Ascend910B3-core",
		"hygon.com/dcumem", "cambricon.com/mlu370.smlu.vmemory", "cambricon.com/mlu.smlu.vcore", "mthreads.com/sgpu-memory", "enflame.com/gcu-count",
		"x.nvidia.com/gpu", "nvidia.com/gpu/x",
	} {
		assert.False(t, OfVendor(name), name)
	}
}

// TestIsMemoryOrCores lists memory and cores that pods request next to a card. None is a card.
func TestIsMemoryOrCores(t *testing.T) {
	for _, name := range []v1.ResourceName{
		"volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores", "volcano.sh/gpu-memory",
		"nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "huawei.com/Ascend910-memory",
		"huawei.com/Ascend310P-memory", "huawei.com/Ascend910B3-core", "hygon.com/dcumem", "hygon.com/dcucores",
		"cambricon.com/mlu.smlu.vmemory", "cambricon.com/mlu370.smlu.vcore", "metax-tech.com/vmemory", "metax-tech.com/vcore",
		"mthreads.com/sgpu-memory", "mthreads.com/sgpu-core", "iluvatar.ai/vcuda-memory", "iluvatar.ai/vcuda-core",
		"iluvatar.ai/MR-V100.vMem", "iluvatar.ai/BI-V150.vCore", "enflame.com/gcu-memory", "enflame.com/gcu-core", "kunlunxin.com/vxpu-memory",
	} {
		assert.True(t, IsMemoryOrCores(name), name)
		assert.False(t, OfVendor(name), name)
	}
	for _, name := range []v1.ResourceName{
		"memory", "nvidia.com/gpu", "volcano.sh/vgpu-number", "huawei.com/Ascend910", "huawei.com/Ascend310P-2c", "cambricon.com/mlu370.smlu",
		"iluvatar.ai/MR-V100-vgpu", "kunlunxin.com/vxpu", "enflame.com/drs-gcu", "example.com/gpu-memory",
	} {
		assert.False(t, IsMemoryOrCores(name), name)
	}
}

func TestLabel(t *testing.T) {
	for name, want := range map[v1.ResourceName]string{
		"nvidia.com/gpu": productLabel, sharedResource: productLabel, "nvidia.com/mig-1g.5gb": productLabel,
		"huawei.com/Ascend910": "node.kubernetes.io/npu.chip.name", "huawei.com/Ascend910-2c": "huawei.com/Ascend910-2c.product",
		"amd.com/gpu": "amd.com/gpu.product-name", "gpu.intel.com/xe": "gpu.intel.com/product", "hygon.com/dcu": "hygon.com/dcu.name",
		"metax-tech.com/gpu": "metax-tech.com/gpu.product", "example.com/gpu": "example.com/gpu.product",
	} {
		assert.Equal(t, want, Labels(nil).Of(name), name)
	}
}
