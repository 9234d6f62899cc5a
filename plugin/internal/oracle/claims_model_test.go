package oracle_test

import (
	"cmp"
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
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// claimModel has the devices and resource claims of a cluster. It says what queues are charged for claims, by the
// documentation and without the engine.
type claimModel struct {
	Devices map[string][]string    // the card of each device, by node
	Claims  map[string]*modelClaim // by name
	Pods    map[string][]string    // claims by pod; a name that begins with "shared" is named by the pod itself
	Slices  map[string]*resourcev1.ResourceSlice
	version int64

	seen map[string]map[index.Queue]bool // queues that hold a claim, while accounts are added up
	// Where is the node of the first pod with a shared claim. The claim is charged for the devices that it can get
	// there.
	Where  map[string]string
	Opened map[string]string // Where when the session opened, which lasts for the session
	// Unserved are the pods, and the shared claims, that nothing on their node served when the session opened: they are
	// charged for them from the next session on.
	Unserved map[string]bool
	placed   string         // the tasks with a node when the session opened
	Order    []string       // pods that were placed in the session
	Groups   oracle.Groups  // of cards
	Sharing  []oracle.Plain // pods that have a node, with the claims that they share
}

// modelClaim is a resource claim.
type modelClaim struct {
	Requests  []oracle.ClaimRequest
	Pool      string             // of the allocated devices
	Allocated []int              // the devices of the pool, nil before
	Cards     map[string]float64 // of the allocated devices, when they were allocated
	Node      string             // where a pod was placed before it was allocated
	Placed    map[string]float64 // the cards that the claim could get there then
	object    *resourcev1.ResourceClaim
}

// newClaimModel returns a model without devices and claims.
func newClaimModel() *claimModel {
	return &claimModel{
		Devices: map[string][]string{},
		Claims:  map[string]*modelClaim{},
		Pods:    map[string][]string{},
		Slices:  map[string]*resourcev1.ResourceSlice{},
		Where:   map[string]string{},
	}
}

// Begin begins to add up accounts.
func (m *claimModel) Begin() { m.seen = map[string]map[index.Queue]bool{} }

// End forgets where claims were placed that nobody holds any more.
func (m *claimModel) End() {
	maps.DeleteFunc(m.Where, func(name, _ string) bool { return m.seen[name] == nil && m.Opened[name] == "" })
}

// notePlaced notes where the claims of a pod are placed that it is the first of.
func (m *claimModel) notePlaced(task *api.TaskInfo) {
	m.Order = append(m.Order, task.Name)
	for _, name := range m.Pods[task.Name] {
		c := m.Claims[name]
		if isShared(name) && m.Where[name] == "" && len(c.Charge(m, task.NodeName)) > 0 {
			m.Where[name] = task.NodeName
		}
	}
}

// Each visits the charges of the queues of a path for the claims of a task that has a node: one for each queue and
// claim that the pod names.
func (m *claimModel) Each(
	path []index.Queue, task *api.TaskInfo, visit func(q index.Queue, name string, milli float64),
) {
	for _, name := range m.Pods[task.Name] {
		if m.Unserved[task.Name+" "+name] {
			continue
		}
		charge := m.Claims[name].Charge(m, cmp.Or(m.Where[name], task.NodeName))
		for _, q := range path {
			if m.holds(q, name) {
				continue
			}
			for card, n := range charge {
				visit(q, card, 1000*n)
			}
		}
	}
}

// holds reports whether a queue has been charged for a shared claim, and notes that it is.
func (m *claimModel) holds(q index.Queue, claim string) bool {
	if !isShared(claim) {
		return false
	}
	if m.seen[claim] == nil {
		m.seen[claim] = map[index.Queue]bool{}
	}

	held := m.seen[claim][q]
	m.seen[claim][q] = true
	return held
}

// isShared reports whether pods name a claim themselves, so that several may share it.
func isShared(claim string) bool { return strings.HasPrefix(claim, "shared") }

// Charge returns the cards that a claim takes on a node.
func (c *modelClaim) Charge(m *claimModel, node string) map[string]float64 {
	switch {
	case c.Cards != nil:
		return c.Cards
	case c.Node == node && len(c.Placed) > 0:
		return c.Placed
	}
	return c.Most(m.Devices[node])
}

// Most returns the most that a claim can get of some devices.
func (c *modelClaim) Most(devices []string) map[string]float64 {
	return oracle.Most(c.Requests, devices)
}

// String describes the model, for the message of a failure.
func (m *claimModel) String() string {
	text := fmt.Sprintln(m.Devices, m.Where, m.placed)
	for _, pod := range slices.Sorted(maps.Keys(m.Pods)) {
		text += fmt.Sprintln(pod, m.Pods[pod])
	}
	for _, name := range slices.Sorted(maps.Keys(m.Claims)) {
		c := m.Claims[name]
		text += fmt.Sprintln(name, c.Requests, c.Pool, c.Cards, c.Node, c.Placed)
	}

	return text
}

// Allocate gives a claim devices of a node.
func (c *modelClaim) Allocate(m *claimModel, node string, devices []int) {
	c.Pool = node
	c.Allocated = devices
	c.Cards = map[string]float64{}
	for _, i := range devices {
		c.Cards[m.Devices[node][i]]++
	}
	c.object = nil
}

// openWith opens a session of a scene with the claims of a model.
func openWith(t *testing.T, s *testbed.Scene, m *claimModel) *testbed.Fixture {
	t.Helper()
	f := s.Open(t, m.give)
	f.Claims = m

	placed := slices.DeleteFunc(f.SortedTasks(), func(task *api.TaskInfo) bool { return task.NodeName == "" })
	slices.SortFunc(placed, func(x, y *api.TaskInfo) int { return strings.Compare(x.NodeName, y.NodeName) })
	m.follow(f, placed)
	f.CheckCards(t)
	return f
}

// follow notes where claims are when a session opens. placed are the tasks with a node, in the order of the nodes.
func (m *claimModel) follow(f *testbed.Fixture, placed []*api.TaskInfo) {
	m.Where = map[string]string{}
	m.Opened = nil
	m.Order = nil
	m.placed = ""
	for _, task := range placed {
		m.placed += fmt.Sprint(" ", f.Jobs[task.Job].Queue, " ", task.Name, ":", task.NodeName, ":", task.Status)
		for _, name := range m.Pods[task.Name] {
			if c := m.Claims[name]; c.Placed != nil && isShared(name) {
				m.Where[name] = c.Node
			}
		}
		m.notePlaced(task)
	}

	m.Opened = maps.Clone(m.Where)
	m.Unserved = map[string]bool{}
	for _, task := range placed {
		for _, name := range m.Pods[task.Name] {
			if isShared(name) && m.Where[name] == "" && len(m.Claims[name].Charge(m, task.NodeName)) == 0 {
				m.Unserved[task.Name+" "+name] = true
			}
		}
	}
}

// exactlyOf is a request for a number of devices of some cards.
func exactlyOf(count int, names ...string) oracle.ClaimRequest {
	return oracle.ClaimRequest{{Count: count, Cards: names}}
}

// With gives a pod claims.
func (m *claimModel) With(pod string, claims map[string][]oracle.ClaimRequest) {
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if m.Claims[name] == nil {
			m.Claims[name] = &modelClaim{Requests: claims[name]}
		}
		m.Pods[pod] = append(m.Pods[pod], name)
	}
}

