package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
}

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	Admitted EventKind = "Admitted" // a group gets its pods
	Placed   EventKind = "Placed"
	Evicted  EventKind = "Evicted"
	// Displaced: a group is no longer admitted. A group with a higher priority takes its place.
	Displaced EventKind = "Displaced"
)

// mostCycles bounds the cycles of a world that does not settle.
const mostCycles = 100

// Settle runs cycles until a cycle changes nothing, or ctx is done. Between two cycles it does the work of the
// controllers and the kubelet: placed pods run, and evicted pods leave their node and return as new pods. Evictions
// count in the following cycles. Settle reports whether the world settled. It returns the error of ctx, which can also
// end a cycle.
func Settle(
	ctx context.Context, w *World, c *Configuration, progress func(cycle, events int),
) (events []Event, settled bool, err error) {
	configuration := *c // keeps the evictions
	configuration.memory = &memory{}
	for cycle := 1; cycle <= mostCycles; cycle++ {
		happened, changed, err := w.cycle(ctx, &configuration, cycle)
		if err != nil {
			return events, false, err
		}

		events = append(events, happened...)
		if progress != nil {
			progress(cycle, len(events))
		}
		if !changed {
			return events, true, nil
		}
	}

	return events, false, nil
}

// cycle runs all actions once.
func (w *World) cycle(ctx context.Context, c *Configuration, number int) (events []Event, changed bool, err error) {
	jobs, claimants, err := w.decide(ctx, c)
	if err != nil {
		return nil, false, err
	}

	for _, g := range w.Groups {
		job := jobs[g.ID()]
		if job == nil {
			continue
		}

		ended := g.dropEnding()
		happened := w.follow(g, job)
		changed = changed || ended || len(happened) > 0

		was := g.Status.Phase
		g.Status.Phase = job.PodGroup.Status.Phase
		if was != g.Status.Phase {
			changed = true
			switch {
			case was == scheduling.PodGroupPending:
				happened = append(happened, Event{Kind: Admitted})
			case was == scheduling.PodGroupInqueue && g.Status.Phase == scheduling.PodGroupPending:
				happened = append(happened, Event{Kind: Displaced})
			}
		}
		changed = w.arrive(g) || changed

		for _, e := range happened {
			e.Cycle = number
			e.Group = string(g.ID())
			e.Owner = g.Owner
			e.Queue = g.Spec.Queue
			if e.Kind == Evicted {
				e.For = claimants[e.Group+"/"+e.Pod]
			}
			events = append(events, e)
		}
	}

	return events, changed, nil
}

// decide runs all actions in a session. It returns its jobs, and for whom pods are evicted, by group and pod.
func (w *World) decide(ctx context.Context, c *Configuration) (
	jobs map[api.JobID]*api.JobInfo, claimants map[string]*Taker, err error) {
	s, err := Open(ctx, w, c)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()

	s.forgetLost()
	err = s.Run()
	c.keepEvictions(s)

	return s.Jobs, w.claimants(s), err // Close drops the jobs
}

// claimants returns the jobs that a session evicts pods for, by group and pod. Volcano's own plugins record none.
func (w *World) claimants(s *Session) map[string]*Taker {
	if s.Upstream {
		return nil
	}

	takers := map[api.JobID]*Taker{}
	for _, g := range w.Groups {
		takers[g.ID()] = &Taker{g.Namespace, g.Owner, g.Spec.Queue}
	}

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
