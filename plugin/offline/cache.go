// Package offline opens Volcano sessions on a cluster in memory, without an API server, for cardctl, tests and
// benchmarks.
package offline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
	"volcano.sh/apis/pkg/client/clientset/versioned/fake"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// DeviceObjects are the objects of dynamic resource allocation.
type DeviceObjects = release.DeviceObjects

// Cache is a scheduler cache of one cluster. It records events, bindings and evictions, and carries none of them out.
type Cache struct {
	cache.Cache // has only DRA: any other method that is not overridden below panics
	info        *api.ClusterInfo
	recorder    recorder
	volcano     *fake.Clientset

	Kube      kubernetes.Interface            // nil: none
	Informers informers.SharedInformerFactory // nil: none

	Bound   map[string]string // bound pods: pod → node
	Evicted []string          // evicted pods
}

// NewCache returns a cache of info. Sessions change the objects of info, so a second session on one cache does not see
// the same cluster.
func NewCache(info *api.ClusterInfo) *Cache {
	c := &Cache{Cache: release.WithDevices(release.DeviceObjects{}), volcano: fake.NewSimpleClientset()}
	c.Renew(info)
	return c
}

// Renew gives the cache another content for the next session, and forgets its records.
func (c *Cache) Renew(info *api.ClusterInfo) {
	info.HyperNodes = api.HyperNodeInfoMap{}
	info.HyperNodesSetByTier = map[int]sets.Set[string]{}
	info.RealNodesSet = map[string]sets.Set[string]{}
	info.NodesInShard = sets.Set[string]{}

	c.info = info
	c.recorder = recorder{}
	c.Bound = map[string]string{}
	c.Evicted = nil
	c.volcano.ClearActions() // it keeps what was written
}

// SetDevices gives the cache the objects of dynamic resource allocation, for the next session.
func (c *Cache) SetDevices(o release.DeviceObjects) {
	c.Cache = release.WithDevices(o)
}

// Open opens a session with the given tiers.
func Open(c *Cache, tiers []conf.Tier) *framework.Session {
	return framework.OpenSession(c, tiers, nil)
}

// Tiers returns a configuration of one tier with all hooks of all plugins enabled.
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

// recorder keeps events. A session records from one goroutine.
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

// Snapshot returns the cluster.
func (c *Cache) Snapshot() *api.ClusterInfo { return c.info }

// EventRecorder returns a recorder that keeps events for Events.
func (c *Cache) EventRecorder() record.EventRecorder { return &c.recorder }

// OnSessionOpen and OnSessionClose are called around a session.
func (c *Cache) OnSessionOpen()  {}
func (c *Cache) OnSessionClose() {}

// The writes of a closing session are discarded.
func (c *Cache) UpdateQueueStatus(*api.QueueInfo) error  { return nil }
func (c *Cache) RecordJobStatusEvent(*api.JobInfo, bool) {}
func (c *Cache) VCClient() vcclient.Interface            { return c.volcano }
func (c *Cache) UpdateJobStatus(job *api.JobInfo, _, _, _ bool) (*api.JobInfo, error) {
	return job, nil
}

// AddBindTask records a binding.
func (c *Cache) AddBindTask(bind *cache.BindContext) error {
	c.Bound[bind.TaskInfo.Name] = bind.TaskInfo.NodeName
	return nil
}

// Evict records an eviction.
func (c *Cache) Evict(task *api.TaskInfo, _ string) error {
	c.Evicted = append(c.Evicted, task.Name)
	return nil
}

// Plugins of Volcano call these methods and work without them.
func (c *Cache) RegisterBinder(string, any)     {}
func (c *Cache) IsJobTerminated(api.JobID) bool { return false }

// GetMetricsConf returns nothing: sessions ask from v1.16 on.
func (c *Cache) GetMetricsConf() map[string]string { return nil }

// The clients and informers, nil where they are not set.
func (c *Cache) Client() kubernetes.Interface                           { return c.Kube }
func (c *Cache) ClientConfig() *rest.Config                             { return nil }
func (c *Cache) SharedInformerFactory() informers.SharedInformerFactory { return c.Informers }
