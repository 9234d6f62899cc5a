package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// The scalars of random clusters: a common one, a rare one, one that no node has,
// and two that Kubernetes itself adds.
const (
	gpu      = "nvidia.com/gpu"
	rdma     = "example.com/rdma"
	vanished = "example.com/vanished"
	pods     = "pods"
	disk     = "ephemeral-storage"
)

// Random returns the cluster that Draw draws from a seed.
func Random(seed uint64) Cluster { return Draw(rand.New(rand.NewPCG(seed, 0x5eed))) }

// Draw returns a small random cluster. It covers missing scalars, zero and huge bounds, jobs in every phase, tasks in
// every status, gated pods, closed queues and priorities. Trees go down to depth 8. It never holds values that
// Kubernetes rejects, such as negative quantities.
func Draw(r *rand.Rand) Cluster {
	g := &generator{Rand: r}
	c := Cluster{Hierarchy: g.IntN(2) == 0}

	for i := range 1 + g.IntN(4) {
		c.Nodes = append(c.Nodes, g.node(i))
	}

	if c.Hierarchy {
		c.Queues = g.tree()
	} else {
		c.Queues = g.flat()
	}

	leaves := c.Leaves()
	for i := range g.IntN(12) {
		c.Jobs = append(c.Jobs, g.job(i, leaves[g.IntN(len(leaves))], c.Nodes))
	}
	return c
}

// Leaves returns the names of the queues that may hold jobs. Without a tree, these are all queues.
func (c *Cluster) Leaves() []string {
	inner := map[string]bool{}

	if c.Hierarchy {
		for _, q := range c.Queues {
			// Such queues are below the root.
			if q.Name != "root" && q.Parent == "" {
				inner["root"] = true
			}
			inner[q.Parent] = true
		}
	}

	var leaves []string
	for _, q := range c.Queues {
		if !inner[q.Name] {
			leaves = append(leaves, q.Name)
		}
	}
	return leaves
}

type generator struct{ *rand.Rand }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// amount draws from few values, so that sums meet bounds exactly.
func (g *generator) amount(unit int64, most int) int64 { return unit * int64(g.IntN(most+1)) }

// drawn are the resources of random requests and bounds.
var drawn = []struct {
	name   string
	unit   int64
	times  int // of the largest number of units
	rarity int // divides the chance
}{
	{"cpu", 500, 2, 1},
	{"memory", 1 << 30, 1, 1},
	{gpu, 1, 1, 1},
	{rdma, 1, 1, 4},
	{vanished, 1, 1, 8},
	{pods, 1, 1, 8},
	{disk, 1 << 20, 1, 8},
}

// resources draws up to most units of each resource. Each is named with the
// given chance, sometimes with 0.
func (g *generator) resources(most, named int) Resources {
	r := Resources{}
	for _, d := range drawn {
		if g.chance(named / d.rarity) {
			r[d.name] = g.amount(d.unit, d.times*most)
		}
	}
	return r
}

func (g *generator) node(i int) Node {
	r := Resources{"cpu": 8000, "memory": 16 << 30, pods: 110, disk: 1 << 30}
	if g.chance(70) {
		r[gpu] = 8
	}
	if g.chance(30) {
		r[rdma] = 4
	}
	return Node{Name: fmt.Sprintf("node-%d", i), Allocatable: r}
}

func (g *generator) queue(name, parent string) Queue {
	q := Queue{Name: name, Parent: parent, Weight: int32(1 + g.IntN(4)), Closed: g.chance(10)}

	if g.chance(20) {
		q.Priority = int32(g.IntN(3))
	}
	if g.chance(60) {
		q.Capability = g.resources(24, 60)
	}
	if g.chance(70) {
		q.Deserved = g.resources(12, 60)
	}
	if g.chance(30) {
		q.Guarantee = g.resources(3, 50)
	}
	return q
}

