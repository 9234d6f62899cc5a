package plugin

import (
	"cmp"
	"slices"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// The argument victimOrder: leastWork, across nodes. The action reclaim looks at the nodes that
// pass the predicates in no particular order, and takes the first one whose victims make room. So
// reclaimable names victims on one node alone: that with which the least work is lost.
//
// For each reclaimer, the action calls Preemptive, PrePredicate, the predicates for the nodes, and
// Reclaimable for each node that passes. Other actions do not call Preemptive before
// PrePredicate. In large clusters the action looks at a part of the nodes, as many as pass the
// predicates until there are enough; the choice is among those that it asked about.

// nodeChoice is the choice of a node for a reclaimer.
type nodeChoice struct {
	next     *api.TaskInfo // Preemptive has permitted it last
	claimant *api.TaskInfo // the reclaimer that PrePredicate prepared; nil in other actions
	made     bool
	best     string // its node, "" for any

	mu    sync.Mutex // predicates run in many goroutines
	nodes []*api.NodeInfo
}

// permit notes the answer of Preemptive for tasks. It ends the choice before.
func (c *nodeChoice) permit(tasks []*api.TaskInfo, permitted bool) {
	c.claimant, c.next = nil, nil
	if permitted && len(tasks) == 1 {
		c.next = tasks[0]
	}
}

// begin starts the choice for a task that PrePredicate prepares, if it is a reclaimer.
func (c *nodeChoice) begin(task *api.TaskInfo) {
	c.claimant = nil
	if c.next == task {
		c.claimant = task
	}
	c.next, c.made, c.best, c.nodes = nil, false, "", c.nodes[:0]
}

// note adds a node that a predicate is called for.
func (c *nodeChoice) note(task *api.TaskInfo, node *api.NodeInfo) {
	if c.claimant != task || c.made {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = append(c.nodes, node)
}

// takesFrom reports whether victims on a node are named for a claim. None are where the claim has
// room without them, or where less work is lost on another node. Once the best node was asked
// about, the choice is over: the action takes it, unless the API server refuses an eviction.
func (s *session) takesFrom(c *claim, node string) bool {
	if s.needsNoVictim(c, node) {
		return false
	}
	choice := &s.choice
	if choice.claimant != c.task {
		return true
	}
	if !choice.made {
		choice.made = true
		choice.best = s.bestNode(c)
	}
	if choice.best != "" && choice.best != node {
		return false
	}
	choice.best = ""
	return true
}

// bestNode returns the node on which the least work is lost for a claim, "" if there is none.
func (s *session) bestNode(c *claim) string {
	type option struct {
		node  *api.NodeInfo
		loses []quota.Candidate
	}
	var options []option
	for _, node := range s.choice.nodes {
		tasks := s.reclaimees(c, node)
		switch {
		case len(tasks) == 0: // the action does not look at it
		case s.needsNoVictim(c, node.Name):
			options = append(options, option{node: node})
		default:
			if victims := s.fewestOn(c, node.Name, tasks); len(victims) > 0 {
				options = append(options, option{node, s.candidates(victims)})
			}
		}
	}
	slices.SortFunc(options, func(x, y option) int {
		return cmp.Or(quota.CompareLosses(s.ix, c.queue, x.loses, y.loses), cmp.Compare(x.node.Name, y.node.Name))
	})
	for _, each := range options {
		if s.ssn.PredicateForPreemptAction(c.task, each.node) == nil {
			return each.node.Name
		}
	}
	return ""
}

// reclaimees returns the tasks of a node that the action reclaim asks about for a claim.
func (s *session) reclaimees(c *claim, node *api.NodeInfo) (tasks []*api.TaskInfo) {
	for _, task := range node.Tasks {
		job := s.ssn.Jobs[task.Job]
		if task.Status != api.Running || !task.Preemptable || job == nil || s.queueOf(task) == c.queue {
			continue
		}
		if queue := s.ssn.Queues[job.Queue]; queue != nil && queue.Reclaimable() {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// fewestOn returns the victims among tasks of a node with which a claim has room, none if it has
// no room without all that may be evicted.
func (s *session) fewestOn(c *claim, node string, tasks []*api.TaskInfo) []*api.TaskInfo {
	ordered := s.workOrder(c, tasks)
	s.memory.victims.Begin()
	few := *c
	few.few, few.most = true, len(ordered)
	on := ""
	if c.hasCards {
		on = node
	}
	victims := s.appendVictims(nil, on, &few, ordered)
	if len(victims) == 0 {
		return nil
	}
	s.takeAgain(&few, victims)
	if c.queue == index.None || !s.suffice(&few, node, victims) {
		return nil
	}
	return victims
}