// objects returns the objects of the model. Those that have not changed keep their address.
func (m *claimModel) objects() (o release.DeviceObjects) {
	o.Classes = testbed.DeviceClasses
	for _, node := range slices.Sorted(maps.Keys(m.Devices)) {
		slice := m.Slices[node]
		if slice == nil {
			m.version++
			slice = testbed.Slice(node, m.version, m.Devices[node])
			m.Slices[node] = slice
		}
		o.Slices = append(o.Slices, slice)
	}

	for _, name := range slices.Sorted(maps.Keys(m.Claims)) {
		c := m.Claims[name]
		if c.object == nil {
			c.object = c.toObject(name)
		}
		o.Claims = append(o.Claims, c.object)
	}

	return o
}

// toObject returns the claim as an object.
func (c *modelClaim) toObject(name string) *resourcev1.ResourceClaim {
	o := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name, UID: types.UID(name)},
	}
	for i, request := range c.Requests {
		o.Spec.Devices.Requests = append(o.Spec.Devices.Requests, testbed.DeviceRequest(i, request))
	}
	if c.Cards == nil {
		return o
	}

	o.Status.Allocation = &resourcev1.AllocationResult{}
	devices := &o.Status.Allocation.Devices
	for _, i := range c.Allocated {
		devices.Results = append(devices.Results, resourcev1.DeviceRequestAllocationResult{
			Request: "r0", Driver: testbed.Driver, Pool: c.Pool, Device: testbed.DeviceName(i),
		})
	}

	return o
}

// give gives the pods of a session their claims, and its cache the objects.
func (m *claimModel) give(info *api.ClusterInfo, c *offline.Cache) {
	c.SetDevices(m.objects())
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			for _, name := range m.Pods[task.Name] {
				addClaim(task.Pod, name)
			}
		}
	}
}

// addClaim adds a claim to a pod, which names it or has a template for it.
func addClaim(pod *v1.Pod, name string) {
	spec := v1.PodResourceClaim{Name: name}
	if isShared(name) {
		spec.ResourceClaimName = &name
	} else {
		spec.ResourceClaimTemplateName = &name
		status := v1.PodResourceClaimStatus{Name: name, ResourceClaimName: &name}
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, status)
	}
	pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, spec)
}
