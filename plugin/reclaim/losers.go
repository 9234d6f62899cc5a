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
	rank  int32               // of the queue
	tasks []*api.TaskInfo     // by pod of the Job
	pods  []*cards.PodRequest // their statements about cards
}

// readJobs reads the jobs with pods that can be evicted.
func (f *field) readJobs(s *Session) {
	at := f.numbers()
	for _, job := range s.Volcano.Jobs {
		f.readJob(s, job, at)
	}
	slices.SortFunc(f.jobs, func(x, y losingJob) int { return strings.Compare(x.Name, y.Name) })
}

// readJob adds a job if one of its running pods can be evicted. at has the numbers of nodes.
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
	l.Name = string(job.UID)
	l.Spare = int(job.ReadyTaskNum() - job.MinAvailable)
	l.Roles = constraint.SpareRoles(job)
	evictable := false
	for _, task := range tasks {
		pod := s.statedBy(task)
		c := f.candidate(s, job, task, pod, at)
		evictable = evictable || !c.Fixed
		l.Pods = append(l.Pods, c)
		l.pods = append(l.pods, pod)
	}

	if evictable {
		f.jobs = append(f.jobs, l)
	}
}

// candidate returns a running task of a job as a candidate. Its class and order are set later.
func (f *field) candidate(s *Session, job *api.JobInfo, task *api.TaskInfo, pod *cards.PodRequest,
	at map[string]int) plan.Candidate {
	c := plan.Candidate{
		Name:  task.Name,
		Role:  task.TaskRole,
		Node:  plan.None,
		Fixed: !api.PreemptableStatus(task.Status) || !task.Preemptable,
	}
	if n, known := at[task.NodeName]; known {
		c.Node = n
	}
	if s.settings.ByWork {
		c.Lost = int64(constraint.Unsaved(task, job, s.Now).Seconds())
	}
	c.Frees, c.For = f.frees(s, task, pod)
	return c
}

// rankQueues numbers the queues of the jobs in the order in which they lose pods: the last one in the order of queues
// loses first, since it has the most beyond its deserved. Equal queues have the same number.
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

// ranked is a candidate with the priorities that protect it: those of its queue, its job, and itself.
type ranked struct {
	candidate *plan.Candidate
	task      *api.TaskInfo
	class     [3]int32
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
		for i, task := range job.tasks {
			class := [3]int32{first, job.info.Priority, task.Priority}
			all = append(all, ranked{candidate: &job.Pods[i], task: task, class: class})
		}
	}
	slices.SortFunc(all, func(x, y ranked) int {
		return cmp.Or(slices.Compare(x.class[:], y.class[:]), s.compareAge(x.task, y.task))
	})

	for i := range all {
		if i == 0 || all[i].class != all[i-1].class {
			f.classes++
		}
		all[i].candidate.Class = f.classes - 1
		all[i].candidate.Order = i
	}
}

// compareAge orders the candidates of a class. With victimOrder leastWork, the work decides, and then the name.
func (s *Session) compareAge(x, y *api.TaskInfo) int {
	if s.settings.ByWork {
		return cmp.Compare(x.UID, y.UID)
	}
	return cmp.Or(y.Pod.CreationTimestamp.Compare(x.Pod.CreationTimestamp.Time), cmp.Compare(y.UID, x.UID))
}
