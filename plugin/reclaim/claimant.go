package reclaim

import (
	"cmp"
	"reflect"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// claimant is the pods that a plan is made for: those that a job lacks to its minimum, or one pod beyond it.
type claimant struct {
	job     *api.JobInfo
	queue   index.Queue
	minimum bool // the job starts with these pods
	within  bool // others of the same queue are evicted for it, by priority

	tasks  []*api.TaskInfo // those that are alike follow one another
	kindOf []int           // by task
	kinds  int

	prepared map[api.TaskID]bool     // whether the plugins can decide about a task
	suits    map[int]map[string]bool // by kind, the nodes that may suit it
	spared   map[api.TaskID]bool     // whether another plugin spares a task
}

// reclaimer is the claimant as policies know it.
func (c *claimant) reclaimer() constraint.Reclaimer {
	if len(c.tasks) == 1 {
		return constraint.Reclaimer{Queue: c.queue, Task: c.tasks[0]}
	}
	return constraint.Reclaimer{Queue: c.queue, Gang: c.job}
}

// claimantOf returns the pods that a job of q lacks to its minimum, or else one pod. skip has kinds of pods that are
// not asked for again. It returns nil for none.
func (s *Session) claimantOf(job *api.JobInfo, q index.Queue, within bool, skip []*api.TaskInfo) *claimant {
	var pending []*api.TaskInfo
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated && !task.BestEffort && !s.Books.Waits(task) {
			pending = append(pending, task)
		}
	}
	ordered := util.NewPriorityQueue(s.Volcano.TaskOrderFn)
	for _, task := range pending {
		ordered.Push(task)
	}
	pending = pending[:0]
	for !ordered.Empty() {
		pending = append(pending, ordered.Pop().(*api.TaskInfo))
	}

	c := &claimant{job: job, queue: q, within: within, prepared: map[api.TaskID]bool{}, suits: map[int]map[string]bool{}, spared: map[api.TaskID]bool{}}
	c.tasks = s.lacking(job, pending)
	c.minimum = len(c.tasks) > 0
	if !c.minimum {
		for _, task := range pending {
			if !slices.ContainsFunc(skip, func(other *api.TaskInfo) bool { return alike(task, other) }) {
				c.tasks = []*api.TaskInfo{task}
				break
			}
		}
	}
	if len(c.tasks) == 0 || slices.ContainsFunc(c.tasks, constraint.NeverPreempts) {
		return nil
	}
	c.sort(s)
	return c
}

// lacking returns the pending tasks with which a job has its minimum, first those that its roles lack. It returns none
// if the job has its minimum, or too few tasks.
func (s *Session) lacking(job *api.JobInfo, pending []*api.TaskInfo) (tasks []*api.TaskInfo) {
	waits := 0
	roles := map[string]int{}
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if s.Books.Waits(task) || task.BestEffort && !task.SchGated {
			waits++
			roles[task.TaskRole]++
		}
	}
	missing := int(job.MinAvailable-job.ReadyTaskNum()-job.WaitingTaskNum()) - waits

	taken := make([]bool, len(pending))
	if job.MinAvailable >= job.TaskMinAvailableTotal {
		for _, task := range job.Tasks {
			if api.AllocatedStatus(task.Status) || task.Status == api.Succeeded || task.Status == api.Pipelined {
				roles[task.TaskRole]++
			}
		}
		for i, task := range pending {
			if roles[task.TaskRole] < int(job.TaskMinAvailable[task.TaskRole]) {
				roles[task.TaskRole]++
				taken[i] = true
				tasks = append(tasks, task)
			}
		}
	}
	for i, task := range pending {
		if len(tasks) < missing && !taken[i] {
			tasks = append(tasks, task)
		}
	}
	if len(tasks) < missing {
		return nil
	}
	return tasks
}

// sort numbers the kinds of the tasks. Those with the fewest cards to choose from go first, then those that request the
// most.
func (c *claimant) sort(s *Session) {
	var kinds []*api.TaskInfo
	kindOf := map[api.TaskID]int{}
	for _, task := range c.tasks {
		kind := slices.IndexFunc(kinds, func(other *api.TaskInfo) bool { return alike(task, other) })
		if kind < 0 {
			kind = len(kinds)
			kinds = append(kinds, task)
		}
		kindOf[task.UID] = kind
	}
	choices := make([]int, len(kinds))
	amounts := make([]float64, len(kinds))
	for kind, task := range kinds {
		choices[kind], amounts[kind] = s.choicesOf(c.queue, task)
	}

	slices.SortStableFunc(c.tasks, func(x, y *api.TaskInfo) int {
		k, l := kindOf[x.UID], kindOf[y.UID]
		return cmp.Or(cmp.Compare(choices[k], choices[l]), cmp.Compare(amounts[l], amounts[k]), cmp.Compare(k, l))
	})
	for _, task := range c.tasks {
		c.kindOf = append(c.kindOf, kindOf[task.UID])
	}
	c.kinds = len(kinds)
}

// choicesOf returns how many cards a task can choose from, and how many it requests. Without cards, it can run on any
// node.
func (s *Session) choicesOf(q index.Queue, task *api.TaskInfo) (choices int, amount float64) {
	const any = 1 << 20
	pod := s.Cards.PodRequest(q, task.Pod)
	if pod.None() {
		return any, 0
	}
	choices = any
	for r := range s.Cards.Requests(pod) {
		choices = min(choices, len(r.Selector.Dims))
		amount += float64(r.Amount)
	}
	return choices, amount
}

// alike reports whether two tasks of a job request the same and can run on the same nodes.
func alike(x, y *api.TaskInfo) bool {
	if !x.InitResreq.Equal(y.InitResreq, api.Zero) || !reflect.DeepEqual(x.Pod.Annotations, y.Pod.Annotations) {
		return false
	}
	return x.TaskRole != "" && x.TaskRole == y.TaskRole || reflect.DeepEqual(x.Pod.Spec, y.Pod.Spec)
}

// prepare calls PrePredicate for a task, once, and finds the nodes that may suit its kind.
func (c *claimant) prepare(s *Session, task *api.TaskInfo, kind int) bool {
	ready, known := c.prepared[task.UID]
	if known {
		return ready
	}
	ready = s.Volcano.PrePredicateFn(task) == nil
	c.prepared[task.UID] = ready
	if ready && c.suits[kind] == nil {
		c.suits[kind] = map[string]bool{}
		for _, node := range s.Volcano.FilterOutUnschedulableAndUnresolvableNodesForTask(task) {
			c.suits[kind][node.Name] = true
		}
	}
	return ready
}
