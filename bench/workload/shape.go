package workload

import (
	"fmt"
	"math/rand/v2"
)

// Shape is the size of a cluster with the content of a real one. Half of
// the jobs run, a quarter are enqueued, a quarter wait.
type Shape struct {
	Name        string
	Nodes       int
	Fanout      []int // children of a queue, from the root down; its length is the depth
	Jobs        int
	TasksPerJob int
	Models      int     // models of cards, 0 for the eight models on the market
	Flat        bool    // hierarchy is off: queues have no ancestors
	Phases      []Phase // of the jobs in turn, nil for the mixture above
}

// The shapes that figures are given for.
var (
	// S has 10 queues below the root.
	S = Shape{Name: "S", Nodes: 100, Fanout: []int{10}, Jobs: 100, TasksPerJob: 10}
	// M has 110 queues.
	M = Shape{Name: "M", Nodes: 1000, Fanout: []int{10, 10}, Jobs: 1000, TasksPerJob: 10}
	// L has 1,020 queues.
	L = Shape{Name: "L", Nodes: 5000, Fanout: []int{10, 1, 100}, Jobs: 5000, TasksPerJob: 20}
	// XL has 5,050 queues.
	XL = Shape{Name: "XL", Nodes: 10000, Fanout: []int{5, 1, 8, 125}, Jobs: 50000, TasksPerJob: 10}
	// XXL has 2,000,000 tasks and 20,104 queues.
	XXL = Shape{Name: "2XL", Nodes: 50000, Fanout: []int{8, 1, 9, 278}, Jobs: 100000, TasksPerJob: 20}

	LFlat = Shape{Name: "L-flat", Nodes: 5000, Fanout: []int{1020}, Jobs: 5000, TasksPerJob: 20, Flat: true}
)

// WaitingXL is a scheduling cycle at shape XL: of 20,000 pods, 2,000 wait.
var WaitingXL = Shape{
	Name: "waiting", Nodes: XL.Nodes, Fanout: XL.Fanout, Jobs: 2000, TasksPerJob: 10,
	Phases: []Phase{Running, Running, Running, Running, Running, Running, Running, Running, Running, Pending},
}

// Waiting is the shape of a whole scheduling cycle: 1,000 pods wait for 200 idle nodes, in some of the queues.
func Waiting(queues int) Shape {
	return Shape{
		Name:        "waiting",
		Nodes:       200,
		Fanout:      TwoLevels(queues),
		Jobs:        100,
		TasksPerJob: 10,
		Phases:      []Phase{Pending},
	}
}

// TwoLevels returns the fanout of a number of queues: ten queues, with the others evenly below them. Ten or fewer
// queues are all below the root.
func TwoLevels(queues int) []int {
	if queues <= 10 {
		return []int{queues}
	}
	return []int{10, queues/10 - 1}
}

// mixture is half of the jobs running, a quarter enqueued, a quarter waiting.
var mixture = []Phase{Running, Running, Inqueue, Pending}

// ProductLabel is the label of nodes that names the model of their cards.
const ProductLabel = "nvidia.com/gpu.product"

// models are the cards of the nodes, each with labels as its vendor has them.
var models = []string{
	"NVIDIA-H200", "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB", "NVIDIA-L40S",
	"NVIDIA-GeForce-RTX-4090", "Tesla-T4", "Ascend910B", "MLU590",
}

// Make returns the cluster of a shape. Equal seeds give equal clusters.
func (s Shape) Make(seed uint64) Cluster {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0xba5e))}
	c := Cluster{Hierarchy: !s.Flat, Queues: []Queue{{Name: "root", Weight: 1}}}
	for i := range s.Nodes {
		c.Nodes = append(c.Nodes, g.gpuNode(i, s.model(i)))
	}
	leaves := s.grow(&c, "root", s.Fanout)

	phases := s.Phases
	if phases == nil {
		phases = mixture
	}

	room := s.rooms(c.Nodes)
	for i := range s.Jobs {
		queue := leaves[g.IntN(len(leaves))]
		c.Jobs = append(c.Jobs, g.gpuJob(i, queue, phases[i%len(phases)], s.TasksPerJob, c.Nodes, room))
	}
	return c
}

// room says where the next pods go: nodes in turn, and free cards.
type room struct {
	next  int     // the node of the next pod without a card
	nodes [][]int // the nodes of each model with free cards
	cards []int64 // free on each node
}

func (s Shape) rooms(nodes []Node) *room {
	count := s.Models
	if count == 0 {
		count = len(models)
	}

	r := &room{nodes: make([][]int, count), cards: make([]int64, len(nodes))}
	for i, node := range nodes {
		r.cards[i] = node.Allocatable[gpu]
		r.nodes[i%count] = append(r.nodes[i%count], i)
	}
	return r
}

// has reports whether the model of a job has a number of free cards.
func (r *room) has(job int, cards int64) bool {
	for _, node := range r.nodes[modelOf(job)%len(r.nodes)] {
		cards -= r.cards[node]
		if cards <= 0 {
			return true
		}
	}
	return false
}

// place returns the node of a pod without a card.
func (r *room) place() int {
	node := r.next
	r.next = (r.next + 1) % len(r.cards)
	return node
}

