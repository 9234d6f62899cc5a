package plugin

import (
	"unsafe"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
)

// queueNumbers remembers the numbers of queues by the addresses of their
// QueueInfos, which stay during a session. Volcano asks for the order of queues
// all the time, and to look a name up takes longer than the answer. A queue takes
// the place of another with the same slot.
type queueNumbers [1 << slotBits]struct {
	queue  *api.QueueInfo
	number index.Queue
}

const slotBits = 10

func (n *queueNumbers) of(queue *api.QueueInfo, t *index.Tree) index.Queue {
	// Multiplying by 2^64/φ spreads addresses, which are multiples of one size.
	slot := &n[uint64(uintptr(unsafe.Pointer(queue)))*0x9e3779b97f4a7c15>>(64-slotBits)]
	if slot.queue != queue {
		slot.queue, slot.number = queue, t.Lookup(string(queue.UID))
	}
	return slot.number
}
