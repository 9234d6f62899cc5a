package release

//lint:file-ignore U1000 a fallback is unused with the releases that have the declaration

import (
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Devices holds the request of a resource claim for one device class (api.DRAResource).
type Devices struct {
	Count    int64
	Capacity map[string]resource.Quantity // by dimension, such as memory
}

// task is a task of any release.
type task struct {
	*api.TaskInfo
	absentTask
}

type absentTask struct{ absentClaims }

// absentClaims stands in for the resource claims that tasks have from v1.15 on.
type absentClaims struct {
	DRAResreq              map[string]*Devices
	ResourceClaimKeys      []string
	ResourceClaimDRAResreq map[string]map[string]*Devices
}

// KnowsDeviceClaims reports whether tasks have resource claims.
func KnowsDeviceClaims() bool {
	t := &task{TaskInfo: &api.TaskInfo{}}
	return &t.ResourceClaimKeys != &t.absentClaims.ResourceClaimKeys
}

// HasDeviceClaims reports whether a task has resource claims that request devices.
func HasDeviceClaims(t *api.TaskInfo) bool { return len(task{TaskInfo: t}.DRAResreq) > 0 }

// EachDeviceClaim calls visit with each device class of each resource claim of a task. The name of a claim includes its
// namespace. Devices without a claim have the name "".
func EachDeviceClaim(t *api.TaskInfo, visit func(claim, class string, devices Devices)) {
	bridged := task{TaskInfo: t}
	eachClaim(bridged.ResourceClaimKeys, bridged.ResourceClaimDRAResreq, bridged.DRAResreq, visit)
}

func eachClaim[D ~struct {
	Count    int64
	Capacity map[string]resource.Quantity
}](names []string, claims map[string]map[string]*D, all map[string]*D,
	visit func(claim, class string, devices Devices)) {
	if len(claims) == 0 {
		names = []string{""}
		claims = map[string]map[string]*D{"": all}
	}

	for _, name := range names {
		for class, devices := range claims[name] {
			if devices != nil {
				visit(name, class, Devices(*devices))
			}
		}
	}
}

// DeviceQuotas reports whether Volcano enforces quotas of device classes and of the capacities of devices by default.
// It does so if the feature gates of Kubernetes are on.
func DeviceQuotas() (counts, capacities bool) {
	on := utilfeature.DefaultFeatureGate.Enabled
	return on(features.DynamicResourceAllocation), on(features.DRAConsumableCapacity)
}
