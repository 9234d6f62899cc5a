package differential_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// deviceKeys are the keys of quotas of devices that clusters have.
var deviceKeys = []string{testbed.GPUClass, testbed.GPUMemory, "cores.deviceclass/gpu.example.com", testbed.NICClass}

// drawDevices gives queues of half of the clusters quotas of devices, and pods claims, which
// they share.
func (d *differential) drawDevices() {
	r := rand.New(rand.NewPCG(d.seed, 0xd7a))
	if r.IntN(2) == 0 {
		return
	}
	on := d.name == session.CapacityName && release.KnowsDeviceClaims() && d.arguments[arguments.DeviceQuotas] != false
	d.initialPipelined = map[string]bool{}
	for i := range d.cluster.Queues {
		q := &d.cluster.Queues[i]
		for _, bounds := range []*workload.Resources{&q.Capability, &q.Deserved, &q.Guarantee} {
			// A root that bounds devices alone, or devices and pods, bounds cpu and memory to 0
			// upstream.
			if r.IntN(2) == 0 || *bounds == nil || on && podsAlone(*bounds) && q.Name == index.RootName {
				continue
			}
			*bounds = maps.Clone(*bounds)
			for _, key := range deviceKeys {
				if r.IntN(2) == 0 {
					(*bounds)[key] = r.Int64N(8)
				}
			}
		}
	}
	if !on {
		return
	}
	d.devices = true
	d.claims = testbed.PodClaims{}
	for _, job := range d.cluster.Jobs {
		d.roles[job.Name] = map[bool]int32{true: 1 + r.Int32N(3)}[r.IntN(3) == 0]
		for _, task := range job.Tasks {
			d.initialPipelined[task.Name] = task.Status == workload.TaskPipelined
			d.claims[task.Name] = d.drawClaims(r, job.Name, task.Name)
		}
	}
}

// podsAlone reports whether nothing but pods has a quantity.
func podsAlone(r workload.Resources) bool {
	for name, quantity := range r {
		if name != string(v1.ResourcePods) && quantity > 0 {
			return false
		}
	}
	return true
}

