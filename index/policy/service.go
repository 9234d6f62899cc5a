package policy

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
