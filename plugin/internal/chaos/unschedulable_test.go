package chaos

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/internal/world"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

var cachedWorlds = flag.Int("cached-worlds", 200, "how many random worlds TestUnschedulableCache compares")

// withUnschedulableCache turns Volcano's cache of unschedulable jobs on, and skips the test where Volcano has none.
func withUnschedulableCache(t *testing.T) {
	const gate = "UnschedulableJobCache"
	if _, known := utilfeature.DefaultMutableFeatureGate.GetAll()[gate]; !known {
		t.Skip("this Volcano has no cache of unschedulable jobs")
	}
	require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set(gate+"=true"))
	t.Cleanup(func() { require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set(gate+"=false")) })
}

// TestUnschedulableCache plays random worlds with Volcano's cache of unschedulable jobs and without it. All decisions
// are the same.
func TestUnschedulableCache(t *testing.T) {
	withUnschedulableCache(t)
	defer testbed.OneAtATime()()
	skips, sessions := 0, 0
	for i := range *cachedWorlds {
		seed := *worldSeed + uint64(i)
		s := drawScenario(seed)
		if *worldName != "" && s.Plugin != *worldName || !strings.Contains(s.String(), *worldWith) {
			continue
		}
		with, found := playCached(s)
		if found != nil {
			small := world.Minimise(s, 300, func(s *world.Scenario) bool {
				_, again := playCached(s)
				return again != nil && again.invariant == found.invariant
			})
			with, found := playCached(small)
			t.Fatalf("seed %d: %v\n%s\n%s", seed, found, small, strings.Join(with.History, "\n"))
		}
		if without, _ := play(s, nil); !slices.Equal(without.History, with.History) && differ(s) {
			small := world.Minimise(s, 100, differ)
			without, _ := play(small, nil)
			with, _ := playCached(small)
			t.Fatalf("seed %d\n%s\nnot asked: %v\nwithout the cache:\n%s\nwith it:\n%s", seed, small, with.cached.skipped,
				strings.Join(without.History, "\n"), strings.Join(with.History, "\n"))
		}
		if (i+1)%100 == 0 {
			t.Logf("%d worlds", i+1)
		}
		skips, sessions = skips+with.seen["jobs not asked"], sessions+with.seen["cycles"]
	}
	t.Logf("%d worlds, %d sessions, %d times a job was not asked about", *cachedWorlds, sessions, skips)
	if *cachedWorlds >= 100 && *worldWith == "" {
		assert.Greater(t, skips, *cachedWorlds)
	}
}

// differ reports whether a scenario takes another course with the cache. Volcano's own choices depend on the order of
// maps here and there, so that a run may differ from the next one: several of each are compared.
func differ(s *world.Scenario) bool {
	courses := map[string]bool{}
	for range 8 {
		without, _ := play(s, nil)
		courses[strings.Join(without.History, "\n")] = true
		if with, _ := playCached(s); courses[strings.Join(with.History, "\n")] {
			return false
		}
	}
	return true
}

// playCached plays a scenario with Volcano's cache of unschedulable jobs.
func playCached(s *world.Scenario) (*chaos, *violation) {
	w := newChaos(s.Config)
	w.cached = &cachedJobs{world: w}
	return playIn(w, s, nil)
}

// cachedJobs is Volcano's own cache of unschedulable jobs, made without an API server. No release has its declarations,
// so that they are found by their names.
type cachedJobs struct {
	world   *chaos
	builder *session.Builder // with the records; another one is a scheduler that starts anew
	records reflect.Value    // *cache.UnschedulableJobCache
	objects map[string]runtimeObject
	skipped []string
	told    []*world.Job // jobs with a reason about which the last session did not ask
	cycle   int          // of that session
}

// runtimeObject is an object as Volcano's cache hands it to hints, and what kind it is.
type runtimeObject struct {
	resource fwk.EventResource
	uid      string
	object   any
}

