package policy

import (
	"fmt"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// EvictionNoticeKey is the annotation of a pod with the time from which on it may be evicted, which the scheduler
// writes.
const EvictionNoticeKey = "volcano.sh/eviction-notice"

// EvictionGrace returns how long a queue lets pods have notice before they are evicted, and whether it says so.
func (v *Values) EvictionGrace() (most time.Duration, set bool) {
	return v[EvictionGrace].Duration, v[EvictionGrace].Set
}

// ParseGrace parses what a pod or a PodGroup asks for with EvictionGraceKey.
func ParseGrace(text string) (time.Duration, bool) { return ParseDuration(text) }

// GraceProblem returns why the text of EvictionGraceKey on a pod or a PodGroup is wrong, "" for a valid one. A wrong
// text counts as none.
func GraceProblem(text string) string {
	if _, ok := ParseGrace(text); ok {
		return ""
	}
	return fmt.Sprintf("%q is not a duration of 0 or more, such as 10m", index.Shorten(text, 100))
}
