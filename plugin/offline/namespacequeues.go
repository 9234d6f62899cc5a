package offline

import (
	"cmp"
	"strings"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// SetNamespaceQueues replaces the queues with names such as "team/train" by NamespaceQueues, and leaves out of the
// session those that Volcano's cache leaves out, with their jobs. Where the release does not know NamespaceQueues it
// changes nothing: there they are Queues with such names.
//
// Upstream: cache/cache.go, Snapshot.
func SetNamespaceQueues(info *api.ClusterInfo) {
	if !release.KnowsNamespaceQueues() {
		return
	}
	all, scheduled := map[api.QueueID]*api.QueueInfo{}, map[api.QueueID]*api.QueueInfo{}
	for id, queue := range info.Queues {
		if IsNamespaceQueue(id) && queue.Queue != nil {
			object := *queue.Queue
			object.Namespace, _, _ = strings.Cut(string(id), "/")
			queue = release.NewQueueInfo(&object)
		}
		all[id] = queue.Clone()
		if SchedulesQueue(id, func(id api.QueueID) *scheduling.Queue { return objectOf(info.Queues[id]) }) {
			scheduled[id] = queue
		}
	}
	jobs := map[api.JobID]*api.JobInfo{}
	for id, job := range info.Jobs {
		if all[job.Queue] == nil {
			continue // a cluster of Volcano has no such job
		}
		jobs[id] = job
		if scheduled[job.Queue] == nil {
			delete(info.Jobs, id)
		}
	}
	info.Queues = scheduled
	release.SetAccounting(info, all, jobs)
}

func objectOf(queue *api.QueueInfo) *scheduling.Queue {
	if queue == nil {
		return nil
	}
	return queue.Queue
}

// IsNamespaceQueue reports whether SetNamespaceQueues makes a queue a NamespaceQueue.
func IsNamespaceQueue(id api.QueueID) bool {
	return release.KnowsNamespaceQueues() && strings.Contains(string(id), "/")
}

// SchedulesQueue reports whether Volcano's sessions have a queue with one of these objects: it is a Queue, or a
// NamespaceQueue that is open and below open queues. The root may have no object.
//
// Upstream: cache/cache.go, isNamespaceQueueParentChainOpen.
func SchedulesQueue(id api.QueueID, objectOf func(api.QueueID) *scheduling.Queue) bool {
	const root = "root"
	if !IsNamespaceQueue(id) {
		return true
	}
	for range mostLevels {
		object := objectOf(id)
		switch {
		case object == nil:
			return id == root
		case object.Status.State != scheduling.QueueStateOpen:
			return false
		case id == root:
			return true
		}
		id = cmp.Or(api.QueueID(object.Spec.Parent), root)
	}
	return false // a cycle
}

// mostLevels is more levels than any tree in memory has.
const mostLevels = 100
