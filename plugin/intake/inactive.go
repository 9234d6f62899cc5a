package intake

import (
	"cmp"
	"iter"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// inactive are jobs of inactive queues, as the queues above them are charged for them: with those pods alone that do
// not wait, and in the nearest queue above that is active. A queue is inactive that the session does not schedule: a
// NamespaceQueue that is not open and ready, or is below a queue that is not. Its jobs are not in ssn.Jobs, so none is
// admitted, gets a node, or is a victim. Nothing is reserved for them, and no pod counts as elastic.
//
// DIVERGES: upstream charges nobody for such pods (capacity/capacity.go, buildHierarchicalQueueAttrs, visits ssn.Jobs
// alone), so that others get what they still have.
type inactive map[api.JobID]*api.JobInfo

// findInactive finds the jobs of inactive queues that have pods on nodes, or are admitted. One that no queue of the
// tree is charged for keeps its queue: the cards of its pods are not forgotten.
func findInactive(ssn *framework.Session, tree *index.Tree) (found inactive) {
	all := release.AccountingJobs(ssn)
	if len(all) <= len(ssn.Jobs) {
		return nil // all of them have those of the session (cache/cache.go, Snapshot)
	}
	for id, job := range all {
		if ssn.Jobs[id] != nil || ssn.Queues[job.Queue] != nil {
			continue
		}
		charged := chargedTo(cmp.Or(activeAbove(ssn, tree, job.Queue), job.Queue), job)
		if len(charged.Tasks) == 0 && !InProgress(job) {
			continue
		}
		if found == nil {
			found = inactive{}
		}
		found[id] = charged
	}
	return found
}

// chargedTo returns a job of a queue with the pods of another job that do not wait.
func chargedTo(queue api.QueueID, job *api.JobInfo) *api.JobInfo {
	charged := api.NewJobInfo(job.UID)
	charged.Namespace = job.Namespace
	charged.Queue = queue
	charged.PodGroup = job.PodGroup
	for status, tasks := range job.TaskStatusIndex {
		if status == api.Pending {
			continue
		}
		for _, task := range tasks {
			charged.AddTaskInfo(task)
		}
	}
	return charged
}

// activeAbove returns a queue if it is active, otherwise the nearest one above it that is. It is "" if the queue does
// not reach any. Where quotas are flat, no queue is above another.
func activeAbove(ssn *framework.Session, tree *index.Tree, id api.QueueID) api.QueueID {
	queues := release.AccountingQueues(ssn)
	for level := range len(queues) + 1 { // there may be a cycle
		if ssn.Queues[id] != nil || level > 0 && id == index.RootName {
			return id // the root above queues may have no object
		}
		queue := queues[id]
		if queue == nil || !tree.Rooted() {
			return ""
		}
		id = release.Parent(queue)
		if id == "" {
			id = index.RootName
		}
	}
	return ""
}

// jobOf returns a job of the session or of an inactive queue, nil for neither.
func jobOf(ssn *framework.Session, id api.JobID) *api.JobInfo {
	if job := ssn.Jobs[id]; job != nil {
		return job
	}
	return release.AccountingJobs(ssn)[id]
}

// ChargedJobs yields the jobs of a session, and those of inactive queues in the queues that are charged for them.
func (s *Session) ChargedJobs(ssn *framework.Session) iter.Seq[*api.JobInfo] {
	return func(yield func(*api.JobInfo) bool) {
		for _, jobs := range []map[api.JobID]*api.JobInfo{ssn.Jobs, s.inactive} {
			for _, job := range jobs {
				if !yield(job) {
					return
				}
			}
		}
	}
}
