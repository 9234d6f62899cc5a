package earmark

import (
	"maps"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Kept are the earmarks in force, by job, for programs without a scheduler.
type Kept map[api.JobID]KeptJob

// KeptJob has the earmarks of one job.
type KeptJob struct {
	Queue   api.QueueID               `json:"queue"`
	Pods    map[api.TaskID]string     `json:"pods"` // the node of each pod, by its UID
	Victims map[api.TaskID]KeptVictim `json:"victims,omitempty"`
	// Quiet is the last time at which a victim had not ended, zero as long as there is one.
	Quiet time.Time `json:"quiet,omitzero"`
}

// KeptVictim is an evicted pod that has not ended.
type KeptVictim struct {
	Node    string     `json:"node"`
	Pod     api.TaskID `json:"pod"` // namespace/name
	Evicted time.Time  `json:"evicted"`
}

// mostKept is the maximum number of pods and victims in Kept.
const mostKept = 2000

// Kept returns the earmarks of as many jobs as fit into the store, in the order of their names; nil for none.
func (r *Registry) Kept() Kept {
	if !r.Any() {
		return nil
	}

	all := Kept{}
	size := 0
	for _, id := range slices.Sorted(maps.Keys(r.jobs)) {
		size += len(r.jobs[id].pods) + len(r.jobs[id].victims)
		if size > mostKept {
			break
		}
		all[id] = r.jobs[id].kept()
	}
	return all
}

// Any reports whether there are earmarks.
func (r *Registry) Any() bool { return len(r.jobs) > 0 }

// kept returns the earmarks of a job.
func (r *record) kept() KeptJob {
	k := KeptJob{Queue: r.queue, Pods: map[api.TaskID]string{}}
	for id, at := range r.pods {
		k.Pods[id] = at.Node
	}
	for id, v := range r.victims {
		if k.Victims == nil {
			k.Victims = map[api.TaskID]KeptVictim{}
		}
		k.Victims[id] = KeptVictim{v.node, v.key, v.evicted.UTC().Round(0)}
	}
	if len(r.victims) == 0 {
		k.Quiet = r.quiet.UTC().Round(0)
	}
	return k
}

// Begin begins with the earmarks of another process. A Registry that was open has its own.
func (r *Registry) Begin(with Kept) {
	if !r.opened {
		r.before = with
	}
}

// restore makes the earmarks of another process for a job. It assumes that the pods still request the same: the other
// process ends the earmarks of a pod with a new request in its next session.
func (r *Registry) restore(job *api.JobInfo, with KeptJob, now time.Time) {
	own := &record{queue: with.Queue, pods: map[api.TaskID]Place{}, victims: map[api.TaskID]victim{}, quiet: with.Quiet}
	if own.quiet.IsZero() {
		own.quiet = now
	}
	for id, node := range with.Pods {
		task := job.Tasks[id]
		if task != nil {
			own.pods[id] = PlaceOf(task, node)
		}
	}
	for id, v := range with.Victims {
		own.victims[id] = victim{v.Node, v.Pod, v.Evicted}
	}
	r.jobs[job.UID] = own
}