// drawClaims draws the claims of a pod: of its own, shared with any other pod, or none. Pods of
// one role have equal claims: upstream takes any of them for all.
func (d *differential) drawClaims(r *rand.Rand, job, pod string) map[string]map[string]release.Devices {
	claims := map[string]map[string]release.Devices{}
	if d.roles[job] > 0 {
		claims["default/of-"+pod] = claimDevices(len(job))
		return claims
	}
	for range r.IntN(3) {
		if shared := r.IntN(6); r.IntN(2) == 0 {
			claims[fmt.Sprintf("default/shared-%d", shared)] = claimDevices(shared)
		} else {
			claims["default/of-"+pod] = claimDevices(len(pod) + shared)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	return claims
}

// claimDevices returns the devices that the nth claim requests.
func claimDevices(n int) map[string]release.Devices {
	devices := map[string]release.Devices{"gpu.example.com": {Count: int64(1 + n%3)}}
	if n%2 == 0 {
		devices["gpu.example.com"] = release.Devices{Count: int64(1 + n%2), Capacity: map[string]resource.Quantity{"memory": resource.MustParse(fmt.Sprintf("%d500m", n%4))}}
	}
	if n%5 == 0 {
		devices["nic.example.com"] = release.Devices{Count: int64(1 + n%4)}
		devices["other.example.com"] = release.Devices{Count: 99}
	}
	return devices
}

// giveClaims gives the tasks of a session their claims, and jobs their roles.
func (d *differential) giveClaims(info *api.ClusterInfo) {
	d.claims.GiveAll(info)
	for _, job := range info.Jobs {
		if times := d.roles[job.Name]; times > 0 {
			job.TaskMinAvailable = map[string]int32{"": times}
		}
	}
}

// devicesAloneIn removes the quotas of devices from the deserved amounts and the guarantees of queues.
func (d *differential) devicesAloneIn(c *workload.Cluster) {
	for i := range c.Queues {
		for _, bounds := range []*workload.Resources{&c.Queues[i].Deserved, &c.Queues[i].Guarantee} {
			for _, key := range deviceKeys {
				if _, ok := (*bounds)[key]; ok {
					*bounds = maps.Clone(*bounds)
					delete(*bounds, key)
					d.excuse(devicesAlone)
				}
			}
		}
	}
}

// withoutDevices returns a resource without quotas of devices, where they count as such.
func (d *differential) withoutDevices(r *api.Resource) *api.Resource {
	if !d.devices || r == nil {
		return r
	}
	r = r.Clone()
	for _, key := range deviceKeys {
		delete(r.ScalarResources, v1.ResourceName(key))
	}
	return r
}

// withoutDeviceSeries removes the series of devices.
func (d *differential) withoutDeviceSeries(s testbed.Series) testbed.Series {
	if d.devices {
		maps.DeleteFunc(s, func(name string, _ float64) bool { return strings.Contains(name, "deviceclass/") })
	}
	return s
}

// heldClaims returns the claims that a queue holds, and how many of its tasks refer to each.
func (d *differential) heldClaims(queue string, gone []*api.TaskInfo) map[string]int {
	held := map[string]int{}
	for _, job := range d.theirs.Jobs {
		for _, task := range job.Tasks {
			charged := api.AllocatedStatus(task.Status) || task.Status == api.Pipelined && !d.initialPipelined[task.Name]
			if charged && slices.Contains(d.path(string(job.Queue)), queue) && !slices.ContainsFunc(gone, func(t *api.TaskInfo) bool { return t.UID == task.UID }) {
				for claim := range d.claims[task.Name] {
					held[claim]++
				}
			}
		}
	}
	return held
}

// claimed adds up the requests of claims, by the key of the quota.
func (d *differential) claimed(claims map[string]int) map[string]float64 {
	sums := map[string]float64{}
	for claim := range claims {
		var devices map[string]release.Devices
		for _, of := range d.claims {
			if of[claim] != nil {
				devices = of[claim]
			}
		}
		for class, of := range devices {
			sums[classKey(class)] += float64(of.Count)
			for dimension, quantity := range of.Capacity {
				sums[dimension+"."+classKey(class)] += quantity.AsApproximateFloat64()
			}
		}
	}
	return sums
}

func classKey(class string) string { return "deviceclass/" + class }

// counted reports whether a key can have a quota.
func (d *differential) counted(key string) bool {
	return key == testbed.GPUClass || key == testbed.NICClass || d.own.Settings.Bounds.Devices.Capacities
}

// deviceQuota returns the quotas of devices of a queue, and whether upstream keeps accounts of
// them.
func (d *differential) deviceQuota(queue string) (quota map[string]int64, known bool) {
	quota = map[string]int64{}
	for _, q := range d.cluster.Queues {
		for _, key := range deviceKeys {
			if n, ok := q.Capability[key]; ok && q.Name == queue {
				known = true
				if d.counted(key) {
					quota[key] = n
				}
			}
		}
	}
	return quota, known
}

// classNamed reports whether a quota names the class of a key.
func classNamed(quota map[string]int64, key string) bool {
	for other := range quota {
		if other[strings.Index(other, "deviceclass/"):] == key[strings.Index(key, "deviceclass/"):] {
			return true
		}
	}
	return false
}

// compareDevices compares the devices that queues have with a recount from the pods. With mend it corrects upstream's
// accounts, in which ancestors do not know the pods that ran before the session.
func (d *differential) compareDevices(mend bool) error {
	if !d.devices {
		return nil
	}
	for _, name := range d.queues {
		held := d.heldClaims(name, nil)
		want := d.claimed(held)
		quota, known := d.deviceQuota(name)
		for _, key := range deviceKeys {
			if !d.counted(key) || !classNamed(d.allQuotas(), key) {
				continue
			}
			if ours := d.ourDevices(name, key); ours != want[key] {
				return fmt.Errorf("%s of %s is %v, and %v by its pods", key, name, ours, want[key])
			}
			d.answers++
			if theirs := d.upstream.devices(name, "allocated", key); known && classNamed(quota, key) && theirs != want[key] {
				if !mend {
					return fmt.Errorf("%s of %s is upstream %v, ours %v", key, name, theirs, want[key])
				}
				d.excuse(claimsExact)
			}
		}
		if known && mend {
			d.upstream.setDevices(name, "allocated", want)
			d.upstream.field(name, "resourceClaimRefs").Set(reflect.ValueOf(held))
		}
	}
	return nil
}

// allQuotas returns the keys that any queue has a quota of.
func (d *differential) allQuotas() map[string]int64 {
	all := map[string]int64{}
	for _, q := range d.cluster.Queues {
		for _, key := range deviceKeys {
			if n, ok := q.Capability[key]; ok && d.counted(key) {
				all[key] = n
			}
		}
	}
	return all
}

func (d *differential) ourDevices(queue, key string) float64 {
	return d.ourRow(d.own.Index.Allocated(d.own.Index.Lookup(queue)), key)
}

func (d *differential) ourRow(x fastres.Vector, key string) float64 {
	dim, ok := d.own.Memory.Names.LookupClass(key)
	if !ok || int(dim) >= x.Len() {
		return 0
	}
	return x.Get(dim) / 1000
}

// mendPromised compares the devices of admitted jobs, and corrects upstream's if an intended
// difference may show, "" for none.
func (d *differential) mendPromised(intended string) error {
	if !d.devices {
		return nil
	}
	for _, name := range d.queues {
		quota, known := d.deviceQuota(name)
		if !known {
			continue
		}
		want := map[string]float64{}
		for _, key := range deviceKeys {
			ours := d.ourRow(d.own.Index.Inqueue.Row(d.own.Index.Lookup(name)), key)
			want[key] = ours
			if theirs := d.upstream.devices(name, "inqueue", key); d.counted(key) && classNamed(quota, key) && theirs != ours {
				if intended == "" {
					return fmt.Errorf("%s in inqueue of %s is upstream %v, ours %v", key, name, theirs, ours)
				}
				d.excuse(intended)
			}
		}
		d.upstream.setDevices(name, "inqueue", want)
	}
	return nil
}

// claimsRefused reports whether the claims of a task do not fit in some queue of its path, once
// others are gone.
func (d *differential) claimsRefused(task *api.TaskInfo, gone []*api.TaskInfo) bool {
	if !d.devices {
		return false
	}
	for _, name := range d.path(string(d.theirs.Jobs[task.Job].Queue)) {
		quota, _ := d.deviceQuota(name)
		held, with := d.heldClaims(name, gone), map[string]int{}
		maps.Copy(with, held)
		for claim := range d.claims[task.Name] {
			with[claim]++
		}
		before, after := d.claimed(held), d.claimed(with)
		for key, sum := range after {
			bound, named := quota[key]
			isCount := key == testbed.GPUClass || key == testbed.NICClass
			if !d.counted(key) || isCount && bound == 0 {
				continue
			}
			if sum > before[key] && classNamed(quota, key) && (named || !isCount) && sum > float64(bound) {
				return true
			}
		}
	}
	return false
}

// devices returns an account of devices of a queue that has quotas of them.
func (u upstreamPlugin) devices(queue, account, key string) float64 {
	class := key[strings.Index(key, "deviceclass/")+len("deviceclass/"):]
	dra := u.field(queue, "dra")
	if dra.IsNil() {
		return 0
	}
	of := testbed.Settable(dra.Elem().FieldByName(account)).MapIndex(reflect.ValueOf(class))
	if !of.IsValid() || of.IsNil() {
		return 0
	}
	if dimension, _, capacity := strings.Cut(key, ".deviceclass/"); capacity {
		quantities := of.Elem().FieldByName("Capacity").Interface().(map[string]resource.Quantity)
		quantity := quantities[dimension]
		return quantity.AsApproximateFloat64()
	}
	return float64(of.Elem().FieldByName("Count").Int())
}

// setDevices sets an account of devices.
func (u upstreamPlugin) setDevices(queue, account string, sums map[string]float64) {
	field := testbed.Settable(u.field(queue, "dra").Elem().FieldByName(account))
	all := map[string]release.Devices{}
	for key, sum := range sums {
		dimension, class, capacity := strings.Cut(key, ".deviceclass/")
		if !capacity {
			class = strings.TrimPrefix(key, "deviceclass/")
		}
		of := all[class]
		if of.Capacity == nil {
			of.Capacity = map[string]resource.Quantity{}
		}
		if capacity {
			of.Capacity[dimension] = *resource.NewMilliQuantity(int64(sum*1000), resource.DecimalSI)
		} else {
			of.Count = int64(sum)
		}
		all[class] = of
	}
	made := reflect.MakeMap(field.Type())
	for class, of := range all {
		p := reflect.New(field.Type().Elem().Elem())
		p.Elem().Set(reflect.ValueOf(of).Convert(p.Elem().Type()))
		made.SetMapIndex(reflect.ValueOf(class), p)
	}
	field.Set(made)
}
