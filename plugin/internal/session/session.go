package session

import (
	"sync/atomic"
	"unsafe"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/admit"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/constraint/gates"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota"
)

// Session serves the hooks of one scheduling session. Volcano runs a session in one goroutine, and calls predicates,
// node order and simulation concurrently.
type Session struct {
	constraint.Session
	Variant  arguments.Variant
	Settings arguments.Settings
	Memory   *Memory
	Admit    admit.Admission
	Reclaim  reclaim.Rules
	Gates    *gates.Rule  // nil if Volcano removes no gates
	stored   *store.State // the state that was loaded since the last session, nil for none
	loads    bool         // the store is being read for the first time
	explain  report.Explainer
	// rules differ between names, releases and arguments. The session chooses them when it opens.
	rules struct {
		share quota.ShareRule
		order func(s *Session, l, r *api.QueueInfo) int
	}
	byObject queueTable
	// pendingRead: Memory.pending has the tasks of this session.
	pendingRead bool
	// NotCharged are tasks that the allocate event refused, nil for none. Volcano deallocates them next.
	NotCharged map[api.TaskID]bool
	// pipelined are the tasks that were charged as they were pipelined, nil for none.
	pipelined map[api.TaskID]*api.TaskInfo
	// prepared is the task that PrePredicate prepared last. Volcano calls predicates for it on every node.
	prepared atomic.Pointer[prepared]
}

func (s *Session) warnOnce(warning string) { s.Memory.warnings.Once(s.Variant.Name, warning) }

// queueTable maps QueueInfos to queues by their addresses, which do not change during a session. Volcano compares
// queues very often: BenchmarkQueueOrder takes 60 % longer with look-ups by name. A queue replaces the one in the same
// slot. Only the goroutine that runs the session may use the table.
type queueTable [1 << slotBits]struct {
	object *api.QueueInfo
	queue  index.Queue
}

const slotBits = 10

func (t *queueTable) lookup(object *api.QueueInfo, tree *index.Tree) index.Queue {
	// Multiplying by 2^64/φ spreads addresses, which are multiples of one size.
	slot := &t[uint64(uintptr(unsafe.Pointer(object)))*0x9e3779b97f4a7c15>>(64-slotBits)]
	if slot.object != object {
		slot.object = object
		slot.queue = tree.Lookup(string(object.UID))
	}
	return slot.queue
}

// number returns the queue of an object. It returns None for nil and for a queue that the session does not have,
// because Volcano looks queues up by the names in jobs.
func (s *Session) number(queue *api.QueueInfo) index.Queue {
	if queue == nil {
		return index.None
	}
	return s.byObject.lookup(queue, s.Index.Tree)
}
