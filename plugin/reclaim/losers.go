package reclaim

import (
	"cmp"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// losingJob is a job with running pods, for the planner and for the session.
type losingJob struct {
	plan.Job
	info  *api.JobInfo
	queue index.Queue
	tasks []*api.TaskInfo     // by pod of the Job
	pods  []*cards.PodRequest // their statements about cards
}

// readJob adds a job if one of its running pods can be evicted.
func (snap *snapshot) readJob(s *Rules, job *api.JobInfo) {
	q := s.Index.Lookup(string(job.Queue))
	if q == index.None || s.Index.Broken(q) != nil || s.Volcano.Queues[job.Queue] == nil {
		return
	}
	tasks := constraint.Placed(job)
	if len(tasks) == 0 {
		return
	}

	l := losingJob{info: job, queue: q, tasks: tasks}
	l.Name = string(job.UID)
	l.Spare = int(job.ReadyTaskNum() - job.MinAvailable)
	l.Roles = constraint.SpareRoles(job)

	evictable := false
	for _, task := range tasks {
		pod := s.statedBy(task)
		c := snap.candidate(s, job, task, pod)
		evictable = evictable || !c.Fixed
		l.Pods = append(l.Pods, c)
		l.pods = append(l.pods, pod)
	}

	if evictable {
		snap.jobs = append(snap.jobs, l)
	}
}

// candidate returns a running task of a job as a candidate. Its class and order are set later.
func (snap *snapshot) candidate(s *Rules, job *api.JobInfo, task *api.TaskInfo,
	pod *cards.PodRequest) plan.Candidate {
	node := snap.numberOf(task.NodeName)
	c := plan.Candidate{
		Name: task.Name,
		Role: task.TaskRole,
		Node: node,
		// The resources of a lost node are gone with it, so the eviction of its pods makes room nowhere.
		Fixed: node == plan.None || !api.PreemptableStatus(task.Status) || !task.Preemptable,
	}
	if s.settings.ByWork {
		c.Lost = int64(constraint.Unsaved(task, job, s.Now).Seconds())
	}

	c.Frees, c.For = snap.frees(s, task, pod)
	return c
}

// ranksOfQueues numbers the queues of the jobs in the order in which they lose pods. The last one in the order of
// queues loses first, since it has the most beyond its deserved. Equal queues have the same number.
func (snap *snapshot) ranksOfQueues(s *Rules) map[api.QueueID]int32 {
	var queues []*api.QueueInfo
	ranks := map[api.QueueID]int32{}
	for j := range snap.jobs {
		queue := s.Volcano.Queues[snap.jobs[j].info.Queue]
		_, known := ranks[queue.UID]
		if !known {
			ranks[queue.UID] = 0
			queues = append(queues, queue)
		}
	}

	slices.SortStableFunc(queues, func(x, y *api.QueueInfo) int { return s.Order.CompareQueues(y, x) })

	rank := int32(0)
	for i, queue := range queues {
		if i > 0 && s.Order.CompareQueues(queues[i-1], queue) != 0 {
			rank++
		}
		ranks[queue.UID] = rank
	}
	return ranks
}

// ranked is a candidate with its class: the priorities of its queue, its job, and itself.
type ranked struct {
	candidate *plan.Candidate
	task      *api.TaskInfo
	class     [3]int32
}

// rank sorts the jobs by name, and sets the class and the order of all candidates. In a class, the youngest pod is
// evicted first.
func (snap *snapshot) rank(s *Rules) {
	slices.SortFunc(snap.jobs, func(x, y losingJob) int { return strings.Compare(x.Name, y.Name) })
	snap.classes = 0
	ranks := snap.ranksOfQueues(s)
	var all []ranked
	for j := range snap.jobs {
		job := &snap.jobs[j]
		queue := s.Volcano.Queues[job.info.Queue]
		first := ranks[queue.UID]
		if s.settings.ByWork {
			first = queue.Queue.Spec.Priority
		}

		for i, task := range job.tasks {
			class := [3]int32{first, job.info.Priority, task.Priority}
			all = append(all, ranked{candidate: &job.Pods[i], task: task, class: class})
		}
	}

	slices.SortFunc(all, func(x, y ranked) int {
		return cmp.Or(slices.Compare(x.class[:], y.class[:]), s.compareAge(x.task, y.task))
	})

	// Candidates with the same priorities are of one class.
	for i := range all {
		if i == 0 || all[i].class != all[i-1].class {
			snap.classes++
		}
		all[i].candidate.Class = snap.classes - 1
		all[i].candidate.Order = i
	}
}

// compareAge orders the candidates of a class. With victimOrder leastWork, the work decides, and then the name.
func (s *Rules) compareAge(x, y *api.TaskInfo) int {
	if s.settings.ByWork {
		return cmp.Compare(x.UID, y.UID)
	}
	return cmp.Or(y.Pod.CreationTimestamp.Compare(x.Pod.CreationTimestamp.Time), cmp.Compare(y.UID, x.UID))
}
