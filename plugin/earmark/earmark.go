// Package earmark remembers for whom pods were evicted, from one session to the next.
//
// Volcano evicts pods in one session, and places the pod that they are evicted for in a later one,
// after they have ended. In between, every pending pod could take the room that the victims leave.
// The first to try are the pods that the controllers of the victims create as replacements. An
// earmark keeps the room for the pod that the eviction was for.
//
// # What lives how long
//
// A Registry lives as long as the scheduler. An earmark begins when the eviction is committed. It
// ends when its pod has a node, is gone, or requests something else. It also ends when the node is
// gone or an eviction failed, and in any case Patience after the last victim has ended.
//
// A restart of the scheduler loses the Registry. The earmarks are then derived from the pending pods
// with status.nominatedNodeName, and from the terminating pods on these nodes. Programs without a
// scheduler begin with the earmarks that the scheduler has saved (Kept).
//
// Upstream: none. There, allocate pipelines the pod again in each session, if no other pod
// comes before it.
package earmark

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
)

// Patience is the time that an earmark lasts after its last victim has ended. A victim that exceeds
// its grace period by this time counts as ended: its node may be lost.
const Patience = 5 * time.Minute

// Registry holds the earmarks. It is for one session at a time.
type Registry struct {
	jobs   map[api.JobID]*record
	opened bool // by at least one session
	before Kept // the earmarks of another process, nil for none
}

// record holds the earmarks of one job. Its pods share the victims, since a gang starts as a whole.
type record struct {
	queue   api.QueueID
	pods    map[api.TaskID]Place
	victims map[api.TaskID]victim
	quiet   time.Time // the last session that saw a victim that has not ended
}

// Place is the node of a pod that others are evicted for, and the request of the pod at that time.
type Place struct {
	Node    string
	Request *api.Resource
	Cards   card.List
}

// PlaceOf returns a node as the place of a pending pod.
func PlaceOf(task *api.TaskInfo, node string) Place {
	return Place{Node: node, Request: task.InitResreq.Clone(), Cards: card.NameOf(task.Pod.Annotations)}
}

// Suits reports whether a pod still requests the same as when it got the place.
func (p *Place) Suits(task *api.TaskInfo) bool {
	return slices.Equal(p.Cards, card.NameOf(task.Pod.Annotations)) && p.Request.Equal(task.InitResreq, api.Zero)
}

// victim is a pod that was evicted.
type victim struct {
	node    string
	key     api.TaskID // of the pod in the tasks of the node
	evicted time.Time
}

// Earmark is a pending pod that others were evicted for, and the node where they were.
type Earmark struct {
	Task *api.TaskInfo
	Node string
}

// NewRegistry returns a Registry without earmarks.
func NewRegistry() *Registry { return &Registry{jobs: map[api.JobID]*record{}} }

// Open returns the earmarks in force in a session, in the order of their pods, and forgets
// those that ended.
func (r *Registry) Open(ssn *framework.Session, now time.Time) (earmarks []Earmark) {
	if !r.opened {
		r.opened = true
		r.recover(ssn, now)
		for id, kept := range r.before {
			job := ssn.Jobs[id]
			if job != nil {
				r.restore(job, kept, now)
			}
		}
	}

	for id, record := range r.jobs {
		if !record.update(ssn, ssn.Jobs[id], now) {
			delete(r.jobs, id)
			continue
		}

		for task, at := range record.pods {
			earmarks = append(earmarks, Earmark{ssn.Jobs[id].Tasks[task], at.Node})
		}
	}

	slices.SortFunc(earmarks, func(x, y Earmark) int { return cmp.Compare(x.Task.UID, y.Task.UID) })
	return earmarks
}

// update drops the pods with earmarks that ended, and reports whether any are left.
func (r *record) update(ssn *framework.Session, job *api.JobInfo, now time.Time) bool {
	if job == nil || job.Queue != r.queue {
		return false
	}

	maps.DeleteFunc(r.pods, func(id api.TaskID, at Place) bool {
		task := job.Tasks[id]
		return task == nil || task.Status != api.Pending || ssn.Nodes[at.Node] == nil || !at.Suits(task)
	})

	for id, v := range r.victims {
		switch v.in(ssn, id, now) {
		case stays:
			return false
		case ended:
			delete(r.victims, id)
		}
	}

	if len(r.victims) > 0 {
		r.quiet = now
	}

	return len(r.pods) > 0 && now.Sub(r.quiet) <= Patience
}

// fate is the state of an eviction.
type fate int

const (
	ends  fate = iota // the victim is being deleted
	ended             // the victim has ended, or takes too long
	stays             // the API server refused the eviction
)

// in returns the state of an eviction in a session. Volcano's cache shows a pod as terminating from
// the eviction on, and as running again if the eviction failed.
func (v victim) in(ssn *framework.Session, id api.TaskID, now time.Time) fate {
	node := ssn.Nodes[v.node]
	if node == nil {
		return ended
	}

	task := node.Tasks[v.key]
	switch {
	case task == nil || task.UID != id || task.Status == api.Succeeded || task.Status == api.Failed:
		return ended
	case task.Status != api.Releasing:
		return stays
	}

	until := v.evicted
	if deleted := task.Pod.DeletionTimestamp; !deleted.IsZero() {
		until = deleted.Time // includes the grace period
	}
	if now.Sub(until) > Patience {
		return ended
	}
	return ends
}

// Keep makes earmarks for the pods of a job that waits for victims. evictors are the pipelined pods
// of the job, and evicted are the victims.
func (r *Registry) Keep(job *api.JobInfo, evictors, evicted []*api.TaskInfo, now time.Time) {
	if len(evictors) == 0 {
		return
	}

	kept := r.jobs[job.UID]
	if kept == nil || kept.queue != job.Queue {
		kept = &record{queue: job.Queue, pods: map[api.TaskID]Place{}, victims: map[api.TaskID]victim{}}
		r.jobs[job.UID] = kept
	}

	kept.quiet = now
	for _, task := range evictors {
		kept.pods[task.UID] = PlaceOf(task, task.NodeName)
	}
	for _, task := range evicted {
		kept.victims[task.UID] = victim{task.NodeName, api.PodKey(task.Pod), now}
	}
}

// Forget ends an earmark that is no longer of use.
func (r *Registry) Forget(e Earmark) { r.ended(e.Task.Job, e.Task.UID) }

// ended forgets the earmark of a pod.
func (r *Registry) ended(job api.JobID, pod api.TaskID) {
	if kept := r.jobs[job]; kept != nil {
		delete(kept.pods, pod)
	}
}

// recover makes earmarks after a restart of the scheduler.
func (r *Registry) recover(ssn *framework.Session, now time.Time) {
	for _, job := range ssn.Jobs {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			node := ssn.Nodes[task.Pod.Status.NominatedNodeName]
			if node == nil {
				continue
			}

			ending := terminating(node)
			if len(ending) == 0 {
				continue
			}

			nominated := *task
			nominated.NodeName = node.Name
			r.Keep(job, []*api.TaskInfo{&nominated}, ending, now)
		}
	}
}

// terminating returns the tasks on a node that are being deleted.
func terminating(node *api.NodeInfo) (tasks []*api.TaskInfo) {
	for _, task := range node.Tasks {
		if task.Status == api.Releasing {
			tasks = append(tasks, task)
		}
	}
	return tasks
}
