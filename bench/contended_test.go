package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
)

// reclaiming returns a cluster of 200 nodes without a free GPU. Every other leaf runs jobs above deserved. The leaves
// between run nothing, and pods wait in them for one GPU each. Equal arguments give equal clusters.
func reclaiming(queues, claims int) workload.Cluster {
	c := contended(queues)
	var rich, poor []string
	for i, leaf := range c.Leaves() {
		if i%2 == 0 {
			rich = append(rich, leaf)
		} else {
			poor = append(poor, leaf)
		}
	}

	occupy(&c, rich)
	claim(&c, poor, claims, 0)
	return c
}

// preempting returns a similar cluster. One leaf has all GPUs, and pods of a higher priority wait in it. It must be
// one leaf: Volcano's preempt takes the tasks of jobs of other queues off its list while it looks at a queue, and does
// not find them again.
func preempting(queues, claims int) workload.Cluster {
	c := contended(queues)
	one := c.Leaves()[:1]
	occupy(&c, one)
	claim(&c, one, claims, 10)
	return c
}

// lent returns a cluster of 5,000 nodes without an idle GPU. Every other leaf runs jobs above deserved, 20,000 pods of
// two GPUs in all. In one leaf between, a gang waits for whole nodes. All pods name their card.
func lent(queues, gang int) workload.Cluster {
	const nodes, podsPerNode = 5000, 4
	c := workload.Shape{Nodes: nodes, Fanout: workload.TwoLevels(queues), Models: 1}.Make(1)
	leaves := c.Leaves()
	twoGPUs := workload.Resources{"cpu": 8000, "memory": 64 << 30, gpu: 2}
	allGPUs := workload.Resources{"cpu": 8000, "memory": 64 << 30, gpu: 8}

	for i := range nodes * podsPerNode / perJob {
		runJob(&c, fmt.Sprintf("runs-%04d", i), leaves[2*(i%(len(leaves)/2))], twoGPUs, i*perJob)
	}

	claims := workload.Job{Name: "claims", Queue: leaves[1], Phase: workload.Inqueue, MinMember: int32(gang), MinResources: allGPUs}
	for t := range gang {
		name := fmt.Sprintf("claims-%02d", t)
		claims.Tasks = append(claims.Tasks, workload.Task{Name: name, Request: allGPUs, Status: workload.TaskPending})
	}
	c.Jobs = append(c.Jobs, claims)

	c = namingCards(c, 1)
	for i := range c.Queues {
		if c.Queues[i].Name == leaves[1] {
			c.Queues[i].Annotations[card.DeservedKey] = workload.CardsOf(productsOf(c), int64(8*gang))
			c.Queues[i].Deserved = workload.Resources{"cpu": 1 << 40, "memory": 1 << 60, gpu: int64(8 * gang)}
		}
	}
	return c
}

// waitingOn is workload.Waiting on 5,000 nodes of eight models, for 200 pods. Each pod looks at all nodes of the other
// models in vain.
func waitingOn(queues int) workload.Cluster {
	s := workload.Waiting(queues)
	s.Nodes = 5000
	s.Jobs = 40
	s.TasksPerJob = 5
	return s.Make(1)
}

// namingCards makes the pods of a cluster that request a GPU name a number of models of cards. Leaves have quotas of all
// models that admit everything, and deserve one card of each model.
func namingCards(c workload.Cluster, names int) workload.Cluster {
	products := productsOf(c)
	for i := range c.Queues {
		q := &c.Queues[i]
		if q.Deserved != nil {
			q.Annotations = map[string]string{
				card.QuotaKey:     workload.CardsOf(products, 100000),
				card.DeservedKey:  workload.CardsOf(products, 1),
				card.GuaranteeKey: workload.CardsOf(products, 0),
			}
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
				list = []string{productOf(c, task.Node)}
			}

			if len(list) > 0 && task.Request[gpu] > 0 {
				task.Annotations = map[string]string{card.NameKey: strings.Join(list, "|")}
			}
		}
	}
	return c
}

// withAffinity restricts the pods that name cards to the nodes that have them, as users do
// without quotas of cards.
func withAffinity(c workload.Cluster) workload.Cluster {
	for i := range c.Jobs {
		for t := range c.Jobs[i].Tasks {
			if task := &c.Jobs[i].Tasks[t]; task.Annotations[card.NameKey] != "" {
				task.Products = strings.Split(task.Annotations[card.NameKey], "|")
			}
		}
	}
	return c
}

// productsOf returns the models of the nodes, in their order.
func productsOf(c workload.Cluster) []string {
	var products []string
	for _, n := range c.Nodes {
		if !slices.Contains(products, n.Labels[workload.ProductLabel]) {
			products = append(products, n.Labels[workload.ProductLabel])
		}
	}
	return products
}

func productOf(c workload.Cluster, node string) string {
	i := slices.IndexFunc(c.Nodes, func(n workload.Node) bool { return n.Name == node })
	return c.Nodes[i].Labels[workload.ProductLabel]
}

// All pods of a contended cluster are alike, so the choice of victims does not matter.
const (
	contendedNodes = 200
	contendedGPUs  = 8 // of a node
	perJob         = 16
)

var oneGPU = workload.Resources{"cpu": 4000, "memory": 32 << 30, gpu: 1}

func contended(queues int) workload.Cluster {
	return workload.Shape{Nodes: contendedNodes, Fanout: workload.TwoLevels(queues)}.Make(1)
}

// runJob adds a job of pods that run on the nodes in turn, from the first node on.
func runJob(c *workload.Cluster, name, queue string, request workload.Resources, first int) {
	j := workload.Job{Name: name, Queue: queue, Phase: workload.Running, MinMember: 1, MinResources: request}

	for t := range perJob {
		j.Tasks = append(j.Tasks, workload.Task{
			Name:    fmt.Sprintf("%s-%02d", name, t),
			Request: request,
			Status:  workload.TaskRunning,
			Node:    c.Nodes[(first+t)%len(c.Nodes)].Name,
		})
	}
	c.Jobs = append(c.Jobs, j)
}

// occupy runs jobs of leaves on all GPUs.
func occupy(c *workload.Cluster, leaves []string) {
	for i := range contendedNodes * contendedGPUs / perJob {
		runJob(c, fmt.Sprintf("runs-%03d", i), leaves[i%len(leaves)], oneGPU, i*perJob)
	}
}

// claim adds pods that wait in leaves.
func claim(c *workload.Cluster, leaves []string, pods int, priority int32) {
	for i := range pods {
		name := fmt.Sprintf("claims-%03d", i)
		c.Jobs = append(c.Jobs, workload.Job{
			Name:         name,
			Queue:        leaves[i%len(leaves)],
			Phase:        workload.Inqueue,
			MinMember:    1,
			MinResources: oneGPU,
			Priority:     priority,
			Tasks:        []workload.Task{{Name: name + "-0", Request: oneGPU, Status: workload.TaskPending}},
		})
	}
}
