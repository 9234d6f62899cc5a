package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// stockCluster is a cluster in Volcano's own cache: two nodes with eight A, and the queues q and g with quotas of 16.
type stockCluster struct {
	*cache.SchedulerCache
	t       *testing.T
	builder *session.Builder
	tree    bool
}

func newStockCluster(t *testing.T, variant arguments.Variant, tree bool) *stockCluster {
	c := &stockCluster{cache.NewDefaultMockSchedulerCache("volcano"), t, &session.Builder{Variant: variant}, tree}
	for name, annotations := range map[string]map[string]string{
		"root": nil,
		"q":    {"volcano.sh/card.quota": `{"A":16}`, "volcano.sh/card.guarantee": `{"A":0}`},
		"g":    {"volcano.sh/card.quota": `{"A":16}`, "volcano.sh/card.guarantee": `{"A":2}`},
	} {
		q := v1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations, UID: types.UID(name), ResourceVersion: "1"}}
		q.Status.State = v1beta1.QueueStateOpen
		c.AddQueueV1beta1(&q)
	}
	c.node("a", 8, 1)
	c.node("b", 8, 1)
	return c
}

// node gives the cache a node with a number of cards, or a new version of it.
func (c *stockCluster) node(name string, cards, version int) {
	room := v1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("99"),
		testbed.GPU: *resource.NewQuantity(int64(cards), resource.DecimalSI)}
	require.NoError(c.t, c.AddOrUpdateNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": "A"}, ResourceVersion: fmt.Sprint(version)},
		Status: v1.NodeStatus{Allocatable: room, Capacity: room,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}))
}

// pod gives the cache a pod with cards that runs on a node, or waits for one. Without a queue it is another
// scheduler's.
func (c *stockCluster) pod(name, queue, node string, cards int) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{SchedulerName: "default-scheduler", NodeName: node, Containers: []v1.Container{{Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{testbed.GPU: *resource.NewQuantity(int64(cards), resource.DecimalSI)}}}}},
		Status: v1.PodStatus{Phase: v1.PodPending}}
	if node != "" {
		pod.Status.Phase = v1.PodRunning
	}
	if queue != "" {
		pod.Spec.SchedulerName = "volcano"
		pod.Annotations = map[string]string{v1beta1.KubeGroupNameAnnotationKey: name, "volcano.sh/card.name": "A"}
		c.AddPodGroupV1beta1(&v1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
			Spec: v1beta1.PodGroupSpec{Queue: queue, MinMember: 1}, Status: v1beta1.PodGroupStatus{Phase: v1beta1.PodGroupPhase(scheduling.PodGroupInqueue)}})
	}
	c.AddPod(pod)
}

// open opens a session with the plugin.
func (c *stockCluster) open() *testbed.Fixture {
	var ours *session.Plugin
	framework.RegisterPluginBuilder(c.builder.Variant.Name, func(a framework.Arguments) framework.Plugin {
		ours = c.builder.Build(a).(*session.Plugin)
		return ours
	})
	tiers := offline.Tiers(c.tree, c.builder.Variant.Name)
	tiers[0].Plugins[0].Arguments = framework.Arguments{arguments.UnsetCapability: "unlimited"}
	f := &testbed.Fixture{Session: framework.OpenSession(c.SchedulerCache, tiers, nil)}
	f.Own = ours.Session
	return f
}

// TestStockInVolcanosCache breaks a card of a full node, and runs pods of another scheduler, in Volcano's own cache.
// Queue q may have all cards that the nodes give and pods of queues hold. Exceptions are the cards of the other
// scheduler's pods and the two that are guaranteed to g.
func TestStockInVolcanosCache(t *testing.T) {
	defer testbed.OneAtATime()()
	for _, variant := range []arguments.Variant{session.BuilderOf(session.Name).Variant, session.BuilderOf(session.CapacityName).Variant} {
		for _, tree := range []bool{true, false} {
			for name, test := range map[string]struct {
				other int // cards of another scheduler's pod on b
				gives int // cards of a that are left
				fits  int // cards of the largest pod of q that fits
			}{
				"all cards work":           {0, 8, 6},
				"one card breaks":          {0, 7, 6},
				"three cards break":        {0, 5, 6},
				"another scheduler's pods": {4, 8, 2},
				"both":                     {4, 7, 2},
			} {
				t.Run(fmt.Sprint(variant.Name, " tree ", tree, " ", name), func(t *testing.T) {
					c := newStockCluster(t, variant, tree)
					c.pod("runs", "q", "a", 8)
					if test.other > 0 {
						c.pod("other", "", "b", test.other)
					}
					for cards := range 8 {
						c.pod(fmt.Sprint("waits-", cards+1), "q", "", cards+1)
					}
					framework.CloseSession(c.open().Session)
					c.node("a", test.gives, 2)

					for _, builder := range []*session.Builder{c.builder, {Variant: variant}} { // goes on, or restarts
						c.builder = builder
						f, fits := c.open(), 0
						for cards := range 8 {
							waits := f.Job(fmt.Sprint("waits-", cards+1))
							for _, task := range waits.Tasks {
								if f.Allocatable(f.Queue("q"), task) {
									fits = cards + 1
								}
							}
						}
						assert.Equal(t, test.fits, fits, "the node is in the session: %t", f.Nodes["a"] != nil)
						framework.CloseSession(f.Session)
					}
				})
			}
		}
	}
}

// TestStockOfANodeThatIsNotReady has a node in the informer alone, as long as its pods hold more cards than it gives.
func TestStockOfANodeThatIsNotReady(t *testing.T) {
	for _, tree := range []string{"", "root"} {
		s := testbed.NewScene().Node("a", "A", 7).Node("b", "A", 8).Queue("q", tree, "quota", `{"A":16}`, "guarantee", `{"A":0}`).
			Queue("g", tree, "quota", `{"A":16}`, "guarantee", `{"A":2}`).Pods("run", "q", "A", 1, 8, testbed.On("a")).
			Pods("fits", "q", "A", 1, 6).Pods("not", "q", "A", 1, 7)
		if tree != "" {
			s.Queue("root", "")
		}
		f := s.Open(t, func(info *api.ClusterInfo, c *offline.Cache) {
			c.Informers = informers.NewSharedInformerFactory(fake.NewClientset(), 0)
			for _, n := range s.Nodes {
				require.NoError(t, c.Informers.Core().V1().Nodes().Informer().GetStore().Add(cluster.Node(n)))
			}
			delete(info.Nodes, "a")
		})
		assert.True(t, f.Allocatable(f.Queue("q"), f.Task("fits-0")), "eight of fifteen cards are held, and the broken one as well")
		assert.False(t, f.Allocatable(f.Queue("q"), f.Task("not-0")), "two are guaranteed to g")
	}
}
