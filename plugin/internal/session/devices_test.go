package session

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

const (
	gpuClass  = "deviceclass/gpu.example.com"
	gpuMemory = "memory.deviceclass/gpu.example.com"
	nicClass  = "deviceclass/nic.example.com"
)

// podClaims are resource claims of pods: pod → claim → class → devices.
type podClaims map[string]map[string]map[string]release.Devices

// gpuDevices are a number of devices of the class gpu.example.com.
func gpuDevices(n int64, capacity ...string) map[string]release.Devices {
	d := release.Devices{Count: n}
	for i := 0; i < len(capacity); i += 2 {
		if d.Capacity == nil {
			d.Capacity = map[string]resource.Quantity{}
		}
		d.Capacity[capacity[i]] = resource.MustParse(capacity[i+1])
	}
	return map[string]release.Devices{"gpu.example.com": d}
}

// give gives a task resource claims. Its release must have them.
func give(task *api.TaskInfo, claims map[string]map[string]release.Devices) {
	field := func(name string) reflect.Value { return reflect.ValueOf(task).Elem().FieldByName(name) }
	all, byClaim := field("DRAResreq"), field("ResourceClaimDRAResreq")
	all.Set(reflect.MakeMap(all.Type()))
	byClaim.Set(reflect.MakeMap(byClaim.Type()))
	pointer := func(d release.Devices) reflect.Value {
		p := reflect.New(all.Type().Elem().Elem())
		p.Elem().Set(reflect.ValueOf(d).Convert(p.Elem().Type()))
		return p
	}
	sums := map[string]release.Devices{}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		inClaim := reflect.MakeMap(byClaim.Type().Elem())
		for class, d := range claims[name] {
			inClaim.SetMapIndex(reflect.ValueOf(class), pointer(d))
			sum := sums[class]
			sum.Count += d.Count
			for dimension, quantity := range d.Capacity {
				if sum.Capacity == nil {
					sum.Capacity = map[string]resource.Quantity{}
				}
				quantity.Add(sum.Capacity[dimension])
				sum.Capacity[dimension] = quantity
			}
			sums[class] = sum
		}
		byClaim.SetMapIndex(reflect.ValueOf(name), inClaim)
	}
	for class, sum := range sums {
		all.SetMapIndex(reflect.ValueOf(class), pointer(sum))
	}
	field("ResourceClaimKeys").Set(reflect.ValueOf(slices.Sorted(maps.Keys(claims))))
}

// giveAll gives the tasks of a cluster their claims.
func (c podClaims) giveAll(info *api.ClusterInfo) {
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			if claims := c[task.Name]; claims != nil {
				give(task, claims)
			}
		}
	}
}

// deviceScene is a scene with the rules of v1.15 and capacities of devices, and one large node.
func deviceScene() *scene {
	s := newScene()
	s.build = NewCapacity
	s.arguments = framework.Arguments{arguments.Semantics: release.V115.String(), arguments.DeviceCapacities: true}
	return s.mixedNode("node", nil, workload.Resources{})
}

// deviceQueue adds a queue with quotas of devices.
func (s *scene) deviceQueue(name, parent string, bounds workload.Resources) *scene {
	s.queue(name, parent)
	maps.Copy(s.Queues[len(s.Queues)-1].Capability, bounds)
	return s
}

// openClaimed opens a session in which pods have claims, or returns nil with a release that has
// none. Then the queues are warned of.
func (s *scene) openClaimed(t *testing.T, claims podClaims) *fixture {
	t.Helper()
	if !release.KnowsDeviceClaims() {
		for _, q := range s.Queues {
			if q.Capability[gpuClass]+q.Capability[gpuMemory]+q.Capability[nicClass] > 0 {
				events := s.deviceEvents(t)
				require.NotEmpty(t, events)
				require.Contains(t, events[0], "bounds no devices: Volcano "+release.Built().String())
				return nil
			}
		}
		require.Empty(t, s.deviceEvents(t))
		return nil
	}
	return s.open(t, func(info *api.ClusterInfo, _ *offline.Cache) { claims.giveAll(info) })
}

