package replay

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/index/policy"
)

// With Setup.Checkpoint, pods write a checkpoint each time they have run for this time. An evicted pod loses the work
// since its last checkpoint, and runs for the rest of its runtime.

// writtenAt returns the time of the last checkpoint of a running pod. Without one, it is the start of its life.
func (r *run) writtenAt(p *pod) time.Duration {
	if r.Checkpoint <= 0 {
		return p.since
	}
	return r.now - (r.now-p.since)%r.Checkpoint
}

// writeCheckpoints annotates the pods that run with the times of their checkpoints.
func (r *run) writeCheckpoints() {
	if r.Checkpoint <= 0 {
		return
	}

	for _, j := range r.live {
		for _, p := range j.pods {
			at := r.writtenAt(p)
			if p.node == nil || at <= max(p.since, p.written) {
				continue
			}

			p.written = at
			p.node.dirty = true
			p.dirty = true
			p.change(func(object *v1.Pod) {
				object.Annotations = annotated(object, epoch.Add(at).UTC().Format(time.RFC3339Nano))
			})
		}
	}
}

// annotated returns the annotations of a pod with the time of a checkpoint, "" for none.
func annotated(object *v1.Pod, at string) map[string]string {
	annotations := maps.Clone(object.Annotations)
	delete(annotations, policy.CheckpointKey)
	if at != "" {
		annotations[policy.CheckpointKey] = at
	}
	return annotations
}

// lost returns the time that a pod which loses its node has run in vain. It adds the time before to its work.
func (r *run) lost(p *pod) time.Duration {
	at := r.writtenAt(p)
	p.done += at - p.since
	return r.now - at
}
