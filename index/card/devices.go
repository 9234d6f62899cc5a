package card

import (
	"regexp"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// Attributes are the attributes of devices that name their cards, by driver: the argument cardAttributes. A
// driver without an entry has the attribute of its vendor. The nil Attributes have no entry.
type Attributes map[string]string

// The drivers of vendors. Both write the same names into labels of nodes, so that pods with a resource claim and pods
// of the device plugin share one account.
const (
	driverNVIDIA = "gpu.nvidia.com" // k8s-dra-driver-gpu
	driverAMD    = "gpu.amd.com"    // k8s-gpu-dra-driver
)

// The attributes of both drivers.
const (
	productAttribute = "productName"
	typeAttribute    = "type"
)

// devicePart describes the devices that are parts of cards, by driver: their type, and the attribute of their profile.
var devicePart = map[string]struct{ partType, profile string }{
	driverNVIDIA: {"mig", "profile"},
	driverAMD:    {"amdgpu-partition", "partitionProfile"},
}

// Of returns the attribute that names the cards of a driver. It returns "" for a driver without cards.
func (a Attributes) Of(driver string) string {
	if given := a[driver]; given != "" {
		return given
	}
	if _, vendor := devicePart[driver]; vendor {
		return productAttribute
	}

	return ""
}

// OfDevice returns the name of the card that a device is. If a driver of cards does not state a valid name for the
// device, OfDevice returns the attribute that is missing or bad. Both results are "" for a device that is no card,
// such as a network interface.
func (a Attributes) OfDevice(driver string, device *resourcev1.Device) (name, missing string) {
	attribute := a.Of(driver)
	if attribute == "" {
		return "", ""
	}

	product := asLabel(stringAttribute(driver, device, attribute))
	if product == "" {
		return "", attribute
	}

	part, vendor := devicePart[driver]
	if !vendor || a[driver] != "" || stringAttribute(driver, device, typeAttribute) != part.partType {
		return product, ""
	}

	// As in the resource name of the device plugin.
	profile := strings.ReplaceAll(stringAttribute(driver, device, part.profile), "+", ".")
	switch {
	case !plain(profile):
		return "", part.profile
	case driver == driverNVIDIA:
		return product + "/mig-" + profile + "-mixed", ""
	}

	return product + "/" + profile, ""
}

// stringAttribute returns the text of an attribute, or "" for an attribute of another type. A name without a domain is
// in the domain of the driver.
func stringAttribute(driver string, device *resourcev1.Device, name string) string {
	for _, key := range []string{name, driver + "/" + name} {
		value, ok := device.Attributes[resourcev1.QualifiedName(key)]
		if ok && value.StringValue != nil {
			return *value.StringValue
		}
	}

	if short, ok := strings.CutPrefix(name, driver+"/"); ok {
		return stringAttribute(driver, device, short)
	}

	return ""
}

// notInLabels are the characters that GPU feature discovery leaves out of labels.
var notInLabels = regexp.MustCompile(`[^A-Za-z0-9\-_. ]`)

// asLabel writes the name of a product as GPU feature discovery does in the label nvidia.com/gpu.product: words are
// joined by hyphens.
func asLabel(product string) string {
	return strings.Join(strings.Fields(notInLabels.ReplaceAllString(product, "")), "-")
}

// CurrentSlices returns the slices of the newest generation of each pool. A driver publishes a new generation before it
// deletes the slices of the old one.
func CurrentSlices(slices []*resourcev1.ResourceSlice) (current []*resourcev1.ResourceSlice) {
	type pool struct{ driver, name string }
	newest := map[pool]int64{}
	for _, s := range slices {
		p := pool{s.Spec.Driver, s.Spec.Pool.Name}
		generation, known := newest[p]
		if !known || s.Spec.Pool.Generation > generation {
			newest[p] = s.Spec.Pool.Generation
		}
	}

	for _, s := range slices {
		if s.Spec.Pool.Generation == newest[pool{s.Spec.Driver, s.Spec.Pool.Name}] {
			current = append(current, s)
		}
	}

	return current
}

// SliceDevice is a card among the devices of a slice. It may lack the attribute for its name.
type SliceDevice struct {
	Driver, Pool, Name string
	Node               string // "" for a device that several nodes can use
	Card, Missing      string // see Attributes.OfDevice
}

// Devices returns the cards among the devices of slices.
func (a Attributes) Devices(slices []*resourcev1.ResourceSlice) (all []SliceDevice) {
	for _, s := range CurrentSlices(slices) {
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			found := SliceDevice{Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Name: d.Name}
			for _, node := range []*string{s.Spec.NodeName, d.NodeName} {
				if node != nil && *node != "" {
					found.Node = *node
				}
			}

			found.Card, found.Missing = a.OfDevice(s.Spec.Driver, d)
			if found.Card != "" || found.Missing != "" {
				all = append(all, found)
			}
		}
	}

	return all
}
