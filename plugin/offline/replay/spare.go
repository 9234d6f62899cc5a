package replay

import (
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// A session that has only placed pods is followed by one that changes nothing, unless pods can be evicted or something
// depends on the time: what was refused before has no more room now. That one is spared, which is nearly every second
// session. All else happens at the times at which it would happen with it: BenchmarkReplay shows the gain.

// Actions that evict nobody, and plugins whose answers do not depend on the time.
var (
	placing = []string{"enqueue", "allocate", "backfill"}
	lasting = []string{plugin.Name, plugin.CapacityName, plugin.ProportionName, "priority", "gang", "conformance", "drf", "predicates",
		"nodeorder", "binpack", "overcommit"}
)

// placesOnly reports whether no action of a setup evicts pods, and all plugins are known.
func (s *Setup) placesOnly() bool {
	for _, action := range s.Actions {
		if !slices.Contains(placing, action.Name()) {
			return false
		}
	}
	for _, tier := range s.Tiers {
		for _, p := range tier.Plugins {
			if !slices.Contains(lasting, p.Name) {
				return false
			}
		}
	}
	return true
}

// maySpare reports whether no action of a setup evicts pods, and no plugin or queue depends on the time.
func (s *Setup) maySpare() bool {
	if !s.placesOnly() {
		return false
	}
	var annotations []map[string]string
	for _, q := range s.Queues {
		annotations = append(annotations, q.Annotations)
	}
	for _, tier := range s.Tiers {
		for _, p := range tier.Plugins {
			if inspect.DependsOnTime(p.Name, p.Arguments, annotations) {
				return false
			}
		}
	}
	return true
}

// spared is whether sessions are spared, and when the one would be that is spared now, never for none.
type spared struct {
	may bool
	at  time.Duration
}

// follows sets when a session follows the one of now, which has changed something.
func (r *run) follows() {
	next := r.now + r.Period
	if r.spared.may && next < r.reread {
		r.spared.at = next
		return
	}
	r.due = next
}

// pass notes a session that was spared and that lies in the past.
func (r *run) pass() {
	if r.spared.at < r.now {
		r.held, r.spared.at = r.spared.at, never
	}
}

// rested is when the last session was, or the one that was spared after it.
func (r *run) rested() time.Duration {
	if r.spared.at != never {
		return r.spared.at
	}
	return r.held
}
