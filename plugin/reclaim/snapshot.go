package reclaim

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// snapshot is the free resources of nodes, and the jobs that can lose pods. All plans of an action read it. Plans that
// evict pods renew it.
type snapshot struct {
	resources []v1.ResourceName
	lists     []*cards.Selector // of devices that claims request: one more resource each
	nodes     []*api.NodeInfo   // in the order of their names
	free      []plan.Node       // by node
	jobs      []losingJob       // in the order of their names
	classes   int               // of the priorities of queues, jobs and pods
	deepest   int               // depth of a queue
}

// readSnapshot reads the nodes and the running pods of the session.
func (s *Rules) readSnapshot() *snapshot {
	snap := &snapshot{}
	for q := range index.Queue(s.Index.Len()) {
		snap.deepest = max(snap.deepest, s.Index.Depth(q))
	}

	snap.readNodes(s)
	snap.read(s)
	return snap
}

// read reads the free resources of the nodes, and all running pods.
func (snap *snapshot) read(s *Rules) {
	snap.readFree(s)
	for _, job := range s.Volcano.Jobs {
		snap.readJob(s, job)
	}
	snap.rank(s)
}

// renew reads the nodes again, and the jobs with pods that were evicted or placed. An action with many claimants would
// read all running pods for each of them (BenchmarkReclaimCards).
func (snap *snapshot) renew(s *Rules, changed []api.JobID) {
	snap.readFree(s)
	snap.jobs = slices.DeleteFunc(snap.jobs, func(job losingJob) bool {
		return slices.Contains(changed, job.info.UID)
	})
	for id := range sets.New(changed...) {
		snap.readJob(s, s.Volcano.Jobs[id])
	}
	snap.rank(s)
	snap.check(s)
}

// readNodes reads the nodes, their resources, and the lists of devices that pending pods request through claims.
func (snap *snapshot) readNodes(s *Rules) {
	scalars := sets.New[v1.ResourceName]()
	for _, node := range s.Volcano.Nodes {
		snap.nodes = append(snap.nodes, node)
		for name := range node.Allocatable.ScalarResources {
			scalars.Insert(name)
		}
	}

	slices.SortFunc(snap.nodes, func(x, y *api.NodeInfo) int { return strings.Compare(x.Name, y.Name) })
	snap.resources = append([]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}, sets.List(scalars)...)
	snap.readLists(s)
}

// readFree reads the resources that nodes have left once terminating pods are gone and earmarks are used.
func (snap *snapshot) readFree(s *Rules) {
	var left []map[string]float64 // by list and node
	for _, list := range snap.lists {
		left = append(left, s.Cards.DevicesLeft(list))
	}

	kept := s.Books.Kept()
	snap.free = snap.free[:0]
	for _, node := range snap.nodes {
		free := make([]float64, len(snap.resources), snap.width())
		for r, name := range snap.resources {
			free[r] = node.Idle.Get(name) + node.Releasing.Get(name) - node.Pipelined.Get(name)
			if kept[node.Name] != nil {
				free[r] -= kept[node.Name].Get(name)
			}
		}

		for l, list := range snap.lists {
			free = append(free, s.devicesOf(node, list, left[l]))
		}

		snap.free = append(snap.free, plan.Node{Name: node.Name, Free: free})
	}
}

// width is the number of resources of a node as plans know it.
func (snap *snapshot) width() int { return len(snap.resources) + len(snap.lists) }

// numberOf returns the number of a node, plan.None for a node that the session does not have.
func (snap *snapshot) numberOf(name string) int {
	n, known := slices.BinarySearchFunc(snap.nodes, name, func(node *api.NodeInfo, name string) int {
		return strings.Compare(node.Name, name)
	})
	if !known {
		return plan.None
	}
	return n
}

// readLists finds the lists of devices that pending pods request through claims.
func (snap *snapshot) readLists(s *Rules) {
	if s.Cards == nil {
		return
	}

	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if q != index.None && !task.SchGated {
				snap.lists = s.Cards.OwnLists(s.Cards.PodRequest(q, task.Pod), snap.lists)
			}
		}
	}
}

// devicesOf returns the devices of a list that a node has left once terminating pods are gone. If that is not known by
// node, it is unbounded: the other plugins decide.
func (s *Rules) devicesOf(node *api.NodeInfo, list *cards.Selector, left map[string]float64) float64 {
	sum, known := left[node.Name]
	if !known {
		return math.Inf(1)
	}

	for _, task := range node.Tasks {
		if task.Status == api.Releasing {
			sum += s.Cards.OwnDevices(s.statedBy(task), list)
		}
	}
	return sum
}

// requests returns the request of a task of q to a node, by resource.
func (snap *snapshot) requests(s *Rules, q index.Queue, task *api.TaskInfo) []float64 {
	requests := make([]float64, len(snap.resources), snap.width())
	for r, name := range snap.resources {
		requests[r] = task.InitResreq.Get(name)
	}

	for _, list := range snap.lists {
		requests = append(requests, s.Cards.OwnDevices(s.Cards.PodRequest(q, task.Pod), list))
	}
	return requests
}

// hasAll reports whether some node has each resource that a task requests.
func (snap *snapshot) hasAll(task *api.TaskInfo) bool {
	return !slices.ContainsFunc(task.InitResreq.ResourceNames(), func(name v1.ResourceName) bool {
		return task.InitResreq.Get(name) > 0 && !slices.Contains(snap.resources, name)
	})
}

// statedBy returns the statements of a task about cards, nil where cards count nowhere.
func (s *Rules) statedBy(task *api.TaskInfo) *cards.PodRequest {
	if s.Cards == nil {
		return nil
	}
	return s.Cards.Read(task)
}

// frees returns the resources that the eviction of a task frees on its node, and those for which it may be evicted. A
// pod with cards is evicted for cards alone: cpu and memory come with them.
func (snap *snapshot) frees(s *Rules, task *api.TaskInfo, pod *cards.PodRequest) (
	frees []float64, evictedFor []bool) {
	frees = make([]float64, len(snap.resources), snap.width())
	evictedFor = make([]bool, len(snap.resources), snap.width())

	hasCards := pod != nil && s.Cards.Occupies(pod)
	for r, name := range snap.resources {
		frees[r] = task.Resreq.Get(name)
		evictedFor[r] = !hasCards || s.Cards.Takes(pod, name)
	}

	for _, list := range snap.lists {
		frees = append(frees, s.Cards.OwnDevices(pod, list))
		evictedFor = append(evictedFor, true)
	}
	return frees, evictedFor
}