func (g *generator) flat() []Queue {
	queues := []Queue{g.queue("default", "")}
	for i := range g.IntN(6) {
		queues = append(queues, g.queue(fmt.Sprintf("q%d", i), ""))
	}
	return queues
}

// tree grows queues below the root, some wide, some deep.
func (g *generator) tree() []Queue {
	root := Queue{Name: "root", Weight: 1}
	if g.chance(20) {
		root = g.queue("root", "")
		root.Closed = false
	}
	queues := []Queue{root}
	depth := map[string]int{"root": 0}
	if g.chance(8) {
		return g.fork(root)
	}

	deep := g.chance(30)
	for i := range 1 + g.IntN(11) {
		parent := queues[g.IntN(len(queues))].Name
		if deep {
			parent = queues[len(queues)-1].Name
			if g.chance(30) {
				parent = queues[max(0, len(queues)-2)].Name
			}
		}

		if depth[parent] >= 8 {
			parent = "root"
		}

		q := g.queue(fmt.Sprintf("q%d", i), parent)
		if parent == "root" && g.chance(50) {
			q.Parent = ""
		}

		depth[q.Name] = depth[parent] + 1
		queues = append(queues, q)
	}
	return queues
}

// fork grows one branch down to depth 5, and from its end two more of depth 8.
func (g *generator) fork(root Queue) []Queue {
	trunk := g.branch("trunk", "root", 5)
	fork := trunk[len(trunk)-1].Name
	left := g.branch("left", fork, 3)
	right := g.branch("right", fork, 3)
	return slices.Concat([]Queue{root}, trunk, left, right)
}

// branch grows a line of queues below a parent.
func (g *generator) branch(name, parent string, length int) (queues []Queue) {
	for i := range length {
		queues = append(queues, g.queue(fmt.Sprintf("%s%d", name, i), parent))
		parent = queues[i].Name
	}
	return queues
}

var phases = []Phase{Pending, Pending, Inqueue, Inqueue, Running, Running, Running, Unknown, Completed}

func (g *generator) job(i int, queue string, nodes []Node) Job {
	j := Job{
		Name:      fmt.Sprintf("job-%d", i),
		Queue:     queue,
		Phase:     phases[g.IntN(len(phases))],
		MinMember: int32(g.IntN(4)),
	}
	if g.chance(80) {
		j.MinResources = g.resources(6, 60)
	}

	request := g.resources(3, 70)
	for t := range g.IntN(6) {
		if g.chance(30) {
			request = g.resources(3, 70)
		}

		j.Tasks = append(j.Tasks, g.task(fmt.Sprintf("%s-%d", j.Name, t), j.Phase, request, nodes))
	}
	return j
}

// host picks a node with the requested resources. Without such a node, the task runs on a lost node.
func (g *generator) host(request Resources, nodes []Node) string {
	for _, i := range g.Perm(len(nodes)) {
		has := true
		for name := range request {
			has = has && nodes[i].Allocatable[name] > 0
		}

		if has {
			return nodes[i].Name
		}
	}
	return "lost"
}

var (
	placed = []Status{TaskRunning, TaskRunning, TaskRunning, TaskBound, TaskBinding, TaskReleasing}
	absent = []Status{TaskPending, TaskPending, TaskPending, TaskPending, TaskSucceeded, TaskFailed, TaskUnknown}
)

func (g *generator) task(name string, phase Phase, request Resources, nodes []Node) Task {
	t := Task{Name: name, Request: request.Clone(), Status: TaskPending}
	running := 15
	switch phase {
	case Pending:
		running = 3
	case Running, Unknown:
		running = 70
	}

	if g.chance(running) {
		t.Status = placed[g.IntN(len(placed))]
		t.Node = g.host(request, nodes)
		return t
	}

	t.Status = absent[g.IntN(len(absent))]
	t.Gated = t.Status == TaskPending && g.chance(15)
	return t
}