// deviceEvents opens a session and returns the events about quotas of devices.
func (s *scene) deviceEvents(t *testing.T) (all []string) {
	t.Helper()
	client := fake.NewClientset()
	events := make(chan *v1.Event, 100)
	client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		event := action.(clienttesting.CreateAction).GetObject().(*v1.Event)
		events <- event
		return true, event, nil
	})
	fresh := *s // an event is recorded once
	fresh.build = (&Builder{Variant: s.build(nil).(*Plugin).builder.Variant}).Build
	f := fresh.open(t, func(_ *api.ClusterInfo, c *offline.Cache) { c.Kube = client })
	for range countDeviceProblems(f.own) {
		event := <-events
		require.Equal(t, "BadDeviceQuota", event.Reason)
		all = append(all, event.InvolvedObject.Name+" "+event.Type+" "+event.Message)
	}
	return all
}

// countDeviceProblems returns the number of problems of all queues.
func countDeviceProblems(s *Session) (n int) {
	for _, queue := range s.Intake.Queues {
		spec := &queue.Queue.Spec
		n += len(s.Settings.Bounds.Devices.Problems(spec.Capability, spec.Deserved, spec.Guarantee.Resource))
	}
	return n
}

func (f *fixture) devicesOf(queue, key string) float64 {
	for _, a := range InspectionOf(f.own).Accounts() {
		for _, h := range a.Holdings {
			if a.Queue == queue && h.Resource == key {
				return h.Allocated
			}
		}
	}
	return 0
}

// TestDeviceQuotas asks about single pods and jobs, in flat queues. A class that the capability
// does not name passes, and a capacity that it does not name refuses.
func TestDeviceQuotas(t *testing.T) {
	queue := func(bounds workload.Resources) func() *scene {
		return func() *scene { return deviceScene().deviceQueue("q", "", bounds) }
	}
	for name, test := range map[string]struct {
		scene   func() *scene
		devices map[string]release.Devices
		want    string // "" if the pod may be allocated
	}{
		"at the quota":   {queue(workload.Resources{gpuClass: 2}), gpuDevices(2), ""},
		"over the quota": {queue(workload.Resources{gpuClass: 2}), gpuDevices(3), "Queue <q> has insufficient <" + gpuClass + "> quota: requested <3>, total would be <3>, but capability is <2>"},
		"another class":  {queue(workload.Resources{nicClass: 2}), gpuDevices(3), ""},
		"a class of capacities has no bound of the count": {queue(workload.Resources{gpuMemory: 16 << 30}), gpuDevices(99, "memory", "16Gi"), ""},
		"over the capacity": {queue(workload.Resources{gpuMemory: 16 << 30}), gpuDevices(1, "memory", "17Gi"),
			"Queue <q> has insufficient <" + gpuMemory + "> quota: requested <18253611008>, total would be <18253611008>, but capability is <17179869184>"},
		"a capacity that the quota does not name": {queue(workload.Resources{gpuClass: 2}), gpuDevices(1, "cores", "10"),
			"Queue <q> has insufficient <cores.deviceclass/gpu.example.com> quota: requested <10>, total would be <10>, but capability is <0>"},
		"capacities without quotas": {func() *scene {
			s := queue(workload.Resources{gpuClass: 2, gpuMemory: 1})()
			s.arguments[arguments.DeviceCapacities] = false
			return s
		}, gpuDevices(2, "memory", "80Gi", "cores", "10"), ""},
		"no quotas of devices": {func() *scene {
			s := queue(workload.Resources{gpuClass: 2})()
			s.arguments[arguments.DeviceQuotas] = false
			return s
		}, gpuDevices(3), ""},
		"a huge count": {queue(workload.Resources{gpuClass: 2}), gpuDevices(1<<63 - 1), "Queue <q> has insufficient <" + gpuClass + "> quota: requested <9223372036854776>, total would be <9223372036854776>, but capability is <2>"},
		"the name capacity-card": {func() *scene {
			s := queue(workload.Resources{gpuClass: 2})()
			s.build = New
			return s
		}, gpuDevices(3), "Queue <q> has insufficient <" + gpuClass + "> quota: requested <3>, total would be <3>, but capability is <2>"},
		"the name proportion": {func() *scene {
			s := queue(workload.Resources{gpuClass: 2})()
			s.build = NewProportion
			return s
		}, gpuDevices(3), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.scene().pods("j", "q", "", 1, 0)
			if !release.KnowsDeviceClaims() && (s.build(nil).Name() == ProportionName || s.arguments[arguments.DeviceQuotas] == false) {
				assert.True(t, s.open(t).Allocatable(s.open(t).queue("q"), s.open(t).task("j-0")))
				return
			}
			f := s.openClaimed(t, podClaims{"j-0": {"ns/c": test.devices}})
			if f == nil {
				return
			}
			refused := test.want != ""
			assert.Equal(t, !refused, f.Allocatable(f.queue("q"), f.task("j-0")))
			assert.Equal(t, test.want, reasonOf(InspectionOf(f.own).Allocate(f.task("j-0"))))
			f.job("j").MinAvailable = 1
			assert.Equal(t, !refused, f.JobEnqueueable(f.job("j")))
			assert.Equal(t, test.want, reasonOf(InspectionOf(f.own).Enqueue(f.job("j"))))
			if refused && s.build(nil).Name() == CapacityName {
				assert.Contains(t, f.cache.Events()[0], "Normal Unschedulable queue resource quota insufficient: insufficient dra-resource-exceeded; "+test.want)
			}
		})
	}
}

