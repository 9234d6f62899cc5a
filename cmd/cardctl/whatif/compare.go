package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
func Run(ctx context.Context, w *engine.World, c *engine.Configuration, progress func(cycle, events int)) (*Outcome, error) {
	events, settled, err := engine.Settle(ctx, w, c, progress)
	if err != nil {
		return nil, err
	}
	o := &Outcome{Settled: settled, Events: append([]engine.Event{}, events...)}
	o.Findings, err = explain.Jobs(ctx, w, c, explain.Options{})
	if err != nil {
		return nil, err
	}
	s, err := engine.Open(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	o.Stock = stock.Count(w, s)
	return o, nil
}

// Comparison compares two outcomes.
type Comparison struct {
	Kind   string       `json:"kind"` // always Comparison
	Before *Outcome     `json:"before"`
	After  *Outcome     `json:"after"`
	Jobs   []JobChange  `json:"jobs"`
	Queues []CardChange `json:"queues"`
	// Patches are the commands that make the change in a cluster, and Undo those that take it back, as far as commands
	// can.
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
	return j.Before == nil || j.After == nil || j.Before.State != j.After.State || j.Before.Pods != j.After.Pods ||
		j.Before.Rule != j.After.Rule ||
		j.Before.Level != j.After.Level
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
	same := c.BeforeQuota == nil && c.AfterQuota == nil || c.BeforeQuota != nil && c.AfterQuota != nil && *c.BeforeQuota == *c.AfterQuota
	return c.Before != c.After || !same
}

// NewEvents are the events that happen with the changes and not without them.
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
	c := &Comparison{Kind: "Comparison", Before: before, After: after, Jobs: []JobChange{}, Queues: []CardChange{}}
	at := map[string]int{}
	several := ownersOfSeveral(before, after)
	job := func(f *explain.Finding) *JobChange {
		key := f.Namespace + "/" + f.Owner
		if several[key] {
			key += "/" + f.Name
		}
		if _, ok := at[key]; !ok {
			at[key] = len(c.Jobs)
			c.Jobs = append(c.Jobs, JobChange{Namespace: f.Namespace, Owner: f.Owner, Queue: f.Queue})
		}
		return &c.Jobs[at[key]]
	}
	for i := range before.Findings {
		job(&before.Findings[i]).Before = &before.Findings[i]
	}
	for i := range after.Findings {
		job(&after.Findings[i]).After = &after.Findings[i]
	}
	slices.SortFunc(c.Jobs, func(a, b JobChange) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner, b.Owner))
	})
	c.compareQueues()
	return c
}

// ownersOfSeveral returns the owners of several PodGroups in one outcome. The only
// PodGroup of an owner may have another name in the other outcome.
func ownersOfSeveral(outcomes ...*Outcome) map[string]bool {
	several := map[string]bool{}
	for _, o := range outcomes {
		seen := map[string]bool{}
		for _, f := range o.Findings {
			owner := f.Namespace + "/" + f.Owner
			several[owner] = several[owner] || seen[owner]
			seen[owner] = true
		}
	}
	return several
}

func (c *Comparison) compareQueues() {
	type key struct{ queue, card string }
	at := map[key]int{}
	row := func(q stock.InQueue) *CardChange {
		k := key{q.Queue, q.Card}
		if _, ok := at[k]; !ok {
			at[k] = len(c.Queues)
			c.Queues = append(c.Queues, CardChange{Queue: q.Queue, Depth: q.Depth, Card: q.Card})
		}
		return &c.Queues[at[k]]
	}
	for _, q := range c.After.Stock.Queues { // in the order of the tree
		r := row(q)
		r.After, r.AfterQuota = q.Allocated, q.Quota
	}
	for _, q := range c.Before.Stock.Queues {
		r := row(q)
		r.Before, r.BeforeQuota = q.Allocated, q.Quota
	}
}
