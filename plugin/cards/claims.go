package cards

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// Claim is a resource claim of pods. It is charged for:
//
//	the devices that are allocated           once it is allocated
//	the most that it can get on a node       before, once a pod with the claim has the node
//
// The latter depends on the devices of the node when the pod is placed. It stays the same until the claim is allocated.
type Claim struct {
	Name    string                    // with its namespace
	object  *resourcev1.ResourceClaim // nil if it does not exist
	uid     types.UID
	version uint64 // of the devices in allocated

	shape     *shape
	allocated []charge                  // nil before the claim is allocated
	known     map[allocatedDevice]share // cards of allocated devices; a device that is gone stays the same card

	placed   []charge // nil before a pod has a node
	node     string   // of placed
	placedAt uint64   // the session that noted placed

	named   bool   // pods name the claim, and may share it
	unread  bool   // no pod has been read with the claim since forget
	first   string // the node of the first pod with the claim that got one in this session
	sharers int    // number of pods with the claim that got a node in this session
}

// allocatedDevice is one result of an allocation: a device may be allocated to a claim more than once, in parts.
type allocatedDevice struct {
	id    deviceID
	share types.UID
}

// share is a part of a card.
type share struct {
	card  string
	milli card.Milli
}

// charge is the quantity of one card that a claim takes.
type charge struct {
	dim     fastres.Dim // 0 for a device without a name, which counts as the first card that the pod names
	milli   card.Milli
	request int       // position of the request in the spec
	gone    bool      // no slice gives the device as this card any more
	only    *Selector // dim alone, for a claim that no node can serve any more; nil for a device without a name
}

// podClaims are the resource claims of a pod.
type podClaims struct {
	own    []*Claim // made from templates for this pod alone
	shared []*Claim // named by the pod, and perhaps by others
	all    []*Claim // own and shared
	unmade string   // a claim of the spec without a ResourceClaim yet, "" for none
}

// charged reports whether any claim is allocated, or charged for a node. Devices may be gone, or may be of cards that
// are no longer known.
func (p *podClaims) charged() bool {
	return slices.ContainsFunc(p.all, func(c *Claim) bool { return len(c.placed)+len(c.allocated) > 0 })
}

// readClaims follows the claims of a session.
func (d *devices) readClaims(s *Snapshot, objects []*resourcev1.ResourceClaim) {
	for _, c := range d.claims {
		c.object = nil
		c.first = ""
		c.sharers = 0
	}

	d.objects = len(objects)
	for _, o := range objects {
		d.claim(o.Namespace, o.Name).set(o)
	}

	d.findShapes()
	d.readShapes(s)
	for _, c := range d.claims {
		switch {
		case c.object == nil:
		case c.waits():
			c.allocated = nil
			c.known = nil
			c.version = 0
		default:
			c.readAllocation(s)
		}
	}
}

// waits reports whether a claim exists and is not allocated.
func (c *Claim) waits() bool { return c.object != nil && c.object.Status.Allocation == nil }

// claim returns the claim of a name, a new one for a new name.
func (d *devices) claim(namespace, name string) *Claim {
	key := namespace + "/" + name
	c := d.claims[key]
	if c == nil {
		c = &Claim{Name: key}
		d.claims[key] = c
	}
	c.unread = false
	return c
}

// forget begins to forget the claims that are gone, when no pod refers to one. Running pods stay charged for such a
// claim. They are read again in this session, so the next call knows the claims that no pod has.
func (d *devices) forget() {
	if d == nil {
		return
	}

	for key, c := range d.claims {
		switch {
		case c.object != nil:
		case c.unread:
			delete(d.claims, key)
		default:
			c.unread = true
		}
	}
}

// crowded reports whether most claims are gone.
func (d *devices) crowded() bool { return d != nil && len(d.claims) > 2*d.objects+1024 }

// set gives a claim its object. A new claim of the same name replaces the state of the old one.
func (c *Claim) set(o *resourcev1.ResourceClaim) {
	if c.uid != o.UID {
		*c = Claim{Name: c.Name, uid: o.UID, named: c.named}
	}
	c.object = o
}

// readAllocation finds the cards of the allocated devices. An allocation does not change.
func (c *Claim) readAllocation(s *Snapshot) {
	d := s.registry.devices
	if c.allocated != nil && c.version == d.version {
		return
	}

	c.version = d.version
	c.allocated = []charge{}
	c.placed = nil
	c.node = ""
	if c.known == nil {
		c.known = map[allocatedDevice]share{}
	}

	for i := range c.object.Status.Allocation.Devices.Results {
		result := &c.object.Status.Allocation.Devices.Results[i]
		if result.AdminAccess == nil || !*result.AdminAccess {
			c.add(s, result)
		}
	}
}