func reasonOf(reason fmt.Stringer) string {
	if reflect.ValueOf(reason).IsNil() {
		return ""
	}
	return reason.String()
}

// TestSharedClaims schedules pods that share claims, in queues of a tree and across sessions'
// events. Each queue is charged once for a claim, and so is each ancestor.
func TestSharedClaims(t *testing.T) {
	s := deviceScene().queue("root", "").deviceQueue("eng", "root", workload.Resources{gpuClass: 3}).
		deviceQueue("prod", "eng", workload.Resources{gpuClass: 2}).queue("dev", "eng").
		pods("a", "prod", "", 2, 0, on("node")).pods("b", "prod", "", 2, 0).pods("c", "dev", "", 3, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
	f := s.openClaimed(t, podClaims{
		"a-0": shared, "a-1": shared, "b-0": shared, "b-1": {"ns/b": gpuDevices(1)},
		"c-0": shared, "c-1": {"ns/c": gpuDevices(1)}, "c-2": {"ns/d": gpuDevices(1)},
	})
	if f == nil {
		return
	}
	of := func() []float64 {
		return []float64{f.devicesOf("prod", gpuClass), f.devicesOf("dev", gpuClass), f.devicesOf("eng", gpuClass), f.devicesOf("root", gpuClass)}
	}
	assert.Equal(t, []float64{2, 0, 2, 2}, of())
	f.job("b").PodGroup.Status.Phase, f.job("c").PodGroup.Status.Phase = scheduling.PodGroupInqueue, scheduling.PodGroupInqueue
	f.run(t, allocate.New())
	assert.Equal(t, []float64{2, 3, 3, 3}, of())
	bound := slices.Sorted(maps.Keys(f.cache.Bound))
	require.Len(t, bound, 3)
	assert.Equal(t, []string{"b-0", "c-0"}, bound[:2], "their claim is held already; one of c-1 and c-2 has the rest of eng")

	for _, name := range []string{"a-0", "a-1", "b-0"} {
		statement := framework.NewStatement(f.Session)
		require.NoError(t, release.Evict(statement, f.task(name), "test"))
		statement.Commit()
		f.own.Index.Check()
	}
	assert.Equal(t, []float64{0, 3, 3, 3}, of(), "a pod of dev still has the shared claim")
}

// TestClaimsAreRestored discards statements that allocate, pipeline and evict pods with claims.
func TestClaimsAreRestored(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 4, gpuMemory: 64 << 30}).
		pods("a", "q", "", 2, 0, on("node")).pods("b", "q", "", 2, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2, "memory", "16Gi")}
	f := s.openClaimed(t, podClaims{"a-0": shared, "a-1": shared, "b-0": shared, "b-1": {"ns/b": gpuDevices(1, "memory", "1500m")}})
	if f == nil {
		return
	}
	node := f.Nodes["node"]
	before := f.own.Index.Version().Overlay()
	q := f.own.Index.Lookup("q")
	for range 3 {
		statement := framework.NewStatement(f.Session)
		require.NoError(t, release.Evict(statement, f.task("a-0"), "test"))
		require.NoError(t, statement.Allocate(f.task("b-0"), node))
		require.NoError(t, release.Evict(statement, f.task("a-1"), "test"))
		require.NoError(t, statement.Pipeline(f.task("b-1"), "node", false))
		assert.Equal(t, []float64{3, 16<<30 + 1.5}, []float64{f.devicesOf("q", gpuClass), f.devicesOf("q", gpuMemory)})
		statement.Discard()
		assert.Equal(t, before.Allocated(q), f.own.Index.Allocated(q))
		assert.Equal(t, 2, f.own.Index.DeviceClaim(q, "ns/shared").References)
		assert.Zero(t, f.own.Index.DeviceClaim(q, "ns/b").References)
	}
}

