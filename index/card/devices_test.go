package card

import (
	"testing"

	"github.com/stretchr/testify/assert"
	resourcev1 "k8s.io/api/resource/v1"
)

// deviceWith returns a device with attributes that are texts.
func deviceWith(attributes map[string]string) *resourcev1.Device {
	d := &resourcev1.Device{Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	for name, text := range attributes {
		d.Attributes[resourcev1.QualifiedName(name)] = resourcev1.DeviceAttribute{StringValue: &text}
	}
	return d
}

// TestOfDevice names the cards of devices with the attributes that drivers publish.
func TestOfDevice(t *testing.T) {
	const h100 = "NVIDIA H100 80GB HBM3"
	given := Attributes{"gpu.example.com": "model", "gpu.nvidia.com": "brand", "npu.example.com": "example.org/chip"}
	for name, c := range map[string]struct {
		driver     string
		attributes map[string]string
		named      Attributes
		card       string
		missing    string
	}{
		"a whole card": {"gpu.nvidia.com", map[string]string{"type": "gpu", "productName": h100}, nil, "NVIDIA-H100-80GB-HBM3", ""},
		"with the domain": {"gpu.nvidia.com", map[string]string{"gpu.nvidia.com/type": "gpu", "gpu.nvidia.com/productName": h100}, nil,
			"NVIDIA-H100-80GB-HBM3", ""},
		"more blanks": {"gpu.nvidia.com", map[string]string{"productName": " NVIDIA  A100\t(40|80)GB/x "}, nil, "NVIDIA-A1004080GBx", ""},
		"MIG": {"gpu.nvidia.com", map[string]string{"type": "mig", "productName": h100, "profile": "1g.10gb"}, nil,
			"NVIDIA-H100-80GB-HBM3/mig-1g.10gb-mixed", ""},
		"MIG with media extensions": {"gpu.nvidia.com", map[string]string{"type": "mig", "productName": h100, "profile": "1g.10gb+me"}, nil,
			"NVIDIA-H100-80GB-HBM3/mig-1g.10gb.me-mixed", ""},
		"MIG without profile": {"gpu.nvidia.com", map[string]string{"type": "mig", "productName": h100}, nil, "", "profile"},
		"passthrough":         {"gpu.nvidia.com", map[string]string{"type": "vfio", "productName": h100}, nil, "NVIDIA-H100-80GB-HBM3", ""},
		"no product":          {"gpu.nvidia.com", map[string]string{"type": "gpu"}, nil, "", "productName"},
		"no name in it":       {"gpu.nvidia.com", map[string]string{"productName": " |/ "}, nil, "", "productName"},
		"AMD": {"gpu.amd.com", map[string]string{"type": "amdgpu", "productName": "AMD_Instinct_MI300X_OAM", "partitionProfile": "spx_nps1"},
			nil, "AMD_Instinct_MI300X_OAM", ""},
		"an AMD partition": {"gpu.amd.com", map[string]string{"type": "amdgpu-partition", "productName": "AMD_Instinct_MI300X_OAM",
			"partitionProfile": "cpx_nps4"}, nil, "AMD_Instinct_MI300X_OAM/cpx_nps4", ""},
		"by an argument":            {"gpu.example.com", map[string]string{"model": "Fast 1"}, given, "Fast-1", ""},
		"by an attribute of others": {"npu.example.com", map[string]string{"example.org/chip": "N1"}, given, "N1", ""},
		"without the attribute":     {"gpu.example.com", map[string]string{"productName": "Fast 1"}, given, "", "model"},
		"in place of the vendor's":  {"gpu.nvidia.com", map[string]string{"type": "mig", "productName": h100, "brand": "Tesla"}, given, "Tesla", ""},
		"no card":                   {"nic.example.com", map[string]string{"productName": "fast"}, given, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			card, missing := c.named.OfDevice(c.driver, deviceWith(c.attributes))
			assert.Equal(t, c.card, card)
			assert.Equal(t, c.missing, missing)
		})
	}
	one := int64(1)
	_, missing := Attributes(nil).OfDevice("gpu.nvidia.com", &resourcev1.Device{
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"productName": {IntValue: &one}}})
	assert.Equal(t, "productName", missing, "an attribute that is no text")
}

// TestDevicesAreNamedAsLabels has one account for the cards of a claim and of the device plugin.
func TestDevicesAreNamedAsLabels(t *testing.T) {
	device, _ := Attributes(nil).OfDevice("gpu.nvidia.com", deviceWith(map[string]string{"type": "mig", "productName": "NVIDIA H200", "profile": "1g.18gb"}))
	resource, ok := ResourceOf(device)
	assert.True(t, ok)
	assert.EqualValues(t, "nvidia.com/mig-1g.18gb", resource)
}
