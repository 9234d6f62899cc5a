package session

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcfake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	vcscheme "volcano.sh/apis/pkg/client/clientset/versioned/scheme"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// volcanoCache is a cluster in Volcano's own cache, which reads NamespaceQueues as it does in a scheduler. Its clients
// are fake.
type volcanoCache struct {
	*cache.SchedulerCache
	t       *testing.T
	builder *Builder
	events  chan *v1.Event
	written map[string]string // the status of NamespaceQueues that Volcano wrote last
}

// newVolcanoCache returns a cluster with the Queue research of 4 cards, and a node of 8. A release without
// NamespaceQueues skips the test.
func newVolcanoCache(t *testing.T) *volcanoCache {
	t.Helper()
	if !release.KnowsNamespaceQueues() {
		t.Skipf("Volcano %s has no NamespaceQueue", release.Built())
	}
	require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set("NamespaceQueue=true"))
	t.Cleanup(func() { assert.NoError(t, utilfeature.DefaultMutableFeatureGate.Set("NamespaceQueue=false")) })
	c := &volcanoCache{SchedulerCache: cache.NewDefaultMockSchedulerCache("volcano"), t: t,
		builder: &Builder{Variant: cardBuilder.Variant}, events: make(chan *v1.Event, 10), written: map[string]string{}}
	c.Client().(*fake.Clientset).PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		event := action.(clienttesting.CreateAction).GetObject().(*v1.Event)
		c.events <- event
		return true, event, nil
	})
	c.tracker().PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.UpdateAction).GetObject()
		text, err := json.Marshal(object)
		assert.NoError(t, err)
		c.written[object.(metav1.Object).GetName()] = string(text)
		return false, nil, nil
	})
	for _, q := range []scheduling.Queue{
		{ObjectMeta: metav1.ObjectMeta{Name: "root"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "research", Annotations: map[string]string{"volcano.sh/card.quota": `{"A":4}`}}},
	} {
		q.UID, q.ResourceVersion, q.Generation, q.Status.State = types.UID(q.Name), "1", 1, scheduling.QueueStateOpen
		c.AddQueueV1beta1(&q)
		require.NoError(t, c.tracker().Tracker().Add(&q))
	}
	room := v1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("99"), gpuName: resource.MustParse("8")}
	require.NoError(t, c.AddOrUpdateNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"nvidia.com/gpu.product": "A"}},
		Status: v1.NodeStatus{Allocatable: room, Capacity: room, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}))
	return c
}

func (c *volcanoCache) tracker() *vcfake.Clientset { return c.VCClient().(*vcfake.Clientset) }

// give gives the cache a NamespaceQueue of the namespace team, or a new version of it.
func (c *volcanoCache) give(name, parent, state, quota string, version int) {
	annotations := map[string]string{}
	if quota != "" {
		annotations["volcano.sh/card.quota"] = quota
	}
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "team", "uid": name, "generation": version,
			"resourceVersion": fmt.Sprint(version), "annotations": annotations},
		"spec": map[string]any{"parent": parent, "state": state, "priority": 3, "reclaimable": true, "deserved": map[string]any{"cpu": "7"},
			"capability": map[string]any{"cpu": "60"}, "guarantee": map[string]any{"resource": map[string]any{"cpu": "1"}}},
		"status": map[string]any{"state": state, "conditions": []map[string]any{
			{"type": "Ready", "status": "True", "observedGeneration": version}}},
	})
	require.NoError(c.t, err)
	object, err := vcscheme.Scheme.New(scheduling.SchemeGroupVersion.WithKind("NamespaceQueue"))
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(text, object))
	add := reflect.ValueOf(c.SchedulerCache).MethodByName("AddNamespaceQueueV1beta1")
	add.Call([]reflect.Value{reflect.ValueOf(object)})
	if version == 1 {
		require.NoError(c.t, c.tracker().Tracker().Add(object))
	}
}