// open opens a session with the cache, after it has been told what has changed since the last one.
func (k *cachedJobs) open(c *offline.Cache, tiers []conf.Tier) *framework.Session {
	for _, j := range k.told {
		if j.Reasons == "" && k.cycle == k.world.Cycle-1 {
			violated("every refusal has a reason", "nobody asked about job %s, and it has no reason any more", j.Spec.Name)
		}
	}
	k.told, k.cycle = nil, k.world.Cycle
	if k.builder != k.world.builder {
		k.builder, k.objects = k.world.builder, nil
		k.records = k.make()
	}
	now := k.read()
	if k.objects != nil {
		k.tell(k.objects, now)
	}
	k.objects = now
	open := reflect.ValueOf(framework.OpenSession)
	option := reflect.MakeFunc(open.Type().In(3).Elem(), func(args []reflect.Value) []reflect.Value {
		set(args[0].Elem().FieldByName("unschedulableCache"), k.records)
		return nil
	})
	opened := open.Call([]reflect.Value{reflect.ValueOf(c), reflect.ValueOf(tiers), reflect.ValueOf([]conf.Configuration(nil)), option})
	ssn := opened[0].Interface().(*framework.Session)
	for _, j := range k.world.World.Jobs {
		if job := ssn.Jobs[j.ID()]; job != nil && release.Skipped(job) {
			k.world.seen["jobs not asked"]++
			k.skipped = append(k.skipped, fmt.Sprintf("cycle %d: %s", k.world.Cycle, j.Spec.Name))
			if j.Reasons != "" {
				k.told = append(k.told, j)
			}
		}
	}
	return ssn
}

// make makes an empty cache.
func (k *cachedJobs) make() reflect.Value {
	field, _ := reflect.TypeOf(cache.SchedulerCache{}).FieldByName("unschedulableCache")
	records := reflect.New(field.Type.Elem())
	for _, name := range []string{"records", "byResource", "wildcard"} {
		f := records.Elem().FieldByName(name)
		set(f, reflect.MakeMap(f.Type()))
	}
	registry := reflect.New(records.Elem().FieldByName("registry").Type().Elem())
	events := registry.Elem().FieldByName("eventsByPlugin")
	set(events, reflect.MakeMap(events.Type()))
	set(records.Elem().FieldByName("registry"), registry)
	set(records.Elem().FieldByName("maxSkipDuration"), reflect.ValueOf(time.Hour))
	set(records.Elem().FieldByName("jobGetter"), reflect.ValueOf(func(id api.JobID) *api.JobInfo {
		for _, j := range k.world.World.Jobs {
			if j.ID() == id {
				return &api.JobInfo{UID: id, Namespace: j.Namespace(), Name: j.Spec.Name, Queue: api.QueueID(j.Spec.Queue)}
			}
		}
		return nil
	}))
	return records
}

// set sets a field that is not exported.
func set(field, to reflect.Value) {
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(to)
}

// read returns copies of all objects.
func (k *cachedJobs) read() map[string]runtimeObject {
	all := map[string]runtimeObject{}
	w := k.world.World
	for name, n := range w.Nodes {
		if !n.Lost {
			all["node "+name] = runtimeObject{fwk.Node, string(n.Object.UID), n.Object.DeepCopy()}
		}
	}
	for name, q := range w.Queues {
		all["queue "+name] = runtimeObject{"Queue", string(q.Object.UID), q.Object.DeepCopy()}
	}
	for _, j := range slices.Concat(w.Jobs, w.Orphans) {
		if slices.Contains(w.Jobs, j) {
			all["group "+string(j.ID())] = runtimeObject{"PodGroup", string(j.Group.UID), j.Group.Clone()}
		}
		for _, p := range j.All() {
			all["pod "+string(p.Object.UID)] = runtimeObject{fwk.Pod, string(p.Object.UID), p.Object.DeepCopy()}
		}
	}
	devices := k.world.DeviceObjects()
	for _, each := range devices.Claims {
		all["claim "+each.Namespace+"/"+each.Name] = runtimeObject{fwk.ResourceClaim, string(each.UID), each.DeepCopy()}
	}
	for _, each := range devices.Slices {
		all["slice "+each.Name] = runtimeObject{fwk.ResourceSlice, string(each.UID), each.DeepCopy()}
	}
	for _, each := range devices.Classes {
		all["class "+each.Name] = runtimeObject{fwk.DeviceClass, string(each.UID), each.DeepCopy()}
	}
	return all
}