// TestJobsWithDevices admits jobs one after the other: what is admitted counts until the
// session ends.
func TestJobsWithDevices(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 4}).
		pods("roles", "q", "", 3, 0).pods("gang", "q", "", 3, 0).pods("small", "q", "", 1, 0).
		pods("running", "q", "", 2, 0, on("node"))
	f := s.openClaimed(t, podClaims{
		"roles-0": {"ns/r0": gpuDevices(1)}, "roles-1": {"ns/r1": gpuDevices(1)},
		"gang-0": {"ns/g0": gpuDevices(1)}, "gang-1": {"ns/g1": gpuDevices(2)}, "gang-2": {"ns/g2": gpuDevices(9)},
		"small-0": {"ns/s": gpuDevices(1)}, "running-0": {"ns/w": gpuDevices(1)},
	})
	if f == nil {
		return
	}
	roles, gang, small := f.job("roles"), f.job("gang"), f.job("small")
	roles.TaskMinAvailable = map[string]int32{"": 2}
	gang.MinAvailable, small.MinAvailable = 2, 1
	assert.True(t, f.JobEnqueueable(gang), "1 + 2 of its first two pods, beside 1")
	assert.True(t, f.JobEnqueueable(roles), "2 of its role, beside 1; the check reserves nothing")
	f.JobEnqueued(roles)
	assert.False(t, f.JobEnqueueable(gang), "the admitted job counts")
	assert.True(t, f.JobEnqueueable(small))
	f.JobEnqueued(small)
	assert.True(t, f.Allocatable(f.queue("q"), f.task("gang-1")), "what is admitted does not count for pods")
	assert.False(t, f.Allocatable(f.queue("q"), f.task("gang-2")))
	assert.Contains(t, reasonOf(InspectionOf(f.own).Enqueue(gang)), "total would be <7>, but capability is <4>")

	running := f.job("running")
	running.MinAvailable = 1
	assert.Equal(t, util.Permit, f.own.admit.JobEnqueueable(running), "what a job has is no part of what it still needs")
}

