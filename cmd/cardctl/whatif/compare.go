package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// Outcome is the state of a world after the scheduler has run.
type Outcome struct {
	Settled  bool              `json:"settled"` // false if it still changed in the last cycle
	Events   []engine.Event    `json:"events"`
	Findings []explain.Finding `json:"jobs"`
	Stock    *stock.Stock      `json:"stock"`
}

// Run runs the scheduler on a world until nothing changes. It ends when ctx is done, with its error.
func Run(
	ctx context.Context, w *engine.World, c *engine.Configuration, progress func(cycle, events int),
) (*Outcome, error) {
	events, settled, err := engine.Settle(ctx, w, c, progress)
	if err != nil {
		return nil, err
	}

	findings, err := explain.Jobs(ctx, w, c, explain.Options{})
	if err != nil {
		return nil, err
	}
	s, err := engine.Open(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()

	return &Outcome{
		Settled:  settled,
		Events:   append([]engine.Event{}, events...), // a list in JSON, even if it is empty
		Findings: findings,
		Stock:    stock.Count(w, s),
	}, nil
}

// Evicts reports whether the scheduler evicted pods.
func (o *Outcome) Evicts() bool {
	return slices.ContainsFunc(o.Events, func(e engine.Event) bool { return e.Kind == engine.Evicted })
}

// Comparison compares two outcomes.
type Comparison struct {
	document.Head
	Before *Outcome     `json:"before"`
	After  *Outcome     `json:"after"`
	Jobs   []JobChange  `json:"jobs"`
	Queues []CardChange `json:"queues"`
	// Patches are the commands that make the change in a cluster. Undo are the commands that take it back, as far as
	// commands can.
	Patches []string `json:"commands,omitempty"`
	Undo    []string `json:"undo,omitempty"`
}

// JobChange is a job before and after; nil where it does not exist.
type JobChange struct {
	Namespace string           `json:"namespace"`
	Owner     string           `json:"owner"`
	Queue     string           `json:"queue"`
	Before    *explain.Finding `json:"before"`
	After     *explain.Finding `json:"after"`
}

// Changed reports whether the state of the job differs.
func (j JobChange) Changed() bool {
	if j.Before == nil || j.After == nil {
		return true
	}
	return j.Before.State != j.After.State || j.Before.Pods != j.After.Pods ||
		j.Before.Rule != j.After.Rule || j.Before.Level != j.After.Level
}

// InShort describes a job in a few words, "" for nil.
func InShort(f *explain.Finding) string {
	switch {
	case f == nil:
		return ""
	case f.State == explain.Finished:
		return "Finished"
	case f.Pods.Total == 0: // before its controller creates its pods
		return string(f.State)
	case f.Pods.Waiting == 0:
		return fmt.Sprintf("Running %d", f.Pods.Placed)
	case f.Pods.Placed == 0:
		return fmt.Sprintf("Waiting %d", f.Pods.Waiting)
	}
	return fmt.Sprintf("Running %d, Waiting %d", f.Pods.Placed, f.Pods.Waiting)
}

// CardChange is a card of a queue before and after.
type CardChange struct {
	Queue       string   `json:"queue"`
	Depth       int      `json:"depth"`
	Card        string   `json:"card"`
	Before      float64  `json:"before"` // allocated
	After       float64  `json:"after"`
	BeforeQuota *float64 `json:"beforeQuota"`
	AfterQuota  *float64 `json:"afterQuota"`
}

// Changed reports whether the queue has more or less of the card, or another quota.
func (c CardChange) Changed() bool {
	return c.Before != c.After || !ptr.Equal(c.BeforeQuota, c.AfterQuota)
}

// NewEvents returns the events that happen with the changes and not without them.
func (c *Comparison) NewEvents() (all []engine.Event) {
	key := func(e engine.Event) string { return fmt.Sprint(e.Kind, e.Group, e.Pod, e.Node) }
	usual := map[string]int{}
	for _, e := range c.Before.Events {
		usual[key(e)]++
	}

	for _, e := range c.After.Events {
		usual[key(e)]--
		if usual[key(e)] < 0 {
			all = append(all, e)
		}
	}
	return all
}

// Compare compares two outcomes.
func Compare(before, after *Outcome) *Comparison {
	return &Comparison{
		Head: document.Of("Comparison"), Before: before, After: after,
		Jobs:   compareJobs(before, after),
		Queues: compareQueues(before.Stock.Queues, after.Stock.Queues),
	}
}

// compareJobs matches the jobs of two outcomes by their owners. The PodGroup of an owner may have another name in the
// other outcome. Only the PodGroups of an owner with several of them are matched by their names.
func compareJobs(before, after *Outcome) []JobChange {
	several := ownersOfSeveral(before, after)
	all := []JobChange{}
	at := map[string]int{}
	change := func(f *explain.Finding) *JobChange {
		key := f.Namespace + "/" + f.Owner
		if several.Has(key) {
			key += "/" + f.Name
		}
		if _, ok := at[key]; !ok {
			at[key] = len(all)
			all = append(all, JobChange{Namespace: f.Namespace, Owner: f.Owner, Queue: f.Queue})
		}
		return &all[at[key]]
	}

	for i := range before.Findings {
		change(&before.Findings[i]).Before = &before.Findings[i]
	}
	for i := range after.Findings {
		change(&after.Findings[i]).After = &after.Findings[i]
	}

	slices.SortFunc(all, func(a, b JobChange) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner, b.Owner))
	})
	return all
}

// ownersOfSeveral returns the owners of several PodGroups in one outcome.
func ownersOfSeveral(outcomes ...*Outcome) sets.Set[string] {
	several := sets.New[string]()
	for _, o := range outcomes {
		seen := sets.New[string]()
		for _, f := range o.Findings {
			owner := f.Namespace + "/" + f.Owner
			if seen.Has(owner) {
				several.Insert(owner)
			}
			seen.Insert(owner)
		}
	}
	return several
}

// compareQueues matches the cards of the queues of two outcomes, in the order of the tree after the change.
func compareQueues(before, after []stock.InQueue) []CardChange {
	type key struct{ queue, card string }
	all := []CardChange{}
	at := map[key]int{}

	for _, q := range after {
		at[key{q.Queue, q.Card}] = len(all)
		all = append(all, CardChange{
			Queue: q.Queue, Depth: q.Depth, Card: q.Card, After: q.Allocated, AfterQuota: q.Quota,
		})
	}

	// A card that the queue has no more, and a queue that is removed, come last.
	for _, q := range before {
		i, known := at[key{q.Queue, q.Card}]
		if !known {
			i = len(all)
			all = append(all, CardChange{Queue: q.Queue, Depth: q.Depth, Card: q.Card})
		}

		all[i].Before = q.Allocated
		all[i].BeforeQuota = q.Quota
	}
	return all
}
