package world

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// driver is the driver of all devices. Their device class has the same name.
const driver = "gpu.nvidia.com"

// Pool are the devices of a node that resource claims give.
type Pool struct {
	Cards      []string // the card of each device: they are named gpu-0, gpu-1 and so on
	generation int64
	slices     []*resourcev1.ResourceSlice
}

// Gives returns the cards of the devices, none while the node is lost.
func (p *Pool) Gives() []string {
	if p == nil || len(p.slices) == 0 {
		return nil
	}
	return p.Cards
}

// Claim is a resource claim.
type Claim struct {
	Name, Namespace string
	Text            string // its requests
	Template        bool   // it was made for one pod
	Deleted         bool   // it stays for its pods alone
	Node            string // of the devices that are allocated, "" before
	Devices         []int  // the devices of this node that are allocated
	Object          *resourcev1.ResourceClaim
}

// Alternative is a number of devices that are one of some cards; 0 is all of them.
type Alternative struct {
	Count int
	Cards []string
}

// ParseClaim reads the requests of a claim, such as 2xA|B;allxC+1xD: each request has alternatives.
func ParseClaim(text string) (requests [][]Alternative, err error) {
	for _, request := range strings.Split(text, "+") {
		var alternatives []Alternative
		for _, part := range strings.Split(request, ";") {
			count, cards, ok := strings.Cut(part, "x")
			n, err := strconv.Atoi(count)
			if count == "all" {
				n, err = 0, nil
			} else if n < 1 {
				ok = false
			}
			if err != nil || !ok || cards == "" {
				return nil, fmt.Errorf("%s is no number of cards, such as 2xA|B", part)
			}
			alternatives = append(alternatives, Alternative{n, strings.Split(cards, "|")})
		}
		requests = append(requests, alternatives)
	}

	return requests, nil
}

// claimed checks a list of what claims request.
func (w *words) claimed(text string) {
	for _, claim := range strings.Split(text, ",") {
		if _, err := ParseClaim(claim); err != nil {
			w.fail("%v", err)
		}
	}
}

// ofDevices reads a command of devices or claims.
func (w *words) ofDevices() Deed {
	switch w.command {
	case "devices":
		return w.devices()
	case "claim":
		return w.claim()
	}

	d := DeleteClaim{Name: w.next("a name")}
	w.each(func(key, value string) bool {
		if key == "namespace" {
			d.Namespace = value
		}
		return key == "namespace"
	})
	return d
}

// devices reads the command of devices.
func (w *words) devices() Deed {
	d := SetDevices{Node: w.next("a node")}
	names, numbers, err := pairs(w.next("cards"))
	if err != nil {
		w.fail("%v", err)
	}
	for i, name := range names {
		for range w.number(numbers[i]) {
			d.Cards = append(d.Cards, name)
		}
	}

	w.each(func(key, value string) bool {
		if key == "old" {
			d.Old = w.flag(value)
		}
		return key == "old"
	})
	return d
}

// String is the command.
func (d SetDevices) String() string {
	var all []string
	for i := 0; i < len(d.Cards); {
		n := 1
		for i+n < len(d.Cards) && d.Cards[i+n] == d.Cards[i] {
			n++
		}
		all = append(all, fmt.Sprintf("%s:%d", d.Cards[i], n))
		i += n
	}

	text := "devices " + d.Node + " " + cmp.Or(strings.Join(all, ","), none)
	if d.Old {
		text += " old"
	}
	return text
}

// claim reads the command of a claim.
func (w *words) claim() Deed {
	d := MakeClaim{Name: w.next("a name"), Requests: w.next("what it requests")}
	w.claimed(d.Requests)
	w.each(func(key, value string) bool {
		if key == "namespace" {
			d.Namespace = value
		}
		return key == "namespace"
	})
	return d
}

// String is the command.
func (d MakeClaim) String() string {
	return "claim " + d.Name + " " + d.Requests + inNamespace(d.Namespace)
}

// String is the command.
func (d DeleteClaim) String() string { return "delete-claim " + d.Name + inNamespace(d.Namespace) }

func inNamespace(name string) string {
	if name == "" {
		return ""
	}
	return field("namespace", name)
}

func (d SetDevices) apply(w *World) {
	pool := w.Pools[d.Node]
	if n := w.Nodes[d.Node]; n == nil || n.Lost || pool == nil && d.Old {
		return
	}

	if pool == nil {
		pool = &Pool{}
		w.Pools[d.Node] = pool
	}

	pool.publish(d.Node, d.Cards, d.Old)
}

// publish publishes devices in a new generation of the pool, or in an old one that stays with the current one.
func (p *Pool) publish(node string, cards []string, old bool) {
	if old {
		if len(p.slices) > 0 {
			p.slices = append(p.slices, slice(node, p.generation-1, cards))
		}
		return
	}

	p.generation++
	p.Cards, p.slices = cards, nil
	if len(cards) > 0 {
		p.slices = []*resourcev1.ResourceSlice{slice(node, p.generation, cards)}
	}
}

