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

// orphans finds the pods on nodes whose PodGroup is deleted: when a job is deleted, the garbage
// collector deletes its PodGroup at once, and its pods have their cards until they end. Volcano's
// session has no job for them, so State reads one that is made of these pods.
//
// DIVERGES: upstream does not count such pods (capacity/capacity.go, buildQueueAttrs, visits ssn.Jobs alone).
//
// A job is looked for after a session in which it had cards on nodes. Nobody has noted the jobs before the first
// session with a configuration: it may be the first of all, or the configuration was without the plugin until now. That
// session looks for all, and the annotations of the pods name their queues. So does a session with another number of
// nodes: one that comes back can have pods of jobs that were deleted while it was lost.
type orphans struct {
	nodes  int                  // in the session before
	tiers  []conf.Tier          // of the session before: Volcano makes others when it loads its configuration
	placed map[api.JobID]placed // with cards on nodes in the session before, or placed in it
	lost   map[api.JobID]placed // of placed, those without a job
	found  map[api.JobID]placed // of lost, those with pods on nodes: their queue may not exist for a while
}

// placed is a job with cards on nodes.
type placed struct {
	queue api.QueueID
	group *api.PodGroup // nil for an orphan that was found by its pods alone
}

// find returns a job for each PodGroup that is deleted while its pods are on nodes. They are to
// be counted as they are; nothing is reserved for them.
func (o *orphans) find(ssn *framework.Session) (jobs []*api.JobInfo) {
	for id, p := range o.placed {
		if ssn.Jobs[id] == nil {
			if o.lost == nil {
				o.lost = map[api.JobID]placed{}
			}
			o.lost[id] = p
		}
	}
	clear(o.found)
	all := o.loaded(ssn.Tiers) || len(ssn.Nodes) != o.nodes
	o.nodes = len(ssn.Nodes)
	if !all && len(o.lost) == 0 {
		return nil
	}
	if o.found == nil {
		o.found = map[api.JobID]placed{}
	}
	found := map[api.JobID]*api.JobInfo{}
	for _, node := range ssn.Nodes {
		for _, task := range node.Tasks {
			p, lost := o.lost[task.Job]
			if !lost && all && task.Job != "" && ssn.Jobs[task.Job] == nil {
				p.queue = queueOf(task.Pod)
			}
			if p.queue == "" {
				continue
			}
			job := found[task.Job]
			if job == nil {
				job = p.orphanedJob(ssn, task)
				o.found[task.Job] = p
				found[task.Job], jobs = job, append(jobs, job)
			}
			job.AddTaskInfo(task.Clone()) // so that the session does not see that it has a job
		}
	}
	clear(o.lost)
	return jobs
}

// loaded reports whether Volcano has loaded its configuration since the session before.
func (o *orphans) loaded(tiers []conf.Tier) bool {
	loaded := len(o.tiers) == 0 || len(tiers) == 0 || &o.tiers[0] != &tiers[0]
	o.tiers = tiers
	return loaded
}

// orphanedJob makes the job of a task, in no queue if its queue does not exist.
func (p placed) orphanedJob(ssn *framework.Session, task *api.TaskInfo) *api.JobInfo {
	job := api.NewJobInfo(task.Job)
	job.Namespace = task.Namespace
	if ssn.Queues[p.queue] != nil {
		job.Queue = p.queue
	}
	if p.group != nil {
		job.PodGroup = p.group.Clone()
		job.PodGroup.Status.Phase = scheduling.PodGroupCompleted // nothing is reserved for it, and it is no job of max-jobs
	}
	return job
}

// queueOf returns the queue that a pod names, "" for none. The controller of Volcano's jobs writes
// the first annotation, and users the second.
func queueOf(pod *v1.Pod) api.QueueID {
	queue := cmp.Or(pod.Annotations[v1alpha1.QueueNameKey], pod.Annotations[v1beta1.QueueNameAnnotationKey])
	return api.QueueID(queue)
}

// keep keeps the jobs that have cards on nodes, for the next session, and those of which no queue knows.
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

// NotePlaced notes the jobs whose tasks the session has placed, before it closes.
func (s *Session) NotePlaced(ssn *framework.Session, tasks []*api.TaskInfo) {
	if s.cards == nil {
		return
	}
	for _, task := range tasks {
		if job := ssn.Jobs[task.Job]; job != nil {
			s.orphans.placed[job.UID] = placed{job.Queue, job.PodGroup}
		}
	}
}
