package preflight

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/card"
)

// QueueChange is a queue about which the plugins decide in another way after the change.
type QueueChange struct {
	Queue   string  `json:"queue"`
	Present Answers `json:"present"`
	Next    Answers `json:"next"`
}

// Answers are the answers about a queue in a session in which nothing has been decided yet.
type Answers struct {
	Overused    bool `json:"overused"`
	Enqueueable int  `json:"enqueueable"` // jobs that wait to be admitted, and could be, each alone
	Allocatable int  `json:"allocatable"` // admitted jobs with a pod that could be placed next, each alone
}

// String returns the queue and the answers that differ.
func (q QueueChange) String() string {
	var parts []string
	for _, answer := range []struct {
		name          string
		present, next any
	}{
		{"overused", q.Present.Overused, q.Next.Overused},
		{"jobs that can be admitted", q.Present.Enqueueable, q.Next.Enqueueable},
		{"jobs that can get a pod", q.Present.Allocatable, q.Next.Allocatable},
	} {
		if answer.present != answer.next {
			parts = append(parts, fmt.Sprintf("%s: present %v, next %v", answer.name, answer.present, answer.next))
		}
	}
	return q.Queue + ": " + strings.Join(parts, "; ")
}

// checkQueues compares the answers about queues, and names queues that have more cards than their quota.
func (s *Subject) checkQueues(ctx context.Context, now, next *engine.Configuration) (Check, error) {
	c := Check{Name: "queues", Result: OK}
	before, err := s.ask(ctx, now)
	if err != nil {
		return c, err
	}
	after, err := s.ask(ctx, next)
	if err != nil {
		return c, err
	}

	for _, name := range slices.Sorted(maps.Keys(before.answers)) {
		change := QueueChange{name, before.answers[name], after.answers[name]}
		if change.Present != change.Next {
			c.Details = append(c.Details, change)
		}
	}

	c.Message = fmt.Sprintf("queues with jobs that get the same answers: %d of %[1]d", len(before.answers))
	if len(c.Details) > 0 {
		c.Result = Note
		c.Message = fmt.Sprintf("queues with jobs that get other answers: %d of %d",
			len(c.Details), len(before.answers))
	}

	// A queue without a quota of a card can have none of it. Its pods run on, and no more start.
	over := overQuota(after.stock)
	if len(over) > 0 {
		c.Result = Note
		c.Message += fmt.Sprintf("; %d queues have more cards than their quota", len(over))
		c.Do = append(c.Do, s.raiseQuotas(over)...)
	}
	return c, nil
}

// asked has the answers of a session about the queues of a cluster.
type asked struct {
	answers map[string]Answers
	stock   *stock.Stock // nil with Volcano's own plugins
}

// ask opens a session on a copy of the cluster, and asks its hooks.
func (s *Subject) ask(ctx context.Context, c *engine.Configuration) (*asked, error) {
	world, err := engine.Build(s.Objects.Clone())
	if err != nil {
		return nil, err
	}
	session, err := engine.Open(ctx, world, c)
	if err != nil {
		return nil, err
	}
	defer session.Close()

	a := &asked{answers: map[string]Answers{}}
	for _, job := range session.Jobs {
		queue := session.Queues[job.Queue]
		if queue == nil {
			continue
		}

		answers, asked := a.answers[queue.Name]
		if !asked {
			// Volcano's plugin proportion panics if it is asked about a queue without jobs.
			answers.Overused = session.Overused(queue)
		}
		task := first(job)
		switch {
		case job.IsPending() && session.JobEnqueueable(job):
			answers.Enqueueable++
		case !job.IsPending() && task != nil && session.Allocatable(queue, task):
			answers.Allocatable++
		}
		a.answers[queue.Name] = answers
	}

	if !c.Upstream {
		a.stock = stock.Count(world, session)
	}
	return a, nil
}

// first returns the first pending task of a job in the order of names, nil for none.
func first(job *api.JobInfo) (found *api.TaskInfo) {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated && (found == nil || task.Name < found.Name) {
			found = task
		}
	}
	return found
}

// overQuota returns the leaf queues that have more cards than their quota, with the cards that they have.
func overQuota(s *stock.Stock) map[string][]card.Amount {
	over := map[string][]card.Amount{}
	for _, q := range s.Queues {
		if q.Leaf && q.Quota != nil && q.Allocated > *q.Quota {
			has := card.Amount{Name: q.Card, Cards: int64(math.Ceil(q.Allocated))} // a quota is whole
			over[q.Queue] = append(over[q.Queue], has)
		}
	}
	return over
}

// raiseQuotas returns a command for each queue that raises its annotation to the cards that it has.
func (s *Subject) raiseQuotas(over map[string][]card.Amount) (commands []string) {
	annotations := map[string]string{}
	for _, q := range s.Objects.Queues {
		annotations[q.Name] = q.Annotations[card.QuotaKey]
	}

	for _, name := range slices.Sorted(maps.Keys(over)) {
		stated, _ := card.ParseAmounts(annotations[name])
		raised := slices.DeleteFunc(over[name], func(has card.Amount) bool {
			// A window that holds now sets less. A command must not lower the annotation to the cards of now.
			return slices.ContainsFunc(stated, func(a card.Amount) bool {
				return a.Name == has.Name && a.Share == nil && a.Cards >= has.Cards
			})
		})
		if len(raised) > 0 {
			text := card.WriteAmounts(append(stated, raised...)) // of one card, the last amount counts
			commands = append(commands,
				fmt.Sprintf("kubectl annotate queue %s --overwrite %s='%s'", name, card.QuotaKey, text))
		}
	}
	return commands
}
