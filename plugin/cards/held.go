package cards

import (
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
	only     *Selector // dim alone
}

// heldFor returns the card that the pod holds through a resource, nil if its node
// decides.
func (p *PodRequest) heldFor(r ResourceID) *heldCard {
	for i := range p.held {
		if p.held[i].resource == r {
			return &p.held[i]
		}
	}
	return nil
}

// request narrows the request of a pod for the resource to the held card. It keeps
// the pod's list, also if that does not name the card, so that all pods of a job with one
// list remain alike.
func (h *heldCard) request(list *Selector, r Request) Request {
	r.Held = h.dim
	if list != nil {
		r.Selector = list
	}
	if r.Selector == nil {
		r.Selector = h.only
	}
	return r
}

// Holding reports whether some pod holds a card. It is for nil Sessions, too.
func (s *Session) Holding() bool { return s != nil && len(s.registry.held) > 0 }

// NotePlaced notes which tasks the session has placed, of those that it allocated, before it closes:
// a node can change before the next session reads them. It is for nil Sessions, too.
func (s *Session) NotePlaced(tasks []*api.TaskInfo) {
	if s == nil {
		return
	}
	for _, task := range tasks {
		if slot := s.registry.pods.slot(task.Pod); slot.pod != nil && task.Status == api.Binding {
			slot.placed = true
		}
	}
}

// seenOn returns the pods that sessions before have seen on some nodes, or placed there. The plugin
// may have left the configuration since, and pods have started there without it.
func (t *podTable) seenOn(nodes map[string][]nodeCard) map[types.UID]bool {
	seen := map[types.UID]bool{}
	for _, slot := range t.slots {
		if slot.placed && nodes[slot.pod.Spec.NodeName] != nil {
			seen[slot.pod.UID] = true
		}
	}
	return seen
}

// hold makes the running pods of nodes that lost cards hold what they are charged
// for. before has the cards of these nodes in the session before.
func (s *Session) hold(jobs map[api.JobID]*api.JobInfo, before map[string][]nodeCard) {
	seen := s.registry.pods.seenOn(before)
	for _, job := range jobs {
		if !s.registry.charged(string(job.Queue)) {
			continue
		}
		for _, task := range job.Tasks {
			if had := before[task.NodeName]; len(had) > 0 && seen[task.Pod.UID] && task.Status != api.Succeeded && task.Status != api.Failed {
				s.holdPod(task, had)
			}
		}
	}
}

// holdPod reads the pod by the selectors of the session before: Open resolves them
// again after it has read the nodes.
func (s *Session) holdPod(task *api.TaskInfo, had []nodeCard) {
	reg, p := s.registry, s.Read(task)
	held := slices.Clone(p.held)
	for r := range s.Requests(p) {
		for _, c := range had {
			if c.resource == r.Resource && r.Held == 0 {
				held = append(held, heldCard{c.resource, c.dim, s.only(c.resource, c.dim)})
			}
		}
	}
	if len(held) > len(p.held) {
		reg.held[task.Pod.UID] = held
		reg.pods.put(task.Pod, &PodRequest{p.selector, p.resources, held}, true)
	}
}

// only returns the selector of one card that pods request through a resource.
func (s *Session) only(r ResourceID, d fastres.Dim) *Selector {
	return &Selector{Names: card.List{s.names.Name(d)}, Dims: []fastres.Dim{d}, rank: []int{0}, resources: []ResourceID{r}}
}

// forgetHeld forgets the held cards of pods that are gone.
func (r *Registry) forgetHeld(jobs map[api.JobID]*api.JobInfo) {
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
}
