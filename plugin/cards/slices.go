package cards

import (
	"cmp"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/capacity-card/capacity-card/index/card"
)

// readSlices reads the slices that are new, and reports whether the devices changed.
func (d *devices) readSlices(s *Snapshot, objects []*resourcev1.ResourceSlice) (changed bool) {
	before := d.current
	read := make(map[*resourcev1.ResourceSlice]*deviceSlice, len(objects))
	d.current = nil
	for _, o := range card.CurrentSlices(objects) {
		slice := d.slices[o]
		if slice == nil {
			slice = d.readSlice(s, o)
			changed = true
		}
		read[o] = slice
		d.current = append(d.current, slice)
	}
	d.forgetSlices(read)
	d.slices = read

	slices.SortFunc(d.current, func(x, y *deviceSlice) int { return cmp.Compare(x.object.Name, y.object.Name) })
	if !changed && slices.Equal(before, d.current) {
		return false
	}

	d.byID = map[deviceID]*device{}
	d.local = map[string][]*device{}
	d.remote = nil
	for _, slice := range d.current {
		for _, device := range slice.devices {
			// A name that occurs twice in a pool is one device.
			if d.byID[device.id] == nil {
				d.byID[device.id] = device
				d.place(slice.object, device)
			}
		}
	}
	return true
}

// forgetSlices forgets the slices that are not kept. New devices can have the numbers of their devices.
func (d *devices) forgetSlices(kept map[*resourcev1.ResourceSlice]*deviceSlice) {
	for object, slice := range d.slices {
		if kept[object] != nil {
			continue
		}

		delete(d.slices, object)
		for _, device := range slice.devices {
			d.unused = append(d.unused, device.number)
			for _, q := range d.queries {
				q.evaluated.Clear(device.number)
			}
		}
	}
}

// newNumber returns a number that no device has.
func (d *devices) newNumber() uint {
	if last := len(d.unused) - 1; last >= 0 {
		number := d.unused[last]
		d.unused = d.unused[:last]
		return number
	}

	d.numbers++
	return d.numbers - 1
}

// readSlice reads the devices of a slice.
func (d *devices) readSlice(s *Snapshot, object *resourcev1.ResourceSlice) *deviceSlice {
	slice := &deviceSlice{object: object}
	for i := range object.Spec.Devices {
		o := &object.Spec.Devices[i]
		id := deviceID{object.Spec.Driver, object.Spec.Pool.Name, o.Name}
		found := &device{id: id, number: d.newNumber(), object: o, capacity: comparableOf(o.Capacity)}
		found.card, found.missing = d.attributes.OfDevice(object.Spec.Driver, o)
		if found.card != "" {
			found.dim = s.names.InternCard(found.card)
		}

		slice.devices = append(slice.devices, found)
	}
	return slice
}

// comparableOf returns the capacities that an expression can compare. To compare 1e2000000000, Kubernetes would write
// out all its digits. An expression that needs another capacity fails, and admits nothing.
func comparableOf(all capacities) capacities {
	huge := func(_ resourcev1.QualifiedName, c resourcev1.DeviceCapacity) bool {
		return c.Value.Sign() < 0 || !card.Fits(c.Value)
	}

	for name, c := range all {
		if huge(name, c) {
			kept := maps.Clone(all)
			maps.DeleteFunc(kept, huge)
			return kept
		}
	}
	return all
}

// place records the nodes that can use a device.
func (d *devices) place(slice *resourcev1.ResourceSlice, device *device) {
	spec := slice.Spec
	node := spec.NodeName
	all := spec.AllNodes
	selector := spec.NodeSelector
	if each := spec.PerDeviceNodeSelection; each != nil && *each {
		node = device.object.NodeName
		all = device.object.AllNodes
		selector = device.object.NodeSelector
	}

	switch {
	case node != nil && *node != "":
		d.local[*node] = append(d.local[*node], device)
		return
	case all != nil && *all:
	case selector != nil:
		nodes, err := nodeaffinity.NewNodeSelector(selector)
		device.nodes = nodes
		device.nowhere = err != nil
	default:
		device.nowhere = true
	}

	d.remote = append(d.remote, device)
}
