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

// CheckCards counts the cards of all tasks on their nodes again, and compares the
// sums with the accounts.
func (f *Fixture) CheckCards(t *testing.T) {
	t.Helper()
	if f.Own == nil || f.Own.Cards == nil {
		return
	}
	type cell struct {
		queue index.Queue
		card  string
	}
	want := map[cell]float64{}
	f.Model.begin()
	for _, job := range f.Jobs {
		q := f.Own.Index.Lookup(string(job.Queue))
		if q == index.None || !f.Own.Cards.Counted(q) {
			continue
		}
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined && !f.terminating[task.UID] {
				continue
			}
			d := f.Own.Cards.PodRequest(q, task.Pod)
			f.Model.each(f.Own.Index.Path(q), task, func(q index.Queue, name string, milli float64) { want[cell{q, name}] += milli })
			for p := range f.Own.Cards.Requests(d) {
				if p.Resource == cards.Devices {
					continue
				}
				name := f.CardFor(task, p)
				for _, q := range f.Own.Index.Path(q) {
					want[cell{q, name}] += float64(p.Amount)
				}
			}
		}
	}
	f.Model.end()
	for c, milli := range maps.Clone(want) {
		d, _ := f.Own.Memory.Names.LookupCard(c.card)
		for _, share := range f.Own.Memory.Names.Groups(d) {
			want[cell{c.queue, f.Own.Memory.Names.Name(share.Group)}] += share.Of(milli)
		}
	}
	for q := range index.Queue(f.Own.Index.Len()) {
		for d := fastres.FirstFree; int(d) < f.Own.Memory.Names.Len(); d++ {
			if f.Own.Memory.Names.IsCard(d) {
				name := f.Own.Memory.Names.Name(d)
				require.Equal(t, want[cell{q, name}], f.Own.Index.Allocated(q).Get(d), "queue %s, card %s\n%v", f.Own.Index.Name(q), name, f.Model)
			}
		}
	}
}

// CardFor returns the card that a placed task is charged for: the one that it holds,
// the card that the labels of its node name, or the first of its list.
func (f *Fixture) CardFor(task *api.TaskInfo, p cards.Request) string {
	if d, holds := p.Held(); holds {
		return f.Own.Memory.Names.Name(d)
	}
	if node := f.Nodes[task.NodeName]; node != nil {
		for _, has := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable, nil).Cards {
			if string(has.Resource) == f.Own.Cards.ResourceName(p.Resource) {
				return has.Name
			}
		}
	}
	if n := f.Own.Cards.Node(task.NodeName); f.Nodes[task.NodeName] == nil && n != nil {
		for d := range p.On(n) {
			return f.Own.Memory.Names.Name(d) // a node that only the informer has
		}
	}
	if p.Selector.Typed && len(p.Selector.Dims) > 0 {
		return f.Own.Memory.Names.Name(p.Selector.Dims[0])
	}
	return ""
}
