package cards

import (
	"unsafe"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// podTable maps pod objects to their requests for cards. It is a hash table with
// linear probing on the address of the object: session open looks up every pod, and
// BenchmarkSessionOpenCards takes 10 % longer with a Go map. It is safe for many
// readers.
//
// Invariants: len(slots) is a power of two and at least twice used; a pod is in
// the first free slot from its own slot on.
type podTable struct {
	slots []podSlot
	used  int
}

type podSlot struct {
	pod     *v1.Pod     // referenced, so that no other pod gets its address
	request *PodRequest // nil if the pod must be read again
	placed  bool        // the pod has its node for sure: Volcano also writes nodes that it discards
}

const minPods = 64

func newPodTable() podTable { return podTable{slots: make([]podSlot, 2*minPods)} }

// slot returns the slot of a pod, or the free one that it would take.
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

// get returns the requests of a pod, nil for a pod that is not in the table.
func (t *podTable) get(pod *v1.Pod) *PodRequest { return t.slot(pod).request }

func (t *podTable) put(pod *v1.Pod, request *PodRequest, placed bool) {
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
	*s = podSlot{pod, request, placed}
}

// forgetRequests forgets the requests of pods. It still knows which pods were seen on their nodes.
func (t *podTable) forgetRequests() {
	for i := range t.slots {
		t.slots[i].request = nil
	}
}

// PodReader returns the requests of a task's pod for cards.
type PodReader func(*api.TaskInfo) *PodRequest

// Read is Stated for the goroutine that runs the session, while no other goroutine
// reads pods. It adds the pod to the table of pods.
func (s *Snapshot) Read(task *api.TaskInfo) *PodRequest {
	p, isNew := s.read(task.Pod)
	if isNew {
		s.registry.pods.put(task.Pod, p, task.NodeName != "")
	}
	return p
}

// NewPod is the pod of a task that is not in the table of pods yet.
type NewPod struct {
	task    *api.TaskInfo
	request *PodRequest
}

// CollectingReader reads pods for one of several goroutines. It appends pods that
// are not in the table of pods to collected, for AddPods.
func (s *Snapshot) CollectingReader(collected *[]NewPod) PodReader {
	return func(task *api.TaskInfo) *PodRequest {
		p, isNew := s.read(task.Pod)
		if isNew {
			*collected = append(*collected, NewPod{task, p})
		}
		return p
	}
}

// AddPods adds the pods of a CollectingReader to the table of pods.
func (s *Snapshot) AddPods(collected []NewPod) {
	for _, p := range collected {
		placed := p.task.NodeName != ""
		s.registry.pods.put(p.task.Pod, p.request, placed)
		if placed && !ended(p.task) { // a pod that has ended has no claim any more
			s.keepPlaced(p.request, p.task.NodeName)
		}
	}
}

func ended(task *api.TaskInfo) bool {
	return task.Status == api.Succeeded || task.Status == api.Failed
}
