package testbed

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Driver is the driver of all devices. Their device class has the same name.
const Driver = "gpu.nvidia.com"

// DeviceClasses has the device class of all devices.
var DeviceClasses = []*resourcev1.DeviceClass{{
	ObjectMeta: metav1.ObjectMeta{Name: Driver},
	Spec:       resourcev1.DeviceClassSpec{Selectors: selectors(`device.driver == "` + Driver + `"`)},
}}

// Slice returns the slice of a pool with a device for each card.
func Slice(node string, generation int64, cards []string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)},
		Spec: resourcev1.ResourceSliceSpec{
			Driver:   Driver,
			NodeName: &node,
			Pool:     resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: 1},
		},
	}

	for i, name := range cards {
		product, profile, isPart := partOf(name)
		kind := "gpu"
		d := resourcev1.Device{
			Name:       DeviceName(i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{},
		}
		if isPart {
			kind = "mig"
			d.Attributes["profile"] = resourcev1.DeviceAttribute{StringValue: &profile}
		}
		d.Attributes["type"] = resourcev1.DeviceAttribute{StringValue: &kind}
		d.Attributes["productName"] = resourcev1.DeviceAttribute{StringValue: &product}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}

	return s
}

// DeviceName returns the name of the i-th device of a slice.
func DeviceName(i int) string { return fmt.Sprint("gpu-", i) }

// partOf returns the product and the profile of a card, such as A/mig-1g.10gb-mixed.
func partOf(name string) (product, profile string, isPart bool) {
	product, profile, isPart = strings.Cut(name, "/mig-")
	return strings.ReplaceAll(product, "-", " "), strings.TrimSuffix(profile, "-mixed"), isPart
}

// DeviceRequest returns the i-th request of a claim: for one kind of devices, or with alternatives.
func DeviceRequest(i int, alternatives []ModelAlternative) resourcev1.DeviceRequest {
	request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}
	for k, a := range alternatives {
		sub := resourcev1.DeviceSubRequest{
			Name:            fmt.Sprint("a", k),
			DeviceClassName: Driver,
			Count:           int64(a.Count),
			AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
			Selectors:       selectors(admits(a.Cards)),
		}
		if a.Count == 0 {
			sub.AllocationMode = resourcev1.DeviceAllocationModeAll
		}
		request.FirstAvailable = append(request.FirstAvailable, sub)
	}
	if len(alternatives) > 1 {
		return request
	}

	only := request.FirstAvailable[0]
	request.FirstAvailable = nil
	request.Exactly = &resourcev1.ExactDeviceRequest{
		DeviceClassName: only.DeviceClassName,
		Count:           only.Count,
		AllocationMode:  only.AllocationMode,
		Selectors:       only.Selectors,
	}
	return request
}

func selectors(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

// admits returns an expression that admits the devices that are one of some cards.
func admits(cards []string) string {
	var each []string
	for _, name := range cards {
		product, profile, isPart := partOf(name)
		one := fmt.Sprintf(`device.attributes[%q].productName == %q`, Driver, product)
		if isPart {
			one += fmt.Sprintf(` && device.attributes[%q].type == "mig" && device.attributes[%q].profile == %q`,
				Driver, Driver, profile)
		} else {
			one += fmt.Sprintf(` && device.attributes[%q].type == "gpu"`, Driver)
		}
		each = append(each, "("+one+")")
	}

	return strings.Join(each, " || ")
}
