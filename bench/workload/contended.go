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
