package devices_test

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

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

func devicesOf(f *testbed.Fixture, queue, key string) float64 {
	for _, a := range session.InspectionOf(f.Own).Accounts() {
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
	queue := func(bounds workload.Resources) func() *testbed.Scene {
		return func() *testbed.Scene { return deviceScene().DeviceQueue("q", "", bounds) }
	}
	for name, test := range map[string]struct {
		scene   func() *testbed.Scene
		devices map[string]release.Devices
		want    string // "" if the pod may be allocated
	}{
		"at the quota":   {queue(workload.Resources{testbed.GPUClass: 2}), gpuDevices(2), ""},
		"over the quota": {queue(workload.Resources{testbed.GPUClass: 2}), gpuDevices(3), "Queue <q> has insufficient <" + testbed.GPUClass + "> quota: requested <3>, total would be <3>, but capability is <2>"},
		"another class":  {queue(workload.Resources{testbed.NICClass: 2}), gpuDevices(3), ""},
		"a class of capacities has no bound of the count": {queue(workload.Resources{testbed.GPUMemory: 16 << 30}), gpuDevices(99, "memory", "16Gi"), ""},
		"over the capacity": {queue(workload.Resources{testbed.GPUMemory: 16 << 30}), gpuDevices(1, "memory", "17Gi"),
			"Queue <q> has insufficient <" + testbed.GPUMemory + "> quota: requested <18253611008>, total would be <18253611008>, but capability is <17179869184>"},
		"a capacity that the quota does not name": {queue(workload.Resources{testbed.GPUClass: 2}), gpuDevices(1, "cores", "10"),
			"Queue <q> has insufficient <cores.deviceclass/gpu.example.com> quota: requested <10>, total would be <10>, but capability is <0>"},
		"capacities without quotas": {func() *testbed.Scene {
			s := queue(workload.Resources{testbed.GPUClass: 2, testbed.GPUMemory: 1})()
			s.Arguments[arguments.DeviceCapacities] = false
			return s
		}, gpuDevices(2, "memory", "80Gi", "cores", "10"), ""},
		"no quotas of devices": {func() *testbed.Scene {
			s := queue(workload.Resources{testbed.GPUClass: 2})()
			s.Arguments[arguments.DeviceQuotas] = false
			return s
		}, gpuDevices(3), ""},
		"a huge count": {queue(workload.Resources{testbed.GPUClass: 2}), gpuDevices(1<<63 - 1), "Queue <q> has insufficient <" + testbed.GPUClass + "> quota: requested <9223372036854776>, total would be <9223372036854776>, but capability is <2>"},
		"the name capacity-card": {func() *testbed.Scene {
			s := queue(workload.Resources{testbed.GPUClass: 2})()
			s.Build = session.New
			return s
		}, gpuDevices(3), "Queue <q> has insufficient <" + testbed.GPUClass + "> quota: requested <3>, total would be <3>, but capability is <2>"},
		"the name proportion": {func() *testbed.Scene {
			s := queue(workload.Resources{testbed.GPUClass: 2})()
			s.Build = session.NewProportion
			return s
		}, gpuDevices(3), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.scene().Pods("j", "q", "", 1, 0)
			if !release.KnowsDeviceClaims() && (s.Build(nil).Name() == session.ProportionName || s.Arguments[arguments.DeviceQuotas] == false) {
				assert.True(t, s.Open(t).Allocatable(s.Open(t).Queue("q"), s.Open(t).Task("j-0")))
				return
			}
			f := openClaimed(t, s, testbed.PodClaims{"j-0": {"ns/c": test.devices}})
			if f == nil {
				return
			}
			refused := test.want != ""
			assert.Equal(t, !refused, f.Allocatable(f.Queue("q"), f.Task("j-0")))
			assert.Equal(t, test.want, reasonOf(session.InspectionOf(f.Own).Allocate(f.Task("j-0"))))
			f.Job("j").MinAvailable = 1
			assert.Equal(t, !refused, f.JobEnqueueable(f.Job("j")))
			assert.Equal(t, test.want, reasonOf(session.InspectionOf(f.Own).Enqueue(f.Job("j"))))
			if refused && s.Build(nil).Name() == session.CapacityName {
				assert.Contains(t, f.Cache.Events()[0], "Normal Unschedulable queue resource quota insufficient: insufficient dra-resource-exceeded; "+test.want)
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
	s := deviceScene().Queue("root", "").DeviceQueue("eng", "root", workload.Resources{testbed.GPUClass: 3}).
		DeviceQueue("prod", "eng", workload.Resources{testbed.GPUClass: 2}).Queue("dev", "eng").
		Pods("a", "prod", "", 2, 0, testbed.On("node")).Pods("b", "prod", "", 2, 0).Pods("c", "dev", "", 3, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
	f := openClaimed(t, s, testbed.PodClaims{
		"a-0": shared, "a-1": shared, "b-0": shared, "b-1": {"ns/b": gpuDevices(1)},
		"c-0": shared, "c-1": {"ns/c": gpuDevices(1)}, "c-2": {"ns/d": gpuDevices(1)},
	})
	if f == nil {
		return
	}
	of := func() []float64 {
		return []float64{devicesOf(f, "prod", testbed.GPUClass), devicesOf(f, "dev", testbed.GPUClass), devicesOf(f, "eng", testbed.GPUClass), devicesOf(f, "root", testbed.GPUClass)}
	}
	assert.Equal(t, []float64{2, 0, 2, 2}, of())
	f.Job("b").PodGroup.Status.Phase, f.Job("c").PodGroup.Status.Phase = scheduling.PodGroupInqueue, scheduling.PodGroupInqueue
	f.Run(t, allocate.New())
	assert.Equal(t, []float64{2, 3, 3, 3}, of())
	bound := slices.Sorted(maps.Keys(f.Cache.Bound))
	require.Len(t, bound, 3)
	assert.Equal(t, []string{"b-0", "c-0"}, bound[:2], "their claim is held already; one of c-1 and c-2 has the rest of eng")

	for _, name := range []string{"a-0", "a-1", "b-0"} {
		statement := framework.NewStatement(f.Session)
		require.NoError(t, release.Evict(statement, f.Task(name), "test"))
		statement.Commit()
		f.Own.Index.Check()
	}
	assert.Equal(t, []float64{0, 3, 3, 3}, of(), "a pod of dev still has the shared claim")
}

// TestClaimsAreRestored discards statements that allocate, pipeline and evict pods with claims.
func TestClaimsAreRestored(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 4, testbed.GPUMemory: 64 << 30}).
		Pods("a", "q", "", 2, 0, testbed.On("node")).Pods("b", "q", "", 2, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2, "memory", "16Gi")}
	f := openClaimed(t, s, testbed.PodClaims{"a-0": shared, "a-1": shared, "b-0": shared, "b-1": {"ns/b": gpuDevices(1, "memory", "1500m")}})
	if f == nil {
		return
	}
	node := f.Nodes["node"]
	before := f.Own.Index.Version()
	q := f.Own.Index.Lookup("q")
	for range 3 {
		statement := framework.NewStatement(f.Session)
		require.NoError(t, release.Evict(statement, f.Task("a-0"), "test"))
		require.NoError(t, statement.Allocate(f.Task("b-0"), node))
		require.NoError(t, release.Evict(statement, f.Task("a-1"), "test"))
		require.NoError(t, statement.Pipeline(f.Task("b-1"), "node", false))
		assert.Equal(t, []float64{3, 16<<30 + 1.5}, []float64{devicesOf(f, "q", testbed.GPUClass), devicesOf(f, "q", testbed.GPUMemory)})
		statement.Discard()
		assert.Equal(t, before.Allocated(q), f.Own.Index.Allocated(q))
		assert.Equal(t, 2, f.Own.Index.DeviceClaim(q, "ns/shared").References)
		assert.Zero(t, f.Own.Index.DeviceClaim(q, "ns/b").References)
	}
}

// TestJobsWithDevices admits jobs one after the other. The devices of an admitted job count until the session ends.
func TestJobsWithDevices(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 4}).
		Pods("roles", "q", "", 3, 0).Pods("gang", "q", "", 3, 0).Pods("small", "q", "", 1, 0).
		Pods("running", "q", "", 2, 0, testbed.On("node"))
	f := openClaimed(t, s, testbed.PodClaims{
		"roles-0": {"ns/r0": gpuDevices(1)}, "roles-1": {"ns/r1": gpuDevices(1)},
		"gang-0": {"ns/g0": gpuDevices(1)}, "gang-1": {"ns/g1": gpuDevices(2)}, "gang-2": {"ns/g2": gpuDevices(9)},
		"small-0": {"ns/s": gpuDevices(1)}, "running-0": {"ns/w": gpuDevices(1)},
	})
	if f == nil {
		return
	}
	roles, gang, small := f.Job("roles"), f.Job("gang"), f.Job("small")
	roles.TaskMinAvailable = map[string]int32{"": 2}
	gang.MinAvailable, small.MinAvailable = 2, 1
	assert.True(t, f.JobEnqueueable(gang), "1 + 2 of its first two pods, beside 1")
	assert.True(t, f.JobEnqueueable(roles), "2 of its role, beside 1; the check reserves nothing")
	f.JobEnqueued(roles)
	assert.False(t, f.JobEnqueueable(gang), "the admitted job counts")
	assert.True(t, f.JobEnqueueable(small))
	f.JobEnqueued(small)
	assert.True(t, f.Allocatable(f.Queue("q"), f.Task("gang-1")), "what is admitted does not count for pods")
	assert.False(t, f.Allocatable(f.Queue("q"), f.Task("gang-2")))
	assert.Contains(t, reasonOf(session.InspectionOf(f.Own).Enqueue(gang)), "total would be <7>, but capability is <4>")

	running := f.Job("running")
	running.MinAvailable = 1
	assert.Equal(t, util.Permit, f.Own.Admit.JobEnqueueable(running), "what a job has is no part of what it still needs")
}

