package reclaim

import (
	"cmp"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// field is what nodes have left, and who can lose pods. All plans of a session read it, until one of them evicts
// somebody.
type field struct {
	resources []v1.ResourceName
	lists     []*cards.Selector // of devices that claims request: one more resource each
	nodes     []*api.NodeInfo   // in the order of their names
	free      []plan.Node
	jobs      []losingJob
	classes   int // of the priorities of queues, jobs and pods
	deepest   int // depth of a queue
}

// losingJob is a job with running pods, for the planner and for the session.
type losingJob struct {
	plan.Job
	info  *api.JobInfo
	queue index.Queue
	rank  int32               // of the queue
	tasks []*api.TaskInfo     // by pod of the Job
	pods  []*cards.PodRequest // what these state about cards
}

// readField reads the nodes and the running pods of the session.
func (s *Session) readField() *field {
	f := &field{}
	for q := range index.Queue(s.Index.Len()) {
		f.deepest = max(f.deepest, s.Index.Depth(q))
	}
	at := f.readNodes(s)
	for _, job := range s.Volcano.Jobs {
		f.readJob(s, job, at)
	}
	slices.SortFunc(f.jobs, func(x, y losingJob) int { return strings.Compare(x.Name, y.Name) })
	f.rankQueues(s)
	f.rank(s)
	return f
}

// readNodes reads what nodes have left once terminating pods are gone and earmarks are used. It returns the numbers of
// nodes.
func (f *field) readNodes(s *Session) (at map[string]int) {
	at = make(map[string]int, len(s.Volcano.Nodes))
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
	for i, node := range f.nodes {
		free := make([]float64, len(f.resources), len(f.resources)+len(f.lists))
		for r, name := range f.resources {
			free[r] = node.Idle.Get(name) + node.Releasing.Get(name) - node.Pipelined.Get(name)
			if of := kept[node.Name]; of != nil {
				free[r] -= of.Get(name)
			}
		}
		for l := range f.lists {
			free = append(free, f.devicesOf(s, node, l, left[l]))
		}
		at[node.Name] = i
		f.free = append(f.free, plan.Node{Name: node.Name, Free: free})
	}
	return at
}

// readDevices finds the lists of devices that pending pods request through claims, and what nodes have left of each.
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

// devicesOf returns what a node has left of a list once terminating pods are gone. It is unbounded if that is not known
// by node: the other plugins decide.
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

// requests returns what a task of q requests of a node, by resource.
func (f *field) requests(s *Session, q index.Queue, task *api.TaskInfo) []float64 {
	requests := make([]float64, len(f.resources), len(f.resources)+len(f.lists))
	for r, name := range f.resources {
		requests[r] = task.InitResreq.Get(name)
	}
	for _, list := range f.lists {
		requests = append(requests, s.Cards.OwnDevices(s.Cards.PodRequest(q, task.Pod), list))
	}
	return requests
}

// readJob adds a job with running pods.
func (f *field) readJob(s *Session, job *api.JobInfo, at map[string]int) {
	q := s.Index.Lookup(string(job.Queue))
	if q == index.None || s.Index.Broken(q) != nil || s.Volcano.Queues[job.Queue] == nil {
		return
	}
	tasks := constraint.Placed(job)
	if len(tasks) == 0 {
		return
	}

	l := losingJob{info: job, queue: q, tasks: tasks}
	l.Job = plan.Job{Name: string(job.UID), Spare: int(job.ReadyTaskNum() - job.MinAvailable), Roles: constraint.SpareRoles(job)}
	evictable := false
	for _, task := range tasks {
		c := plan.Candidate{Name: task.Name, Role: task.TaskRole, Node: plan.None, Lost: 0,
			Fixed: !api.PreemptableStatus(task.Status) || !task.Preemptable}
		if n, known := at[task.NodeName]; known {
			c.Node = n
		}
		if s.settings.ByWork {
			c.Lost = s.unsavedOf(task, job)
		}
		pod := s.statedBy(task)
		c.Frees, c.For = f.frees(s, task, pod)
		evictable = evictable || !c.Fixed
		l.Pods, l.pods = append(l.Pods, c), append(l.pods, pod)
	}
	if evictable {
		f.jobs = append(f.jobs, l)
	}
}

// statedBy returns what a task states about cards, nil where cards count nowhere.
func (s *Session) statedBy(task *api.TaskInfo) *cards.PodRequest {
	if s.Cards == nil {
		return nil
	}
	return s.Cards.Read(task)
}

// frees returns what the eviction of a task frees on its node, and the resources for which it may be evicted. A pod
// with cards is evicted for cards alone: cpu and memory come with them.
func (f *field) frees(s *Session, task *api.TaskInfo, pod *cards.PodRequest) (frees []float64, of []bool) {
	frees, of = make([]float64, len(f.resources), len(f.resources)+len(f.lists)), make([]bool, len(f.resources), len(f.resources)+len(f.lists))
	hasCards := pod != nil && s.Cards.Occupies(pod)
	for r, name := range f.resources {
		frees[r] = task.Resreq.Get(name)
		of[r] = !hasCards || s.Cards.Takes(pod, name)
	}
	for _, list := range f.lists {
		frees, of = append(frees, s.Cards.OwnDevices(pod, list)), append(of, true)
	}
	return frees, of
}

// ranked is a candidate with what protects it.
type ranked struct {
	of    *plan.Candidate
	task  *api.TaskInfo
	class [3]int32 // the priorities of its queue, its job, and itself
}

// rank sets the class and the order of all candidates. In a class, the youngest pod is evicted first.
func (f *field) rank(s *Session) {
	var all []ranked
	for j := range f.jobs {
		job := &f.jobs[j]
		first := job.rank
		if s.settings.ByWork {
			first = s.Volcano.Queues[job.info.Queue].Queue.Spec.Priority
		}
		for i := range job.Pods {
			all = append(all, ranked{of: &job.Pods[i], task: job.tasks[i], class: [3]int32{first, job.info.Priority, job.tasks[i].Priority}})
		}
	}
	slices.SortFunc(all, func(x, y ranked) int {
		return cmp.Or(slices.Compare(x.class[:], y.class[:]), s.compareAge(x.task, y.task))
	})

	for i := range all {
		if i == 0 || all[i].class != all[i-1].class {
			f.classes++
		}
		all[i].of.Class = f.classes - 1
		all[i].of.Order = i
	}
}

// rankQueues numbers the queues of the jobs in the order in which they lose pods: the last one in the order of queues
// loses first, since it has the most beyond what it deserves. Equal queues have the same number.
func (f *field) rankQueues(s *Session) {
	var queues []*api.QueueInfo
	seen := map[api.QueueID]bool{}
	for j := range f.jobs {
		queue := s.Volcano.Queues[f.jobs[j].info.Queue]
		if !seen[queue.UID] {
			seen[queue.UID] = true
			queues = append(queues, queue)
		}
	}
	slices.SortStableFunc(queues, func(x, y *api.QueueInfo) int { return s.Order.CompareQueues(y, x) })

	ranks := map[api.QueueID]int32{}
	rank := int32(0)
	for i, queue := range queues {
		if i > 0 && s.Order.CompareQueues(queues[i-1], queue) != 0 {
			rank++
		}
		ranks[queue.UID] = rank
	}
	for j := range f.jobs {
		f.jobs[j].rank = ranks[s.Volcano.Queues[f.jobs[j].info.Queue].UID]
	}
}

// compareAge orders the candidates of a class. With victimOrder leastWork, the work decides, and then the name.
func (s *Session) compareAge(x, y *api.TaskInfo) int {
	if s.settings.ByWork {
		return cmp.Compare(x.UID, y.UID)
	}
	return cmp.Or(y.Pod.CreationTimestamp.Compare(x.Pod.CreationTimestamp.Time), cmp.Compare(y.UID, x.UID))
}

// unsavedOf returns for how long a task of a job has run since its last checkpoint, in seconds.
func (s *Session) unsavedOf(task *api.TaskInfo, job *api.JobInfo) int64 {
	return int64(constraint.Unsaved(task, job, s.Now).Seconds())
}