// pods gives the cache a job of n pods in a queue of the namespace team. They run on node a, or wait.
func (c *volcanoCache) pods(job, queue string, n int, run bool) {
	group := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: job, Namespace: "team", UID: types.UID(job)},
		Spec: scheduling.PodGroupSpec{Queue: queue, MinMember: 1}, Status: scheduling.PodGroupStatus{Phase: scheduling.PodGroupInqueue}}
	c.AddPodGroupV1beta1(group)
	for i := range n {
		name := fmt.Sprintf("%s-%d", job, i)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID(name),
			Annotations: map[string]string{scheduling.KubeGroupNameAnnotationKey: job, "volcano.sh/card.name": "A", "volcano.sh/preemptable": "true"}},
			Spec: v1.PodSpec{SchedulerName: "volcano", Containers: []v1.Container{{Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{"cpu": resource.MustParse("1"), gpuName: resource.MustParse("1")}}}}},
			Status: v1.PodStatus{Phase: v1.PodPending}}
		if run {
			pod.Spec.NodeName, pod.Status.Phase = "a", v1.PodRunning
		}
		c.AddPod(pod)
	}
}

// open opens a session with the plugin. It is to be closed by Volcano.
func (c *volcanoCache) open() *fixture {
	c.t.Helper()
	var ours *Plugin
	framework.RegisterPluginBuilder(Name, func(a framework.Arguments) framework.Plugin {
		ours = c.builder.Build(a).(*Plugin)
		return ours
	})
	tiers := offline.Tiers(true, Name)
	tiers[0].Plugins[0].Arguments = framework.Arguments{arguments.UnsetCapability: "unlimited"}
	f := &fixture{Session: framework.OpenSession(c.SchedulerCache, tiers, nil)}
	f.own = ours.Session
	return f
}

// path returns the names of a queue and all above it.
func (f *fixture) path(queue string) (names []string) {
	for _, q := range f.own.Index.Path(f.own.Index.Lookup(queue)) {
		names = append(names, f.own.Index.Name(q))
	}
	return names
}

// TestNamespaceQueues opens sessions on Volcano's own cache, and has Volcano close them.
func TestNamespaceQueues(t *testing.T) {
	defer testbed.OneAtATime()()
	c := newVolcanoCache(t)
	c.give("dept", "cluster/research", "Open", "", 1)
	c.give("train", "dept", "Open", `{"A":3}`, 1)
	c.pods("runs", "namespace/train", 2, true)
	c.pods("waits", "namespace/train", 2, false)
	f := c.open()
	require.Equal(t, []string{"team/train", "team/dept", "research", "root"}, f.path("team/train"))
	for _, queue := range f.path("team/train") {
		assert.Equal(t, 2.0, f.cardsOf(queue, "A"), queue)
	}
	object := f.queue("team/train").Queue
	assert.Equal(t, []string{"team/train", "team", "team/dept"}, []string{object.Name, object.Namespace, object.Spec.Parent})
	assert.Equal(t, int32(3), object.Spec.Priority)
	waits := f.Jobs["team/waits"]
	require.NotNil(t, waits)
	assert.True(t, f.Allocatable(f.queue("team/train"), waits.Tasks["waits-0"]))
	c.pods("more", "namespace/train", 1, true)
	framework.CloseSession(f.Session)

	f = c.open()
	assert.Same(t, object, f.queue("team/train").Queue, "the same version")
	assert.Empty(t, f.own.Memory.queues.Changed())
	assert.False(t, f.own.Intake.BoundsChanged)
	assert.False(t, f.Allocatable(f.queue("team/train"), f.Jobs["team/waits"].Tasks["waits-0"]), "3 cards run")
	framework.CloseSession(f.Session)

	c.give("train", "dept", "Open", `{"A":4}`, 2)
	f = c.open()
	require.Len(t, f.own.Memory.queues.Changed(), 1)
	assert.NotSame(t, object, f.queue("team/train").Queue)
	assert.True(t, f.Allocatable(f.queue("team/train"), f.Jobs["team/waits"].Tasks["waits-0"]))
	framework.CloseSession(f.Session)
}

