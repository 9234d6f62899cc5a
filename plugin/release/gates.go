package release

import (
	"sync"

	"k8s.io/component-base/featuregate"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// queueGates is the feature gate of queue allocation gates, which releases have from v1.15
// on. The feature gates know it by then: Volcano adds its own when it is initialized.
const queueGates featuregate.Feature = "SchedulingGatesQueueAdmission"

var knowsQueueGates = known(queueGates)

// RemovesQueueGates reports whether the action allocate removes the queue allocation gate of
// a pod that the quotas allow: Volcano can, and its feature gate is on.
func RemovesQueueGates() bool { return enabled(knowsQueueGates, queueGates) }

// known returns whether the release has a feature gate, which it asks once.
func known(gate featuregate.Feature) func() bool {
	return sync.OnceValue(func() bool {
		_, known := utilfeature.DefaultMutableFeatureGate.GetAll()[gate]
		return known
	})
}

// enabled reports whether a feature gate is known and on.
func enabled(known func() bool, gate featuregate.Feature) bool {
	return known() && utilfeature.DefaultFeatureGate.Enabled(gate)
}
