package explain

import (
	"context"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// MostTried bounds the pods that wait times the nodes, for which all explanations run the next cycles. The scheduler
// tries each such pod on each node, twice if it may reclaim. A cycle of this size takes some seconds.
const MostTried = 100_000

// Pending counts the pods of a world that wait.
func Pending(w *engine.World) (n int) {
	for _, g := range w.Groups {
		for _, pod := range g.Pods {
			if pod.Spec.NodeName == "" {
				n++
			}
		}
	}
	return n
}

// Small reports whether a world is small enough for the next cycles.
func Small(w *engine.World) bool { return Pending(w)*len(w.Nodes) <= MostTried }

// trial is the outcome of the next cycles on a copy of the cluster: the real actions for all jobs.
type trial struct {
	events   []engine.Event       // also of the pods that have notice
	claims   map[api.JobID]*Claim // of the jobs that wait afterwards
	reclaims bool                 // the configuration has the action reclaim
}

// Claim is the decision of the action reclaim about a job that it evicts nobody for.
type Claim struct {
	// Needed are the pods that the job lacks to its minimum, or 1 for the next pod of a job that runs. Fit of them
	// would have room. The others lack Cards.
	Needed int            `json:"needed"`
	Fit    int            `json:"fit"`
	Cards  []stock.Amount `json:"cards,omitempty"`
	Spared []Spared       `json:"spared,omitempty"` // the running pods with such cards
	// Refused is why its queue may not take from others, or the bound that refuses the next pod.
	Refused *report.Reason `json:"refused,omitempty"`

	found bool // there is a plan, and another plugin refuses it
}

// try runs the next cycles on a copy of the world.
func try(ctx context.Context, w *engine.World, c *engine.Configuration) (*trial, error) {
	t := &trial{claims: map[api.JobID]*Claim{}}
	t.reclaims = slices.ContainsFunc(c.Actions, engine.IsReclaim)

	var err error
	t.events, err = engine.Ahead(ctx, w, c, func(s *engine.Session) { t.look(s, w) })
	return t, err
}

// look reads the session after the next cycles.
func (t *trial) look(s *engine.Session, w *engine.World) {
	if !t.reclaims {
		return
	}

	x := newExplainer(s, w)
	for id, job := range s.Jobs {
		claim := s.Quota.Claim(job)
		if claim != nil {
			t.claims[id] = x.claim(job, claim)
		}
	}
}

// claim describes a claim with the pods that have the cards that the job waits for.
func (e *explainer) claim(job *api.JobInfo, found *inspect.Claim) *Claim {
	c := &Claim{
		Needed:  len(found.Tasks),
		Fit:     found.Fit,
		Refused: found.Refused,
		found:   found.Found && len(found.Takes) > 0,
	}

	lacking := found.Tasks[min(c.Fit, len(found.Tasks)):]
	wanted := map[string]bool{}
	sums := map[string]float64{}
	for _, task := range lacking {
		for _, name := range e.resourcesOf(task) {
			wanted[name] = true
		}
		for name, n := range e.cardsRequested(task) {
			sums[name] += n
		}
	}
	c.Cards = stock.Amounts(sums)

	if c.Refused == nil || len(found.Spared) > 0 {
		inTree := slices.DeleteFunc(found.Spared, func(s inspect.Spare) bool {
			return e.accounts[string(e.Session.Jobs[s.Task.Job].Queue)].Broken != nil
		})
		all := append(inTree, e.notOffered(job)...)
		c.Spared = e.countSpared(all, wanted)
	}
	return c
}

// cardsRequested returns the cards that a pending pod requests, by the list of cards that it names.
func (e *explainer) cardsRequested(task *api.TaskInfo) map[string]float64 {
	all := map[string]float64{}
	for resource := range e.models() {
		n := task.InitResreq.Get(resource) / 1000
		if n > 0 {
			name := card.NameOf(task.Pod.Annotations).String()
			if name == "" {
				name = string(resource)
			}
			all[name] += n
		}
	}
	return all
}

// notOffered returns the running pods of other queues that reclaim never considers.
func (e *explainer) notOffered(claimant *api.JobInfo) (all []inspect.Spare) {
	for _, job := range e.Session.Jobs {
		queue := e.Session.Queues[job.Queue]
		if queue == nil || job.Queue == claimant.Queue {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Running] {
			switch {
			case e.accounts[queue.Name].Broken != nil:
				all = append(all, inspect.Spare{Task: task, By: inspect.ByPlace, Queue: queue.Name})
			case !queue.Reclaimable():
				all = append(all, inspect.Spare{Task: task, By: inspect.ByQueue, Queue: queue.Name})
			case !task.Preemptable:
				all = append(all, inspect.Spare{Task: task, By: inspect.ByPod, Queue: queue.Name})
			}
		}
	}
	return all
}

// countSpared counts the pods with wanted cards, by job and protector.
func (e *explainer) countSpared(all []inspect.Spare, wanted map[string]bool) (counted []Spared) {
	for _, spare := range all {
		g := e.groups[spare.Task.Job]
		has := false
		for name := range e.Quota.Charged(spare.Task) {
			has = has || wanted[name]
		}
		if g == nil || !has {
			continue
		}

		s := Spared{By: spare.By, Owner: g.Namespace + "/" + g.Owner, Queue: spare.Queue, Key: spare.Policy}
		at := slices.IndexFunc(counted, func(other Spared) bool {
			return other.By == s.By && other.Owner == s.Owner && other.Queue == s.Queue
		})
		if at < 0 {
			counted = append(counted, s)
			at = len(counted) - 1
		}
		counted[at].Pods++
		if last := counted[at].Until; !spare.Until.IsZero() && (last == nil || spare.Until.After(*last)) {
			counted[at].Until = &spare.Until
		}
	}

	slices.SortFunc(counted, compareSpared)
	return counted
}

// takesFor returns the pods of other groups that are evicted for a group, now or at the end of their notice.
func (t *trial) takesFor(g *engine.Group) (all []Evictions) {
	for _, e := range t.events {
		if e.For != nil && e.For.Group == string(g.ID()) && e.For.Group != e.Group {
			namespace, _, _ := strings.Cut(e.Group, "/")
			victim := Evictions{Owner: namespace + "/" + e.Owner, Queue: e.Queue, Until: e.Until}
			all = addEvicted(all, victim, e.Pod)
		}
	}
	return all
}

// losesTo returns the other jobs that pods of a group are evicted for, with these pods.
func (t *trial) losesTo(g *engine.Group) (all []Evictions) {
	for _, e := range t.events {
		if e.For != nil && e.Group == string(g.ID()) && e.For.Group != e.Group {
			taker := Evictions{Owner: e.For.Namespace + "/" + e.For.Owner, Queue: e.For.Queue, Until: e.Until}
			all = addEvicted(all, taker, e.Pod)
		}
	}
	return all
}

// addEvicted adds a pod to the evictions of another job.
func addEvicted(all []Evictions, v Evictions, pod string) []Evictions {
	at := slices.IndexFunc(all, func(other Evictions) bool {
		return other.Owner == v.Owner && (other.Until == nil) == (v.Until == nil)
	})
	if at < 0 {
		all = append(all, v)
		at = len(all) - 1
	}
	if !slices.Contains(all[at].Pods, pod) { // a pod may come back and be evicted again
		all[at].Pods = append(all[at].Pods, pod)
	}
	return all
}
