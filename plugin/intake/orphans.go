package intake

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// orphans finds the pods that remain on nodes after their PodGroup is deleted. When a job is deleted, the garbage
// collector deletes its PodGroup at once, but its pods hold their cards until they end. Volcano's session has no job
// for them, so orphans makes one of these pods.
//
// It looks for a job after a session in which the job had cards on nodes. Two kinds of sessions look for all jobs, and
// read the queues from annotations of the pods:
//
//   - the first session with a configuration: earlier sessions may have been without the plugin, or there were none;
//   - a session with a new node: a node that comes back can have pods of jobs that were deleted meanwhile.
//
// DIVERGES: upstream does not count such pods (capacity/capacity.go, buildQueueAttrs, only visits ssn.Jobs).
type orphans struct {
	tiers  []conf.Tier          // of the session before: Volcano makes new ones when it loads its configuration
	placed map[api.JobID]placed // the jobs with cards on nodes in the session before, or placed in it
	lost   map[api.JobID]placed // the part of placed without a job
	found  map[api.JobID]placed // the orphans of this session: their queue may not exist for a while
}

// placed is a job with cards on nodes.
type placed struct {
	queue api.QueueID
	group *api.PodGroup // nil for an orphan that was found by its pods alone
}

// find returns a job for each PodGroup that was deleted while pods of it are on nodes. arrived: the session has a new
// node. Nothing is reserved for these jobs.
func (o *orphans) find(ssn *framework.Session, arrived bool) (jobs []*api.JobInfo) {
	o.noteLost(ssn)
	clear(o.found)
	all := o.loaded(ssn.Tiers) || arrived
	if !all && len(o.lost) == 0 {
		return nil
	}

	if o.found == nil {
		o.found = map[api.JobID]placed{}
	}
	made := map[api.JobID]*api.JobInfo{}
	for _, node := range ssn.Nodes {
		for _, task := range node.Tasks {
			p, lost := o.lost[task.Job]
			if !lost && all && task.Job != "" && ssn.Jobs[task.Job] == nil {
				p.queue = queueOf(task.Pod)
			}
			if p.queue == "" {
				continue
			}

			job := made[task.Job]
			if job == nil {
				job = p.orphanedJob(ssn, task)
				o.found[task.Job] = p
				made[task.Job] = job
				jobs = append(jobs, job)
			}
			job.AddTaskInfo(task.Clone()) // the task of the session must not change
		}
	}

	clear(o.lost)
	return jobs
}

// noteLost notes the placed jobs that the session does not have.
func (o *orphans) noteLost(ssn *framework.Session) {
	for id, p := range o.placed {
		if ssn.Jobs[id] != nil {
			continue
		}

		if o.lost == nil {
			o.lost = map[api.JobID]placed{}
		}
		o.lost[id] = p
	}
}

// loaded reports whether Volcano has loaded its configuration since the session before.
func (o *orphans) loaded(tiers []conf.Tier) bool {
	loaded := len(o.tiers) == 0 || len(tiers) == 0 || &o.tiers[0] != &tiers[0]
	o.tiers = tiers
	return loaded
}

// orphanedJob makes a job for a task. The job has no queue if its queue does not exist.
func (p placed) orphanedJob(ssn *framework.Session, task *api.TaskInfo) *api.JobInfo {
	job := api.NewJobInfo(task.Job)
	job.Namespace = task.Namespace
	if ssn.Queues[p.queue] != nil {
		job.Queue = p.queue
	}
	if p.group != nil {
		job.PodGroup = p.group.Clone()
		job.PodGroup.Status.Phase = scheduling.PodGroupCompleted // no reservation, and not counted by max-jobs
	}
	return job
}

// queueOf returns the queue that the annotations of a pod name, "" for none. The controller of Volcano's jobs writes
// the first annotation, and users write the second.
func queueOf(pod *v1.Pod) api.QueueID {
	queue := cmp.Or(pod.Annotations[v1alpha1.QueueNameKey], pod.Annotations[v1beta1.QueueNameAnnotationKey])
	return api.QueueID(queue)
}

// keep remembers the jobs with cards on nodes for the next session, and the orphans that no queue has counted.
func (o *orphans) keep(tallies []tally) {
	if o.placed == nil {
		o.placed = map[api.JobID]placed{}
	}
	clear(o.placed)

	for i := range tallies {
		for _, job := range tallies[i].onNodes {
			o.placed[job.UID] = placed{job.Queue, job.PodGroup}
		}
	}

	for id, p := range o.found {
		if _, counted := o.placed[id]; !counted {
			o.placed[id] = p
		}
	}
}

// NotePlaced notes the jobs of tasks that the session has placed. It is called before the session closes.
func (s *Inputs) NotePlaced(ssn *framework.Session, tasks []*api.TaskInfo) {
	if s.cards == nil {
		return
	}
	for _, task := range tasks {
		if job := ssn.Jobs[task.Job]; job != nil {
			s.orphans.placed[job.UID] = placed{job.Queue, job.PodGroup}
		}
	}
}
