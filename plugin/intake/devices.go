package intake

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

// Devices are the settings for quotas of device classes.
type Devices struct {
	// Off is why device classes have no quotas, "" if they have.
	Off string
	// Capacities: capacities of devices have quotas, too.
	Capacities bool
}

// classPrefix begins the key of a quota of devices, deviceclass/<class>. That of a capacity has
// the name of the dimension, and a dot, before it.
const classPrefix = "deviceclass/"

// deviceKey splits the key of a quota: "deviceclass/gpu.example.com" bounds the number of
// devices of a class, "memory.deviceclass/gpu.example.com" their capacity in a dimension.
func deviceKey(key v1.ResourceName) (class, dimension string, ok bool) {
	before, class, found := strings.Cut(string(key), classPrefix)
	dimension, dotted := strings.CutSuffix(before, ".")
	if !found || class == "" || before != "" && (!dotted || dimension == "") {
		return "", "", false
	}
	return class, dimension, true
}

// withoutDevices returns a resource list without quotas of device classes.
//
// DIVERGES: upstream also accounts these keys as scalars that no pod requests. A guarantee of
// devices then keeps every pod of the queue from reclaim, and a root that bounds devices alone
// bounds cpu and memory to 0.
func (d Devices) withoutDevices(list v1.ResourceList) v1.ResourceList {
	isDevice := func(key v1.ResourceName, _ resource.Quantity) bool {
		_, _, ok := deviceKey(key)
		return ok
	}
	for key, quantity := range list {
		if d.Off == "" && isDevice(key, quantity) {
			list = maps.Clone(list)
			maps.DeleteFunc(list, isDevice)
			return list
		}
	}
	return list
}

// boundDevices sets the bounds of devices that the capability of a queue has, and reports
// whether it has any. A class that it names has a bound for the count, which may be
// fastres.MaxQuantity. A dimension beyond the vectors is left out, for the next attempt of
// Read.
func (s *Session) boundDevices(ix *index.Index, q index.Queue, list v1.ResourceList) (some bool) {
	if s.settings.Devices.Off != "" {
		return false
	}
	for key, quantity := range list {
		class, dimension, ok := deviceKey(key)
		if !ok || dimension != "" && !s.settings.Devices.Capacities {
			continue
		}
		some = true
		count := s.Dims.names.InternClass(classPrefix + class)
		d, bound := count, deviceCount(quantity.Value())
		if dimension != "" {
			d, bound = s.Dims.names.InternCapacity(string(key), count), milli(quantity)
		} else if bound <= 0 {
			bound = fastres.MaxQuantity
		}
		for _, x := range []fastres.Vector{ix.Capability.Row(q), ix.RealCapability.Row(q)} {
			if int(max(d, count)) < x.Len() {
				if !x.Has(count) {
					x.Set(count, fastres.MaxQuantity)
				}
				x.Set(d, bound)
			}
		}
	}
	return some
}

// deviceCount converts a number of devices to thousandths, up to math.MaxInt64.
func deviceCount(n int64) float64 { return min(float64(n)*1000, math.MaxInt64) }

// deviceUser is a task with resource claims.
type deviceUser struct {
	queue index.Queue
	task  *api.TaskInfo
}

// addDeviceClaims gives dimensions to what tasks claim of the classes that have a quota, and finds
// the claims of each task. Names.Len exceeds the length of the vectors if they are too short.
func (s *Session) addDeviceClaims(deviceUsers []deviceUser) {
	if len(deviceUsers) == 0 {
		return
	}
	s.claims = make(map[api.TaskID][]index.DeviceClaim, len(deviceUsers))
	names := s.Dims.names
	for _, c := range deviceUsers {
		var claims []index.DeviceClaim
		release.EachDeviceClaim(c.task, func(name, class string, devices release.Devices) {
			count, known := names.LookupClass(classPrefix + class)
			if !known {
				return
			}
			if name == "" {
				name = string(c.task.UID) // of its own
			}
			if len(claims) == 0 || claims[len(claims)-1].Name != name {
				claims = append(claims, index.DeviceClaim{Name: name})
			}
			claim := &claims[len(claims)-1]
			claim.Devices = append(claim.Devices, index.Devices{Dim: count, Quantity: max(0, deviceCount(devices.Count))})
			for dimension, quantity := range devices.Capacity {
				if s.settings.Devices.Capacities {
					d := names.InternCapacity(dimension+"."+classPrefix+class, count)
					claim.Devices = append(claim.Devices, index.Devices{Dim: d, Quantity: milli(quantity)})
				}
			}
		})
		s.claims[c.task.UID] = claims
	}
}

