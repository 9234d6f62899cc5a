package testbed

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// Fixture is a Volcano session on a cluster in memory, with one plugin of the engine.
type Fixture struct {
	*framework.Session
	Cache *offline.Cache
	Own   *session.Session
	Close func() // at the end of the test at the latest

	Model       *ClaimModel         // the resource claims of pods, nil for none
	terminating map[api.TaskID]bool // pods that were being deleted when the session opened, where they hold cards
}

// Job returns a job by name, nil for none.
func (f *Fixture) Job(name string) *api.JobInfo { return f.Jobs[api.JobID(cluster.Namespace+"/"+name)] }

// Queue returns a queue by name, nil for none.
func (f *Fixture) Queue(name string) *api.QueueInfo {
	return f.Queues[api.QueueID(name)]
}

// Task returns a task by name, nil for none.
func (f *Fixture) Task(name string) *api.TaskInfo {
	for _, job := range f.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}

	return nil
}

// FitsNode asks about the cards of a task on a node.
func (f *Fixture) FitsNode(task *api.TaskInfo, node string) cards.NodeFit {
	a := f.Own.AskCards(task)
	return f.Own.FitsNode(&f.Own.Books.Now, &a, node)
}

// Allocated returns the allocated amounts of a queue.
func (f *Fixture) Allocated(queue string) *api.Resource {
	return f.Own.Intake.Dims.Resource(f.Own.Index.Allocated(f.Own.Index.Lookup(queue)))
}

// Names returns the names of tasks, in their order.
func Names(tasks []*api.TaskInfo) (names []string) {
	for _, task := range tasks {
		names = append(names, task.Name)
	}
	return names
}

// SortedJobs returns the jobs of the session by UID.
func (f *Fixture) SortedJobs() []*api.JobInfo {
	return slices.SortedFunc(maps.Values(f.Jobs), func(x, y *api.JobInfo) int { return cmp.Compare(x.UID, y.UID) })
}

// SortedTasks returns the tasks of the session by UID.
func (f *Fixture) SortedTasks() []*api.TaskInfo {
	var tasks []*api.TaskInfo
	for _, job := range f.Jobs {
		tasks = slices.AppendSeq(tasks, maps.Values(job.Tasks))
	}

	slices.SortFunc(tasks, func(x, y *api.TaskInfo) int { return cmp.Compare(x.UID, y.UID) })
	return tasks
}

// Dim returns the dimension of a card, which the session must know.
func (f *Fixture) Dim(t *testing.T, card string) fastres.Dim {
	t.Helper()
	d, known := f.Own.Memory.Names.LookupCard(card)
	require.True(t, known, card)
	return d
}

// Evicted returns the names of the evicted pods, sorted.
func (f *Fixture) Evicted() []string {
	slices.Sort(f.Cache.Evicted)
	return f.Cache.Evicted
}
