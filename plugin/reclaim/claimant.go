package reclaim

import (
	"cmp"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

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

	tasks    []*api.TaskInfo // tasks that are alike follow one another
	optional []*api.TaskInfo // tasks of the minimum that other pending tasks can replace
	kindOf   []int           // by task
	kinds    int

	// The other plugins are asked once for a claimant.
	prepared map[api.TaskID]answer    // whether they can decide about a task of the claimant
	consent  map[api.TaskID]answer    // whether they agree to the eviction of a task
	suits    map[int]sets.Set[string] // the nodes that may suit a kind, once one of its tasks is prepared
	apart    map[int]bool             // the kinds that share no node, see keepApart
	refusals int                      // of nodes, because of other pods
}

// answer is the answer of the other plugins to a question.
type answer int8

const (
	unasked answer = iota
	granted
	refused
)

// answered returns the answer yes or no.
func answered(yes bool) answer {
	if yes {
		return granted
	}
	return refused
}

// action is the name of the action that evicts for a claimant.
func (c *claimant) action() string {
	if c.within {
		return "preempt"
	}
	return "reclaim"
}

// reclaimer is the claimant as policies know it.
func (c *claimant) reclaimer() constraint.Reclaimer {
	if len(c.tasks) == 1 {
		return constraint.Reclaimer{Queue: c.queue, Task: c.tasks[0]}
	}
	return constraint.Reclaimer{Queue: c.queue, Gang: c.job}
}

// claimantOf returns the pods that a job of q lacks to its minimum, or else one pod, unless the job starves only until
// the notices for it are over. skip has kinds of pods that are not asked for again. It returns nil for none.
func (s *Rules) claimantOf(job *api.JobInfo, q index.Queue, within bool, skip []*api.TaskInfo) *claimant {
	pending := s.pendingOf(job)
	tasks, optional, starts := s.lacking(job, pending, skip)
	if starts && s.starvesBeyond(job) {
		tasks = firstBeyond(pending, skip)
	}
	if len(tasks) == 0 || slices.ContainsFunc(tasks, constraint.NeverPreempts) {
		return nil
	}

	c := &claimant{
		job:      job,
		queue:    q,
		minimum:  !starts,
		within:   within,
		tasks:    tasks,
		optional: optional,
		prepared: map[api.TaskID]answer{},
		consent:  map[api.TaskID]answer{},
		suits:    map[int]sets.Set[string]{},
		apart:    map[int]bool{},
	}
	c.sort(s)
	return c
}

// pendingOf returns the pending tasks of a job that others can be evicted for, in the order of tasks.
func (s *Rules) pendingOf(job *api.JobInfo) (pending []*api.TaskInfo) {
	ordered := util.NewPriorityQueue(s.Volcano.TaskOrderFn)
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated && !task.BestEffort && !s.Books.Waits(task) {
			ordered.Push(task)
		}
	}

	for !ordered.Empty() {
		pending = append(pending, ordered.Pop().(*api.TaskInfo))
	}
	return pending
}

// firstBeyond returns the first pending task that is like none of the tasks to skip.
func firstBeyond(pending, skip []*api.TaskInfo) []*api.TaskInfo {
	for _, task := range pending {
		if !likeAny(task, skip) {
			return []*api.TaskInfo{task}
		}
	}
	return nil
}

// lacking returns the pending tasks with which a job has its minimum, first those that its roles lack. optional are the
// tasks that no role lacks: they are like none of the tasks to skip. starts reports that the job has its minimum. If
// the job has too few tasks, lacking returns none.
func (s *Rules) lacking(job *api.JobInfo, pending, skip []*api.TaskInfo) (
	tasks, optional []*api.TaskInfo, starts bool) {
	waits := 0
	roles := map[string]int{}
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if s.Books.Waits(task) || task.BestEffort && !task.SchGated {
			waits++
			roles[task.TaskRole]++
		}
	}
	missing := constraint.Missing(job) - waits

	// The minimums of roles count only where they are a part of the minimum of the job.
	rest := pending
	if job.MinAvailable >= job.TaskMinAvailableTotal {
		tasks, rest = lackingInRoles(job, pending, roles)
	}

	more := max(0, missing-len(tasks))
	if more == 0 {
		return tasks, nil, len(tasks) == 0
	}

	rest = slices.DeleteFunc(slices.Clone(rest), func(task *api.TaskInfo) bool { return likeAny(task, skip) })
	if more > len(rest) {
		return nil, nil, false
	}
	return append(tasks, rest[:more]...), rest[:more], false
}

// lackingInRoles returns the pending tasks that the roles of a job lack to their minimums, and the rest. roles has the
// number of tasks by role that wait for a node.
func lackingInRoles(job *api.JobInfo, pending []*api.TaskInfo, roles map[string]int) (lacking, rest []*api.TaskInfo) {
	for _, task := range job.Tasks {
		if api.AllocatedStatus(task.Status) || task.Status == api.Succeeded || task.Status == api.Pipelined {
			roles[task.TaskRole]++
		}
	}

	for _, task := range pending {
		if roles[task.TaskRole] >= int(job.TaskMinAvailable[task.TaskRole]) {
			rest = append(rest, task)
			continue
		}
		roles[task.TaskRole]++
		lacking = append(lacking, task)
	}
	return lacking, rest
}

// mostCompared bounds the kinds that a task is compared with. Further tasks are kinds of their own.
const mostCompared = 64

// sort numbers the kinds of the tasks. Kinds with the fewest cards to choose from go first, then those that request the
// most.
func (c *claimant) sort(s *Rules) {
	var kinds []*api.TaskInfo
	kindOf := map[api.TaskID]int{}
	for _, task := range c.tasks {
		compared := kinds[:min(len(kinds), mostCompared)]
		kind := slices.IndexFunc(compared, func(other *api.TaskInfo) bool { return alike(task, other) })
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
		return cmp.Or(
			cmp.Compare(choices[k], choices[l]),
			cmp.Compare(amounts[l], amounts[k]),
			cmp.Compare(k, l),
		)
	})

	for _, task := range c.tasks {
		c.kindOf = append(c.kindOf, kindOf[task.UID])
	}
	c.kinds = len(kinds)
}

// choicesOf returns how many cards a task can choose from, and how many it requests. Without cards, it can run on any
// node.
func (s *Rules) choicesOf(q index.Queue, task *api.TaskInfo) (choices int, amount float64) {
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

// likeAny reports whether a task is like one of others.
func likeAny(task *api.TaskInfo, others []*api.TaskInfo) bool {
	return slices.ContainsFunc(others, func(other *api.TaskInfo) bool { return alike(task, other) })
}

// hardest returns the first task, in the order of the claimant, that other tasks of its job can replace. It returns nil
// for none.
func (c *claimant) hardest() *api.TaskInfo {
	for _, task := range c.tasks {
		if !c.minimum || slices.Contains(c.optional, task) {
			return task
		}
	}
	return nil
}

// prepare calls PrePredicate for a task, once, and finds the nodes that may suit its kind.
func (c *claimant) prepare(s *Rules, task *api.TaskInfo, kind int) bool {
	if c.prepared[task.UID] == unasked {
		c.prepared[task.UID] = answered(s.Volcano.PrePredicateFn(task) == nil)
		if c.prepared[task.UID] == granted && c.suits[kind] == nil {
			c.suits[kind] = sets.Set[string]{}
			for _, node := range s.Volcano.FilterOutUnschedulableAndUnresolvableNodesForTask(task) {
				c.suits[kind].Insert(node.Name)
			}
		}
	}

	return c.prepared[task.UID] == granted
}
