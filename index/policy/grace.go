package policy

import (
	"fmt"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// EvictionNoticeKey is the annotation of a pod with the earliest time of its eviction. The scheduler writes it.
const EvictionNoticeKey = "volcano.sh/eviction-notice"

// EvictionGrace returns the longest notice that a queue grants to pods before an eviction, and whether it is set.
func (v *Values) EvictionGrace() (most time.Duration, set bool) {
	return v[EvictionGrace].Duration, v[EvictionGrace].Set
}

// ParseGrace parses the notice that a pod or a PodGroup requests with EvictionGraceKey.
func ParseGrace(text string) (time.Duration, bool) { return ParseDuration(text) }

// GraceProblem returns the problem of the text of EvictionGraceKey on a pod or a PodGroup, or "" for a valid text. An
// invalid text requests no notice.
func GraceProblem(text string) string {
	if _, ok := ParseGrace(text); ok {
		return ""
	}

	return fmt.Sprintf("%q is not a duration of 0 or more, such as 10m", index.Shorten(text, 100))
}
