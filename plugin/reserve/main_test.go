package reserve

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/quota/assign"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	os.Exit(m.Run())
}

const gpuName = "nvidia.com/gpu"

// fixture is a session with the nodes a and b, which have 8 of the cards A and B,
// and the flat queue q with a quota of both.
type fixture struct {
	*cards.Snapshot
	names *index.Names
	ix    *index.Index
	q     index.Queue
	jobs  map[api.JobID]*api.JobInfo
}

// open opens a session in which q is bound to quota, with the given jobs.
func open(t testing.TB, quota string, settings cards.Settings, jobs ...workload.Job) *fixture {
	t.Helper()
	c := workload.Cluster{Jobs: jobs, Queues: []workload.Queue{{Name: "q", Annotations: map[string]string{card.QuotaKey: quota}}}}
	for node, model := range map[string]string{"a": "A", "b": "B"} {
		c.Nodes = append(c.Nodes, workload.Node{Name: node, Labels: map[string]string{"nvidia.com/gpu.product": model},
			Allocatable: workload.Resources{"cpu": 64000, "memory": 64 << 30, gpuName: 8}})
	}
	info, err := cluster.Build(c, "")
	require.NoError(t, err)
	f := &fixture{names: &index.Names{}, ix: &index.Index{}, jobs: info.Jobs}
	f.names.InternCard("A") // so that A comes before B
	tree := index.BuildTree([]index.Node{{Name: "q"}}, "")
	ssn := offline.Open(offline.NewCache(info), nil)
	f.Snapshot = cards.NewRegistry().Open(cards.Opening{Volcano: ssn, Queues: objects.Of(ssn.Queues), Tree: tree, Names: f.names,
		Scope: cards.Everywhere, Settings: settings})
	f.ix.Reset(tree, f.names.Len())
	f.q = f.ix.Lookup("q")
	f.AddBounds(f.ix, f.q)
	f.ix.RealCapability = f.ix.Capability
	return f
}

// read reads a job of the session.
func (f *fixture) read(t testing.TB, name string) (*api.JobInfo, *Job) {
	t.Helper()
	info := f.jobs[api.JobID(cluster.Namespace+"/"+name)]
	require.NotNil(t, info, name)
	own := &Job{}
	own.Read(f.Snapshot, info, f.Read)
	return info, own
}

// pods makes a job of pods that list cards and request GPUs, one pod for each
// number.
func pods(name, list string, minMember int32, gpus ...int64) workload.Job {
	j := workload.Job{Name: name, Queue: "q", Phase: workload.Inqueue, MinMember: minMember}
	for i, n := range gpus {
		j.Tasks = append(j.Tasks, workload.Task{Name: fmt.Sprintf("%s-%d", name, i), Status: workload.TaskPending,
			Request: workload.Resources{"cpu": 1000, gpuName: n}, Annotations: map[string]string{card.NameKey: list}})
	}
	return j
}

// withoutPods makes a job without pods that states card.request.
func withoutPods(name, request string) workload.Job {
	return workload.Job{Name: name, Queue: "q", Phase: workload.Inqueue, MinMember: 1,
		Annotations: map[string]string{card.RequestKey: request}}
}

// with changes the pods of a job from first on, count of them.
func with(j workload.Job, first, count int, change func(*workload.Task)) workload.Job {
	for i := first; i < first+count; i++ {
		change(&j.Tasks[i])
	}
	return j
}

func running(node string) func(*workload.Task) {
	return func(t *workload.Task) { t.Status, t.Node = workload.TaskRunning, node }
}

func gated(t *workload.Task)    { t.Gated = true }
func finishes(t *workload.Task) { t.Status = workload.TaskSucceeded }

// demand is assign.Demand in whole cards.
type demand struct {
	cards string
	size  float64
	count int
}

func (f *fixture) demands(all []assign.Demand) (demands []demand) {
	for _, each := range all {
		list := ""
		for _, d := range each.Cards {
			list += f.names.Name(d)
		}
		demands = append(demands, demand{list, each.Size / 1000, each.Count})
	}
	return demands
}

// wholeCards returns the cards of a vector, in whole cards.
func (f *fixture) wholeCards(x fastres.Vector) map[string]float64 {
	all := map[string]float64{}
	for d := range x.Scalars() {
		all[f.names.Name(d)] = x.Get(d) / 1000
	}
	return all
}