// TestNoVictimsForClaims lets a pod whose claims have no quota preempt, and reclaim.
func TestNoVictimsForClaims(t *testing.T) {
	for _, test := range []struct {
		name    string
		gpus    int64
		evicted int
	}{{"without quota", 3, 0}, {"with quota", 2, 1}} {
		t.Run(test.name, func(t *testing.T) {
			s := deviceScene().queue("root", "").deviceQueue("q", "root", workload.Resources{gpuClass: 2}).queue("other", "root")
			for i := range s.Queues {
				s.Queues[i].Deserved = workload.Resources{"cpu": 32000, "memory": 128 << 30}
			}
			s.Queues[2].Deserved = workload.Resources{"cpu": 1000, "memory": 1 << 30}
			s.pods("low", "q", "", 1, 0, on("node"), requesting("cpu", 16000), members(0))
			s.pods("lender", "other", "", 1, 0, on("node"), requesting("cpu", 48000), members(0))
			s.pods("high", "q", "", 1, 0, inPhase(workload.Inqueue), requesting("cpu", 16000))
			s.Jobs[2].Priority = 10
			for _, action := range []framework.Action{NewReclaim(), NewPreempt()} {
				f := s.openClaimed(t, podClaims{"high-0": {"ns/c": gpuDevices(test.gpus)}})
				if f == nil {
					return
				}
				f.run(t, action)
				assert.Len(t, f.cache.Evicted, test.evicted, action.Name())
				f.close()
			}
		})
	}
}

// TestVictimsReturnDevices reclaims a pod that has the last devices of the parent.
func TestVictimsReturnDevices(t *testing.T) {
	for _, pods := range []string{"one", "both"} {
		s := deviceScene().queue("root", "").deviceQueue("eng", "root", workload.Resources{gpuClass: 2}).queue("prod", "eng").queue("dev", "eng").
			pods("a", "dev", "", 2, 0, on("node"), requesting("cpu", 1000)).pods("b", "prod", "", 1, 0, requesting("cpu", 1000))
		for i := range s.Queues {
			s.Queues[i].Deserved = workload.Resources{"cpu": 1000}
		}
		s.Queues[3].Deserved = workload.Resources{"cpu": 1}
		shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
		f := s.openClaimed(t, podClaims{"a-0": shared, "a-1": shared, "b-0": {"ns/b": gpuDevices(2)}})
		if f == nil {
			return
		}
		reclaimees := []*api.TaskInfo{f.task("a-0")}
		want := 0
		if pods == "both" {
			reclaimees, want = append(reclaimees, f.task("a-1")), 2
		}
		victims, _ := f.own.Reclaim.Reclaimable(f.task("b-0"), reclaimees)
		assert.Len(t, victims, want, "the claim is free once both pods are gone; asked about %s", pods)
		f.close()
	}
}

// TestTerminatingPodsHoldNoClaims has a queue with more devices than its quota. A pod that shares their claim is
// charged nothing, as another pod still holds the claim: one that is being deleted is not refunded again.
func TestTerminatingPodsHoldNoClaims(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 1}).
		pods("run", "q", "", 2, 0, on("node"), requesting("cpu", 1000)).pods("wait", "q", "", 1, 0, requesting("cpu", 1000))
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
	f := s.openClaimed(t, podClaims{"run-0": shared, "run-1": shared, "wait-0": shared})
	if f == nil {
		return
	}
	defer f.close()
	require.NoError(t, f.Session.Evict(f.task("run-0"), "test"))
	assert.True(t, fitsWithout(f, "wait-0", "run-0"))
}

// TestRefusedClaimsLeaveTheRequest asks what goroutines may ask at the same time about one request: a refusal does not
// change it.
func TestRefusedClaimsLeaveTheRequest(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 1}).pods("wait", "q", "", 1, 0, requesting("cpu", 1000))
	f := s.openClaimed(t, podClaims{"wait-0": {"ns/c": gpuDevices(2)}})
	if f == nil {
		return
	}
	defer f.close()
	own := &f.own.Session
	ask := own.Ask(f.own.Index.Lookup("q"), f.task("wait-0"), fastres.NewVector(own.Intake.Dims.Length()))
	before := fastres.NewVector(own.Intake.Dims.Length())
	before.CopyFrom(ask.Request)
	require.False(t, own.Fits(&own.Books.Now, &ask).OK())
	assert.Equal(t, before, ask.Request)
}

