package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/offline"
)

// Event is a change of a pod, or of a whole group.
type Event struct {
	Cycle int       `json:"cycle"`
	Kind  EventKind `json:"kind"`
	Group string    `json:"group"` // namespace/name of the PodGroup
	Owner string    `json:"owner"`
	Queue string    `json:"queue"`
	Pod   string    `json:"pod,omitempty"`
	Node  string    `json:"node,omitempty"`
	// For is the job that a pod is evicted for, nil for none, such as where a quota is enforced.
	For *Taker `json:"for,omitempty"`
	// Until is the time from which on a pod with notice is evicted, nil for other events.
	Until *time.Time `json:"until,omitempty"`
}

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	Admitted EventKind = "Admitted" // a group gets its pods
	Placed   EventKind = "Placed"
	Evicted  EventKind = "Evicted"
	Noticed  EventKind = "Noticed" // a pod is evicted at the end of a notice
	// Displaced: a group is no longer admitted. A group with a higher priority takes its place.
	Displaced EventKind = "Displaced"
)

// mostCycles bounds the cycles of a world that does not settle.
const mostCycles = 100

// Settle runs cycles until a cycle changes nothing, or ctx is done. Between two cycles it does the work of the
// controllers and the kubelet: placed pods run, and evicted pods leave their node and return as new pods. Evictions
// count in the following cycles. If pods have notice, the next cycle is at the end of the first notice. Settle
// reports whether the world settled. It returns the error of ctx, which can also end a cycle.
func Settle(
	ctx context.Context, w *World, c *Configuration, progress func(cycle, events int),
) (events []Event, settled bool, err error) {
	configuration := *c
	configuration.memory = &memory{now: c.Now}
	noticed := map[string]bool{}
	for cycle := 1; cycle <= mostCycles; cycle++ {
		r, err := w.cycle(ctx, &configuration, cycle)
		if err != nil {
			return events, false, err
		}

		events = append(events, r.events...)
		for _, e := range r.notices {
			pod := e.Group + "/" + e.Pod
			if !noticed[pod] {
				noticed[pod] = true
				e.Cycle = cycle
				events = append(events, e)
			}
		}
		if progress != nil {
			progress(cycle, len(events))
		}

		if !r.changed && !configuration.memory.skipTo(r.notices) {
			return events, true, nil
		}
	}

	return events, false, nil
}

// round is the outcome of one cycle.
type round struct {
	events  []Event
	notices []Event // of all pods that have notice, also from earlier cycles
	changed bool    // other than by notices
}

// cycle runs all actions once.
func (w *World) cycle(ctx context.Context, c *Configuration, number int) (r round, err error) {
	d, err := w.decide(ctx, c)
	if err != nil {
		return r, err
	}

	for _, g := range w.Groups {
		job := d.jobs[g.ID()]
		if job == nil {
			continue
		}

		ended := g.dropEnding()
		happened := w.follow(g, job)
		r.changed = r.changed || ended || len(happened) > 0

		was := g.Status.Phase
		g.Status.Phase = job.PodGroup.Status.Phase
		if was != g.Status.Phase {
			r.changed = true
			switch {
			case was == scheduling.PodGroupPending:
				happened = append(happened, Event{Kind: Admitted})
			case was == scheduling.PodGroupInqueue && g.Status.Phase == scheduling.PodGroupPending:
				happened = append(happened, Event{Kind: Displaced})
			}
		}
		r.changed = w.arrive(g) || r.changed

		for _, e := range happened {
			e.Cycle = number
			e.Group = string(g.ID())
			e.Owner = g.Owner
			e.Queue = g.Spec.Queue
			if e.Kind == Evicted {
				e.For = d.claimants[e.Group+"/"+e.Pod]
			}
			r.events = append(r.events, e)
		}
	}

	r.notices = d.notices
	return r, nil
}

// decisions are the decisions of the actions of a session.
type decisions struct {
	jobs      map[api.JobID]*api.JobInfo
	claimants map[string]*Taker // for whom pods are evicted, by group and pod
	notices   []Event
}

// decide runs all actions in a session.
func (w *World) decide(ctx context.Context, c *Configuration) (*decisions, error) {
	s, err := Open(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()

	s.forgetLost()
	err = s.Run()

	d := &decisions{jobs: s.Jobs} // Close drops the jobs
	if !s.Upstream {              // Volcano's own plugins record no claimants, and give no notice
		takers := w.takers()
		d.claimants = claimants(s, takers)
		d.notices = notices(s, takers)
	}
	return d, err
}

// notices returns an event for each pod that has notice, by group and pod.
func notices(s *Session, takers map[api.JobID]*Taker) (events []Event) {
	for _, a := range s.Quota.Announced() {
		victim := takers[a.Task.Job]
		if victim == nil {
			continue
		}
		events = append(events, Event{
			Kind:  Noticed,
			Group: string(a.Task.Job),
			Owner: victim.Owner,
			Queue: victim.Queue,
			Pod:   a.Task.Name,
			Node:  a.Task.NodeName,
			For:   takers[a.For],
			Until: &a.Until,
		})
	}

	slices.SortFunc(events, func(x, y Event) int {
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Pod, y.Pod))
	})
	return events
}

