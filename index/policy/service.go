package policy

import (
	"fmt"

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

// ExpectedRuntimeKey is the annotation of a pod or a PodGroup with the time that pods run. Volcano copies it from
// Jobs to PodGroups.
const ExpectedRuntimeKey = "volcano.sh/expected-runtime"

// RuntimeProblem returns why the text of ExpectedRuntimeKey is wrong, "" for a valid one. Without a valid text the
// pods have no announced length.
func RuntimeProblem(text string) string {
	if _, ok := ParseRuntime(text); ok {
		return ""
	}
	return fmt.Sprintf("%q is not a duration above 0, such as 4h", index.Shorten(text, 100))
}
