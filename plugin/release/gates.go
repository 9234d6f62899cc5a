package release

import (
	"sync"

	"k8s.io/component-base/featuregate"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// queueGates is the feature gate of queue allocation gates, which releases have from v1.15 on. Volcano adds its feature
// gates when it is initialized.
const queueGates featuregate.Feature = "SchedulingGatesQueueAdmission"

// knowsQueueGates reports whether the release has the feature gate.
var knowsQueueGates = sync.OnceValue(func() bool {
	_, known := utilfeature.DefaultMutableFeatureGate.GetAll()[queueGates]
	return known
})

// RemovesQueueGates reports whether the action allocate removes the queue allocation gate of a pod that the quotas
// allow: the release has the feature gate, and it is on.
func RemovesQueueGates() bool {
	return knowsQueueGates() && utilfeature.DefaultFeatureGate.Enabled(queueGates)
}