// takers returns the groups as jobs that pods are evicted for.
func (w *World) takers() map[api.JobID]*Taker {
	takers := map[api.JobID]*Taker{}
	for _, g := range w.Groups {
		takers[g.ID()] = &Taker{g.Namespace, g.Owner, g.Spec.Queue, string(g.ID())}
	}
	return takers
}

// claimants returns the jobs that a session evicts pods for, by group and pod.
func claimants(s *Session, takers map[api.JobID]*Taker) map[string]*Taker {
	all := map[string]*Taker{}
	for id, job := range s.Jobs {
		for _, task := range job.TaskStatusIndex[api.Releasing] {
			if taker := takers[s.Quota.Claimant(task)]; taker != nil {
				all[string(id)+"/"+task.Name] = taker
			}
		}
	}
	return all
}

// dropEnding drops the pods that were terminating before the cycle, and reports whether there were any.
func (g *Group) dropEnding() bool {
	before := len(g.Pods)
	g.Pods = slices.DeleteFunc(g.Pods, func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })
	return len(g.Pods) < before
}

// follow applies the decisions of a session to the pods of a group.
func (w *World) follow(g *Group, job *api.JobInfo) (events []Event) {
	for i, pod := range g.Pods {
		task := job.Tasks[api.TaskID(pod.UID)]
		if task == nil {
			continue
		}

		switch offline.Decided(pod, task) {
		case offline.Placed:
			placed := *pod
			placed.Spec.NodeName = task.NodeName
			placed.Status.Phase = v1.PodRunning
			g.Pods[i] = &placed
			events = append(events, Event{Kind: Placed, Pod: pod.Name, Node: task.NodeName})
		case offline.Evicted:
			g.Pods[i] = w.replacement(pod)
			events = append(events, Event{Kind: Evicted, Pod: pod.Name, Node: pod.Spec.NodeName})
		}
	}

	slices.SortFunc(events, func(x, y Event) int { return cmp.Compare(x.Pod, y.Pod) })
	return events
}

// replacement returns the new pod that replaces an evicted one.
func (w *World) replacement(pod *v1.Pod) *v1.Pod {
	w.made++
	next := pending(pod)
	next.UID = types.UID(fmt.Sprintf("%s/%s#%d", pod.Namespace, pod.Name, w.made))
	return next
}

// pending returns a copy of a pod without a node.
func pending(pod *v1.Pod) *v1.Pod {
	next := *pod
	next.Spec.NodeName = ""
	next.Status = v1.PodStatus{Phase: v1.PodPending}
	return &next
}

// Follow creates the pods of the groups that a session admitted, and reports whether there are any.
func (w *World) Follow(s *Session) (arrived bool) {
	for _, g := range w.Groups {
		if job := s.Jobs[g.ID()]; job != nil {
			g.Status.Phase = job.PodGroup.Status.Phase
			arrived = w.arrive(g) || arrived
		}
	}

	return arrived
}

// Vacate empties the nodes. All jobs that have not ended wait to be admitted, with all their pods.
func (w *World) Vacate() {
	w.Stray = nil
	w.Groups = slices.DeleteFunc(w.Groups, (*Group).finished)
	for _, g := range w.Groups {
		g.Status.Phase = scheduling.PodGroupPending
		pods := append(g.Pods, g.Coming...)
		g.Pods = nil
		g.Coming = nil
		for _, pod := range pods {
			if !ended(pod) {
				waiting := pending(pod)
				waiting.DeletionTimestamp = nil
				g.Pods = append(g.Pods, waiting)
			}
		}
	}
}

// finished reports whether the group or all of its pods have ended.
func (g *Group) finished() bool {
	if g.Ended != "" || g.Status.Phase == scheduling.PodGroupCompleted {
		return true
	}
	return len(g.Pods) > 0 && len(g.Coming) == 0 && !g.unfinished()
}

// unfinished reports whether the group has a pod that has not ended.
func (g *Group) unfinished() bool {
	return slices.ContainsFunc(g.Pods, func(pod *v1.Pod) bool { return !ended(pod) })
}

func ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Lose replaces the pods of a lost node by new pods without a node.
func (w *World) Lose(node string) {
	w.Stray = slices.DeleteFunc(slices.Clone(w.Stray), func(pod *v1.Pod) bool { return pod.Spec.NodeName == node })
	for _, g := range w.Groups {
		for i, pod := range g.Pods {
			if pod.Spec.NodeName == node && !ended(pod) {
				g.Pods[i] = w.replacement(pod)
			}
		}
	}
}