// TestOrderOfDevices has a job that waits for devices alone. As with any limit other than the quota of the queue, later
// jobs pass it.
func TestOrderOfDevices(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 4}).Annotate("q", policy.OrderKey, "fifo").
		Pods("running", "q", "", 1, 0, testbed.On("node")).
		Pods("first", "q", "", 1, 0, testbed.InPhase(workload.Pending)).Pods("later", "q", "", 1, 0, testbed.InPhase(workload.Pending))
	f := openClaimed(t, s, testbed.PodClaims{"running-0": {"ns/r": gpuDevices(2)}, "first-0": {"ns/f": gpuDevices(4)}})
	if f == nil {
		return
	}
	first := f.Job("first")
	first.MinAvailable = 1
	first.PodGroup.Spec.MinResources = &v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	assert.False(t, f.JobEnqueueable(first), "4 beside 2 of 4")
	assert.True(t, f.JobEnqueueable(f.Job("later")))
}

// TestOrderOfAdmittedDevices is the same for an admitted job, which lacks cores as well.
func TestOrderOfAdmittedDevices(t *testing.T) {
	for devices, passes := range map[int64]bool{2: false, 4: true} {
		s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 4, "cpu": 150}).Annotate("q", policy.OrderKey, "fifo").
			Pods("running", "q", "", 1, 0, testbed.On("node")).
			Pods("first", "q", "", 1, 0, testbed.InPhase(workload.Inqueue)).Pods("later", "q", "", 1, 0, testbed.InPhase(workload.Pending))
		f := openClaimed(t, s, testbed.PodClaims{"running-0": {"ns/r": gpuDevices(2)}, "first-0": {"ns/f": gpuDevices(devices)}})
		if f == nil {
			return
		}
		assert.Equal(t, passes, f.JobEnqueueable(f.Job("later")), "%d beside 2 of 4", devices)
	}
}

