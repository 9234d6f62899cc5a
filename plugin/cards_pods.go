package plugin

import (
	"unsafe"

	v1 "k8s.io/api/core/v1"
)

// podTable maps pod objects to what they say about cards: a hash table with
// linear probing. The opening of a session looks every pod up, and waits for
// memory each time: here once, and for several pods at once, in a map of Go's
// three times. It is safe for many readers.
//
// Invariants: len(slots) is a power of two, at least twice used; a pod is in the
// first free slot from its own on.
type podTable struct {
	slots []podSlot
	used  int
}

type podSlot struct {
	pod    *v1.Pod // held, so that no other can take its place in memory
	demand *demand
}

const fewestPods = 64

func newPodTable() podTable { return podTable{slots: make([]podSlot, 2*fewestPods)} }

// slot returns where pod is, or where it would be.
func (t *podTable) slot(pod *v1.Pod) *podSlot {
	// Multiplying by 2^64/φ spreads addresses, which are multiples of one size.
	hash := uint64(uintptr(unsafe.Pointer(pod))) * 0x9e3779b97f4a7c15 >> 32
	last := uint64(len(t.slots) - 1)
	for i := hash & last; ; i = (i + 1) & last {
		if s := &t.slots[i]; s.pod == pod || s.pod == nil {
			return s
		}
	}
}

// demand returns the demand of a pod, nil if it is not known.
func (t *podTable) demand(pod *v1.Pod) *demand { return t.slot(pod).demand }

func (t *podTable) put(pod *v1.Pod, d *demand) {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]podSlot, 2*len(old))
		for _, s := range old {
			if s.pod != nil {
				*t.slot(s.pod) = s
			}
		}
	}
	s := t.slot(pod)
	if s.pod == nil {
		t.used++
	}
	*s = podSlot{pod, d}
}