// DeviceClaims returns the resource claims of a task, as far as they are of classes with a quota. It
// is safe for many goroutines.
func (s *Session) DeviceClaims(task *api.TaskInfo) []index.DeviceClaim {
	if len(s.claims) == 0 {
		return nil
	}
	return s.claims[task.UID]
}

// HasDeviceClaims reports whether some task of the session claims devices, and a quota bounds some.
func (s *Session) HasDeviceClaims() bool { return len(s.claims) > 0 }

// chargeDeviceClaims charges the queues for the claims of the tasks that have a node, after RollUp:
// queues that share a claim are charged for it each, and their ancestors once.
func (s *Session) chargeDeviceClaims(ix *index.Index, deviceUsers []deviceUser) {
	for _, c := range deviceUsers {
		if api.AllocatedStatus(c.task.Status) {
			ix.NoteOwnJobs(c.queue)
			quota.ChargeDeviceClaims(ix, c.queue, s.DeviceClaims(c.task))
		}
	}
}

// SetDeviceMinimum makes x the devices that a job needs to run: for each role, what one task
// requests, times the minimum of the role; for a job without roles, what its first tasks
// request, as many as its minimum.
//
// Upstream: v1.15 api/job_info.go, GetMinDRAResources.
func (s *Session) SetDeviceMinimum(x fastres.Vector, job *api.JobInfo) {
	x.Reset()
	var tasks []*api.TaskInfo
	for _, task := range job.Tasks {
		if _, ok := s.claims[task.UID]; ok {
			tasks = append(tasks, task)
		}
	}
	slices.SortFunc(tasks, func(x, y *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
	if len(job.TaskMinAvailable) == 0 {
		for _, task := range tasks[:min(len(tasks), max(0, int(job.MinAvailable)))] {
			addDevices(x, s.DeviceClaims(task), 1)
		}
		return
	}
	seen := map[string]bool{}
	for _, task := range tasks {
		if times := job.TaskMinAvailable[task.TaskRole]; times > 0 && !seen[task.TaskRole] {
			seen[task.TaskRole] = true
			addDevices(x, s.DeviceClaims(task), float64(times))
		}
	}
}

// SetDevicesAllocated makes x the devices that the tasks of a job have, a shared claim once.
func (s *Session) SetDevicesAllocated(x fastres.Vector, job *api.JobInfo) {
	x.Reset()
	seen := map[string]bool{}
	for status, tasks := range job.TaskStatusIndex {
		for _, task := range tasks {
			for _, claim := range s.DeviceClaims(task) {
				if api.AllocatedStatus(status) && !seen[claim.Name] {
					seen[claim.Name] = true
					addDevices(x, []index.DeviceClaim{claim}, 1)
				}
			}
		}
	}
}

func addDevices(x fastres.Vector, claims []index.DeviceClaim, times float64) {
	for _, claim := range claims {
		for _, of := range claim.Devices {
			x.Increase(of.Dim, of.Quantity*times)
		}
	}
}

// DeviceProblem is a quota of devices that has no effect.
type DeviceProblem struct {
	Field string // of the spec of the queue, such as spec.capability
	Key   string
	Text  string
}

// String formats the problem.
func (p DeviceProblem) String() string { return fmt.Sprintf("%s %q: %s", p.Field, p.Key, p.Text) }

// Problems returns the quotas of devices of a queue that have no effect, in the order of fields
// and keys.
func (d Devices) Problems(capability, deserved, guarantee v1.ResourceList) (problems []DeviceProblem) {
	const capabilityField = "spec.capability"
	for field, list := range map[string]v1.ResourceList{capabilityField: capability, "spec.deserved": deserved,
		"spec.guarantee.resource": guarantee} {
		for key, quantity := range list {
			_, dimension, ok := deviceKey(key)
			text := ""
			switch {
			case !ok:
			case d.Off != "":
				text = "bounds no devices: " + d.Off
			case field != capabilityField:
				text = "has no effect: of devices, only the capability counts"
			case dimension != "" && !d.Capacities:
				text = "bounds nothing: capacities of devices have no quotas unless capacity.DRAConsumableCapacityEnable is true"
			case dimension == "" && quantity.Value() <= 0:
				text = "bounds nothing: a count of 0 is no bound, as in Volcano"
			}
			if text != "" {
				problems = append(problems, DeviceProblem{field, string(key), text})
			}
		}
	}
	slices.SortFunc(problems, func(x, y DeviceProblem) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Key, y.Key))
	})
	return problems
}