// TestDisplacedJobsReturnTheirDevices admits a job in place of another one that has all devices of the queue. The
// devices are free again in the same session.
func TestDisplacedJobsReturnTheirDevices(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 4}).
		Pods("low", "q", "", 1, 0).Pods("high", "q", "", 1, 0, func(j *workload.Job) { j.Priority = 10 }).Pods("last", "q", "", 1, 0)
	s.Annotate("q", policy.OrderKey, "displace")
	f := openClaimed(t, s, testbed.PodClaims{"low-0": {"ns/low": gpuDevices(4)}, "high-0": {"ns/high": gpuDevices(3)}, "last-0": {"ns/last": gpuDevices(1)}})
	if f == nil {
		return
	}
	for _, job := range []string{"low", "high", "last"} {
		f.Job(job).MinAvailable = 1
	}
	admit := func(job string) bool {
		j := f.Job(job)
		if !f.JobEnqueueable(j) {
			return false
		}
		f.JobEnqueued(j)
		j.PodGroup.Status.Phase = scheduling.PodGroupInqueue
		return true
	}
	require.True(t, admit("low"))
	require.False(t, f.JobEnqueueable(f.Job("last")))
	require.True(t, admit("high"))
	assert.Equal(t, scheduling.PodGroupPending, f.Job("low").PodGroup.Status.Phase)
	assert.True(t, f.JobEnqueueable(f.Job("last")), "high has 3 of 4")
	assert.False(t, f.JobEnqueueable(f.Job("low")))
}