// slice returns the slice of a pool.
func slice(node string, generation int64, cards []string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)},
		Spec: resourcev1.ResourceSliceSpec{
			Driver:   driver,
			NodeName: &node,
			Pool:     resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: 1},
		},
	}

	for i, name := range cards {
		product, profile, isPart := partOf(name)
		kind := "gpu"
		d := resourcev1.Device{
			Name:       deviceName(i),
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

func deviceName(i int) string { return fmt.Sprint("gpu-", i) }

// partOf returns the product and the profile of a card, such as A/mig-1g.10gb-mixed.
func partOf(name string) (product, profile string, isPart bool) {
	product, profile, isPart = strings.Cut(name, "/mig-")
	return strings.ReplaceAll(product, "-", " "), strings.TrimSuffix(profile, "-mixed"), isPart
}

func (d MakeClaim) apply(w *World) {
	namespace := cmp.Or(d.Namespace, cluster.Namespace)
	if w.Claim(namespace, d.Name) == nil {
		w.addClaim(&Claim{Name: d.Name, Namespace: namespace, Text: d.Requests})
	}
}

func (d DeleteClaim) apply(w *World) {
	if c := w.Claim(cmp.Or(d.Namespace, cluster.Namespace), d.Name); c != nil {
		c.Deleted = true
		if c.Node == "" {
			w.Claims = slices.DeleteFunc(w.Claims, func(other *Claim) bool { return other == c })
		}
	}
}

// Claim returns a claim, nil for none.
func (w *World) Claim(namespace, name string) *Claim {
	for _, c := range w.Claims {
		if c.Namespace == namespace && c.Name == name {
			return c
		}
	}
	return nil
}

// addClaim adds a claim with a new object.
func (w *World) addClaim(c *Claim) {
	c.Object = &resourcev1.ResourceClaim{}
	c.Object.Namespace = c.Namespace
	c.Object.Name = c.Name
	c.Object.UID = w.uid(c.Name)

	requests, _ := ParseClaim(c.Text)
	for i, r := range requests {
		request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}

		for k, a := range r {
			sub := resourcev1.DeviceSubRequest{
				Name:            fmt.Sprint("a", k),
				DeviceClassName: driver,
				Count:           int64(a.Count),
				AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
				Selectors:       selectors(admits(a.Cards)),
			}
			if a.Count == 0 {
				sub.AllocationMode = resourcev1.DeviceAllocationModeAll
			}

			request.FirstAvailable = append(request.FirstAvailable, sub)
			if len(r) == 1 {
				request.FirstAvailable = nil
				request.Exactly = &resourcev1.ExactDeviceRequest{
					DeviceClassName: sub.DeviceClassName,
					Count:           sub.Count,
					AllocationMode:  sub.AllocationMode,
					Selectors:       sub.Selectors,
				}
			}
		}

		c.Object.Spec.Devices.Requests = append(c.Object.Spec.Devices.Requests, request)
	}

	w.Claims = append(w.Claims, c)
}

func selectors(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

// admits returns an expression that admits the devices that are one of some cards.
func admits(cards []string) string {
	var each []string
	for _, name := range cards {
		product, profile, isPart := partOf(name)
		one := fmt.Sprintf(`device.attributes[%q].productName == %q`, driver, product)
		if isPart {
			one += fmt.Sprintf(` && device.attributes[%q].type == "mig" && device.attributes[%q].profile == %q`,
				driver, driver, profile)
		} else {
			one += fmt.Sprintf(` && device.attributes[%q].type == "gpu"`, driver)
		}
		each = append(each, "("+one+")")
	}

	return strings.Join(each, " || ")
}

var classes = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: driver},
	Spec: resourcev1.DeviceClassSpec{Selectors: selectors(`device.driver == "` + driver + `"`)}}}

// DeviceObjects returns the objects of dynamic resource allocation.
func (w *World) DeviceObjects() (o offline.DeviceObjects) {
	for _, node := range keys(w.Pools) {
		o.Slices = append(o.Slices, w.Pools[node].slices...)
	}

	for _, c := range w.Claims {
		o.Claims = append(o.Claims, c.Object)
	}

	if !o.Empty() {
		o.Classes = classes
	}
	return o
}

// claim gives a pod its claims.
func (p PodSpec) claim(pod *v1.Pod) {
	for i, text := range split(p.Claims) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims,
			v1.PodResourceClaim{Name: fmt.Sprint("own-", i), ResourceClaimTemplateName: &text})
	}
	for _, name := range split(p.Shares) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims,
			v1.PodResourceClaim{Name: "shared-" + name, ResourceClaimName: &name})
	}
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// ClaimsOf returns the claims of a pod: those that were made for it, and those that it shares with others.
func (w *World) ClaimsOf(pod *v1.Pod) (own, shared []*Claim) {
	for _, spec := range pod.Spec.ResourceClaims {
		if spec.ResourceClaimName != nil {
			if c := w.Claim(pod.Namespace, *spec.ResourceClaimName); c != nil {
				shared = append(shared, c)
			}
			continue
		}
		for _, status := range pod.Status.ResourceClaimStatuses {
			if status.Name == spec.Name {
				if c := w.Claim(pod.Namespace, *status.ResourceClaimName); c != nil {
					own = append(own, c)
				}
			}
		}
	}

	return own, shared
}

