package engine

import (
	"context"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// mostAhead bounds the cycles of Ahead. An eviction and the start of the job that it was for take two.
const mostAhead = 6

// Clone returns a copy of the world. Changes of one are not in the other. They share the objects, which nobody changes.
func (w *World) Clone() *World {
	next := *w
	next.Nodes = slices.Clone(w.Nodes)
	next.Queues = slices.Clone(w.Queues)
	next.Groups = nil
	for _, g := range w.Groups {
		own := *g
		own.PodGroup = g.PodGroup.Clone()
		own.Pods = slices.Clone(g.Pods)
		own.Coming = slices.Clone(g.Coming)
		next.Groups = append(next.Groups, &own)
	}
	return &next
}

// Ahead runs the next cycles on a copy of the world, as Settle does, but only a few of them. Then it begins one more
// cycle, and calls look with its session after the action reclaim. The events end with an event for each pod that has
// notice then, which is in no cycle. Ahead returns the error of ctx.
func Ahead(ctx context.Context, w *World, c *Configuration, look func(*Session)) (events []Event, err error) {
	next := w.Clone()
	configuration := *c
	configuration.memory = &memory{now: c.Now}
	for number := 1; number <= mostAhead; number++ {
		r, err := next.cycle(ctx, &configuration, number)
		if err != nil {
			return nil, err
		}
		events = append(events, r.events...)
		if !r.changed {
			break
		}
	}

	s, err := Open(ctx, next, &configuration)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.forgetLost()
	for _, action := range s.Actions {
		if err := s.Run(action.Name()); err != nil {
			return nil, err
		}
		if IsReclaim(action) {
			break // Volcano's preempt then has pods wait for room that their job as a whole does not find
		}
	}

	look(s)
	return append(events, notices(s, next.takers())...), nil
}

// IsReclaim reports whether an action takes from other queues.
func IsReclaim(action framework.Action) bool { return strings.HasSuffix(action.Name(), "reclaim") }