// TestNoVictimsForClaims lets a pod with a claim preempt and reclaim. Without quota for the claim, no pod is evicted.
func TestNoVictimsForClaims(t *testing.T) {
	for _, test := range []struct {
		name    string
		gpus    int64
		evicted int
	}{{"without quota", 3, 0}, {"with quota", 2, 1}} {
		t.Run(test.name, func(t *testing.T) {
			s := deviceScene().Queue("root", "").DeviceQueue("q", "root", workload.Resources{testbed.GPUClass: 2}).Queue("other", "root")
			for i := range s.Queues {
				s.Queues[i].Deserved = workload.Resources{"cpu": 32000, "memory": 128 << 30}
			}
			s.Queues[2].Deserved = workload.Resources{"cpu": 1000, "memory": 1 << 30}
			s.Pods("low", "q", "", 1, 0, testbed.On("node"), testbed.Requesting("cpu", 16000), testbed.Members(0))
			s.Pods("lender", "other", "", 1, 0, testbed.On("node"), testbed.Requesting("cpu", 48000), testbed.Members(0))
			s.Pods("high", "q", "", 1, 0, testbed.InPhase(workload.Inqueue), testbed.Requesting("cpu", 16000))
			s.Jobs[2].Priority = 10
			for _, action := range []framework.Action{session.NewReclaim(), session.NewPreempt()} {
				f := openClaimed(t, s, testbed.PodClaims{"high-0": {"ns/c": gpuDevices(test.gpus)}})
				if f == nil {
					return
				}
				f.Run(t, action)
				assert.Len(t, f.Cache.Evicted, test.evicted, action.Name())
				f.Close()
			}
		})
	}
}

// TestVictimsReturnDevices reclaims a pod that has the last devices of the parent.
func TestVictimsReturnDevices(t *testing.T) {
	for _, pods := range []string{"one", "both"} {
		s := deviceScene().Queue("root", "").DeviceQueue("eng", "root", workload.Resources{testbed.GPUClass: 2}).Queue("prod", "eng").Queue("dev", "eng").
			Pods("a", "dev", "", 2, 0, testbed.On("node"), testbed.Requesting("cpu", 1000)).Pods("b", "prod", "", 1, 0, testbed.Requesting("cpu", 1000))
		for i := range s.Queues {
			s.Queues[i].Deserved = workload.Resources{"cpu": 1000}
		}
		s.Queues[3].Deserved = workload.Resources{"cpu": 1}
		shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
		f := openClaimed(t, s, testbed.PodClaims{"a-0": shared, "a-1": shared, "b-0": {"ns/b": gpuDevices(2)}})
		if f == nil {
			return
		}
		reclaimees := []*api.TaskInfo{f.Task("a-0")}
		want := 0
		if pods == "both" {
			reclaimees, want = append(reclaimees, f.Task("a-1")), 2
		}
		victims, _ := f.Own.Reclaim.Reclaimable(f.Task("b-0"), reclaimees)
		assert.Len(t, victims, want, "the claim is free once both pods are gone; asked about %s", pods)
		f.Close()
	}
}

// TestTerminatingPodsHoldNoClaims has a queue with more devices than its quota. A pod that shares their claim is
// charged nothing, as another pod still holds the claim: one that is being deleted is not refunded again.
func TestTerminatingPodsHoldNoClaims(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 1}).
		Pods("run", "q", "", 2, 0, testbed.On("node"), testbed.Requesting("cpu", 1000)).Pods("wait", "q", "", 1, 0, testbed.Requesting("cpu", 1000))
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
	f := openClaimed(t, s, testbed.PodClaims{"run-0": shared, "run-1": shared, "wait-0": shared})
	if f == nil {
		return
	}
	defer f.Close()
	require.NoError(t, f.Session.Evict(f.Task("run-0"), "test"))
	assert.True(t, fitsWithout(f, "wait-0", "run-0"))
}

