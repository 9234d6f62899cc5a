package offline

import (
	"cmp"
	"strings"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// SetNamespaceQueues replaces the queues with names such as "team/train" by NamespaceQueues, and leaves out of the session
// those that Volcano's cache leaves out, with their jobs. Where the release does not know NamespaceQueues it changes
// nothing: there they are Queues with such names.
//
// Upstream: cache/cache.go, Snapshot and isNamespaceQueueParentChainOpen.
func SetNamespaceQueues(info *api.ClusterInfo) {
	if !release.KnowsNamespaceQueues() {
		return
	}
	all, jobs := map[api.QueueID]*api.QueueInfo{}, map[api.JobID]*api.JobInfo{}
	objects := map[api.QueueID]*scheduling.Queue{}
	for id, queue := range info.Queues {
		objects[id] = queue.Queue
		if namespace, _, namespaced := strings.Cut(string(id), "/"); namespaced && queue.Queue != nil {
			object := *queue.Queue
			object.Namespace = namespace
			info.Queues[id], objects[id] = release.NewQueueInfo(&object), &object
		}
		all[id] = info.Queues[id].Clone()
	}
	for id, object := range objects {
		if object != nil && object.Namespace != "" && !openAbove(objects, id) {
			delete(info.Queues, id)
		}
	}
	for id, job := range info.Jobs {
		if all[job.Queue] == nil {
			continue // as Volcano's cache, which drops it
		}
		if jobs[id] = job; info.Queues[job.Queue] == nil {
			delete(info.Jobs, id)
		}
	}
	release.SetAccounting(info, all, jobs)
}

const root api.QueueID = "root"

// openAbove reports whether a queue and all above it are open. The root may have no object.
func openAbove(objects map[api.QueueID]*scheduling.Queue, id api.QueueID) bool {
	for range len(objects) + 1 {
		object := objects[id]
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
	return false
}