// TestNamespaceQueuesThatAreNotScheduled closes a NamespaceQueue above another one. Their pods count above them.
func TestNamespaceQueuesThatAreNotScheduled(t *testing.T) {
	defer testbed.OneAtATime()()
	c := newVolcanoCache(t)
	c.give("dept", "cluster/research", "Closed", "", 1)
	c.give("train", "dept", "Open", `{"A":3}`, 1)
	c.give("other", "cluster/research", "Open", `{"A":4}`, 1)
	c.pods("runs", "namespace/train", 2, true)
	c.pods("waits", "namespace/train", 2, false)
	c.pods("others", "namespace/other", 2, true)
	c.pods("next", "namespace/other", 1, false)
	f := c.open()
	assert.NotContains(t, f.Queues, api.QueueID("team/train"))
	assert.NotContains(t, f.Jobs, api.JobID("team/runs"))
	assert.Equal(t, []float64{4, 4, 2}, []float64{f.cardsOf("root", "A"), f.cardsOf("research", "A"), f.cardsOf("team/other", "A")})
	next := f.Jobs["team/next"].Tasks["next-0"]
	assert.False(t, f.Allocatable(f.queue("team/other"), next), "4 cards of the Queue research run")
	framework.CloseSession(f.Session)
	for queue, cpu := range map[string]int{"root": 4, "research": 4, "dept": 2, "train": 2, "other": 2} {
		assert.Contains(t, c.written[queue], fmt.Sprintf(`"allocated":{"cpu":"%d"`, cpu), "Volcano writes what they have")
	}

	c.give("dept", "cluster/research", "Open", "", 2)
	f = c.open()
	assert.Equal(t, 2.0, f.cardsOf("team/dept", "A"))
	framework.CloseSession(f.Session)
}

// TestNamespaceQueuesInACycle closes a session on NamespaceQueues that are above one another, and on one whose parent
// does not exist. Volcano walks up from each pod.
func TestNamespaceQueuesInACycle(t *testing.T) {
	defer testbed.OneAtATime()()
	c := newVolcanoCache(t)
	c.give("x", "y", "Open", "", 1)
	c.give("y", "x", "Open", "", 1)
	c.give("lost", "gone", "Open", "", 1)
	c.pods("in-cycle", "namespace/x", 1, true)
	c.pods("in-lost", "namespace/lost", 1, true)
	f := c.open()
	assert.Equal(t, 0.0, f.cardsOf("root", "A"), "no queue is above them")
	done := make(chan struct{}, 1)
	go func() { framework.CloseSession(f.Session); done <- struct{}{} }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Volcano walks up without end")
	}
}

// TestWarningsOnNamespaceQueues records an event on the NamespaceQueue whose annotation is wrong.
func TestWarningsOnNamespaceQueues(t *testing.T) {
	defer testbed.OneAtATime()()
	c := newVolcanoCache(t)
	c.give("train", "cluster/research", "Open", `{"A":"x"}`, 1)
	framework.CloseSession(c.open().Session)
	event := <-c.events
	of := event.InvolvedObject
	assert.Equal(t, []string{"NamespaceQueue", "team", "train", "train", "scheduling.volcano.sh/v1beta1"},
		[]string{of.Kind, of.Namespace, of.Name, string(of.UID), of.APIVersion})
	assert.Equal(t, record.BadCardAnnotation, event.Reason)
	framework.CloseSession(c.open().Session)
	assert.Empty(t, c.events, "the event is recorded twice")
}

// TestNewQueueInfo compares the NamespaceQueues of tests and worlds with those of Volcano.
func TestNewQueueInfo(t *testing.T) {
	c := newVolcanoCache(t)
	c.give("train", "cluster/research", "Open", `{"A":3}`, 1)
	theirs := c.Snapshot().Queues["team/train"]
	ours := release.NewQueueInfo(release.QueueObject(theirs))
	assert.Equal(t, release.NamespaceQueue(theirs), release.NamespaceQueue(ours))
	for i := range reflect.TypeFor[api.QueueInfo]().NumField() {
		switch name := reflect.TypeFor[api.QueueInfo]().Field(i).Name; name {
		case "NamespaceQueue", "DequeueStrategy": // of which only the metadata count, and which no plugin reads
		default:
			assert.Equal(t, reflect.ValueOf(theirs).Elem().Field(i).Interface(), reflect.ValueOf(ours).Elem().Field(i).Interface(), name)
		}
	}
}
