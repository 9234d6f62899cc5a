package admit

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// preemptedFor returns the resources that preempt can take for a job from jobs of its queue with a lower priority.
// Elastic resources are left out: they do not count against the job anyway.
func (s *Admission) preemptedFor(job *api.JobInfo) fastres.Vector {
	if !s.returns.preempts || !mayPreempt(job) {
		return s.returns.none
	}

	key := preemptors{queue: job.Queue, priority: job.Priority}
	if known, ok := s.returns.preempted[key]; ok {
		return known
	}

	sum := fastres.NewVector(s.Index.Dims())
	for _, tasks := range byJob(s.victimsFor(job)) {
		s.addPreempted(sum, tasks)
	}
	s.returns.preempted[key] = sum
	return sum
}

// byJob divides tasks that are in the order of their jobs into one slice for each job.
func byJob(tasks []*api.TaskInfo) (jobs [][]*api.TaskInfo) {
	for i, task := range tasks {
		if i == 0 || task.Job != tasks[i-1].Job {
			jobs = append(jobs, nil)
		}
		last := len(jobs) - 1
		jobs[last] = append(jobs[last], task)
	}
	return jobs
}

// mayPreempt reports whether the action preempt serves a job. The policy of a job without pods is not known: sessions
// have no PriorityClasses, and the templates of its pods may name others than its PodGroup.
func mayPreempt(job *api.JobInfo) bool {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if constraint.NeverPreempts(task) {
			return false
		}
	}
	return !job.ContainsNetworkTopology()
}

// runningJobs returns the jobs with pods that preempt may evict, by queue.
func (s *Admission) runningJobs() map[api.QueueID][]*api.JobInfo {
	running := map[api.QueueID][]*api.JobInfo{}
	for _, job := range s.Volcano.Jobs {
		if len(job.TaskStatusIndex[api.Running])+len(job.TaskStatusIndex[api.Bound]) > 0 {
			running[job.Queue] = append(running[job.Queue], job)
		}
	}
	return running
}

// victimsFor returns the tasks that preempt can evict for a job, in the order of jobs. Their jobs have a lower
// priority, and no policy and no other plugin spares them.
func (s *Admission) victimsFor(job *api.JobInfo) []*api.TaskInfo {
	var candidates []*api.TaskInfo
	for _, other := range s.returns.running[job.Queue] {
		if other.Priority >= job.Priority {
			continue
		}
		for _, status := range []api.TaskStatus{api.Running, api.Bound} {
			for _, task := range other.TaskStatusIndex[status] {
				if task.Preemptable && !s.Spares(task) {
					candidates = append(candidates, task)
				}
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}

	victims := slices.Clone(s.returns.victims.VictimsWithin(preemptorOf(job), candidates))
	slices.SortFunc(victims, func(x, y *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.UID, y.UID))
	})
	return victims
}

// preemptorOf returns a task of a job that asks for victims: a pending one. If no pod exists yet, it is a task that
// stands for the pods to come.
func preemptorOf(job *api.JobInfo) *api.TaskInfo {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		own := *task
		return &own
	}

	return &api.TaskInfo{
		Job:        job.UID,
		Namespace:  job.Namespace,
		Name:       job.Name,
		Priority:   job.Priority,
		Pod:        &v1.Pod{},
		Resreq:     api.EmptyResource(),
		InitResreq: api.EmptyResource(),
	}
}

// addPreempted adds the resources that the eviction of some tasks of one job frees to x, less the elastic ones.
func (s *Admission) addPreempted(x fastres.Vector, victims []*api.TaskInfo) {
	job := s.Volcano.Jobs[victims[0].Job]
	q := s.Index.Lookup(string(job.Queue))
	frame := s.Frames.Open()
	defer frame.Close()
	freed := frame.Vector()
	charge := frame.Vector()
	elastic := frame.Vector()

	freed.Reset()
	for _, task := range victims {
		s.Intake.SetCharge(charge, q, task, task.NodeName)
		freed.Add(charge)
	}

	s.setElastic(elastic, q, job)
	charge.SetExceeded(freed, elastic)
	x.Add(charge)
}

// setElastic sets x to the resources of a job of q beyond its minimum.
func (s *Admission) setElastic(x fastres.Vector, q index.Queue, job *api.JobInfo) {
	frame := s.Frames.Open()
	defer frame.Close()
	minimum := frame.Vector()
	allocated := frame.Vector()

	s.Intake.SetMinimum(minimum, job)
	jobCards := s.cardsOf(&s.memory.running, q, job)
	if jobCards != nil {
		jobCards.ExemptMinimum(s.Cards, minimum)
	}

	setAllocated(s.Session, allocated, job, jobCards)

	x.SetExceeded(allocated, minimum)
	if jobCards != nil {
		jobCards.AddElastic(s.Cards, x)
	}
}