// take takes a card of the model of a job, and returns the node.
func (r *room) take(job int) int {
	left := &r.nodes[modelOf(job)%len(r.nodes)]
	node := (*left)[0]
	*left = (*left)[1:]

	r.cards[node]--
	if r.cards[node] > 0 {
		*left = append(*left, node)
	}
	return node
}

// modelOf returns the model of the cards of a job. Each phase has jobs of each model.
func modelOf(job int) int { return job + job/len(models) }

// model returns the i-th model of cards, over and over.
func (s Shape) model(i int) string {
	if s.Models == 0 {
		return models[i%len(models)]
	}
	return fmt.Sprintf("Model-%03d", i%s.Models)
}

// MakeCards returns the cluster of a shape with card quotas. Each leaf has a quota of two models. Half of the pods
// with cards take either of two models. A tenth of the nodes has MIG slices, another tenth has MPS slices.
func (s Shape) MakeCards(seed uint64) Cluster {
	c := s.Make(seed)
	cards := int64(2 + s.Nodes*8/s.leaves())
	quota := map[string]string{} // by leaf

	for i, name := range c.Leaves() {
		first := s.model(i)
		second := s.model(i + 1)
		quota[name] = fmt.Sprintf(`{%q:%d,%q:%d}`, first, cards, second, cards)
	}

	for i := range c.Queues {
		if q := &c.Queues[i]; quota[q.Name] != "" {
			q.Annotations = map[string]string{cardAccounts[0]: quota[q.Name]}
		}
	}

	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Labels["nvidia.com/gpu.replicas"] = "4"

		switch i % 10 {
		case 0:
			n.Allocatable["nvidia.com/mig-1g.10gb"] = 14
		case 1:
			n.Allocatable["nvidia.com/gpu.shared"] = 8
		}
	}

	for i := range c.Jobs {
		names := s.model(modelOf(i))
		if i%2 == 0 {
			names += "|" + s.model(modelOf(i)+1)
		}
		for t := range c.Jobs[i].Tasks {
			if task := &c.Jobs[i].Tasks[t]; task.Request[gpu] != 0 {
				task.Annotations = map[string]string{cardName: names}
			}
		}
	}
	return c
}

// grow adds the queues below parent and returns the leaves.
func (s Shape) grow(c *Cluster, parent string, fanout []int) []string {
	var leaves []string

	for i := range fanout[0] {
		q := Queue{Name: fmt.Sprintf("%s-%d", parent, i), Parent: parent, Weight: 1}
		if len(fanout) > 1 {
			c.Queues = append(c.Queues, q)
			leaves = append(leaves, s.grow(c, q.Name, fanout[1:])...)
			continue
		}

		cards := int64(1 + s.Nodes*8/s.leaves())
		q.Deserved = Resources{"cpu": 16000 * cards, "memory": cards << 37, gpu: cards}
		q.Guarantee = Resources{"cpu": 1000, "memory": 1 << 30}
		c.Queues = append(c.Queues, q)
		leaves = append(leaves, q.Name)
	}
	return leaves
}

func (s Shape) leaves() int {
	n := 1
	for _, children := range s.Fanout {
		n *= children
	}
	return n
}

func (g *generator) gpuNode(i int, model string) Node {
	labels := map[string]string{
		"kubernetes.io/hostname": fmt.Sprintf("node-%05d", i),
		ProductLabel:             model,
		"nvidia.com/gpu.count":   "8",
		"nvidia.com/gpu.memory":  "81559",
	}

	for l := len(labels); l < 60; l++ {
		labels[fmt.Sprintf("feature.node.kubernetes.io/feature-%02d", l)] = "true"
	}

	return Node{
		Name:        fmt.Sprintf("node-%05d", i),
		Labels:      labels,
		Allocatable: Resources{"cpu": 128000, "memory": 1 << 40, pods: 110, gpu: 8, rdma: 8, disk: 1 << 32},
	}
}

func (g *generator) gpuJob(i int, queue string, phase Phase, tasks int, nodes []Node, left *room) Job {
	request := Resources{"cpu": 4000, "memory": 32 << 30, gpu: int64(g.IntN(2))}
	// A job that runs needs nodes with free cards.
	if request[gpu] == 0 || phase == Running && !left.has(i, int64(tasks)) {
		delete(request, gpu)
	}

	j := Job{
		Name:         fmt.Sprintf("job-%05d", i),
		Queue:        queue,
		MinMember:    int32(tasks / 2),
		Phase:        phase,
		MinResources: Resources{},
	}
	for name, amount := range request {
		j.MinResources[name] = amount * int64(tasks) / 2
	}

	for t := range tasks {
		task := Task{Name: fmt.Sprintf("%s-%02d", j.Name, t), Request: request, Status: TaskPending}

		switch {
		case j.Phase != Running:
			task.Gated = j.Phase == Inqueue && g.chance(2)
		case t == 0 && g.chance(20):
			task.Status = TaskSucceeded
		default:
			task.Status = TaskRunning
			if request[gpu] > 0 {
				task.Node = nodes[left.take(i)].Name
			} else {
				task.Node = nodes[left.place()].Name
			}
		}

		j.Tasks = append(j.Tasks, task)
	}
	return j
}
