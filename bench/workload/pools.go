package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// PodsOfPools is the number of pods of a job of Pools.
const PodsOfPools = 5

// Pools are nodes in pools of one model each, one pool after the other, as in clusters that grew by purchases. Jobs of
// five pods wait. A third of them names no card, a third one card, and a third two cards in the order of preference.
// A pod has 1, 2 or 4 cards.
type Pools struct {
	Nodes, Queues, Jobs int
	Busy                bool // pods run on some of the cards of each node; otherwise all are idle
}

// Make returns the cluster. Equal seeds give equal clusters. No quota is reached.
func (p Pools) Make(seed uint64) Cluster {
	c := Shape{
		Nodes:       p.Nodes,
		Fanout:      TwoLevels(p.Queues),
		Jobs:        p.Jobs,
		TasksPerJob: PodsOfPools,
		Phases:      []Phase{Pending},
	}.Make(seed)
	for i := range c.Nodes {
		c.Nodes[i].Labels[ProductLabel] = models[i*len(models)/len(c.Nodes)]
	}

	leaves := c.Leaves()
	for i := range c.Queues {
		if slices.Contains(leaves, c.Queues[i].Name) {
			c.Queues[i].Annotations = map[string]string{cardAccounts[0]: CardsOf(models, int64(p.Nodes))}
		}
	}

	for i := range c.Jobs {
		c.Jobs[i].ask(i)
	}

	if !p.Busy {
		return c
	}

	r := rand.New(rand.NewPCG(seed, 0xb05))
	for i, n := range c.Nodes {
		for used := r.Int64N(n.Allocatable[gpu] + 1); used > 0; {
			cards := min(used, 1<<r.IntN(4))
			name := fmt.Sprintf("busy-%05d-%d", i, used)
			c.Jobs = append(c.Jobs, running(name, leaves[r.IntN(len(leaves))], n, cards))
			used -= cards
		}
	}
	return c
}

// ask lets the pods of the i-th job request their cards.
func (j *Job) ask(i int) {
	cards := int64(1) << (i / 3 % 3)
	var names []string
	for n := range i % 3 {
		names = append(names, models[(i/3+n)%len(models)])
	}

	request := cardsAndMore(cards)
	j.MinResources = Resources{}
	for name, amount := range request {
		j.MinResources[name] = amount * int64(j.MinMember)
	}

	for t := range j.Tasks {
		// Volcano's caches know pods by the annotations that its controller writes.
		annotations := map[string]string{
			"volcano.sh/task-spec":    "worker",
			"volcano.sh/template-uid": j.Name + "-worker",
		}
		if len(names) > 0 {
			annotations[cardName] = strings.Join(names, "|")
		}
		j.Tasks[t].Request = request
		j.Tasks[t].Annotations = annotations
	}
}

// running returns a job of one pod that runs on a node.
func running(name, queue string, n Node, cards int64) Job {
	request := cardsAndMore(cards)
	return Job{
		Name:         name,
		Queue:        queue,
		Phase:        Running,
		MinMember:    1,
		MinResources: request,
		Tasks: []Task{{
			Name: name, Request: request, Status: TaskRunning, Node: n.Name,
			Annotations: map[string]string{cardName: n.Labels[ProductLabel]},
		}},
	}
}

// cardsAndMore returns the request of a pod with a number of cards.
func cardsAndMore(cards int64) Resources {
	return Resources{"cpu": 4000 * cards, "memory": cards * 32 << 30, gpu: cards}
}

// Placement counts the pods of waiting jobs that have nodes now, and the nodes that they open.
type Placement struct {
	Pods   int // with a node
	Opened int // nodes with a pod now, and none before
	Listed int // pods with a node and a list of cards
	First  int // pods on a node with the first card of their list
}

// Place counts the placement of waiting jobs. nodes holds a node for each pod of a job, by the name of the job.
func (c Cluster) Place(nodes map[string][]string) (p Placement) {
	model := map[string]string{} // by node
	used := map[string]bool{}

	for _, n := range c.Nodes {
		model[n.Name] = n.Labels[ProductLabel]
	}
	// Nodes with running pods are used already.
	for _, j := range c.Jobs {
		for _, task := range j.Tasks {
			used[task.Node] = true
		}
	}

	for _, j := range c.Jobs {
		first, _, list := strings.Cut(j.Tasks[0].Annotations[cardName], "|")
		for _, node := range nodes[j.Name] {
			p.Pods++
			if !used[node] {
				p.Opened++
				used[node] = true
			}

			if list {
				p.Listed++
			}
			if list && model[node] == first {
				p.First++
			}
		}
	}
	return p
}
