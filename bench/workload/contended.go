package workload

import (
	"fmt"
	"slices"
	"strings"
)

// Reclaiming returns a cluster of 200 nodes that has no GPU left. Every other leaf
// runs jobs above what it deserves; in the leaves between, which run nothing, so
// many pods wait for one GPU each. Equal arguments give equal clusters.
func Reclaiming(queues, claims int) Cluster {
	c := contended(queues)
	var rich, poor []string
	for i, leaf := range c.Leaves() {
		if i%2 == 0 {
			rich = append(rich, leaf)
		} else {
			poor = append(poor, leaf)
		}
	}
	c.occupy(rich)
	c.claim(poor, claims, 0)
	return c
}

// Preempting returns the like, where all GPUs are taken by one leaf, in which
// pods of a higher priority wait. Volcano's preempt takes the tasks of other
// queues' jobs off its list while it looks at a queue, and does not find them
// again, so one queue has all the jobs.
func Preempting(queues, claims int) Cluster {
	c := contended(queues)
	one := c.Leaves()[:1]
	c.occupy(one)
	c.claim(one, claims, 10)
	return c
}

// Lent returns a cluster of 5,000 nodes without an idle GPU: every other leaf runs jobs above what it deserves, 20,000
// pods of two GPUs in all. In one of the leaves between, a gang waits for whole nodes. All pods name their card.
func Lent(queues, gang int) Cluster {
	const nodes, perNode = 5000, 4
	c := Shape{Nodes: nodes, Fanout: TwoLevels(queues), Models: 1}.Make(1)
	leaves := c.Leaves()
	twoGPUs, allGPUs := Resources{"cpu": 8000, "memory": 64 << 30, gpu: 2}, Resources{"cpu": 8000, "memory": 64 << 30, gpu: 8}
	for i := range nodes * perNode / perJob {
		j := Job{Name: fmt.Sprintf("runs-%04d", i), Queue: leaves[2*(i%(len(leaves)/2))], Phase: Running, MinMember: 1, MinResources: twoGPUs}
		for t := range perJob {
			j.Tasks = append(j.Tasks, Task{Name: fmt.Sprintf("%s-%02d", j.Name, t), Request: twoGPUs, Status: TaskRunning,
				Node: c.Nodes[(i*perJob+t)%nodes].Name})
		}
		c.Jobs = append(c.Jobs, j)
	}

	claim := Job{Name: "claims", Queue: leaves[1], Phase: Inqueue, MinMember: int32(gang), MinResources: allGPUs}
	for t := range gang {
		claim.Tasks = append(claim.Tasks, Task{Name: fmt.Sprintf("claims-%02d", t), Request: allGPUs, Status: TaskPending})
	}
	c.Jobs = append(c.Jobs, claim)
	c = c.WithCards(1)
	for i := range c.Queues {
		if c.Queues[i].Name == leaves[1] {
			c.Queues[i].Annotations[cardAccounts[1]] = cardsOf(c.products(), int64(8*gang))
			c.Queues[i].Deserved = Resources{"cpu": 1 << 40, "memory": 1 << 60, gpu: int64(8 * gang)}
		}
	}
	return c
}

// WithCards has the pods of a cluster that request a GPU name models of cards, so many each: 0
// for pods that name none. Leaves have quotas of all models that let everything in, and deserve
// one card of each.
func (c Cluster) WithCards(names int) Cluster {
	products := c.products()
	for i := range c.Queues {
		q := &c.Queues[i]
		if q.Deserved != nil {
			q.Annotations = map[string]string{cardAccounts[0]: cardsOf(products, 100000), cardAccounts[1]: cardsOf(products, 1),
				cardAccounts[2]: cardsOf(products, 0)}
		}
	}
	for i := range c.Jobs {
		for t := range c.Jobs[i].Tasks {
			task := &c.Jobs[i].Tasks[t]
			list := make([]string, names)
			for n := range list {
				list[n] = products[(i+n)%len(products)]
			}
			if task.Node != "" && names > 0 {
				list = []string{c.productOf(task.Node)}
			}
			if len(list) > 0 && task.Request[gpu] > 0 {
				task.Annotations = map[string]string{cardName: strings.Join(list, "|")}
			}
		}
	}
	return c
}

// WithAffinity restricts the pods that name cards to the nodes that have them, as users do
// without quotas of cards.
func (c Cluster) WithAffinity() Cluster {
	for i := range c.Jobs {
		for t := range c.Jobs[i].Tasks {
			if task := &c.Jobs[i].Tasks[t]; task.Annotations[cardName] != "" {
				task.Products = strings.Split(task.Annotations[cardName], "|")
			}
		}
	}
	return c
}

// products returns the models of the nodes, in their order.
func (c Cluster) products() []string {
	var products []string
	for _, n := range c.Nodes {
		if !slices.Contains(products, n.Labels[ProductLabel]) {
			products = append(products, n.Labels[ProductLabel])
		}
	}
	return products
}

func (c Cluster) productOf(node string) string {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == node })
	return c.Nodes[i].Labels[ProductLabel]
}

// cardsOf formats an annotation with a number of each card.
func cardsOf(names []string, n int64) string {
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = fmt.Sprintf("%q:%d", name, n)
	}
	return "{" + strings.Join(entries, ",") + "}"
}

// All pods of a contended cluster are alike, so that who leaves does not matter.
const (
	contendedNodes = 200
	perNode        = 8 // GPUs of a node
	perJob         = 16
)

var oneGPU = Resources{"cpu": 4000, "memory": 32 << 30, gpu: 1}

func contended(queues int) Cluster {
	return Shape{Nodes: contendedNodes, Fanout: TwoLevels(queues)}.Make(1)
}

// occupy has jobs of leaves run on all GPUs.
func (c *Cluster) occupy(leaves []string) {
	for i := range contendedNodes * perNode / perJob {
		j := Job{
			Name: fmt.Sprintf("runs-%03d", i), Queue: leaves[i%len(leaves)],
			Phase: Running, MinMember: 1, MinResources: oneGPU,
		}
		for t := range perJob {
			j.Tasks = append(j.Tasks, Task{
				Name: fmt.Sprintf("%s-%02d", j.Name, t), Request: oneGPU,
				Status: TaskRunning, Node: c.Nodes[(i*perJob+t)%contendedNodes].Name,
			})
		}
		c.Jobs = append(c.Jobs, j)
	}
}

// claim has pods wait in leaves.
func (c *Cluster) claim(leaves []string, pods int, priority int32) {
	for i := range pods {
		name := fmt.Sprintf("claims-%03d", i)
		c.Jobs = append(c.Jobs, Job{
			Name: name, Queue: leaves[i%len(leaves)], Phase: Inqueue,
			MinMember: 1, MinResources: oneGPU, Priority: priority,
			Tasks: []Task{{Name: name + "-0", Request: oneGPU, Status: TaskPending}},
		})
	}
}
