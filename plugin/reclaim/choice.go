package reclaim

import (
	"cmp"
	"slices"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"

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
	next      *api.TaskInfo // Preemptive has permitted it last
	reclaimer *api.TaskInfo // the reclaimer that PrePredicate prepared; nil in other actions
	made      bool
	best      string // its node, "" for any

	mu    sync.Mutex // predicates run in many goroutines
	nodes []*api.NodeInfo
}

// permit notes the answer of Preemptive for tasks. It ends the choice before.
func (c *nodeChoice) permit(tasks []*api.TaskInfo, permitted bool) {
	c.reclaimer, c.next = nil, nil
	if permitted && len(tasks) == 1 {
		c.next = tasks[0]
	}
}

// begin starts the choice for a task that PrePredicate prepares, if it is a reclaimer.
func (c *nodeChoice) begin(task *api.TaskInfo) {
	c.reclaimer = nil
	if c.next == task {
		c.reclaimer = task
	}
	c.next, c.made, c.best, c.nodes = nil, false, "", c.nodes[:0]
}

// note adds a node that a predicate is called for.
func (c *nodeChoice) note(task *api.TaskInfo, node *api.NodeInfo) {
	if c.reclaimer != task || c.made {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = append(c.nodes, node)
}

// takesFrom reports whether victims on a node are named for an evictor. None are where it has
// room without them, or where less work is lost on another node. Once the best node was asked
// about, the choice is over: the action takes it, unless the API server refuses an eviction.
func (s *Session) takesFrom(e *evictor, node string) bool {
	if s.needsNoVictim(e, node) {
		return false
	}
	choice := &s.choice
	if choice.reclaimer != e.Task {
		return true
	}
	if !choice.made {
		choice.made = true
		choice.best = s.bestNode(e)
	}
	if choice.best != "" && choice.best != node {
		return false
	}
	choice.best = ""
	return true
}

// bestNode returns the node on which the least work is lost for an evictor, "" if there is none.
func (s *Session) bestNode(e *evictor) string {
	type option struct {
		node  *api.NodeInfo
		loses []quota.Candidate
	}
	var options []option
	for _, node := range s.choice.nodes {
		tasks := s.reclaimees(e, node)
		switch {
		case len(tasks) == 0: // the action does not look at it
		case s.needsNoVictim(e, node.Name):
			options = append(options, option{node: node})
		default:
			if victims := s.fewestOn(e, node.Name, tasks); len(victims) > 0 {
				if s.evictAgain(e, victims); s.fitsOnNode(e, node.Name, victims) {
					options = append(options, option{node, s.candidates(e.Queue, victims)})
				}
			}
		}
	}
	slices.SortFunc(options, func(x, y option) int {
		return cmp.Or(quota.CompareLosses(s.Index, e.Queue, x.loses, y.loses), cmp.Compare(x.node.Name, y.node.Name))
	})
	for _, each := range options {
		if s.Volcano.PredicateForPreemptAction(e.Task, each.node) == nil {
			return each.node.Name
		}
	}
	return ""
}

// reclaimees returns the tasks of a node that the action reclaim asks about for an evictor.
func (s *Session) reclaimees(e *evictor, node *api.NodeInfo) (tasks []*api.TaskInfo) {
	for _, task := range node.Tasks {
		job := s.Volcano.Jobs[task.Job]
		if task.Status != api.Running || !task.Preemptable || job == nil || s.QueueOf(task) == e.Queue {
			continue
		}
		if queue := s.Volcano.Queues[job.Queue]; queue != nil && queue.Reclaimable() {
			tasks = append(tasks, task)
		}
	}
	return s.offered(e.Task, tasks)
}