// tell tells the cache of each change, as the event handlers of Volcano's cache do (cache/event_handlers.go).
func (k *cachedJobs) tell(before, now map[string]runtimeObject) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if old := before[name]; now[name].uid != old.uid || now[name].object == nil {
			k.forget(old.object)
			k.event(old.resource, fwk.Delete, old.object, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		is := now[name]
		old, was := before[name]
		switch {
		case !was || old.uid != is.uid:
			k.event(is.resource, fwk.Add, nil, is.object)
		case !equality.Semantic.DeepEqual(old.object, is.object):
			k.update(is.resource, old.object, is.object)
		}
	}
}

func (k *cachedJobs) update(resource fwk.EventResource, old, now any) {
	switch now := now.(type) {
	case *v1.Pod:
		old := old.(*v1.Pod)
		if ended := now.Status.Phase == v1.PodSucceeded || now.Status.Phase == v1.PodFailed; ended && old.Status.Phase != now.Status.Phase {
			k.event(resource, fwk.Delete, old, nil)
			return
		}
		for _, event := range kubescheduler.PodSchedulingPropertiesChange(now, old) {
			k.event(resource, event.ActionType, old, now)
		}
		return
	case *v1.Node:
		for _, event := range kubescheduler.NodeSchedulingPropertiesChange(now, old.(*v1.Node)) {
			k.event(resource, event.ActionType, old, now)
		}
		return
	case *api.PodGroup:
		if !equality.Semantic.DeepEqual(old.(*api.PodGroup).Spec, now.Spec) {
			k.forget(now)
		}
	}
	k.event(resource, fwk.Update, old, now)
}

// forget forgets the job of a PodGroup.
func (k *cachedJobs) forget(object any) {
	if group, ok := object.(*api.PodGroup); ok {
		k.records.MethodByName("ForgetUnschedulable").Call([]reflect.Value{reflect.ValueOf(api.JobID(group.Namespace + "/" + group.Name))})
	}
}

func (k *cachedJobs) event(resource fwk.EventResource, action fwk.ActionType, old, now any) {
	tell := k.records.MethodByName("OnEvent")
	event := reflect.New(tell.Type().In(0)).Elem()
	event.FieldByName("Resource").Set(reflect.ValueOf(resource))
	event.FieldByName("ActionType").Set(reflect.ValueOf(action))
	tell.Call([]reflect.Value{event, reflect.ValueOf(&old).Elem(), reflect.ValueOf(&now).Elem()})
}

// TestUnschedulableCacheInScenes runs all scenes with the cache.
func TestUnschedulableCacheInScenes(t *testing.T) {
	withUnschedulableCache(t)
	TestScenes(t)
}

// TestUnschedulableCacheLosesEvents removes the pod that keeps another job waiting while a session runs. Volcano's
// cache then has no record of the job yet, so that nothing wakes it: docs/dev/UPSTREAM.md.
func TestUnschedulableCacheLosesEvents(t *testing.T) {
	withUnschedulableCache(t)
	defer testbed.OneAtATime()()
	w := newChaos(world.Config{Plugin: session.Name, Actions: []string{"enqueue", "allocate"}})
	w.cached = &cachedJobs{world: w}
	deeds := func(lines ...string) (all []world.Deed) {
		for _, line := range lines {
			deed, err := world.ParseDeed(line)
			require.NoError(t, err)
			all = append(all, deed)
		}
		return all
	}
	w.next(deeds("node n cards=A:8 has=cpu:8,memory:8Gi,pods:100", "queue q quota=A:1", "job first queue=q card=A gpus=1", "job second queue=q card=A gpus=1"), nil)
	w.next(nil, nil)
	first := w.Job("first")
	require.True(t, first.Pods[0].Placed())
	w.begin()
	c := w.open(nil)
	for _, name := range w.Actions {
		actionOf(name).Execute(c.Session)
	}
	w.World.Jobs = slices.DeleteFunc(w.World.Jobs, func(j *world.Job) bool { return j == first })
	now := w.cached.read()
	w.cached.tell(w.cached.objects, now)
	w.cached.objects = now
	jobs := c.Jobs
	framework.CloseSession(c.Session)
	w.follow(jobs)
	w.next(nil, nil)
	require.Contains(t, w.cached.skipped, fmt.Sprintf("cycle %d: second", w.Cycle), "mended: change docs/dev/UPSTREAM.md")
	assert.False(t, w.Job("second").Pods[0].Placed())
}
