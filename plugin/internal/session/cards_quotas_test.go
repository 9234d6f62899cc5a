package session

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
)

// boundOf returns the realCapability of a queue for a card, in whole cards.
func (f *fixture) boundOf(queue, card string) float64 {
	d, ok := f.own.Memory.Names.LookupCard(card)
	if !ok {
		return 0
	}
	milli := f.own.Index.RealCapability.Row(f.own.Index.Lookup(queue)).Get(d)
	if milli == fastres.MaxQuantity {
		return milli
	}
	return milli / 1000
}

// TestCardBounds derives realCapability from quotas, guarantees and the cards of the
// cluster.
func TestCardBounds(t *testing.T) {
	const none = fastres.MaxQuantity
	tests := []struct {
		name string
		make func(*scene)
		want map[string]float64
	}{
		{"a quota may exceed the cluster", func(s *scene) { s.queue("q", "", "quota", `{"A":20}`).queue("p", "", "quota", `{"A":9}`) },
			map[string]float64{"q": 20, "p": 9}},
		{"guarantees of others are not lent", func(s *scene) {
			s.lending("q", `{"A":8}`, `{"A":8}`, `{"A":0}`).lending("p", `{"A":8}`, `{"A":8}`, `{"A":3}`)
		}, map[string]float64{"q": 5, "p": 8}},
		{"a guarantee is at most the quota", func(s *scene) {
			s.lending("q", `{"A":8}`, `{"A":8}`, `{"A":0}`).lending("p", `{"A":2}`, `{"A":2}`, `{"A":7}`)
		}, map[string]float64{"q": 6, "p": 2}},
		{"a guarantee without a quota has no effect", func(s *scene) {
			s.lending("q", `{"A":8}`, `{"A":8}`, `{"A":0}`).queue("p", "", "guarantee", `{"A":7}`)
		}, map[string]float64{"q": 8, "p": 0}},
		{"an inner queue bounds its children", func(s *scene) {
			s.queue("root", "").queue("inner", "root", "quota", `{"A":3}`).queue("q", "inner", "quota", `{"A":5}`).queue("p", "inner").
				queue("open", "root").queue("r", "open", "quota", `{"A":50}`)
		}, map[string]float64{"root": none, "inner": 3, "q": 5, "p": 0, "open": none, "r": 50}}, // q itself is bound to 5; the check of a request includes inner
		{"a guarantee of a sibling in a tree", func(s *scene) {
			s.queue("root", "").queue("inner", "root", "quota", `{"A":6}`).
				queue("q", "inner", "quota", `{"A":6}`, "guarantee", `{"A":0}`).queue("p", "inner", "quota", `{"A":4}`, "guarantee", `{"A":2}`)
		}, map[string]float64{"q": 4, "p": 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene().node("a", "A", 8)
			test.make(s)
			f := s.open(t)
			for queue, want := range test.want {
				assert.Equal(t, want, f.boundOf(queue, "A"), queue)
			}
		})
	}
}

// TestRootWithCards sets a quota of cards on the root. Its bound of cpu stays the
// total of the cluster.
func TestRootWithCards(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("root", "", "quota", `{"A":3}`, "deserved", `{"A":3}`).queue("q", "root", "quota", `{"A":5}`)
	s.build = NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = nil
	}
	f := s.open(t)
	assert.Equal(t, 3.0, f.boundOf("root", "A"))
	assert.Equal(t, 64000.0, f.own.Index.RealCapability.Row(f.own.Index.Lookup("q")).Get(fastres.CPU))
	assert.Equal(t, 64000.0, f.own.Index.Deserved.Row(f.own.Index.Root()).Get(fastres.CPU))
}

