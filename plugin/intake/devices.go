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
	// Off says why device classes have no quotas. It is "" if they have quotas.
	Off string
	// Capacities: capacities of devices have quotas, too.
	Capacities bool
}

// classPrefix begins the key of a quota of devices: deviceclass/<class>. The key of a capacity begins with the name of
// the dimension and a dot: memory.deviceclass/<class>.
const classPrefix = "deviceclass/"

// deviceKey splits the key of a quota of devices into its class and its dimension. The dimension is "" for a quota of
// the number of devices.
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
// DIVERGES: upstream also accounts these keys as scalars that no pod requests. A guarantee of devices then keeps every
// pod of the queue from reclaim. A root that only bounds devices then bounds cpu and memory to 0.
func (d Devices) withoutDevices(list v1.ResourceList) v1.ResourceList {
	if d.Off != "" {
		return list
	}

	isDevice := func(key v1.ResourceName, _ resource.Quantity) bool {
		_, _, ok := deviceKey(key)
		return ok
	}

	for key, quantity := range list {
		if isDevice(key, quantity) {
			list = maps.Clone(list)
			maps.DeleteFunc(list, isDevice)
			return list
		}
	}
	return list
}

// boundDevices sets the bounds of devices from the capability of a queue, and reports whether there are any. It leaves
// out dimensions beyond the vectors: the next attempt of Read has them.
func (s *Inputs) boundDevices(ix *index.Index, q index.Queue, list v1.ResourceList) (some bool) {
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
		d := count
		bound := deviceCount(quantity.Value())
		if dimension != "" {
			d = s.Dims.names.InternCapacity(string(key), count)
			bound = milli(quantity)
		} else if bound <= 0 {
			bound = fastres.MaxQuantity // a count of 0 is no bound, as in Volcano
		}

		for _, x := range []fastres.Vector{ix.Capability.Row(q), ix.RealCapability.Row(q)} {
			if int(max(d, count)) >= x.Len() {
				continue
			}

			if !x.Has(count) {
				x.Set(count, fastres.MaxQuantity) // a class with a quota of a capacity has a bound of the count, too
			}
			x.Set(d, bound)
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

// addDeviceClaims finds the claims of each task, as far as their classes have a quota. It gives dimensions to the
// capacities that they request. If the vectors are too short, Names.Len exceeds their length afterwards.
func (s *Inputs) addDeviceClaims(deviceUsers []deviceUser) {
	if len(deviceUsers) == 0 {
		return
	}
	s.claims = make(map[api.TaskID][]index.DeviceClaim, len(deviceUsers))
	for _, user := range deviceUsers {
		s.claims[user.task.UID] = s.readDeviceClaims(user.task)
	}
}

// readDeviceClaims returns the claims of a task, as far as their classes have a quota.
func (s *Inputs) readDeviceClaims(task *api.TaskInfo) (claims []index.DeviceClaim) {
	names := s.Dims.names
	release.EachDeviceClaim(task, func(name, class string, devices release.Devices) {
		count, known := names.LookupClass(classPrefix + class)
		if !known {
			return
		}

		if name == "" {
			name = string(task.UID) // devices without a claim: no other task shares them
		}
		if len(claims) == 0 || claims[len(claims)-1].Name != name {
			claims = append(claims, index.DeviceClaim{Name: name})
		}

		claim := &claims[len(claims)-1]
		claim.Devices = append(claim.Devices, index.Devices{Dim: count, Quantity: max(0, deviceCount(devices.Count))})
		if !s.settings.Devices.Capacities {
			return
		}

		for dimension, quantity := range devices.Capacity {
			d := names.InternCapacity(dimension+"."+classPrefix+class, count)
			claim.Devices = append(claim.Devices, index.Devices{Dim: d, Quantity: milli(quantity)})
		}
	})
	return claims
}

// DeviceClaims returns the resource claims of a task, as far as their classes have a quota. It is safe for many
// goroutines.
func (s *Inputs) DeviceClaims(task *api.TaskInfo) []index.DeviceClaim {
	if len(s.claims) == 0 {
		return nil
	}
	return s.claims[task.UID]
}

// HasDeviceClaims reports whether any task of the session claims devices while a quota bounds devices.
func (s *Inputs) HasDeviceClaims() bool { return len(s.claims) > 0 }

// chargeDeviceClaims charges the queues for the claims of tasks with a node. It is called after RollUp, because an
// ancestor is charged once for a claim that several of its queues share.
func (s *Inputs) chargeDeviceClaims(ix *index.Index, deviceUsers []deviceUser) {
	for _, user := range deviceUsers {
		if api.AllocatedStatus(user.task.Status) {
			ix.NoteOwnJobs(user.queue)
			quota.ChargeDeviceClaims(ix, user.queue, s.DeviceClaims(user.task))
		}
	}
}

// SetDeviceMinimum makes x the devices that a job needs to run:
//
//	with roles     Σ over the roles of (the request of one task × the minimum of the role)
//	without roles  Σ over the first minMember tasks of their requests
//
// Upstream: v1.15 api/job_info.go, GetMinDRAResources.
func (s *Inputs) SetDeviceMinimum(x fastres.Vector, job *api.JobInfo) {
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

// SetDevicesAllocated makes x the devices that the tasks of a job have. A shared claim counts once.
func (s *Inputs) SetDevicesAllocated(x fastres.Vector, job *api.JobInfo) {
	x.Reset()
	seen := map[string]bool{}
	for status, tasks := range job.TaskStatusIndex {
		if !api.AllocatedStatus(status) {
			continue
		}
		for _, task := range tasks {
			for _, claim := range s.DeviceClaims(task) {
				if !seen[claim.Name] {
					seen[claim.Name] = true
					addDevices(x, []index.DeviceClaim{claim}, 1)
				}
			}
		}
	}
}

func addDevices(x fastres.Vector, claims []index.DeviceClaim, times float64) {
	for _, claim := range claims {
		for _, devices := range claim.Devices {
			x.Increase(devices.Dim, devices.Quantity*times)
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

// The fields of a queue's spec that may name devices.
const (
	capabilityField = "spec.capability"
	deservedField   = "spec.deserved"
	guaranteeField  = "spec.guarantee.resource"
)

// Problems returns the quotas of devices of a queue that have no effect, in the order of fields and keys.
func (d Devices) Problems(capability, deserved, guarantee v1.ResourceList) (problems []DeviceProblem) {
	fields := map[string]v1.ResourceList{
		capabilityField: capability,
		deservedField:   deserved,
		guaranteeField:  guarantee,
	}

	for field, list := range fields {
		for key, quantity := range list {
			if text := d.problem(field, key, quantity); text != "" {
				problems = append(problems, DeviceProblem{field, string(key), text})
			}
		}
	}

	slices.SortFunc(problems, func(x, y DeviceProblem) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Key, y.Key))
	})
	return problems
}

// problem returns why a quota in a field has no effect on devices, "" if it has an effect or is no quota of devices.
func (d Devices) problem(field string, key v1.ResourceName, quantity resource.Quantity) string {
	_, dimension, ok := deviceKey(key)
	switch {
	case !ok:
		return ""
	case d.Off != "":
		return "bounds no devices: " + d.Off
	case field != capabilityField:
		return "has no effect: of devices, only the capability counts"
	case dimension != "" && !d.Capacities:
		return "bounds nothing: capacities of devices have no quotas unless " +
			"capacity.DRAConsumableCapacityEnable is true"
	case dimension == "" && quantity.Value() <= 0:
		return "bounds nothing: a count of 0 is no bound, as in Volcano"
	}
	return ""
}