// TestSeriesOfDevices has the devices of a queue in the metrics, when pods get a node and a job is admitted.
func TestSeriesOfDevices(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 8}).pods("runs", "q", "", 2, 0, inPhase(workload.Inqueue)).pods("waits", "q", "", 1, 0)
	f := s.openClaimed(t, podClaims{"runs-0": {"ns/r0": gpuDevices(2)}, "runs-1": {"ns/r1": gpuDevices(1)}, "waits-0": {"ns/w": gpuDevices(3)}})
	if f == nil {
		return
	}
	defer f.close()
	f.job("waits").MinAvailable = 1
	series := "q " + gpuClass
	for pod, want := range []float64{2000, 3000} {
		require.NoError(t, framework.NewStatement(f.Session).Allocate(f.task(fmt.Sprint("runs-", pod)), f.Nodes["node"]))
		assert.Equal(t, want, ourSeries("allocated_scalar_resources")[series])
	}
	f.JobEnqueued(f.job("waits"))
	added := addedMetrics(t)
	assert.Equal(t, 3000.0, added["queue_inqueue_scalar_resources "+series], added)
}

// TestDevicesOfTheFuture has cpu that is kept for a pod, so that the future differs from now: devices of a pod that
// gets a node count in both.
func TestDevicesOfTheFuture(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 2}).
		pods("runs", "q", "", 1, 0, inPhase(workload.Inqueue)).pods("waits", "q", "", 1, 0)
	f := s.openClaimed(t, podClaims{"runs-0": {"ns/r": gpuDevices(2)}, "waits-0": {"ns/w": gpuDevices(1)}})
	if f == nil {
		return
	}
	defer f.close()
	own, q := &f.own.Session, f.own.Index.Lookup("q")
	kept := fastres.NewVector(own.Intake.Dims.Length())
	kept.Set(fastres.CPU, 1000)
	own.Books.Charge(q, index.None, kept)
	require.NoError(t, framework.NewStatement(f.Session).Allocate(f.task("runs-0"), f.Nodes["node"]))
	for _, books := range []*quota.Books{&own.Books.Now, &own.Books.Future} {
		ask := own.Ask(q, f.task("waits-0"), fastres.NewVector(own.Intake.Dims.Length()))
		assert.False(t, own.Fits(books, &ask).OK())
	}
}

// fitsWithout reports whether a task fits once another one is gone.
func fitsWithout(f *fixture, task, other string) bool {
	q, own := f.own.Index.Lookup("q"), &f.own.Session
	ask := own.Ask(q, f.task(task), fastres.NewVector(f.own.Intake.Dims.Length()))
	return own.Fits(&own.Without([]*api.TaskInfo{f.task(other)}).Books, &ask).OK()
}