// TestBoundsFollowCards changes annotations and nodes. The bounds follow, although
// the generation of a Queue does not change with its annotations.
func TestBoundsFollowCards(t *testing.T) {
	s := newScene().node("a", "A", 8).lending("q", `{"A":9}`, `{"A":9}`, `{"A":0}`).queue("plain", "")
	run := newSequence(t, s)
	run.edit = func(info *api.ClusterInfo) {
		for _, queue := range info.Queues {
			queue.Queue.Generation = 1
		}
	}
	assert.Equal(t, 8.0, run.open(t).boundOf("q", "A"))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":3}`
	assert.Equal(t, 3.0, run.open(t).boundOf("q", "A"))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":9}`
	assert.Equal(t, 8.0, run.open(t).boundOf("q", "A"))
	s.node("b", "A", 4)
	assert.Equal(t, 9.0, run.open(t).boundOf("q", "A"))
	s.Nodes = s.Nodes[1:]
	assert.Equal(t, 4.0, run.open(t).boundOf("q", "A"), "a node is gone")
	s.Nodes[0].Allocatable[gpuName] = 6
	assert.Equal(t, 6.0, run.open(t).boundOf("q", "A"), "a node has changed")

	s.build = NewCapacity
	s.Queues[0].Capability = nil
	generation := run.edit
	run = newSequence(t, s)
	run.edit = generation
	assert.Equal(t, 6.0, run.open(t).boundOf("q", "A"))
	for range 2 {
		s.Queues[0].Annotations = nil
		f := run.open(t)
		assert.Nil(t, f.own.Cards)
		assert.Equal(t, 0.0, f.boundOf("q", "A"))
		s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":2}`}
		assert.Equal(t, 2.0, run.open(t).boundOf("q", "A"))
	}
}

// TestCardsThatAppearLater schedules a pod whose card gets a quota first, and a node
// later.
func TestCardsThatAppearLater(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":1}`).pods("job", "q", "Z", 1, 1)
	run := newSequence(t, s)
	f := run.open(t)
	assert.False(t, f.JobEnqueueable(f.job("job")))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":1,"Z":1}`
	f = run.open(t)
	assert.True(t, f.JobEnqueueable(f.job("job")))
	assert.Empty(t, f.schedule(t).cache.Bound)
	s.node("z", "Z", 1)
	assert.Equal(t, map[string]int{"Z": 1}, run.open(t).schedule(t).placed(""))
}

// TestNewQueueWithTheNameOfAnother replaces a Queue by another with the same name.
// The last good values of the first do not count for it.
func TestNewQueueWithTheNameOfAnother(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":4}`)
	run := newSequence(t, s)
	assert.Equal(t, 4.0, run.open(t).boundOf("q", "A"))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":"five"}`
	assert.Equal(t, 4.0, run.open(t).boundOf("q", "A"))
	run.edit = func(info *api.ClusterInfo) { info.Queues["q"].Queue.UID = types.UID("another") }
	assert.Equal(t, 0.0, run.open(t).boundOf("q", "A"))
}

// TestInheritedCards counts cards in all queues below one with a card annotation.
func TestInheritedCards(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("root", "").queue("carded", "root", "quota", `{"A":4}`).queue("inner", "carded").
		queue("leaf", "inner").queue("other", "root").
		pods("one", "leaf", "A", 1, 1).pods("two", "other", "A", 1, 1)
	s.build = NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = workload.Resources{}
	}
	f := s.open(t)
	assert.False(t, f.Allocatable(f.queue("leaf"), f.task("one-0")))
	assert.True(t, f.Allocatable(f.queue("other"), f.task("two-0")))
}

// TestRootQuotaClosesNoLeaf sets a card quota on the root alone. Under the name
// capacity the quota bounds all leaves together, and closes none. A quota of an
// inner queue closes the leaves below it that have none.
func TestRootQuotaClosesNoLeaf(t *testing.T) {
	cluster := func(root, team string) *scene {
		s := newScene().node("a", "A", 8).queue("root", "", "quota", root).queue("team", "root").queue("leaf", "team").queue("other", "root").
			pods("leaf", "leaf", "A", 4, 1, inPhase(workload.Inqueue)).pods("other", "other", "A", 4, 1, inPhase(workload.Inqueue))
		if team != "" {
			s.Queues[1].Annotations["volcano.sh/card.quota"] = team
		}
		s.build = NewCapacity
		return s
	}
	f := cluster(`{"A":6}`, "").open(t).schedule(t)
	assert.Equal(t, 6.0, f.cardsOf("root", "A"), "the quota of the root bounds all leaves")
	assert.Len(t, f.cache.Bound, 6)

	f = cluster(`{"A":6}`, `{"A":3}`).open(t).schedule(t)
	assert.Zero(t, f.cardsOf("leaf", "A"), "the leaf has no quota below a queue that has one")
	assert.Equal(t, 3.0, f.cardsOf("other", "A"), "the guarantee of team, its quota, stays free")
}
