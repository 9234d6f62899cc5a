package differential_test

import (
	"fmt"
	"slices"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// breakCluster makes some clusters invalid in the ways that stop upstream.
func (d *differential) breakCluster() {
	c := &d.cluster
	if d.rand.IntN(10) != 0 {
		return
	}
	if !c.Hierarchy || d.name == session.ProportionName {
		// Upstream panics on a job if its queue is gone.
		c.Jobs = append(c.Jobs, workload.Job{Name: "orphan", Queue: "gone", Phase: workload.Pending})
		return
	}
	orphan := workload.Queue{Name: "orphan", Parent: "gone", Weight: 1, Guarantee: workload.Resources{"cpu": 1000}}
	c.Queues = append(c.Queues, orphan, workload.Queue{Name: "orphans-child", Parent: "orphan", Weight: 1})
	c.Queues = append(c.Queues,
		workload.Queue{Name: "loop-a", Parent: "loop-b", Weight: 1},
		workload.Queue{Name: "loop-b", Parent: "loop-a", Weight: 1},
		workload.Queue{Name: "loops-tail", Parent: "loop-b", Weight: 1})
	c.Jobs = append(c.Jobs,
		workload.Job{Name: "in-orphan", Queue: "orphans-child", Phase: workload.Pending, MinMember: 1},
		workload.Job{Name: "in-loop", Queue: "loops-tail", Phase: workload.Pending, MinMember: 1},
		workload.Job{Name: "in-root", Queue: "root", Phase: workload.Pending, MinMember: 1})
	if d.rand.IntN(2) == 0 && !slices.ContainsFunc(c.Jobs, func(j workload.Job) bool { return j.Queue == "root" && j.Name != "in-root" }) {
		// Upstream panics without a root.
		c.Queues = slices.DeleteFunc(c.Queues, func(q workload.Queue) bool { return q.Name == "root" })
		c.Jobs = slices.DeleteFunc(c.Jobs, func(j workload.Job) bool { return j.Name == "in-root" })
	}
}

// bringBackNodes adds the nodes of a tree that are gone, with nothing to give. The resources of pods on these nodes
// then count against the root's total, as they always do upstream.
func (d *differential) bringBackNodes() {
	if d.name != session.CapacityName || !d.cluster.Hierarchy {
		return
	}
	known := map[string]bool{}
	for _, n := range d.cluster.Nodes {
		known[n.Name] = true
	}
	for _, job := range d.cluster.Jobs {
		for _, task := range job.Tasks {
			if task.Node != "" && !known[task.Node] {
				known[task.Node] = true
				d.cluster.Nodes = append(d.cluster.Nodes, workload.Node{Name: task.Node})
				d.excuse(nodesGone)
			}
		}
	}
}

// forUpstream returns the cluster without objects that stop upstream. The specs have the effective guarantees, which
// the engine derives.
func (d *differential) forUpstream() workload.Cluster {
	c := d.cluster
	c.Queues, c.Jobs = slices.Clone(c.Queues), slices.Clone(c.Jobs)
	d.mendForUpstream(&c)
	return c
}

// mendForUpstream does so with a copy of the cluster.
func (d *differential) mendForUpstream(c *workload.Cluster) {
	if d.devices {
		d.devicesAloneIn(c)
	}
	if d.name == session.ProportionName || !c.Hierarchy {
		c.Jobs = slices.DeleteFunc(c.Jobs, func(j workload.Job) bool {
			gone := !slices.ContainsFunc(c.Queues, func(q workload.Queue) bool { return q.Name == j.Queue })
			if gone {
				d.excuse(refusedAlone)
			}
			return gone
		})
		return
	}
	if !slices.ContainsFunc(c.Queues, func(q workload.Queue) bool { return q.Name == "root" }) {
		d.excuse(refusedAlone)
		c.Queues = append(c.Queues, workload.Queue{Name: "root", Weight: 1})
	}
	reaches := map[string]bool{"root": true}
	for range c.Queues {
		for _, q := range c.Queues {
			if q.Parent == "" || reaches[q.Parent] {
				reaches[q.Name] = true
			}
		}
	}
	c.Queues = slices.DeleteFunc(c.Queues, func(q workload.Queue) bool { return !reaches[q.Name] })
	leaves := c.Leaves()
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j workload.Job) bool {
		bad := !slices.Contains(leaves, j.Queue)
		if bad {
			d.excuse(refusedAlone)
		}
		return bad
	})
	d.raiseGuarantees(c)
}

// raiseGuarantees writes each queue's effective guarantee into it.
func (d *differential) raiseGuarantees(c *workload.Cluster) {
	var effective func(name string) workload.Resources
	effective = func(name string) workload.Resources {
		i := slices.IndexFunc(c.Queues, func(q workload.Queue) bool { return q.Name == name })
		sum := workload.Resources{}
		inner := false
		for _, q := range c.Queues {
			if q.Name != "root" && (q.Parent == name || q.Parent == "" && name == "root") {
				inner = true
				for resource, amount := range effective(q.Name) {
					sum[resource] += amount
				}
			}
		}
		if !inner {
			return c.Queues[i].Guarantee
		}
		raised := c.Queues[i].Guarantee.Clone()
		for resource, amount := range sum {
			most, set := c.Queues[i].Capability[resource]
			if set = set && (most > 0 || resource != "cpu" && resource != "memory"); set && name != "root" {
				amount = min(amount, most)
			}
			if have, ok := raised[resource]; !ok || have < amount {
				if raised == nil {
					raised = workload.Resources{}
				}
				raised[resource] = amount
			}
		}
		if fmt.Sprint(raised) != fmt.Sprint(c.Queues[i].Guarantee) {
			if name != "root" {
				d.excuse(guaranteeUp)
			}
			c.Queues[i].Guarantee = raised
		}
		return raised
	}
	effective("root")
}
