package explain

import (
	"context"
	"iter"
	"slices"
	"sort"
	"sync"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// explainer explains the jobs of one session.
type explainer struct {
	*engine.Session
	world    *engine.World
	groups   map[api.JobID]*engine.Group
	accounts map[string]inspect.Account
	children map[string][]string // the leaf queues below a queue
	places   map[api.JobID]int   // of the waiting jobs, in the order of their queue
	// displaced are the jobs that the next enqueue action does not admit any more.
	displaced map[api.JobID]bool
	last      int // the position of the last node that a pod fit on

	trial    *trial   // the next cycles, nil where they were not tried
	verdicts verdicts // nil where jobs were not tried alone

	// The answers that many jobs share are computed on demand and once.
	free   func() map[string]float64           // the cards that no pod uses, by card and group
	models func() map[v1.ResourceName][]string // the cards of the nodes, by resource
	pasts  func() map[string]inspect.Past      // the usage of queues over time
	unfit  map[string][]Nodes                  // why no node fits a pod, by the kind of the pod
	held   map[queueCard]Holders               // the jobs that have a resource of a queue
	rivals map[string][]inspect.Rival          // the siblings that wait, by queue
}

// enqueue runs the next enqueue action. It returns a session after it, with the pods that have come, and the jobs that
// are not admitted any more.
func enqueue(
	ctx context.Context, w *engine.World, c *engine.Configuration,
) (*engine.Session, map[api.JobID]bool, error) {
	s, err := engine.Open(ctx, w, c)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Run("enqueue"); err != nil {
		s.Close()
		return nil, nil, err
	}

	displaced := map[api.JobID]bool{}
	for _, g := range w.Groups {
		if job := s.Jobs[g.ID()]; job != nil && g.Status.Phase == scheduling.PodGroupInqueue {
			displaced[g.ID()] = job.PodGroup.Status.Phase == scheduling.PodGroupPending
		}
	}

	if w.Follow(s) {
		s.Close()
		s, err = engine.Open(ctx, w, c)
	}
	return s, displaced, err
}

func newExplainer(s *engine.Session, w *engine.World) *explainer {
	x := &explainer{
		Session:  s,
		world:    w,
		groups:   map[api.JobID]*engine.Group{},
		accounts: map[string]inspect.Account{},
		children: map[string][]string{},
		places:   places(s),
		unfit:    map[string][]Nodes{},
		held:     map[queueCard]Holders{},
		rivals:   map[string][]inspect.Rival{},
	}
	x.free = sync.OnceValue(x.countFree)
	x.models = sync.OnceValue(x.findModels)
	x.pasts = sync.OnceValue(x.readPasts)

	for _, g := range w.Groups {
		x.groups[g.ID()] = g
	}
	for _, a := range s.Quota.Accounts() {
		x.accounts[a.Queue] = a
	}

	for name, a := range x.accounts {
		if a.Leaf {
			for above := range x.path(a.Parent) {
				x.children[above] = append(x.children[above], name)
			}
		}
	}
	for _, leaves := range x.children {
		slices.Sort(leaves)
	}
	return x
}

// path iterates over a queue and its ancestors.
func (e *explainer) path(queue string) iter.Seq[string] {
	return index.Upward(queue, func(name string) string { return e.accounts[name].Parent })
}

// remembered returns the value of a key, and computes it the first time. Nothing is charged for good while jobs are
// explained, so that the answer stays.
func remembered[K comparable, V any](known map[K]V, key K, compute func() V) V {
	value, found := known[key]
	if !found {
		value = compute()
		known[key] = value
	}
	return value
}

// places numbers the waiting jobs of each queue in the order in which the scheduler tries them.
func places(s *engine.Session) map[api.JobID]int {
	waiting := map[api.QueueID][]*api.JobInfo{}
	for _, job := range s.Jobs {
		if job.IsPending() || len(job.TaskStatusIndex[api.Pending]) > 0 {
			waiting[job.Queue] = append(waiting[job.Queue], job)
		}
	}

	all := map[api.JobID]int{}
	for _, jobs := range waiting {
		sort.Slice(jobs, func(i, j int) bool { return s.JobOrderFn(jobs[i], jobs[j]) })
		for i, job := range jobs {
			all[job.UID] = i + 1
		}
	}
	return all
}
