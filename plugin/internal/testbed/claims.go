package testbed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
)

// ClaimModel has the devices and resource claims of a cluster. It says what queues are charged for claims, by the
// documentation and without the engine.
type ClaimModel struct {
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
	Requests  []ModelRequest
	Pool      string             // of the allocated devices
	Allocated []int              // the devices of the pool, nil before
	Cards     map[string]float64 // of the allocated devices, when they were allocated
	Node      string             // where a pod was placed before it was allocated
	Placed    map[string]float64 // the cards that the claim could get there then
	object    *resourcev1.ResourceClaim
}

// A ModelRequest is a list of alternatives, the first that can be served is taken.
type (
	ModelRequest     = oracle.ClaimRequest
	ModelAlternative = oracle.ClaimAlternative
)

// NewClaimModel returns a model without devices and claims.
func NewClaimModel() *ClaimModel {
	return &ClaimModel{
		Devices: map[string][]string{},
		Claims:  map[string]*modelClaim{},
		Pods:    map[string][]string{},
		Slices:  map[string]*resourcev1.ResourceSlice{},
		Where:   map[string]string{},
	}
}

// begin begins to add up accounts.
func (m *ClaimModel) begin() {
	if m != nil {
		m.seen = map[string]map[index.Queue]bool{}
	}
}

// end forgets where claims were placed that nobody holds any more.
func (m *ClaimModel) end() {
	if m != nil {
		maps.DeleteFunc(m.Where, func(name, _ string) bool { return m.seen[name] == nil && m.Opened[name] == "" })
	}
}

// NotePlaced notes where the claims of a pod are placed that it is the first of.
func (m *ClaimModel) NotePlaced(task *api.TaskInfo) {
	m.Order = append(m.Order, task.Name)
	for _, name := range m.Pods[task.Name] {
		c := m.Claims[name]
		if isShared(name) && m.Where[name] == "" && len(c.Charge(m, task.NodeName)) > 0 {
			m.Where[name] = task.NodeName
		}
	}
}

// each visits the charges of the queues of a path for the claims of a task that has a node: one for each queue and
// claim that the pod names.
func (m *ClaimModel) each(
	path []index.Queue, task *api.TaskInfo, visit func(q index.Queue, name string, milli float64),
) {
	if m == nil {
		return
	}

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
func (m *ClaimModel) holds(q index.Queue, claim string) bool {
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
func (c *modelClaim) Charge(m *ClaimModel, node string) map[string]float64 {
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
func (m *ClaimModel) String() string {
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
func (c *modelClaim) Allocate(m *ClaimModel, node string, devices []int) {
	c.Pool = node
	c.Allocated = devices
	c.Cards = map[string]float64{}
	for _, i := range devices {
		c.Cards[m.Devices[node][i]]++
	}
	c.object = nil
}

// OpenWith opens a session of a scene with the claims of a model.
func (s *Scene) OpenWith(t *testing.T, m *ClaimModel) *Fixture {
	t.Helper()
	f := s.Open(t, m.give)
	f.Model = m

	placed := slices.DeleteFunc(f.SortedTasks(), func(task *api.TaskInfo) bool { return task.NodeName == "" })
	slices.SortFunc(placed, func(x, y *api.TaskInfo) int { return strings.Compare(x.NodeName, y.NodeName) })
	m.follow(f, placed)
	f.CheckCards(t)
	return f
}

// follow notes where claims are when a session opens. placed are the tasks with a node, in the order of the nodes.
func (m *ClaimModel) follow(f *Fixture, placed []*api.TaskInfo) {
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
		m.NotePlaced(task)
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

// ExactlyOf is a request for a number of devices of some cards.
func ExactlyOf(count int, names ...string) ModelRequest {
	return ModelRequest{{Count: count, Cards: names}}
}

// With gives a pod claims.
func (m *ClaimModel) With(pod string, claims map[string][]ModelRequest) {
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if m.Claims[name] == nil {
			m.Claims[name] = &modelClaim{Requests: claims[name]}
		}
		m.Pods[pod] = append(m.Pods[pod], name)
	}
}
