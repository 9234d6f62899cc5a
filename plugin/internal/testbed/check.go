package testbed

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// account is a card, or a group of cards, of a queue.
type account struct {
	queue index.Queue
	card  string
}

// CheckCards counts the cards of all tasks on their nodes again, and compares the sums with the accounts.
func (f *Fixture) CheckCards(t *testing.T) {
	t.Helper()
	if f.Own == nil || f.Own.Cards == nil {
		return
	}

	names := &f.Own.Memory.Names
	want := f.countCards()
	for q := range index.Queue(f.Own.Index.Len()) {
		for d := fastres.FirstFree; int(d) < names.Len(); d++ {
			if names.IsCard(d) {
				has := f.Own.Index.Allocated(q).Get(d)
				require.Equal(t, want[account{q, names.Name(d)}], has,
					"queue %s, card %s\n%v", f.Own.Index.Name(q), names.Name(d), f.Model)
			}
		}
	}
}

// countCards returns what all tasks are charged for, in thousandths of cards, with the groups of the cards.
func (f *Fixture) countCards() map[account]float64 {
	sums := map[account]float64{}
	f.Model.begin()
	for _, job := range f.Jobs {
		q := f.Own.Index.Lookup(string(job.Queue))
		if q == index.None || !f.Own.Cards.Counted(q) {
			continue
		}
		for _, task := range job.Tasks {
			if api.AllocatedStatus(task.Status) || task.Status == api.Pipelined || f.terminating[task.UID] {
				f.countTask(sums, q, task)
			}
		}
	}
	f.Model.end()

	names := &f.Own.Memory.Names
	for c, milli := range maps.Clone(sums) {
		d, _ := names.LookupCard(c.card)
		for _, share := range names.Groups(d) {
			sums[account{c.queue, names.Name(share.Group)}] += share.Of(milli)
		}
	}

	return sums
}

// countTask adds the charge of a task to the queues of a path.
func (f *Fixture) countTask(sums map[account]float64, leaf index.Queue, task *api.TaskInfo) {
	path := f.Own.Index.Path(leaf)
	f.Model.each(path, task, func(q index.Queue, name string, milli float64) {
		sums[account{q, name}] += milli
	})

	for p := range f.Own.Cards.Requests(f.Own.Cards.PodRequest(leaf, task.Pod)) {
		if p.Resource == cards.Devices {
			continue
		}
		name := f.CardFor(task, p)
		for _, q := range path {
			sums[account{q, name}] += float64(p.Amount)
		}
	}
}

// CardFor returns the card that a placed task is charged for: the one that it holds, the card that the labels of its
// node name, or the first of its list. It is "" for none.
func (f *Fixture) CardFor(task *api.TaskInfo, p cards.Request) string {
	names := &f.Own.Memory.Names
	if d, holds := p.Held(); holds {
		return names.Name(d)
	}

	node := f.Nodes[task.NodeName]
	if node != nil {
		for _, has := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable, nil).Cards {
			if string(has.Resource) == f.Own.Cards.ResourceName(p.Resource) {
				return has.Name
			}
		}
	}

	// A node that only the informer has.
	if n := f.Own.Cards.Node(task.NodeName); node == nil && n != nil {
		for d := range p.On(n) {
			return names.Name(d)
		}
	}

	if p.Selector.Typed && len(p.Selector.Dims) > 0 {
		return names.Name(p.Selector.Dims[0])
	}

	return ""
}
