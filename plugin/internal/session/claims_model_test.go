package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// claimModel has the devices and resource claims of a cluster. It says what queues are charged for claims, by the
// documentation and without the engine.
type claimModel struct {
	devices map[string][]string    // the card of each device, by node
	claims  map[string]*modelClaim // by name
	pods    map[string][]string    // claims by pod; a name that begins with "shared" is named by the pod itself
	slices  map[string]*resourcev1.ResourceSlice
	version int64

	seen map[string]map[index.Queue]bool // queues that hold a claim, while accounts are added up
	// where is the node of the first pod of those that share a claim: the claim is charged for what it can get there.
	where  map[string]string
	opened map[string]string // where when the session opened, which lasts for the session
	// unserved are the pods, and the shared claims, that nothing on their node served when the session opened: they are
	// charged for them from the next session on.
	unserved map[string]bool
	placed   string         // the tasks with a node when the session opened
	order    []string       // pods that were placed in the session
	groups   oracle.Groups  // of cards
	sharing  []oracle.Plain // pods that have a node, with the claims that they share
}

// modelClaim is a resource claim.
type modelClaim struct {
	requests  []modelRequest
	pool      string             // of the allocated devices
	allocated []int              // the devices of the pool, nil before
	cards     map[string]float64 // of the allocated devices, when they were allocated
	node      string             // where a pod was placed before it was allocated
	placed    map[string]float64 // what the claim could get there then
	object    *resourcev1.ResourceClaim
}

type (
	modelRequest     = oracle.ClaimRequest
	modelAlternative = oracle.ClaimAlternative
)

func newClaimModel() *claimModel {
	return &claimModel{where: map[string]string{}, devices: map[string][]string{}, claims: map[string]*modelClaim{}, pods: map[string][]string{},
		slices: map[string]*resourcev1.ResourceSlice{}}
}

func (m *claimModel) begin() {
	if m != nil {
		m.seen = map[string]map[index.Queue]bool{}
	}
}

// end forgets where claims were placed that nobody holds any more.
func (m *claimModel) end() {
	if m != nil {
		maps.DeleteFunc(m.where, func(name, _ string) bool { return m.seen[name] == nil && m.opened[name] == "" })
	}
}

// notePlaced notes where the claims of a pod are placed that it is the first of.
func (m *claimModel) notePlaced(task *api.TaskInfo) {
	m.order = append(m.order, task.Name)
	for _, name := range m.pods[task.Name] {
		c := m.claims[name]
		if strings.HasPrefix(name, "shared") && m.where[name] == "" && len(c.charge(m, task.NodeName)) > 0 {
			m.where[name] = task.NodeName
		}
	}
}

// each visits what the queues of a path are charged for the claims of a task that has a node: for a claim that the pod
// names, once for each queue.
func (m *claimModel) each(path []index.Queue, task *api.TaskInfo, visit func(q index.Queue, name string, milli float64)) {
	if m == nil {
		return
	}
	for _, name := range m.pods[task.Name] {
		if m.unserved[task.Name+" "+name] {
			continue
		}
		for _, q := range path {
			if strings.HasPrefix(name, "shared") {
				if m.seen[name] == nil {
					m.seen[name] = map[index.Queue]bool{}
				}
				if m.seen[name][q] {
					continue
				}
				m.seen[name][q] = true
			}
			node := task.NodeName
			if first := m.where[name]; first != "" {
				node = first
			}
			for name, n := range m.claims[name].charge(m, node) {
				visit(q, name, 1000*n)
			}
		}
	}
}

// charge returns what a claim takes on a node.
func (c *modelClaim) charge(m *claimModel, node string) map[string]float64 {
	switch {
	case c.cards != nil:
		return c.cards
	case c.node == node && len(c.placed) > 0:
		return c.placed
	}
	return c.most(m.devices[node])
}

// most returns the most that a claim can get of some devices.
func (c *modelClaim) most(devices []string) map[string]float64 {
	return oracle.Most(c.requests, devices)
}

