package oracle

import "slices"

// Fenced reports whether a fence is around one of two queues and not around the other. other is
// "" for a reclaimer without a queue.
func (o *Oracle) Fenced(name, other string) bool {
	around := func(queue string) (fences []string) {
		if o.queues[queue] == nil {
			return nil
		}

		for _, q := range o.Path(queue) {
			if o.queues[q] != nil && o.queues[q].Fence {
				fences = append(fences, q)
			}
		}

		return fences
	}

	return !slices.Equal(around(name), around(other))
}

// Times are the policies that are times, in seconds. A nil one is not set.
type Times struct{ MinRuntime, PreemptMinRuntime, ReclaimDelay *float64 }

// MinRuntime returns the time that a task of a queue runs before other queues may reclaim it.
func (o *Oracle) MinRuntime(name string) float64 {
	return o.inherited(name, func(t Times) *float64 { return t.MinRuntime })
}

// PreemptMinRuntime returns the time that a task of a queue runs before its own queue may preempt
// it.
func (o *Oracle) PreemptMinRuntime(name string) float64 {
	return o.inherited(name, func(t Times) *float64 { return t.PreemptMinRuntime })
}

// ReclaimDelay returns the time that a task of a queue waits before it takes from other queues.
func (o *Oracle) ReclaimDelay(name string) float64 {
	return o.inherited(name, func(t Times) *float64 { return t.ReclaimDelay })
}

// inheritance returns a queue and the queues that it inherits from, the nearest first (docs/spec/policies.md, How
// annotations on queues work). Without hierarchy, a queue inherits from the queue root.
func (o *Oracle) inheritance(name string) []string {
	path := o.Path(name)
	if slices.Contains(path, "root") {
		return path
	}
	return append(slices.Clone(path), "root")
}

func (o *Oracle) inherited(name string, setting func(Times) *float64) float64 {
	for _, q := range o.inheritance(name) {
		if o.queues[q] == nil {
			continue
		}
		if seconds := setting(o.queues[q].Times); seconds != nil {
			return *seconds
		}
	}

	return 0
}