// TestRefusedClaimsLeaveTheRequest expects a refusal to leave the request unchanged, because several goroutines may
// ask about one request at the same time.
func TestRefusedClaimsLeaveTheRequest(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 1}).Pods("wait", "q", "", 1, 0, testbed.Requesting("cpu", 1000))
	f := openClaimed(t, s, testbed.PodClaims{"wait-0": {"ns/c": gpuDevices(2)}})
	if f == nil {
		return
	}
	defer f.Close()
	own := &f.Own.Session
	ask := own.Ask(f.Own.Index.Lookup("q"), f.Task("wait-0"), fastres.NewVector(own.Intake.Dims.Length()))
	before := fastres.NewVector(own.Intake.Dims.Length())
	before.CopyFrom(ask.Request)
	require.False(t, own.Fits(&own.Books.Now, &ask).OK())
	assert.Equal(t, before, ask.Request)
}

// TestSeriesOfDevices has the devices of a queue in the metrics, when pods get a node and a job is admitted.
func TestSeriesOfDevices(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 8}).Pods("runs", "q", "", 2, 0, testbed.InPhase(workload.Inqueue)).Pods("waits", "q", "", 1, 0)
	f := openClaimed(t, s, testbed.PodClaims{"runs-0": {"ns/r0": gpuDevices(2)}, "runs-1": {"ns/r1": gpuDevices(1)}, "waits-0": {"ns/w": gpuDevices(3)}})
	if f == nil {
		return
	}
	defer f.Close()
	f.Job("waits").MinAvailable = 1
	series := "q " + testbed.GPUClass
	for pod, want := range []float64{2000, 3000} {
		require.NoError(t, framework.NewStatement(f.Session).Allocate(f.Task(fmt.Sprint("runs-", pod)), f.Nodes["node"]))
		assert.Equal(t, want, testbed.OurSeries("allocated_scalar_resources")[series])
	}
	f.JobEnqueued(f.Job("waits"))
	added := testbed.AddedMetrics(t)
	assert.Equal(t, 3000.0, added["queue_inqueue_scalar_resources "+series], added)
}

// TestDevicesOfTheFuture keeps cpu for a pod, so that the future differs from now. Devices of a pod that gets a node
// count in both.
func TestDevicesOfTheFuture(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 2}).
		Pods("runs", "q", "", 1, 0, testbed.InPhase(workload.Inqueue)).Pods("waits", "q", "", 1, 0)
	f := openClaimed(t, s, testbed.PodClaims{"runs-0": {"ns/r": gpuDevices(2)}, "waits-0": {"ns/w": gpuDevices(1)}})
	if f == nil {
		return
	}
	defer f.Close()
	own, q := &f.Own.Session, f.Own.Index.Lookup("q")
	kept := fastres.NewVector(own.Intake.Dims.Length())
	kept.Set(fastres.CPU, 1000)
	own.Books.Charge(q, index.None, kept)
	require.NoError(t, framework.NewStatement(f.Session).Allocate(f.Task("runs-0"), f.Nodes["node"]))
	for _, books := range []*quota.Books{&own.Books.Now, &own.Books.Future} {
		ask := own.Ask(q, f.Task("waits-0"), fastres.NewVector(own.Intake.Dims.Length()))
		assert.False(t, own.Fits(books, &ask).OK())
	}
}

// fitsWithout reports whether a task fits once another one is gone.
func fitsWithout(f *testbed.Fixture, task, other string) bool {
	q, own := f.Own.Index.Lookup("q"), &f.Own.Session
	ask := own.Ask(q, f.Task(task), fastres.NewVector(f.Own.Intake.Dims.Length()))
	return own.Fits(&own.Without([]*api.TaskInfo{f.Task(other)}).Books, &ask).OK()
}

