package cards

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// devices holds the devices of ResourceSlices, and the resource claims on them. They are read again only when an object
// changes. Only the slices of the newest generation of a pool count.
type devices struct {
	attributes card.Attributes
	slices     map[*resourcev1.ResourceSlice]*deviceSlice
	classes    map[string]*resourcev1.DeviceClass
	classed    uint64 // the version in which the classes changed

	// The slices of the session and their devices. Another version of them makes everything that depends on them stale.
	version uint64
	current []*deviceSlice
	numbers uint   // the next number of a device
	unused  []uint // numbers below it that no device has
	byID    map[deviceID]*device
	local   map[string][]*device    // by the node that they are a part of
	remote  []*device               // devices that several nodes can use
	found   map[string]*nodeDevices // by node
	free    map[fastres.Dim]float64 // of idle; nil until it is called

	claims  map[string]*Claim
	objects int // ResourceClaims of the last session, also of pods of other schedulers
	queries map[string]*query
	cost    uint64 // of the CEL expressions that the session has evaluated
	looks   int    // of the session at a device for a claim
	shapes  map[string]*shape
	only    map[fastres.Dim]*Selector // see onlyOf
}

// deviceSlice is a ResourceSlice as it was read.
type deviceSlice struct {
	object  *resourcev1.ResourceSlice
	devices []*device
}

// deviceID names a device in the cluster.
type deviceID struct{ driver, pool, name string }

// device is a device of a slice.
type device struct {
	id     deviceID
	number uint // of no other device at the same time
	object *resourcev1.Device
	// capacity has the capacities that expressions see.
	capacity capacities

	card    string      // the name of the card, "" for a device that is no card
	dim     fastres.Dim // of the card, 0 for a device that is no card
	missing string      // the attribute that a card lacks for its name, "" for none

	nodes   *nodeaffinity.NodeSelector // of a remote device; nil for all nodes
	nowhere bool                       // its node selector is wrong
}

// nodeDevices are the local and remote devices that a node can use. It is one object as long as they stay the same.
type nodeDevices struct{ all []*device }

// capacities are capacities of a device, by name.
type capacities = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity

// oneDevice is the quantity of a card that a device counts for, in milli-cards.
const oneDevice = 1000

func newDevices() *devices {
	return &devices{
		version: 1,
		slices:  map[*resourcev1.ResourceSlice]*deviceSlice{},
		claims:  map[string]*Claim{},
		queries: map[string]*query{},
		shapes:  map[string]*shape{},
		only:    map[fastres.Dim]*Selector{},
	}
}

// onlyOf returns the selector of one card. All claims share it, so that a card counts for the minimum of its job
// regardless of the claim that has it.
func (d *devices) onlyOf(s *Snapshot, dim fastres.Dim) *Selector {
	if d.only[dim] == nil {
		d.only[dim] = s.only(Devices, dim)
	}
	return d.only[dim]
}

// readDevices reads the devices and claims of a session, and reports whether the card of any device changed.
func (s *Snapshot) readDevices(o release.DeviceObjects) (changed bool) {
	r := s.registry
	if o.Empty() && r.devices == nil {
		return false
	}
	if r.devices == nil {
		r.devices = newDevices()
		r.forgetRequests() // pods were read without their claims
	}

	d := r.devices
	d.free = nil
	d.cost = 0
	d.looks = 0
	fresh := !maps.Equal(d.attributes, s.settings.Attributes)
	if fresh {
		d.attributes = s.settings.Attributes
		d.forgetSlices(nil)
	}

	changed = d.readSlices(s, o.Slices) || fresh
	reclassed := d.readClasses(o.Classes)
	if reclassed || changed || len(d.remote) > 0 && r.nodesRead {
		d.version++
		d.find(r)
	}
	if reclassed {
		d.classed = d.version
	}

	d.readClaims(s, o.Claims)
	return changed
}

// find finds the devices that each node can use.
func (d *devices) find(r *Registry) {
	before := d.found
	d.found = make(map[string]*nodeDevices, len(before))
	add := func(node string, all []*device) {
		found := before[node]
		if found == nil || !slices.Equal(found.all, all) {
			found = &nodeDevices{all: all}
		}
		d.found[node] = found
	}

	if len(d.remote) == 0 {
		for node, all := range d.local {
			add(node, all)
		}
		return
	}

	for name, n := range r.nodes {
		all := slices.Clone(d.local[name])
		for _, device := range d.remote {
			if device.reaches(n.object) {
				all = append(all, device)
			}
		}

		if len(all) > 0 {
			add(name, all)
		}
	}
}