// allocations returns all sets of devices that a claim can be given.
func (c *modelClaim) allocations(devices []string, taken map[int]bool) (all [][]int) {
	var choose func(request int, has []int)
	choose = func(request int, has []int) {
		if request == len(c.requests) {
			all = append(all, slices.Clone(has))
			return
		}
		for _, a := range c.requests[request] {
			var free []int
			total := 0
			for i, name := range devices {
				if slices.Contains(a.Cards, name) {
					total++
					if !taken[i] && !slices.Contains(has, i) {
						free = append(free, i)
					}
				}
			}
			if a.Count == 0 {
				if len(free) == total && total > 0 {
					choose(request+1, append(slices.Clone(has), free...))
				}
				continue
			}
			for _, some := range subsets(free, a.Count) {
				choose(request+1, append(slices.Clone(has), some...))
			}
		}
	}
	choose(0, nil)
	return all
}

// String describes what the model knows, for a failure.
func (m *claimModel) String() string {
	text := fmt.Sprintln(m.devices, m.where, m.placed)
	for _, pod := range slices.Sorted(maps.Keys(m.pods)) {
		text += fmt.Sprintln(pod, m.pods[pod])
	}
	for _, name := range slices.Sorted(maps.Keys(m.claims)) {
		c := m.claims[name]
		text += fmt.Sprintln(name, c.requests, c.pool, c.cards, c.node, c.placed)
	}
	return text
}

// subsets returns all subsets of n elements.
func subsets(of []int, n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for i := range of {
		for _, rest := range subsets(of[i+1:], n-1) {
			all = append(all, append([]int{of[i]}, rest...))
		}
	}
	return all
}

// allocate gives a claim devices of a node.
func (c *modelClaim) allocate(m *claimModel, node string, devices []int) {
	c.pool, c.allocated, c.cards = node, devices, map[string]float64{}
	for _, i := range devices {
		c.cards[m.devices[node][i]]++
	}
	c.object = nil
}

// objects returns the objects of the model. Those that have not changed keep their address.
func (m *claimModel) objects() (o release.DeviceObjects) {
	o.Classes = modelClasses
	for _, node := range slices.Sorted(maps.Keys(m.devices)) {
		slice := m.slices[node]
		if slice == nil {
			m.version++
			slice = modelSlice(node, m.version, m.devices[node])
			m.slices[node] = slice
		}
		o.Slices = append(o.Slices, slice)
	}
	for _, name := range slices.Sorted(maps.Keys(m.claims)) {
		c := m.claims[name]
		if c.object == nil {
			c.object = c.toObject(name)
		}
		o.Claims = append(o.Claims, c.object)
	}
	return o
}

const modelDriver = "gpu.nvidia.com"

var modelClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: modelDriver},
	Spec: resourcev1.DeviceClassSpec{Selectors: modelSelector(`device.driver == "` + modelDriver + `"`)}}}

func modelSelector(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

// modelSlice returns the slice of a node whose devices are cards.
func modelSlice(node string, generation int64, names []string) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)},
		Spec: resourcev1.ResourceSliceSpec{Driver: modelDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: generation,
			ResourceSliceCount: 1}}}
	for i, name := range names {
		product, part, isPart := strings.Cut(name, "/")
		kind := "gpu"
		product = strings.ReplaceAll(product, "-", " ")
		d := resourcev1.Device{Name: fmt.Sprint("gpu-", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
		if isPart {
			kind = "mig"
			profile := strings.TrimSuffix(strings.TrimPrefix(part, "mig-"), "-mixed")
			d.Attributes["profile"] = resourcev1.DeviceAttribute{StringValue: &profile}
		}
		d.Attributes["type"], d.Attributes["productName"] = resourcev1.DeviceAttribute{StringValue: &kind}, resourcev1.DeviceAttribute{StringValue: &product}
		slice.Spec.Devices = append(slice.Spec.Devices, d)
	}
	return slice
}

// toObject returns the claim as an object.
func (c *modelClaim) toObject(name string) *resourcev1.ResourceClaim {
	o := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name, UID: types.UID(name)}}
	for i, r := range c.requests {
		request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}
		for k, a := range r {
			sub := resourcev1.DeviceSubRequest{Name: fmt.Sprint("a", k), DeviceClassName: modelDriver, Count: int64(a.Count),
				AllocationMode: resourcev1.DeviceAllocationModeExactCount, Selectors: modelSelector(admitsCards(a.Cards))}
			if a.Count == 0 {
				sub.AllocationMode = resourcev1.DeviceAllocationModeAll
			}
			if len(r) == 1 {
				request.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: sub.DeviceClassName, Count: sub.Count,
					AllocationMode: sub.AllocationMode, Selectors: sub.Selectors}
			} else {
				request.FirstAvailable = append(request.FirstAvailable, sub)
			}
		}
		o.Spec.Devices.Requests = append(o.Spec.Devices.Requests, request)
	}
	if c.cards != nil {
		o.Status.Allocation = &resourcev1.AllocationResult{}
		for _, i := range c.allocated {
			o.Status.Allocation.Devices.Results = append(o.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
				Request: "r0", Driver: modelDriver, Pool: c.pool, Device: fmt.Sprint("gpu-", i)})
		}
	}
	return o
}

