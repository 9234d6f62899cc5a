package release_test

import (
	"os/exec"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestBuilt compares with the version that the build list selects. A checkout has no version: its
// types tell.
func TestBuilt(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "volcano.sh/volcano").Output()
	require.NoError(t, err)
	version, directory, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if version == "v0.0.0" {
		t.Logf("%s has the rules of %s", directory, release.Built())
		return
	}
	want, known := map[string]release.Release{
		"v1.14.1": release.V1141, "v1.14.2": release.V1144, "v1.14.3": release.V1144, "v1.14.4": release.V1144,
		"v1.15.0": release.V115, "v1.15.1": release.V115,
	}[version]
	require.True(t, known, "%s is not known: see docs/dev/FOLLOWING.md", version)
	assert.Equal(t, want, release.Built())
}

func TestParse(t *testing.T) {
	for _, name := range release.Names() {
		r, err := release.Parse(name)
		require.NoError(t, err)
		assert.Equal(t, name, r.String())
	}
	r, err := release.Parse("v1.13")
	assert.EqualError(t, err, `"v1.13" is not one of [v1.14.1 v1.14.4 v1.15 v1.16]`)
	assert.Equal(t, release.Built(), r)
}

func TestTold(t *testing.T) {
	volcano := func(version string, replace *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: []*debug.Module{
			{Path: "volcano.sh/apis", Version: "v1.14.1"},
			{Path: "volcano.sh/volcano", Version: version, Replace: replace},
		}}
	}
	fork := &debug.Module{Path: "example.com/volcano", Version: "v1.14.1"}
	for name, test := range map[string]struct {
		build *debug.BuildInfo
		want  bool
	}{
		"a release":                  {volcano("v1.15.1", nil), true},
		"a pseudo-version":           {volcano("v1.15.1-0.20260820101010-abcdefabcdef", nil), false},
		"a checkout":                 {volcano("v0.0.0", &debug.Module{Path: "../volcano"}), false},
		"a fork":                     {volcano("v1.14.1", fork), false},
		"a test":                     {&debug.BuildInfo{}, false},
		"a plugin in Volcano's own":  {&debug.BuildInfo{Main: debug.Module{Path: "volcano.sh/volcano", Version: "v1.14.1"}}, true},
		"a plugin in a commit of it": {&debug.BuildInfo{Main: debug.Module{Path: "volcano.sh/volcano", Version: "(devel)"}}, false},
	} {
		assert.Equal(t, test.want, release.Told(test.build), name)
	}
}

func TestRules(t *testing.T) {
	assert.Equal(t, release.Rules{}, release.V1141.Rules())
	assert.Equal(t, release.Rules{OpenRoot: true}, release.V1144.Rules())
	assert.Equal(t, release.Rules{OpenRoot: true, OrderVictims: true, OverusedByShare: true, QueueGates: true, DeviceQuotas: true}, release.V115.Rules())
	assert.Equal(t, release.V115.Rules(), release.V116.Rules(), "what upstream changed in v1.16 are differences of ours")
}

// open opens a session in which a plugin has registered hooks.
func open(t *testing.T, register func(*framework.Session)) *framework.Session {
	t.Helper()
	framework.RegisterPluginBuilder("hooks", func(framework.Arguments) framework.Plugin { return hooks{register} })
	room := v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourcePods: resource.MustParse("8")}
	node := api.NewNodeInfo(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1.NodeStatus{Allocatable: room, Capacity: room}})
	task := api.NewTaskInfo(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p", Annotations: map[string]string{
		scheduling.KubeGroupNameAnnotationKey: "j"}}, Spec: v1.PodSpec{Containers: []v1.Container{{}}}, Status: v1.PodStatus{Phase: v1.PodPending}})
	job := api.NewJobInfo(task.Job, task)
	job.PodGroup = &api.PodGroup{}
	return offline.Open(offline.NewCache(&api.ClusterInfo{Jobs: map[api.JobID]*api.JobInfo{job.UID: job}, Nodes: map[string]*api.NodeInfo{"n": node},
		Queues: map[api.QueueID]*api.QueueInfo{}, NodeList: []string{"n"}}), offline.Tiers(false, "hooks"))
}

type hooks struct{ register func(*framework.Session) }

func (hooks) Name() string                           { return "hooks" }
func (h hooks) OnSessionOpen(ssn *framework.Session) { h.register(ssn) }
func (hooks) OnSessionClose(*framework.Session)      {}

// TestTotals finds the totals in the session, by reflection, where sessions have them.
func TestTotals(t *testing.T) {
	guarantee, deserved := &api.Resource{MilliCPU: 1}, &api.Resource{MilliCPU: 2}
	ssn := &framework.Session{}
	release.SetTotals(ssn, guarantee, deserved)
	fields := reflect.ValueOf(ssn).Elem()
	for name, want := range map[string]*api.Resource{"TotalGuarantee": guarantee, "TotalDeserved": deserved} {
		field := fields.FieldByName(name)
		require.Equal(t, release.Built() == release.V1141, field.IsValid(), name)
		if field.IsValid() {
			assert.Same(t, want, field.Interface())
		}
	}
}

