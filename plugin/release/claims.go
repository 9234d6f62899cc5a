package release

import (
	resourcev1 "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// DeviceObjects are the objects of dynamic resource allocation (DRA) that a session sees. An object keeps its
// address until it changes.
type DeviceObjects struct {
	Slices  []*resourcev1.ResourceSlice
	Classes []*resourcev1.DeviceClass
	Claims  []*resourcev1.ResourceClaim
}

// Empty reports whether there are neither devices nor claims.
func (o DeviceObjects) Empty() bool { return len(o.Slices) == 0 && len(o.Claims) == 0 }

// ReadDevices returns the objects in Volcano's cache. There are none if the feature gate DynamicResourceAllocation is
// off. A list that cannot be read is empty: Volcano allocates no claim then either.
func ReadDevices(ssn *framework.Session) (o DeviceObjects) {
	manager := ssn.SharedDRAManager()
	if manager == nil {
		return o
	}

	o.Slices, _ = manager.ResourceSlices().ListWithDeviceTaintRules()
	o.Claims, _ = manager.ResourceClaims().List()
	if !o.Empty() {
		o.Classes, _ = manager.DeviceClasses().List()
	}
	return o
}