// TestDeviceProblems names quotas of devices that have no effect, on each release, once.
func TestDeviceProblems(t *testing.T) {
	s := deviceScene().DeviceQueue("good", "", workload.Resources{"example.com/fpga": 2}).
		DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 2, testbed.GPUMemory: 80, testbed.NICClass: 0})
	s.Queues[1].Guarantee = workload.Resources{testbed.GPUClass: 1}
	s.Arguments[arguments.DeviceCapacities] = false
	var want []string
	if release.KnowsDeviceClaims() {
		want = []string{
			`q Warning spec.capability "deviceclass/nic.example.com": bounds nothing: a count of 0 is no bound, as in Volcano`,
			`q Warning spec.capability "memory.deviceclass/gpu.example.com": bounds nothing: capacities of devices have no quotas unless capacity.DRAConsumableCapacityEnable is true`,
			`q Warning spec.guarantee.resource "deviceclass/gpu.example.com": has no effect: of devices, only the capability counts`,
		}
	} else {
		off := fmt.Sprintf(`": bounds no devices: Volcano %s, which the scheduler is built with, does not read resource claims`, release.Built())
		for _, key := range []string{`spec.capability "` + testbed.GPUClass, `spec.capability "` + testbed.NICClass, `spec.capability "` + testbed.GPUMemory, `spec.guarantee.resource "` + testbed.GPUClass} {
			want = append(want, "q Warning "+key+off)
		}
	}
	assert.Equal(t, want, deviceEvents(t, s))
	s.Arguments = framework.Arguments{arguments.Semantics: release.V1144}
	assert.Equal(t, `q Warning spec.capability "deviceclass/gpu.example.com": bounds no devices: Volcano v1.14.4 has no quotas of device classes`, deviceEvents(t, s)[0])

	spec := &scheduling.QueueSpec{Capability: v1.ResourceList{testbed.GPUClass: resource.MustParse("1")}}
	assert.Equal(t, []string{`spec.capability "deviceclass/gpu.example.com": bounds no devices: the plugin proportion has no quotas of device classes`}, texts(session.ProportionName, nil, spec))
	if release.KnowsDeviceClaims() {
		assert.Empty(t, texts(session.CapacityName, nil, spec))
		assert.Equal(t, []string{`spec.capability "deviceclass/gpu.example.com": bounds no devices: capacity.DynamicResourceAllocationEnable is false`},
			texts(session.Name, framework.Arguments{arguments.DeviceQuotas: "false"}, spec))
	}
	assert.Empty(t, texts("drf", nil, spec), "a plugin of someone else")
}

func texts(name string, arguments framework.Arguments, spec *scheduling.QueueSpec) (all []string) {
	for _, p := range inspect.DeviceProblems(name, arguments, spec.Capability, spec.Deserved, spec.Guarantee.Resource) {
		all = append(all, p.String())
	}
	return all
}

// TestDevicesCountAlone guarantees devices to a queue, and bounds only the devices of the root. Neither concerns cpu,
// memory, or pods without devices.
func TestDevicesCountAlone(t *testing.T) {
	s := deviceScene().Queue("root", "").Queue("a", "root").Queue("b", "root").
		Pods("has", "b", "", 1, 0, testbed.On("node")).Pods("wants", "a", "", 1, 0)
	s.Queues[0].Capability = workload.Resources{testbed.GPUClass: 4}
	s.Queues[1].Deserved, s.Queues[2].Guarantee = workload.Resources{"cpu": 1000}, workload.Resources{testbed.GPUClass: 1}
	f := openClaimed(t, s, nil)
	if f == nil {
		return
	}
	assert.True(t, f.Allocatable(f.Queue("a"), f.Task("wants-0")))
	victims, _ := f.Own.Reclaim.Reclaimable(f.Task("wants-0"), []*api.TaskInfo{f.Task("has-0")})
	assert.Len(t, victims, 1)
}