// TestDeviceProblems names quotas of devices that have no effect, on each release, once.
func TestDeviceProblems(t *testing.T) {
	s := deviceScene().deviceQueue("good", "", workload.Resources{"example.com/fpga": 2}).
		deviceQueue("q", "", workload.Resources{gpuClass: 2, gpuMemory: 80, nicClass: 0})
	s.Queues[1].Guarantee = workload.Resources{gpuClass: 1}
	s.arguments[arguments.DeviceCapacities] = false
	var want []string
	if release.KnowsDeviceClaims() {
		want = []string{
			`q Warning spec.capability "deviceclass/nic.example.com": bounds nothing: a count of 0 is no bound, as in Volcano`,
			`q Warning spec.capability "memory.deviceclass/gpu.example.com": bounds nothing: capacities of devices have no quotas unless capacity.DRAConsumableCapacityEnable is true`,
			`q Warning spec.guarantee.resource "deviceclass/gpu.example.com": has no effect: of devices, only the capability counts`,
		}
	} else {
		off := fmt.Sprintf(`": bounds no devices: Volcano %s, which the scheduler is built with, does not read resource claims`, release.Built())
		for _, key := range []string{`spec.capability "` + gpuClass, `spec.capability "` + nicClass, `spec.capability "` + gpuMemory, `spec.guarantee.resource "` + gpuClass} {
			want = append(want, "q Warning "+key+off)
		}
	}
	assert.Equal(t, want, s.deviceEvents(t))
	s.arguments = framework.Arguments{arguments.Semantics: release.V1144.String()}
	assert.Equal(t, `q Warning spec.capability "deviceclass/gpu.example.com": bounds no devices: Volcano v1.14.4 has no quotas of device classes`, s.deviceEvents(t)[0])

	spec := &scheduling.QueueSpec{Capability: v1.ResourceList{gpuClass: resource.MustParse("1")}}
	assert.Equal(t, []string{`spec.capability "deviceclass/gpu.example.com": bounds no devices: the plugin proportion has no quotas of device classes`}, texts(ProportionName, nil, spec))
	if release.KnowsDeviceClaims() {
		assert.Empty(t, texts(CapacityName, nil, spec))
		assert.Equal(t, []string{`spec.capability "deviceclass/gpu.example.com": bounds no devices: capacity.DynamicResourceAllocationEnable is false`},
			texts(Name, framework.Arguments{arguments.DeviceQuotas: "false"}, spec))
	}
	assert.Empty(t, texts("drf", nil, spec), "a plugin of someone else")
}

func texts(name string, arguments framework.Arguments, spec *scheduling.QueueSpec) (all []string) {
	for _, p := range inspect.DeviceProblems(name, arguments, spec.Capability, spec.Deserved, spec.Guarantee.Resource) {
		all = append(all, p.String())
	}
	return all
}

// TestDevicesCountAlone guarantees devices, and bounds those of the root alone. Neither concerns
// cpu, memory, or pods without devices.
func TestDevicesCountAlone(t *testing.T) {
	s := deviceScene().queue("root", "").queue("a", "root").queue("b", "root").
		pods("has", "b", "", 1, 0, on("node")).pods("wants", "a", "", 1, 0)
	s.Queues[0].Capability = workload.Resources{gpuClass: 4}
	s.Queues[1].Deserved, s.Queues[2].Guarantee = workload.Resources{"cpu": 1000}, workload.Resources{gpuClass: 1}
	f := s.openClaimed(t, nil)
	if f == nil {
		return
	}
	assert.True(t, f.Allocatable(f.queue("a"), f.task("wants-0")))
	victims, _ := f.own.Reclaim.Reclaimable(f.task("wants-0"), []*api.TaskInfo{f.task("has-0")})
	assert.Len(t, victims, 1)
}

// TestClaimsInSimulations adds pods to snapshots and removes them. The accounts of the session,
// and other snapshots, stay as they are.
func TestClaimsInSimulations(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 2}).
		pods("a", "q", "", 2, 0, on("node")).pods("b", "q", "", 1, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
	f := s.openClaimed(t, podClaims{"a-0": shared, "a-1": shared, "b-0": {"ns/b": gpuDevices(1)}})
	if f == nil {
		return
	}
	b := f.task("b-0")
	require.NoError(t, f.PrePredicateFn(b))
	first := f.GetCycleState(b.UID).Clone()
	second := first.Clone()
	fits := func() bool { return f.SimulateAllocatableFn(t.Context(), first, f.queue("q"), b) }
	assert.False(t, fits())
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), first, b, f.task("a-0"), f.Nodes["node"]))
	assert.False(t, fits(), "the other pod has the claim")
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), first, b, f.task("a-1"), f.Nodes["node"]))
	assert.True(t, fits())
	require.NoError(t, f.SimulateAddTaskFn(t.Context(), first, b, f.task("a-0"), f.Nodes["node"]))
	assert.False(t, fits())
	assert.False(t, f.SimulateAllocatableFn(t.Context(), second, f.queue("q"), b), "another snapshot")
	assert.Equal(t, 2.0, f.devicesOf("q", gpuClass), "the accounts of the session")
	assert.False(t, quota.DeviceClaimsFit(f.own.Index, f.own.Limit, &f.own.Memory.Names, index.Queue(0), f.own.Intake.DeviceClaims(b)).OK())
}