// add adds one result of the allocation. A device that is no card adds nothing.
func (c *Claim) add(s *Snapshot, result *resourcev1.DeviceRequestAllocationResult) {
	d := s.registry.devices
	key := allocatedDevice{id: deviceID{result.Driver, result.Pool, result.Device}}
	if result.ShareID != nil {
		key.share = *result.ShareID
	}
	now := d.byID[key.id]

	has, known := c.known[key]
	if !known || has.card == "" {
		part, isCard := d.partOf(key.id, result)
		if !isCard {
			return
		}
		has = part
		if has.card != "" {
			c.known[key] = has
		}
	}

	added := charge{milli: has.milli, request: c.request(result.Request), gone: now == nil || now.card != has.card}
	if has.card != "" {
		added.dim = s.names.InternCard(has.card)
		added.only = d.onlyOf(s, added.dim)
	}
	for i := range c.allocated {
		a := &c.allocated[i]
		if a.dim == added.dim && a.request == added.request && a.gone == added.gone {
			a.milli += added.milli
			return
		}
	}
	c.allocated = append(c.allocated, added)
}

// partOf returns the part of a card that a result of an allocation has, as far as the devices of the session tell.
func (d *devices) partOf(id deviceID, result *resourcev1.DeviceRequestAllocationResult) (part share, isCard bool) {
	now := d.byID[id]
	if now != nil {
		return share{card: now.card, milli: consumed(now, result)}, now.card != "" || now.missing != ""
	}

	if d.attributes.Of(result.Driver) == "" {
		return share{}, false
	}
	return share{card: d.onlyCardOf(id), milli: oneDevice}, true
}

// request returns the position of a request in the spec by its name in an allocation. The name is
// <request>/<alternative> if the request has several alternatives.
func (c *Claim) request(name string) int {
	base := resourceclaim.BaseRequestRef(name)

	i := 0
	for _, r := range c.object.Spec.Devices.Requests {
		if r.Name == base {
			return i
		}
		if r.Exactly == nil || r.Exactly.AdminAccess == nil || !*r.Exactly.AdminAccess {
			i++
		}
	}
	return 0
}

// onlyCardOf returns the card of the other devices of a pool, "" if they differ. Nothing else is known of a device that
// was gone when the scheduler started.
func (d *devices) onlyCardOf(id deviceID) (only string) {
	for other, device := range d.byID {
		if other.driver != id.driver || other.pool != id.pool || device.card == "" {
			continue
		}

		if only != "" && only != device.card {
			return ""
		}
		only = device.card
	}
	return only
}

// consumed returns the part of a card that an allocation has of a device that several claims share:
//
//	max over the capacities that it consumes of consumed / capacity
//
// It is one card if the capacities are unknown.
func consumed(d *device, result *resourcev1.DeviceRequestAllocationResult) card.Milli {
	if result.ShareID == nil {
		return oneDevice
	}

	part := 0.0
	for name, quantity := range result.ConsumedCapacity {
		capacity, has := d.object.Capacity[name]
		if all := capacity.Value.AsApproximateFloat64(); has && all > 0 {
			part = max(part, quantity.AsApproximateFloat64()/all)
		}
	}
	if part <= 0 || part > 1 {
		return oneDevice
	}

	const unit = 1 << 20 // sums of multiples of 2^-20 are exact
	return card.Milli(math.Floor(part*oneDevice*unit) / unit)
}

// claimsOf resolves the resource claims of a pod, nil if it has none. Registry.mu is held.
func (s *Snapshot) claimsOf(pod *v1.Pod) *podClaims {
	d := s.registry.devices
	if d == nil || len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}

	p := &podClaims{}
	for i := range pod.Spec.ResourceClaims {
		spec := &pod.Spec.ResourceClaims[i]
		name, made, err := resourceclaim.Name(pod, spec)
		switch {
		case err != nil:
			p.unmade = spec.Name
		case name == nil: // none is needed
		case made:
			p.own = appendNew(p.own, d.claim(pod.Namespace, *name))
		default:
			c := d.claim(pod.Namespace, *name)
			c.named = true
			p.shared = appendNew(p.shared, c)
		}
	}

	p.all = slices.Concat(p.own, p.shared)
	if p.unmade == "" && len(p.all) == 0 {
		return nil
	}
	return p
}

func appendNew(claims []*Claim, c *Claim) []*Claim {
	if slices.Contains(claims, c) {
		return claims
	}
	return append(claims, c)
}

// on returns the charges of the claim on a node.
func (c *Claim) on(node string) []charge {
	switch {
	case c.allocated != nil:
		return c.allocated
	case len(c.placed) > 0 && (c.named || c.node == node):
		return c.placed
	}
	return c.most(node)
}

// where returns the node of the pods that share the claim, "" if no such pod has a node. Until the claim is allocated,
// all pods that share it need the same node.
func (c *Claim) where() string {
	if c.named && len(c.placed) > 0 {
		return c.node
	}
	return c.first
}

// most returns the most that the claim can get on a node.
func (c *Claim) most(node string) []charge {
	if c.shape == nil || c.shape.on[node].shape == nil {
		return nil
	}
	return c.shape.on[node].shape.most
}

// list returns the cards of one request of a claim: the list of the pod, or else the cards that the request admits.
func (c *Claim) list(p *PodRequest, request int) *Selector {
	if p.selector != nil || c.shape == nil || request >= len(c.shape.requests) {
		return p.selector
	}
	return c.shape.requests[request].list
}
