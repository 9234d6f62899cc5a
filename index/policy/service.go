package policy

import (
	"fmt"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// ServiceTypeKey is the annotation of a PodGroup with the service class of its pods. Volcano
// copies it from the Job, the Deployment or the ReplicaSet.
const ServiceTypeKey = "volcano.sh/service.type"

// The service classes.
const (
	Inference = "inference"
	Training  = "training"
)

// IsServiceType reports whether a text is a service class.
func IsServiceType(text string) bool { return text == Inference || text == Training }

// ExpectedRuntimeKey is the annotation of a pod or a PodGroup with the expected runtime of pods. Volcano copies it from
// Jobs to PodGroups.
const ExpectedRuntimeKey = "volcano.sh/expected-runtime"

// RuntimeProblem returns the problem of the text of ExpectedRuntimeKey, or "" for a valid text. An invalid text
// announces no runtime.
func RuntimeProblem(text string) string {
	if _, ok := ParseRuntime(text); ok {
		return ""
	}

	return fmt.Sprintf("%q is not a duration above 0, such as 4h", index.Shorten(text, 100))
}

// CheckpointKey is the annotation of a pod or a PodGroup with the time of its last checkpoint. The job writes it.
// An eviction does not lose the work before that time.
const CheckpointKey = "volcano.sh/checkpoint-time"

// timeLayouts are the layouts of RFC 3339, with and without seconds.
var timeLayouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00"}

// ParseTime parses a time, such as the text of CheckpointKey.
func ParseTime(text string) (at time.Time, ok bool) {
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}

	return time.Time{}, false
}

// CheckpointProblem returns the problem of the text of CheckpointKey, or "" for a valid text. An invalid text states no
// checkpoint.
func CheckpointProblem(text string) string {
	if _, ok := ParseTime(text); ok {
		return ""
	}

	return fmt.Sprintf("%q is not a time with a zone, such as 2026-12-01T08:30:00Z", index.Shorten(text, 100))
}
