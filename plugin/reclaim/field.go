package reclaim

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// field is the free resources of nodes, and the jobs that can lose pods. All plans of an action read it, until one of
// them evicts somebody.
type field struct {
	resources []v1.ResourceName
	lists     []*cards.Selector // of devices that claims request: one more resource each
	nodes     []*api.NodeInfo   // in the order of their names
	free      []plan.Node       // by node
	jobs      []losingJob       // in the order of their names
	classes   int               // of the priorities of queues, jobs and pods
	deepest   int               // depth of a queue
}

// readField reads the nodes and the running pods of the session.
func (s *Session) readField() *field {
	f := &field{}
	for q := range index.Queue(s.Index.Len()) {
		f.deepest = max(f.deepest, s.Index.Depth(q))
	}

	f.readNodes(s)
	f.readJobs(s)
	f.rankQueues(s)
	f.rank(s)
	return f
}

// readNodes reads the resources that nodes have left once terminating pods are gone and earmarks are used.
func (f *field) readNodes(s *Session) {
	named := map[v1.ResourceName]bool{}
	for _, node := range s.Volcano.Nodes {
		f.nodes = append(f.nodes, node)
		for name := range node.Allocatable.ScalarResources {
			named[name] = true
		}
	}
	slices.SortFunc(f.nodes, func(x, y *api.NodeInfo) int { return strings.Compare(x.Name, y.Name) })

	f.resources = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
	for name := range named {
		f.resources = append(f.resources, name)
	}
	slices.Sort(f.resources[2:])

	left := f.readDevices(s)
	kept := s.Books.Kept()
	for _, node := range f.nodes {
		free := make([]float64, len(f.resources), f.width())
		for r, name := range f.resources {
			free[r] = node.Idle.Get(name) + node.Releasing.Get(name) - node.Pipelined.Get(name)
			if earmarked := kept[node.Name]; earmarked != nil {
				free[r] -= earmarked.Get(name)
			}
		}
		for l := range f.lists {
			free = append(free, f.devicesOf(s, node, l, left[l]))
		}
		f.free = append(f.free, plan.Node{Name: node.Name, Free: free})
	}
}

// width is the number of resources of a node as plans know it.
func (f *field) width() int { return len(f.resources) + len(f.lists) }

// numbers returns the numbers of the nodes, by name.
func (f *field) numbers() map[string]int {
	at := make(map[string]int, len(f.nodes))
	for i, node := range f.nodes {
		at[node.Name] = i
	}
	return at
}

// readDevices finds the lists of devices that pending pods request through claims. It returns the devices that are left
// of each, by node.
func (f *field) readDevices(s *Session) (left []map[string]float64) {
	if s.Cards == nil {
		return nil
	}

	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if q != index.None && !task.SchGated {
				f.lists = s.Cards.OwnLists(s.Cards.PodRequest(q, task.Pod), f.lists)
			}
		}
	}
	for _, list := range f.lists {
		left = append(left, s.Cards.DevicesLeft(list))
	}
	return left
}

// devicesOf returns the devices of a list that a node has left once terminating pods are gone. If that is not known by
// node, it is unbounded: the other plugins decide.
func (f *field) devicesOf(s *Session, node *api.NodeInfo, list int, left map[string]float64) float64 {
	sum, known := left[node.Name]
	if !known {
		return math.Inf(1)
	}

	for _, task := range node.Tasks {
		if task.Status == api.Releasing {
			sum += s.Cards.OwnDevices(s.statedBy(task), f.lists[list])
		}
	}
	return sum
}

// requests returns the request of a task of q to a node, by resource.
func (f *field) requests(s *Session, q index.Queue, task *api.TaskInfo) []float64 {
	requests := make([]float64, len(f.resources), f.width())
	for r, name := range f.resources {
		requests[r] = task.InitResreq.Get(name)
	}
	for _, list := range f.lists {
		requests = append(requests, s.Cards.OwnDevices(s.Cards.PodRequest(q, task.Pod), list))
	}
	return requests
}

// knowsAll reports whether some node has each resource that a task requests. requests are its requests by resource.
func (f *field) knowsAll(task *api.TaskInfo, requests []float64) bool {
	known := 0
	for r := range f.resources {
		if requests[r] > 0 {
			known++
		}
	}

	requested := 0
	for _, name := range task.InitResreq.ResourceNames() {
		if task.InitResreq.Get(name) > 0 {
			requested++
		}
	}
	return known >= requested
}

// statedBy returns the statements of a task about cards, nil where cards count nowhere.
func (s *Session) statedBy(task *api.TaskInfo) *cards.PodRequest {
	if s.Cards == nil {
		return nil
	}
	return s.Cards.Read(task)
}

// frees returns the resources that the eviction of a task frees on its node, and those for which it may be evicted. A
// pod with cards is evicted for cards alone: cpu and memory come with them.
func (f *field) frees(s *Session, task *api.TaskInfo, pod *cards.PodRequest) (frees []float64, evictedFor []bool) {
	frees = make([]float64, len(f.resources), f.width())
	evictedFor = make([]bool, len(f.resources), f.width())

	hasCards := pod != nil && s.Cards.Occupies(pod)
	for r, name := range f.resources {
		frees[r] = task.Resreq.Get(name)
		evictedFor[r] = !hasCards || s.Cards.Takes(pod, name)
	}
	for _, list := range f.lists {
		frees = append(frees, s.Cards.OwnDevices(pod, list))
		evictedFor = append(evictedFor, true)
	}
	return frees, evictedFor
}