// serveClaims does the work of the controllers of claims. It makes the claims of templates, and deletes and deallocates
// claims that no pod needs. It allocates devices to claims with a pod that has a node.
func (w *World) serveClaims() {
	holders := map[*Claim][]*Pod{} // with a node
	needed := map[*Claim]bool{}
	for _, p := range w.claimants() {
		w.makeClaims(p)
		own, shared := w.ClaimsOf(p.Object)
		for _, c := range slices.Concat(own, shared) {
			needed[c] = true
			if p.Placed() {
				holders[c] = append(holders[c], p)
			}
		}
	}

	w.Claims = slices.DeleteFunc(w.Claims, func(c *Claim) bool {
		return c.Template && !needed[c] || c.Deleted && len(holders[c]) == 0
	})

	for i, c := range w.Claims {
		switch {
		case len(holders[c]) == 0 && c.Node != "":
			w.update(c, "", nil, nil)
		case len(holders[c]) > 0 && c.Node == "" && w.Cycle > holders[c][0].Since+i%3:
			w.allocate(c, holders[c][0].Object.Spec.NodeName)
		}
	}
}

// claimants returns the pods with claims that have not finished.
func (w *World) claimants() (all []*Pod) {
	for _, j := range slices.Concat(w.Jobs, w.Orphans) {
		for _, p := range j.All() {
			if !p.Finished() && len(p.Object.Spec.ResourceClaims) > 0 {
				all = append(all, p)
			}
		}
	}
	return all
}

// makeClaims makes the claims of a pod's templates.
func (w *World) makeClaims(p *Pod) {
	if len(p.Object.Status.ResourceClaimStatuses) > 0 {
		return
	}

	var made []v1.PodResourceClaimStatus
	for _, spec := range p.Object.Spec.ResourceClaims {
		if spec.ResourceClaimTemplateName == nil {
			continue
		}

		name := fmt.Sprintf("%s-%s-%d", p.Object.Name, spec.Name, w.made)
		w.addClaim(&Claim{
			Name:      name,
			Namespace: p.Object.Namespace,
			Text:      *spec.ResourceClaimTemplateName,
			Template:  true,
		})

		made = append(made, v1.PodResourceClaimStatus{Name: spec.Name, ResourceClaimName: &name})
	}

	if len(made) > 0 {
		p.update(func(pod *v1.Pod) { pod.Status.ResourceClaimStatuses = made })
	}
}

// allocate gives a claim devices of a node, if enough are free.
func (w *World) allocate(c *Claim, node string) {
	taken := map[int]bool{}
	for _, other := range w.Claims {
		if other.Node == node {
			for _, i := range other.Devices {
				taken[i] = true
			}
		}
	}

	requests, _ := ParseClaim(c.Text)
	if devices, served, ok := choose(requests, 0, w.Pools[node].Gives(), taken); ok {
		w.update(c, node, devices, served)
	}
}

// choose returns devices for the requests from one on, and the names of the requests that they serve. Each request gets
// the first alternative with enough devices.
func choose(
	requests [][]Alternative, from int, cards []string, taken map[int]bool,
) (devices []int, served []string, ok bool) {
	if from == len(requests) {
		return nil, nil, true
	}
	for k, a := range requests[from] {
		name := fmt.Sprint("r", from)
		if len(requests[from]) > 1 {
			name += fmt.Sprint("/a", k)
		}

		free, all := freeOf(a, cards, taken)
		if a.Count == 0 && len(free) == all {
			a.Count = all
		}

		for first := 0; a.Count > 0 && first+a.Count <= len(free); first++ {
			got := free[first : first+a.Count]
			for _, i := range got {
				taken[i] = true
			}

			if rest, names, ok := choose(requests, from+1, cards, taken); ok {
				return slices.Concat(got, rest), slices.Concat(slices.Repeat([]string{name}, len(got)), names), true
			}
			for _, i := range got {
				delete(taken, i)
			}
		}
	}
	return nil, nil, false
}

// freeOf returns the devices that an alternative admits and that are free, and the number of all that it admits.
func freeOf(a Alternative, cards []string, taken map[int]bool) (free []int, all int) {
	for i, name := range cards {
		if slices.Contains(a.Cards, name) {
			all++
			if !taken[i] {
				free = append(free, i)
			}
		}
	}

	return free, all
}

// update changes the allocation of a claim.
func (w *World) update(c *Claim, node string, devices []int, served []string) {
	c.Node = node
	c.Devices = devices
	c.Object = c.Object.DeepCopy()
	c.Object.Status.Allocation = nil
	if node != "" {
		c.Object.Status.Allocation = &resourcev1.AllocationResult{}
		for k, i := range devices {
			result := resourcev1.DeviceRequestAllocationResult{
				Request: served[k],
				Driver:  driver,
				Pool:    node,
				Device:  deviceName(i),
			}
			c.Object.Status.Allocation.Devices.Results = append(c.Object.Status.Allocation.Devices.Results, result)
		}
	}

	w.Changed = true
	w.Note("claim %s has %v of %s", c.Name, devices, node)
}
