package replay

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/index/policy"
)

// With Setup.Checkpoint, pods write a checkpoint whenever they have run for that time. An evicted pod loses what it has
// done since the last one, and runs for the rest of its runtime.

// writtenAt is when a pod that runs has written its last checkpoint: the start of its life if it has written none.
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
			if at := r.writtenAt(p); p.node != nil && at > max(p.since, p.written) {
				p.written = at
				p.node.dirty = true
				p.dirty = true
				p.change(func(object *v1.Pod) {
					object.Annotations = annotated(object, epoch.Add(at).UTC().Format(time.RFC3339Nano))
				})
			}
		}
	}
}

// annotated returns the annotations of a pod with a time of a checkpoint, "" for none.
func annotated(object *v1.Pod, at string) map[string]string {
	annotations := maps.Clone(object.Annotations)
	delete(annotations, policy.CheckpointKey)
	if at != "" {
		annotations[policy.CheckpointKey] = at
	}
	return annotations
}

// lost is for how long a pod that loses its node has run in vain. What it has done before is done.
func (r *run) lost(p *pod) time.Duration {
	at := r.writtenAt(p)
	p.done += at - p.since
	return r.now - at
}
