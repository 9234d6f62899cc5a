package cards

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/objects"
)

// Snapshot is the view of one scheduling session on a Registry. It is nil if cards count nowhere.
type Snapshot struct {
	registry *Registry
	settings Settings
	names    *index.Names
	objects  *objects.Queues

	queues  []*queue // by queue; nil for a queue without a card annotation
	counted []bool   // by queue
	closed  []bool   // by queue: a leaf has a quota of 0 for each card that its quota does not name

	quotasChanged  bool                // an annotation changed since the session before
	devicesChanged bool                // the devices of ResourceSlices changed since the session before
	anew           map[string]struct{} // see NodesAnew
}

// Counted reports whether cards count in q. It is for nil Sessions, too.
func (s *Snapshot) Counted(q index.Queue) bool { return s != nil && s.counted[q] }

// ChargesAll reports whether q is charged for all cards that its pods request: cards count in q, and untyped pods do.
func (s *Snapshot) ChargesAll(q index.Queue) bool {
	return q != index.None && s.Counted(q) && s.settings.Untyped != UntypedIgnore
}

// Closed reports whether q, a leaf, has a quota of 0 for each card that its quota does not name. A leaf is closed if
// cards count everywhere, or if it or a queue above it has a card annotation. An annotation of the root bounds the
// cluster and closes no leaf.
func (s *Snapshot) Closed(q index.Queue) bool { return s != nil && s.closed[q] }

// Quotas returns the quotas that q itself sets, nil for none. It is for reading.
func (s *Snapshot) Quotas(q index.Queue) map[fastres.Dim]card.Milli {
	if s == nil || s.queues[q] == nil {
		return nil
	}
	return s.queues[q].amounts[quotaAnnotation]
}

// QuotasChanged reports whether a card annotation changed since the session before. It is for nil Sessions, too.
func (s *Snapshot) QuotasChanged() bool { return s != nil && s.quotasChanged }

// DevicesChanged reports whether the devices of ResourceSlices changed since the session before. It is for nil
// Sessions, too.
func (s *Snapshot) DevicesChanged() bool { return s != nil && s.devicesChanged }

// UnlimitedCPUMemory returns the setting of this name.
func (s *Snapshot) UnlimitedCPUMemory() bool { return s.settings.UnlimitedCPUMemory }

// Occupied reports whether a task that is being deleted still counts for its cards. It is for nil Sessions, too.
func (s *Snapshot) Occupied(task *api.TaskInfo) bool {
	return s != nil && task.Status == api.Releasing && s.settings.Terminating == TerminatingHold
}

// Stock returns the cards of all nodes of the session, in the order of their dimensions. It is for reading.
func (s *Snapshot) Stock() []Amount {
	if s == nil {
		return nil
	}
	return s.registry.stock
}

// CardName returns the name of a card.
func (s *Snapshot) CardName(d fastres.Dim) string { return s.names.Name(d) }

// LabelOf returns the label that names the cards of a resource. If nodes with the resource lack a label, it is that
// label. It is for the goroutine that runs the session.
func (s *Snapshot) LabelOf(r ResourceID) string {
	if label, some := s.registry.lacking[r]; some {
		return label
	}
	return s.settings.Labels.Of(v1.ResourceName(s.ResourceName(r)))
}

// ResourceName returns the name of a resource. It is safe for many goroutines.
func (s *Snapshot) ResourceName(r ResourceID) string {
	if r == Devices {
		return ""
	}

	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return string(s.registry.resources[r])
}

// Visited records the number of tasks that the session read. A Registry that holds far more pods forgets them.
func (s *Snapshot) Visited(tasks int) { s.registry.visited = tasks }

// GivesCards reports whether any node gives cards through a resource.
func (s *Snapshot) GivesCards(name v1.ResourceName) bool {
	id, known := s.registry.numbers[name]
	if !known {
		return false
	}

	cards := s.registry.allOf(resourceRequest{resource: id})
	return cards != nil && len(cards.Names) > 0
}
