// Package offline opens Volcano sessions on a cluster that is held in memory,
// without an API server: for cardctl, which asks the engine about files, and
// for tests and benchmarks.
package offline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
	"volcano.sh/apis/pkg/client/clientset/versioned/fake"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// Cache is a scheduler cache that holds one cluster. It records events, bindings
// and evictions, and carries none of them out.
type Cache struct {
	cache.Cache // panics on what is not overridden below
	info        *api.ClusterInfo
	recorder    recorder
	volcano     vcclient.Interface

	Kube      kubernetes.Interface            // nil: none
	Informers informers.SharedInformerFactory // nil: none

	Bound   map[string]string // pod → node, of what was bound
	Evicted []string          // pods
}

// NewCache returns a cache that gives out info. Sessions change what they are
// given, so sessions on one cache do not see the same.
func NewCache(info *api.ClusterInfo) *Cache {
	info.HyperNodes = api.HyperNodeInfoMap{}
	info.HyperNodesSetByTier = map[int]sets.Set[string]{}
	info.RealNodesSet = map[string]sets.Set[string]{}
	info.NodesInShard = sets.Set[string]{}
	return &Cache{info: info, volcano: fake.NewSimpleClientset(), Bound: map[string]string{}}
}

// Open opens a session with the given tiers.
func Open(c *Cache, tiers []conf.Tier) *framework.Session {
	return framework.OpenSession(c, tiers, nil)
}

// Tiers is a configuration of one tier with all hooks of all plugins enabled.
func Tiers(hierarchy bool, plugins ...string) []conf.Tier {
	yes := true
	var tier conf.Tier
	for _, name := range plugins {
		tier.Plugins = append(tier.Plugins, conf.PluginOption{
			Name: name, EnabledHierarchy: &hierarchy,
			EnabledJobOrder: &yes, EnabledJobReady: &yes, EnabledJobPipelined: &yes, EnabledTaskOrder: &yes,
			EnabledPreemptable: &yes, EnabledReclaimable: &yes, EnablePreemptive: &yes, EnabledQueueOrder: &yes,
			EnabledPredicate: &yes, EnabledBestNode: &yes, EnabledNodeOrder: &yes, EnabledTargetJob: &yes,
			EnabledReservedNodes: &yes, EnabledJobEnqueued: &yes, EnabledVictim: &yes, EnabledJobStarving: &yes,
			EnabledOverused: &yes, EnabledAllocatable: &yes,
		})
	}
	return []conf.Tier{tier}
}

// Events returns the events recorded so far: type, reason, message.
func (c *Cache) Events() []string { return c.recorder.events }

// recorder keeps events; a session records from one goroutine.
type recorder struct{ events []string }

func (r *recorder) Event(_ runtime.Object, kind, reason, message string) {
	r.events = append(r.events, kind+" "+reason+" "+message)
}

func (r *recorder) Eventf(o runtime.Object, kind, reason, format string, args ...any) {
	r.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

func (r *recorder) AnnotatedEventf(o runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Eventf(o, kind, reason, format, args...)
}

// Snapshot gives out the cluster.
func (c *Cache) Snapshot() *api.ClusterInfo { return c.info }

// EventRecorder keeps what Events returns.
func (c *Cache) EventRecorder() record.EventRecorder { return &c.recorder }

// OnSessionOpen and OnSessionClose are called around a session.
func (c *Cache) OnSessionOpen()  {}
func (c *Cache) OnSessionClose() {}

// What closing a session writes goes nowhere.
func (c *Cache) UpdateQueueStatus(*api.QueueInfo) error  { return nil }
func (c *Cache) RecordJobStatusEvent(*api.JobInfo, bool) {}
func (c *Cache) VCClient() vcclient.Interface            { return c.volcano }
func (c *Cache) UpdateJobStatus(job *api.JobInfo, _, _, _ bool) (*api.JobInfo, error) {
	return job, nil
}

// AddBindTask notes a binding.
func (c *Cache) AddBindTask(bind *cache.BindContext) error {
	c.Bound[bind.TaskInfo.Name] = bind.TaskInfo.NodeName
	return nil
}

// Evict notes an eviction.
func (c *Cache) Evict(task *api.TaskInfo, _ string) error {
	c.Evicted = append(c.Evicted, task.Name)
	return nil
}

// What plugins of Volcano's own ask for, and need not have.
func (c *Cache) RegisterBinder(string, any)                      {}
func (c *Cache) SharedDRAManager() k8sframework.SharedDRAManager { return nil }
func (c *Cache) IsJobTerminated(api.JobID) bool                  { return false }

// The other clients, as far as they were set.
func (c *Cache) Client() kubernetes.Interface                           { return c.Kube }
func (c *Cache) ClientConfig() *rest.Config                             { return nil }
func (c *Cache) SharedInformerFactory() informers.SharedInformerFactory { return c.Informers }