// TestClaimsInSimulations adds pods to snapshots and removes them. The accounts of the session,
// and other snapshots, stay as they are.
func TestClaimsInSimulations(t *testing.T) {
	s := deviceScene().DeviceQueue("q", "", workload.Resources{testbed.GPUClass: 2}).
		Pods("a", "q", "", 2, 0, testbed.On("node")).Pods("b", "q", "", 1, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(2)}
	f := openClaimed(t, s, testbed.PodClaims{"a-0": shared, "a-1": shared, "b-0": {"ns/b": gpuDevices(1)}})
	if f == nil {
		return
	}
	b := f.Task("b-0")
	require.NoError(t, f.PrePredicateFn(b))
	first := f.GetCycleState(b.UID).Clone()
	second := first.Clone()
	fits := func() bool { return f.SimulateAllocatableFn(t.Context(), first, f.Queue("q"), b) }
	assert.False(t, fits())
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), first, b, f.Task("a-0"), f.Nodes["node"]))
	assert.False(t, fits(), "the other pod has the claim")
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), first, b, f.Task("a-1"), f.Nodes["node"]))
	assert.True(t, fits())
	require.NoError(t, f.SimulateAddTaskFn(t.Context(), first, b, f.Task("a-0"), f.Nodes["node"]))
	assert.False(t, fits())
	assert.False(t, f.SimulateAllocatableFn(t.Context(), second, f.Queue("q"), b), "another snapshot")
	assert.Equal(t, 2.0, devicesOf(f, "q", testbed.GPUClass), "the accounts of the session")
	assert.False(t, quota.DeviceClaimsFit(f.Own.Index, f.Own.Limit, &f.Own.Memory.Names, index.Queue(0), f.Own.Intake.DeviceClaims(b)).OK())
}

// TestPodLevelResources asks about a pod that requests resources for all its containers
// together. From v1.15 on Volcano counts them; before, it counts the containers.
func TestPodLevelResources(t *testing.T) {
	s := deviceScene().Queue("q", "").Pods("j", "q", "", 1, 0, testbed.InPhase(workload.Inqueue))
	s.Queues[0].Capability = workload.Resources{"cpu": 2000}
	f := s.Open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
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
	assert.Equal(t, before, f.Allocatable(f.Queue("q"), f.Task("j-0")))
	f.Run(t, allocate.New())
	assert.Equal(t, map[bool]int{true: 1, false: 0}[before], len(f.Cache.Bound))
}

// TestDevicesAcrossSessions opens session after session in which capacities of devices appear,
// names start again, quotas change and go, and the scheduler restarts.
func TestDevicesAcrossSessions(t *testing.T) {
	s := deviceScene().DeviceQueue("named", "", workload.Resources{testbed.GPUClass: 4}).Queue("free", "").
		Pods("runs", "named", "", 2, 0, testbed.On("node")).Pods("waits", "named", "", 1, 0).Pods("passes", "free", "", 1, 0)
	shared := map[string]map[string]release.Devices{"ns/shared": gpuDevices(3)}
	claims := testbed.PodClaims{"runs-0": shared, "runs-1": shared, "waits-0": {"ns/w": gpuDevices(1)}}
	if openClaimed(t, s, claims) == nil {
		return
	}
	run := testbed.NewSequence(t, s)
	run.Edit = claims.GiveAll
	compare := func(what string, allocated float64, waits, passes bool) {
		f := run.Open(t)
		assert.Equal(t, allocated, devicesOf(f, "named", testbed.GPUClass), what)
		assert.Equal(t, waits, f.Allocatable(f.Queue("named"), f.Task("waits-0")), what)
		assert.Equal(t, passes, f.Allocatable(f.Queue("free"), f.Task("passes-0")), what)
		f.Own.Index.Check()
	}
	compare("the first session", 3, true, true)
	for _, dimension := range []string{"memory", "cores", "slices", "bandwidth", "encoders", "decoders", "links", "tiles", "engines"} {
		claims["waits-0"] = map[string]map[string]release.Devices{"ns/w": gpuDevices(1, dimension, "1")}
		claims["passes-0"] = map[string]map[string]release.Devices{"ns/p": gpuDevices(9, dimension, "99")}
		compare("a new capacity: "+dimension, 3, false, true)
	}
	claims["waits-0"] = map[string]map[string]release.Devices{"ns/w": gpuDevices(1)}
	run.Last.Own.Memory.MaxNames = 0
	compare("names start again", 3, true, true)
	s.Queues[0].Capability = workload.Resources{"cpu": 1 << 30, "memory": 1 << 50, testbed.GPUClass: 3}
	compare("a lower quota", 3, false, true)
	run.Builder = &session.Builder{Variant: run.Builder.Variant}
	compare("a restart", 3, false, true)
	s.Queues[0].Capability = workload.Resources{"cpu": 1 << 30, "memory": 1 << 50}
	compare("no quota", 0, true, true)
	assert.False(t, run.Last.Own.Intake.HasDeviceClaims(), "claims are not read")
}