// TestPodLevelResources asks about a pod that requests resources for all its containers
// together. From v1.15 on Volcano counts them; before, it counts the containers.
func TestPodLevelResources(t *testing.T) {
	s := deviceScene().queue("q", "").pods("j", "q", "", 1, 0, inPhase(workload.Inqueue))
	s.Queues[0].Capability = workload.Resources{"cpu": 2000}
	f := s.open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
		for id, job := range info.Jobs {
			again := api.NewJobInfo(id)
			again.SetPodGroup(job.PodGroup)
			for _, task := range job.Tasks {
				pod := task.Pod.DeepCopy()
				pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}}
				again.AddTaskInfo(api.NewTaskInfo(pod))
			}
			info.Jobs[id] = again
		}
	})
	before := release.Built() < release.V115
	assert.Equal(t, before, f.Allocatable(f.queue("q"), f.task("j-0")))
	f.run(t, allocate.New())
	assert.Equal(t, map[bool]int{true: 1, false: 0}[before], len(f.cache.Bound))
}

// TestDevicesAcrossSessions opens session after session in which capacities of devices appear,
// names start anew, quotas change and go, and the scheduler restarts.
func TestDevicesAcrossSessions(t *testing.T) {
	s := deviceScene().deviceQueue("named", "", workload.Resources{gpuClass: 4}).queue("free", "").
		pods("runs", "named", "", 2, 0, on("node")).pods("waits", "named", "", 1, 0).pods("passes", "free", "", 1, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(3)}
	claims := podClaims{"runs-0": shared, "runs-1": shared, "waits-0": {"ns/w": gpuDevices(1)}}
	if s.openClaimed(t, claims) == nil {
		return
	}
	run := newSequence(t, s)
	run.edit = claims.giveAll
	compare := func(what string, allocated float64, waits, passes bool) {
		f := run.open(t)
		assert.Equal(t, allocated, f.devicesOf("named", gpuClass), what)
		assert.Equal(t, waits, f.Allocatable(f.queue("named"), f.task("waits-0")), what)
		assert.Equal(t, passes, f.Allocatable(f.queue("free"), f.task("passes-0")), what)
		f.own.Index.Check()
	}
	compare("the first session", 3, true, true)
	for _, dimension := range []string{"memory", "cores", "slices", "bandwidth", "encoders", "decoders", "links", "tiles", "engines"} {
		claims["waits-0"] = map[string]map[string]release.Devices{"ns/w": gpuDevices(1, dimension, "1")}
		claims["passes-0"] = map[string]map[string]release.Devices{"ns/p": gpuDevices(9, dimension, "99")}
		compare("a new capacity: "+dimension, 3, false, true)
	}
	claims["waits-0"] = map[string]map[string]release.Devices{"ns/w": gpuDevices(1)}
	run.last.own.Memory.maxNames = 0
	compare("names start anew", 3, true, true)
	s.Queues[0].Capability = workload.Resources{"cpu": 1 << 30, "memory": 1 << 50, gpuClass: 3}
	compare("a lower quota", 3, false, true)
	run.builder = &Builder{Variant: run.builder.Variant}
	compare("a restart", 3, false, true)
	s.Queues[0].Capability = workload.Resources{"cpu": 1 << 30, "memory": 1 << 50}
	compare("no quota", 0, true, true)
	assert.False(t, run.last.own.Intake.HasDeviceClaims(), "claims are not read")
}