// reaches reports whether a node can use a remote device.
func (d *device) reaches(n *v1.Node) bool {
	return !d.nowhere && (d.nodes == nil || d.nodes.Match(n))
}

// readClasses reports whether a device class changed.
func (d *devices) readClasses(objects []*resourcev1.DeviceClass) (changed bool) {
	changed = len(objects) != len(d.classes)
	for _, o := range objects {
		changed = changed || d.classes[o.Name] != o
	}

	if changed {
		d.classes = make(map[string]*resourcev1.DeviceClass, len(objects))
		for _, o := range objects {
			d.classes[o.Name] = o
		}
	}
	return changed
}

// addStock adds the cards of all devices to the stock. A device that can be partitioned counts, and so does each
// partition: the stock of each card is the most that the nodes can give.
func (d *devices) addStock(total map[fastres.Dim]card.Milli) {
	if d == nil {
		return
	}

	for _, device := range d.byID {
		if device.dim != 0 {
			total[device.dim] += oneDevice
		}
	}
}

// idle returns the milli-cards of a card that no claim had when the session opened. It is for the goroutine that runs
// the session.
func (d *devices) idle(dim fastres.Dim) float64 {
	if d == nil {
		return 0
	}

	if d.free == nil {
		d.free = map[fastres.Dim]float64{}
		for _, device := range d.byID {
			d.free[device.dim] += oneDevice
		}
		for _, c := range d.claims {
			for _, charged := range c.allocated {
				if c.object != nil && !charged.gone {
					d.free[charged.dim] -= float64(charged.milli)
				}
			}
		}
	}

	return max(0, d.free[dim])
}

// DevicesLeft returns the milli-cards of a list that the devices of nodes have left, by node. A node is missing if
// other nodes can use its devices as well, or if several claims can have one of them: the rest of a node is then
// unknown.
func (s *Snapshot) DevicesLeft(list *Selector) map[string]float64 {
	d := s.registry.devices
	left := map[string]float64{}
	at := map[deviceID]string{}
	for node, found := range d.found {
		if sum, known := d.ownOf(node, found.all, list, at); known {
			left[node] = sum
		}
	}

	for _, c := range d.claims {
		if c.object == nil {
			continue
		}

		if c.object.Status.Allocation == nil {
			if _, known := left[c.node]; known && len(c.placed) > 0 {
				left[c.node] -= s.needs(&PodRequest{}, c, list)
			}
			continue
		}

		for i := range c.object.Status.Allocation.Devices.Results {
			result := &c.object.Status.Allocation.Devices.Results[i]
			node, known := at[deviceID{result.Driver, result.Pool, result.Device}]
			if known && (result.AdminAccess == nil || !*result.AdminAccess) {
				left[node] -= oneDevice
			}
		}
	}
	return left
}

// ownOf returns the milli-cards of a list that a node has, and whether no other node can use them. It notes the node of
// each device in at.
func (d *devices) ownOf(node string, found []*device, list *Selector,
	at map[deviceID]string) (milli float64, known bool) {
	for _, device := range found {
		if device.dim == 0 || !slices.Contains(list.Dims, device.dim) {
			continue
		}

		if device.shared() || !slices.Contains(d.local[node], device) {
			return 0, false
		}
		milli += oneDevice
	}

	for _, device := range found {
		if slices.Contains(list.Dims, device.dim) {
			at[device.id] = node
		}
	}
	return milli, true
}

// has reports whether a node can use a device that is a card.
func (d *devices) has(node string, dim fastres.Dim) bool {
	if d == nil || d.found[node] == nil {
		return false
	}
	return slices.ContainsFunc(d.found[node].all, func(device *device) bool { return device.dim == dim })
}

// forgetShapes forgets the requests of claims and their selectors.
func (d *devices) forgetShapes() {
	if d == nil {
		return
	}

	clear(d.shapes)
	for _, c := range d.claims {
		c.shape = nil
	}
}

// renew gives the cards new dimensions when names are numbered again. Slices are then read again.
func (d *devices) renew(renew func(fastres.Dim) fastres.Dim) {
	if d == nil {
		return
	}

	d.forgetSlices(nil)
	d.current = nil
	d.forgetShapes()

	before := d.only
	d.only = map[fastres.Dim]*Selector{}
	for dim, selector := range before {
		selector.Dims[0] = renew(dim)
		d.only[selector.Dims[0]] = selector
	}

	for _, c := range d.claims {
		for _, charges := range [][]charge{c.allocated, c.placed} {
			for i := range charges {
				if charges[i].dim != 0 {
					charges[i].dim = renew(charges[i].dim)
				}
			}
		}
	}
}
