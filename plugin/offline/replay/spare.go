package replay

import (
	"slices"
	"time"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// After a session that has only placed pods, the next session changes nothing: pods that were refused before have no
// more room now. This holds unless pods can be evicted or something depends on the time. The replay spares such a
// session, which is nearly every second one. All other events keep their times. BenchmarkReplay shows the gain.

// placing are actions that evict nobody. lasting are plugins with answers that do not depend on the time.
var (
	placing = []string{"enqueue", "allocate", "backfill"}
	lasting = []string{
		plugin.Name, plugin.CapacityName, plugin.ProportionName, "priority", "gang", "conformance", "drf", "predicates",
		"nodeorder", "binpack", "overcommit",
	}
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

// maySpare reports whether no action of a setup evicts pods, and no queue depends on the time.
func (s *Setup) maySpare() bool {
	timed := func(q *scheduling.Queue) bool { return inspect.DependsOnTime(q.Annotations) }
	return s.placesOnly() && !slices.ContainsFunc(s.Queues, timed)
}

// spared is the session that is spared now.
type spared struct {
	may bool          // sessions may be spared
	at  time.Duration // when the session would be, never for none
}

// follows sets the time of the session after the present one, which has changed something.
func (r *run) follows() {
	next := r.now + r.Period
	if r.spared.may && next < r.reread {
		r.spared.at = next
		return
	}

	r.due = next
}

// pass notes a spared session that is over.
func (r *run) pass() {
	if r.spared.at < r.now {
		r.held = r.spared.at
		r.spared.at = never
	}
}

// rested returns the time of the last session, or of the spared one after it.
func (r *run) rested() time.Duration {
	if r.spared.at != never {
		return r.spared.at
	}
	return r.held
}
