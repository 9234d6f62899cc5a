package cards

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	os.Exit(m.Run())
}

const gpuName = "nvidia.com/gpu"

// fixture opens sessions on a cluster, which a test may change in between. They
// share one Registry, as the sessions of one scheduler do.
type fixture struct {
	workload.Cluster
	settings Settings
	registry *Registry
	objects  objects.Queues
	devices  *release.DeviceObjects // nil for none
	names    *index.Names

	*Snapshot              // the last one
	ix        *index.Index // of the last session; Capability holds the quotas
}

func newFixture() *fixture {
	return &fixture{registry: NewRegistry(), names: &index.Names{}, settings: Settings{Untyped: UntypedCharge, NodeOrderWeight: 1}}
}

// node adds a node with n cards of one model.
func (f *fixture) node(name, model string, n int64) *fixture {
	f.Nodes = append(f.Nodes, workload.Node{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": model},
		Allocatable: workload.Resources{gpuName: n}})
	return f
}

// queue adds a queue with a quota of cards.
func (f *fixture) queue(name, parent, quota string) *fixture {
	f.Queues = append(f.Queues, workload.Queue{Name: name, Parent: parent, Annotations: map[string]string{card.QuotaKey: quota}})
	f.Hierarchy = f.Hierarchy || parent != ""
	return f
}

// open opens a session on the cluster as it is now, and reads all tasks.
func (f *fixture) open(t *testing.T) *fixture {
	t.Helper()
	info, err := cluster.Build(f.Cluster, "")
	require.NoError(t, err)
	root := ""
	if f.Hierarchy {
		root = index.RootName
	}
	var nodes []index.Node
	for _, q := range f.Queues {
		nodes = append(nodes, index.Node{Name: q.Name, Parent: q.Parent})
	}
	tree := index.BuildTree(nodes, root)
	cache := offline.NewCache(info)
	if f.devices != nil {
		cache.SetDevices(*f.devices)
	}
	ssn := offline.Open(cache, nil)
	f.objects.Open(ssn.Queues, time.Time{})
	f.Snapshot = f.registry.Open(Opening{Volcano: ssn, Jobs: slices.Collect(maps.Values(ssn.Jobs)), Queues: &f.objects, Tree: tree,
		Names: f.names, Scope: Everywhere, Settings: f.settings})
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			f.Read(task)
		}
	}
	f.ix = &index.Index{}
	f.ix.Reset(tree, f.names.Len())
	for q := range index.Queue(tree.Len()) {
		f.AddBounds(f.ix, q)
	}
	if f.ix.Rooted() {
		f.BoundRoot(f.ix, f.ix.Capability.Row(f.ix.Root()))
	}
	return f
}

// dim returns the dimension of a card that the session knows.
func (f *fixture) dim(t *testing.T, name string) fastres.Dim {
	t.Helper()
	d, known := f.names.LookupCard(name)
	require.True(t, known, name)
	return d
}

// allocate adds milli-cards to the allocated cards of a queue and its ancestors.
func (f *fixture) allocate(t *testing.T, queue, name string, milli float64) {
	t.Helper()
	for _, q := range f.ix.Path(f.ix.Lookup(queue)) {
		f.ix.Mutable(q).Increase(f.dim(t, name), milli)
	}
}

// pod returns a pod with a card list, "" for an untyped pod.
func pod(list string, request workload.Resources) *v1.Pod {
	task := workload.Task{Name: "pod", Request: request}
	if list != "" {
		task.Annotations = map[string]string{card.NameKey: list}
	}
	return cluster.Pod("job", task)
}

// gpus is a request for n GPUs.
func gpus(n int64) workload.Resources { return workload.Resources{gpuName: n} }

// read returns the queue of a pod and the request of the pod for cards.
func (f *fixture) read(queue string, pod *v1.Pod) (index.Queue, *PodRequest) {
	q := f.ix.Lookup(queue)
	return q, f.PodRequest(q, pod)
}

// jobInfo returns a job without pods that states card.request.
func jobInfo(request string) *api.JobInfo {
	job := api.NewJobInfo("default/job")
	job.SetPodGroup(cluster.PodGroup(workload.Job{Name: "job", Annotations: map[string]string{card.RequestKey: request}}))
	return job
}