// TestPreemptive asks about several tasks. v1.15 asks the hook once.
func TestPreemptive(t *testing.T) {
	queue, tasks := &api.QueueInfo{Name: "q"}, []*api.TaskInfo{{Name: "a"}, {Name: "b"}}
	var asked []int
	ssn := open(t, func(ssn *framework.Session) {
		release.AddPreemptiveFn(ssn, "hooks", func(q *api.QueueInfo, tasks []*api.TaskInfo) bool {
			assert.Same(t, queue, q)
			asked = append(asked, len(tasks))
			return tasks[0].Name != "refused"
		})
	})
	assert.True(t, release.Preemptive(ssn)(queue, tasks...))
	want := []int{1, 1}
	if release.Built() >= release.V115 {
		want = []int{2}
	}
	assert.Equal(t, want, asked)
	assert.False(t, release.Preemptive(ssn)(queue, &api.TaskInfo{Name: "refused"}))
}

// TestUnifiedEvictable calls the hook through the session where sessions have gang eviction.
func TestUnifiedEvictable(t *testing.T) {
	job, candidates := &api.JobInfo{Name: "j"}, []*api.TaskInfo{{Name: "a", UID: "a"}, {Name: "b", UID: "b"}}
	var asked []release.Eviction
	ssn := open(t, func(ssn *framework.Session) {
		release.AddUnifiedEvictableFn(ssn, "hooks", func(e release.Eviction, tasks []*api.TaskInfo) ([]*api.TaskInfo, int) {
			asked = append(asked, e)
			return tasks[1:], util.Permit
		})
	})
	_, has := reflect.TypeOf(ssn).MethodByName("UnifiedEvictable")
	require.Equal(t, release.Built() >= release.V115, has)
	for _, kind := range []release.EvictionKind{release.GangPreempt, release.GangReclaim} {
		victims := release.UnifiedEvictable(ssn, release.Eviction{Kind: kind, Job: job}, candidates)
		if !has {
			assert.Empty(t, victims)
			continue
		}
		assert.Equal(t, candidates[1:], victims)
		assert.Equal(t, release.Eviction{Kind: kind, Job: job}, asked[len(asked)-1])
	}
}

// TestFailedStatements has an event handler that refuses a task. Nothing of it is left.
func TestFailedStatements(t *testing.T) {
	var charged int
	ssn := open(t, func(ssn *framework.Session) {
		ssn.AddEventHandler(&framework.EventHandler{
			AllocateFunc:   func(e *framework.Event) { charged++; e.Err = assert.AnError },
			DeallocateFunc: func(*framework.Event) { charged-- },
		})
	})
	statement := framework.NewStatement(ssn)
	job := ssn.Jobs["ns/j"]
	for _, task := range job.Tasks {
		assert.Error(t, release.Allocate(statement, task, ssn.Nodes["n"]))
		assert.Equal(t, api.Pending, task.Status)
		assert.Error(t, release.Pipeline(statement, task, "n", false))
		assert.Equal(t, api.Pending, task.Status)
	}
	assert.Zero(t, charged)
	assert.Empty(t, ssn.Nodes["n"].Tasks)
}

// TestEvict evicts a running task.
func TestEvict(t *testing.T) {
	ssn := open(t, func(*framework.Session) {})
	for _, task := range ssn.Jobs["ns/j"].Tasks {
		require.NoError(t, release.Allocate(framework.NewStatement(ssn), task, ssn.Nodes["n"]))
		require.NoError(t, release.Evict(framework.NewStatement(ssn), task, "test"))
		assert.Equal(t, api.Releasing, task.Status)
	}
}

// TestClaims gives a task resource claims, by reflection, where tasks have them.
func TestClaims(t *testing.T) {
	task := &api.TaskInfo{}
	fields := reflect.ValueOf(task).Elem()
	all, names, claims := fields.FieldByName("DRAResreq"), fields.FieldByName("ResourceClaimKeys"), fields.FieldByName("ResourceClaimDRAResreq")
	found := map[string]release.Devices{}
	visit := func(claim, class string, devices release.Devices) { found[claim+" of "+class] = devices }
	release.EachDeviceClaim(task, visit)
	assert.False(t, release.HasDeviceClaims(task))
	assert.Empty(t, found)
	require.Equal(t, release.Built() >= release.V115, release.KnowsDeviceClaims())
	require.Equal(t, release.KnowsDeviceClaims(), all.IsValid() && names.IsValid() && claims.IsValid(), "the bridge is live where the fields are")
	if !release.KnowsDeviceClaims() {
		return
	}
	want := release.Devices{Count: 2, Capacity: map[string]resource.Quantity{"memory": resource.MustParse("8Gi")}}
	devices := reflect.MakeMap(all.Type())
	pointer := reflect.New(all.Type().Elem().Elem())
	pointer.Elem().Set(reflect.ValueOf(want).Convert(pointer.Elem().Type()))
	devices.SetMapIndex(reflect.ValueOf("gpu"), pointer)
	devices.SetMapIndex(reflect.ValueOf("none"), reflect.Zero(pointer.Type()))
	all.Set(devices)
	assert.True(t, release.HasDeviceClaims(task))
	release.EachDeviceClaim(task, visit)
	assert.Equal(t, map[string]release.Devices{" of gpu": want}, found, "devices without a claim")

	clear(found)
	byClaim := reflect.MakeMap(claims.Type())
	byClaim.SetMapIndex(reflect.ValueOf("ns/c"), devices)
	claims.Set(byClaim)
	names.Set(reflect.ValueOf([]string{"ns/c", "ns/unknown"}))
	release.EachDeviceClaim(task, visit)
	assert.Equal(t, map[string]release.Devices{"ns/c of gpu": want}, found)
}
