package cards

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// heldCard is a card that a running pod stays charged for because its node no longer
// states it for the resource.
type heldCard struct {
	resource ResourceID
	dim      fastres.Dim
	amount   card.Milli
	only     *Selector // dim alone
}

// heldFor returns the cards that the pod holds through a resource, nil if its node
// decides. There can be several only for fractions of several models.
func (p *PodRequest) heldFor(r ResourceID) []heldCard {
	first := slices.IndexFunc(p.held, func(h heldCard) bool { return h.resource == r })
	if first < 0 {
		return nil
	}

	last := first + 1
	for last < len(p.held) && p.held[last].resource == r {
		last++
	}
	return p.held[first:last]
}

// Held returns the card that the pod stays charged for regardless of its node, and false if the node
// decides.
func (r Request) Held() (fastres.Dim, bool) {
	if r.pod == nil || r.pod.held == nil {
		return 0, false
	}

	held := r.pod.heldFor(r.Resource)
	if held == nil {
		return 0, false
	}
	return held[0].dim, true
}

// selector returns the cards that a pod requests through the resource. list is the list of the pod, and all are all
// cards of the resource; both may be nil. A list counts even if it does not name the held card, so that all pods of a
// job with one list remain alike.
func (h *heldCard) selector(list, all *Selector) *Selector { return cmp.Or(list, all, h.only) }

// Holding reports whether any pod holds a card.
func (r *Registry) Holding() bool { return len(r.held) > 0 }

// Holding reports whether any pod holds a card. It is for nil Sessions, too.
func (s *Snapshot) Holding() bool { return s != nil && s.registry.Holding() }

// NotePlaced notes which of some tasks the session has placed, before it closes. A node can change
// before the next session reads them. It is for nil Sessions, too.
func (s *Snapshot) NotePlaced(tasks []*api.TaskInfo) {
	if s == nil {
		return
	}

	for _, task := range tasks {
		slot := s.registry.pods.slot(task.Pod)
		if slot.pod != nil && task.Status == api.Binding {
			slot.placed = true
			s.keepPlaced(slot.request, task.NodeName)
		}
	}
}

// seenOn returns the pods that earlier sessions have seen on some nodes, or placed there. Other pods may
// have started there while the plugin was not in the configuration.
func (t *podTable) seenOn(nodes map[string]*Node) map[types.UID]bool {
	seen := map[types.UID]bool{}
	for _, slot := range t.slots {
		if slot.placed && nodes[slot.pod.Spec.NodeName] != nil {
			seen[slot.pod.UID] = true
		}
	}
	return seen
}

// hold makes the running pods of nodes that lost cards hold the cards that they are
// charged for. before has these nodes as they were in the session before.
func (s *Snapshot) hold(jobs []*api.JobInfo, before map[string]*Node) {
	seen := s.registry.pods.seenOn(before)
	for _, job := range jobs {
		if !s.registry.charged(string(job.Queue)) {
			continue
		}

		for _, task := range job.Tasks {
			had := before[task.NodeName]
			if had != nil && seen[task.Pod.UID] && !ended(task) {
				s.holdPod(task, had)
			}
		}
	}
}

// holdPod makes a running pod hold its cards. had is the node as it was in the session before.
func (s *Snapshot) holdPod(task *api.TaskInfo, had *Node) {
	reg := s.registry
	p := s.Read(task) // by the selectors of the session before: Open resolves them again after the nodes
	now := s.Node(task.NodeName)
	lost := had.lostCards(now)

	held := slices.Clone(p.held)
	for r := range s.Requests(p) {
		if _, has := had.card(r.Resource); !has || p.heldFor(r.Resource) != nil {
			continue
		}

		charge := s.chargeOn(p, r, had)
		if !lost && slices.Equal(charge, s.chargeOn(p, r, now)) {
			continue // only devices have changed, and none of the pod's
		}
		for _, a := range charge {
			held = append(held, heldCard{r.Resource, a.Dim, a.Milli, s.only(r.Resource, a.Dim)})
		}
	}

	if len(held) > len(p.held) {
		reg.held[task.Pod.UID] = held
		reg.heldChanges++
		reg.pods.put(task.Pod, &PodRequest{p.selector, p.resources, held, p.fractions, p.claims}, true)
	}
}

// chargeOn returns the cards that a pod is charged for a request on a node, by the devices that the node has.
func (s *Snapshot) chargeOn(p *PodRequest, r Request, n *Node) (charge []Amount) {
	if f := p.fraction(r.Resource); f != nil {
		f.setExact(s, n)
	}

	for d, amount := range r.On(n) {
		charge = append(charge, Amount{d, amount})
	}
	return charge
}

// forgetHeld forgets the held cards of pods that are gone.
func (r *Registry) forgetHeld(jobs []*api.JobInfo) {
	if len(r.held) == 0 {
		return
	}

	kept := map[types.UID][]heldCard{}
	for _, job := range jobs {
		for _, task := range job.Tasks {
			if held := r.held[task.Pod.UID]; held != nil {
				kept[task.Pod.UID] = held
			}
		}
	}
	r.held = kept
	r.heldChanges++
}
