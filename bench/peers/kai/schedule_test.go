package kai

import (
	"testing"

	"go.uber.org/mock/gomock"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	k8s "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/actions/allocate"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/pod_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/cache"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/conf"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/framework"
	k8splugins "github.com/NVIDIA/KAI-scheduler/pkg/scheduler/k8s_internal/plugins"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/test_utils"

	"github.com/capacity-card/capacity-card/bench/peers/question"
)

func BenchmarkSchedulers(b *testing.B) {
	test_utils.InitTestingInfrastructure()
	controller := gomock.NewController(b)
	tiers := test_utils.BuildPlugins(test_utils.TestTopologyBasic{}) // KAI's default plugins
	question.Decide(b, "kai", func(w *question.World) (func(mark func()) []question.Placement, error) {
		var cycles []*cycle
		for _, m := range w.Models {
			cycles = append(cycles, newCycle(w, m, tiers, controller))
		}
		return func(mark func()) (placements []question.Placement) {
			for _, c := range cycles {
				c.run()
				mark()
				placements = append(placements, c.cache.bound...)
			}
			return placements
		}, nil
	})
}

// cycle is one scheduling cycle of a shard, from its snapshot on.
type cycle struct {
	*shard
	cache *bindings
	tiers []conf.Tier
}

func newCycle(w *question.World, model string, tiers []conf.Tier, controller *gomock.Controller) *cycle {
	affinity := cache.NewK8sClusterPodAffinityInfo()
	s := newShard(w, model, affinity)
	mock := test_utils.GetTestCacheMock(controller, nil, nil, affinity)
	return &cycle{shard: s, tiers: tiers, cache: &bindings{
		client: mock.KubeClient(), informers: mock.KubeInformerFactory(), nodes: affinity, plugins: mock.InternalK8sPlugins(),
	}}
}

// run opens a session, and allocates.
func (c *cycle) run() {
	ssn := &framework.Session{
		Cache: c.cache, Nodes: c.nodes, PodGroupInfos: c.jobs, Queues: c.queues, Config: &conf.SchedulerConfiguration{Tiers: c.tiers},
	}
	ssn.OverrideSchedulerName("kai-scheduler")
	for _, tier := range c.tiers {
		for _, option := range tier.Plugins {
			builder, found := framework.GetPluginBuilder(option.Name)
			if !found {
				panic("no such plugin: " + option.Name)
			}
			builder(option.Arguments).OnSessionOpen(ssn)
		}
	}
	allocate.New().Execute(ssn)
}

// bindings is a cache that records bindings. Any other method panics. The mock of KAI's tests looks
// calls up by reflection, which is no work of a scheduler.
type bindings struct {
	cache.Cache
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	nodes     k8s.NodeInfoLister
	plugins   *k8splugins.K8sPlugins

	bound []question.Placement
}

func (b *bindings) KubeClient() kubernetes.Interface                     { return b.client }
func (b *bindings) KubeInformerFactory() informers.SharedInformerFactory { return b.informers }
func (b *bindings) SnapshotSharedLister() k8s.NodeInfoLister             { return b.nodes }
func (b *bindings) InternalK8sPlugins() *k8splugins.K8sPlugins           { return b.plugins }

func (b *bindings) Bind(pod *pod_info.PodInfo, node string, _ map[string]string) error {
	b.bound = append(b.bound, question.Placement{Job: string(pod.Job), Node: node})
	return nil
}