// admitsCards returns an expression that admits the devices that are these cards.
func admitsCards(names []string) string {
	var each []string
	for _, name := range names {
		product, part, isPart := strings.Cut(name, "/")
		one := fmt.Sprintf(`device.attributes["gpu.nvidia.com"].productName == %q`, strings.ReplaceAll(product, "-", " "))
		if isPart {
			one += fmt.Sprintf(` && device.attributes["gpu.nvidia.com"].type == "mig" && device.attributes["gpu.nvidia.com"].profile == %q`,
				strings.TrimSuffix(strings.TrimPrefix(part, "mig-"), "-mixed"))
		} else {
			one += ` && device.attributes["gpu.nvidia.com"].type == "gpu"`
		}
		each = append(each, "("+one+")")
	}
	return strings.Join(each, " || ")
}

// give gives the pods of a session their claims, and its cache the objects.
func (m *claimModel) give(info *api.ClusterInfo, c *offline.Cache) {
	c.SetDevices(m.objects())
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			for _, name := range m.pods[task.Name] {
				spec := v1.PodResourceClaim{Name: name}
				if strings.HasPrefix(name, "shared") {
					spec.ResourceClaimName = &name
				} else {
					spec.ResourceClaimTemplateName = &name
					task.Pod.Status.ResourceClaimStatuses = append(task.Pod.Status.ResourceClaimStatuses,
						v1.PodResourceClaimStatus{Name: name, ResourceClaimName: &name})
				}
				task.Pod.Spec.ResourceClaims = append(task.Pod.Spec.ResourceClaims, spec)
			}
		}
	}
}

// openWith opens a session of a scene with the claims of a model.
func (s *scene) openWith(t *testing.T, m *claimModel) *fixture {
	t.Helper()
	f := s.open(t, m.give)
	f.model = m
	placed := slices.DeleteFunc(f.sortedTasks(), func(task *api.TaskInfo) bool { return task.NodeName == "" })
	slices.SortFunc(placed, func(x, y *api.TaskInfo) int { return strings.Compare(x.NodeName, y.NodeName) })
	m.where, m.opened, m.order, m.placed = map[string]string{}, nil, nil, ""
	for _, task := range placed {
		m.placed += fmt.Sprint(" ", f.Jobs[task.Job].Queue, " ", task.Name, ":", task.NodeName, ":", task.Status)
		for _, name := range m.pods[task.Name] {
			if c := m.claims[name]; c.placed != nil && strings.HasPrefix(name, "shared") {
				m.where[name] = c.node
			}
		}
		m.notePlaced(task)
	}
	m.unserved, m.opened = map[string]bool{}, maps.Clone(m.where)
	for _, task := range placed {
		for _, name := range m.pods[task.Name] {
			if strings.HasPrefix(name, "shared") && m.where[name] == "" && len(m.claims[name].charge(m, task.NodeName)) == 0 {
				m.unserved[task.Name+" "+name] = true
			}
		}
	}
	f.checkCards(t)
	return f
}
