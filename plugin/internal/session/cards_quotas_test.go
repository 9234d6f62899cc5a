package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestCardBounds derives realCapability from quotas, guarantees and the cards of the
// cluster.
func TestCardBounds(t *testing.T) {
	const none = fastres.MaxQuantity
	tests := []struct {
		name string
		make func(*testbed.Scene)
		want map[string]float64
	}{
		{"a quota may exceed the cluster", func(s *testbed.Scene) { s.Queue("q", "", "quota", `{"A":20}`).Queue("p", "", "quota", `{"A":9}`) },
			map[string]float64{"q": 20, "p": 9}},
		{"guarantees of others are not lent", func(s *testbed.Scene) {
			s.Lending("q", `{"A":8}`, `{"A":8}`, `{"A":0}`).Lending("p", `{"A":8}`, `{"A":8}`, `{"A":3}`)
		}, map[string]float64{"q": 5, "p": 8}},
		{"a guarantee is at most the quota", func(s *testbed.Scene) {
			s.Lending("q", `{"A":8}`, `{"A":8}`, `{"A":0}`).Lending("p", `{"A":2}`, `{"A":2}`, `{"A":7}`)
		}, map[string]float64{"q": 6, "p": 2}},
		{"a guarantee without a quota has no effect", func(s *testbed.Scene) {
			s.Lending("q", `{"A":8}`, `{"A":8}`, `{"A":0}`).Queue("p", "", "guarantee", `{"A":7}`)
		}, map[string]float64{"q": 8, "p": 0}},
		{"an inner queue bounds its children", func(s *testbed.Scene) {
			s.Queue("root", "").Queue("inner", "root", "quota", `{"A":3}`).Queue("q", "inner", "quota", `{"A":5}`).Queue("p", "inner").
				Queue("open", "root").Queue("r", "open", "quota", `{"A":50}`)
		}, map[string]float64{"root": none, "inner": 3, "q": 5, "p": 0, "open": none, "r": 50}}, // q itself is bound to 5; the check of a request includes inner
		{"a guarantee of a sibling in a tree", func(s *testbed.Scene) {
			s.Queue("root", "").Queue("inner", "root", "quota", `{"A":6}`).
				Queue("q", "inner", "quota", `{"A":6}`, "guarantee", `{"A":0}`).Queue("p", "inner", "quota", `{"A":4}`, "guarantee", `{"A":2}`)
		}, map[string]float64{"q": 4, "p": 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 8)
			test.make(s)
			f := s.Open(t)
			for queue, want := range test.want {
				assert.Equal(t, want, boundOf(f, queue, "A"), queue)
			}
		})
	}
}

// TestRootWithCards sets a quota of cards on the root. Its bound of cpu stays the
// total of the cluster.
func TestRootWithCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("root", "", "quota", `{"A":3}`, "deserved", `{"A":3}`).Queue("q", "root", "quota", `{"A":5}`)
	s.Build = session.NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = nil
	}
	f := s.Open(t)
	assert.Equal(t, 3.0, boundOf(f, "root", "A"))
	assert.Equal(t, 64000.0, f.Own.Index.RealCapability.Row(f.Own.Index.Lookup("q")).Get(fastres.CPU))
	assert.Equal(t, 64000.0, f.Own.Index.Deserved.Row(f.Own.Index.Root()).Get(fastres.CPU))
}

// TestBoundsFollowCards changes annotations and nodes. The bounds follow, although
// the generation of a Queue does not change with its annotations.
func TestBoundsFollowCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Lending("q", `{"A":9}`, `{"A":9}`, `{"A":0}`).Queue("plain", "")
	run := testbed.NewSequence(t, s)
	run.Edit = func(info *api.ClusterInfo) {
		for _, queue := range info.Queues {
			queue.Queue.Generation = 1
		}
	}
	assert.Equal(t, 8.0, boundOf(run.Open(t), "q", "A"))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":3}`
	assert.Equal(t, 3.0, boundOf(run.Open(t), "q", "A"))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":9}`
	assert.Equal(t, 8.0, boundOf(run.Open(t), "q", "A"))
	s.Node("b", "A", 4)
	assert.Equal(t, 9.0, boundOf(run.Open(t), "q", "A"))
	s.Nodes = s.Nodes[1:]
	assert.Equal(t, 4.0, boundOf(run.Open(t), "q", "A"), "a node is gone")
	s.Nodes[0].Allocatable[testbed.GPU] = 6
	assert.Equal(t, 6.0, boundOf(run.Open(t), "q", "A"), "a node has changed")

	s.Build = session.NewCapacity
	s.Queues[0].Capability = nil
	generation := run.Edit
	run = testbed.NewSequence(t, s)
	run.Edit = generation
	assert.Equal(t, 6.0, boundOf(run.Open(t), "q", "A"))
	for range 2 {
		s.Queues[0].Annotations = nil
		f := run.Open(t)
		assert.Nil(t, f.Own.Cards)
		assert.Equal(t, 0.0, boundOf(f, "q", "A"))
		s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":2}`}
		assert.Equal(t, 2.0, boundOf(run.Open(t), "q", "A"))
	}
}

// TestCardsThatAppearLater schedules a pod with a card that gets a quota first, and a node later.
func TestCardsThatAppearLater(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":1}`).Pods("job", "q", "Z", 1, 1)
	run := testbed.NewSequence(t, s)
	f := run.Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("job")))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":1,"Z":1}`
	f = run.Open(t)
	assert.True(t, f.JobEnqueueable(f.Job("job")))
	assert.Empty(t, f.Schedule(t).Cache.Bound)
	s.Node("z", "Z", 1)
	assert.Equal(t, map[string]int{"Z": 1}, run.Open(t).Schedule(t).Placed(""))
}

// TestNewQueueWithTheNameOfAnother replaces a Queue by another with the same name.
// The last good values of the first do not count for it.
func TestNewQueueWithTheNameOfAnother(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`)
	run := testbed.NewSequence(t, s)
	assert.Equal(t, 4.0, boundOf(run.Open(t), "q", "A"))
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":"five"}`
	assert.Equal(t, 4.0, boundOf(run.Open(t), "q", "A"))
	run.Edit = func(info *api.ClusterInfo) { info.Queues["q"].Queue.UID = types.UID("another") }
	assert.Equal(t, 0.0, boundOf(run.Open(t), "q", "A"))
}

// TestInheritedCards counts cards in all queues below one with a card annotation.
func TestInheritedCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("carded", "root", "quota", `{"A":4}`).Queue("inner", "carded").
		Queue("leaf", "inner").Queue("other", "root").
		Pods("one", "leaf", "A", 1, 1).Pods("two", "other", "A", 1, 1)
	s.Build = session.NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = workload.Resources{}
	}
	f := s.Open(t)
	assert.False(t, f.Allocatable(f.Queue("leaf"), f.Task("one-0")))
	assert.True(t, f.Allocatable(f.Queue("other"), f.Task("two-0")))
}

// TestRootQuotaClosesNoLeaf sets a card quota on the root alone. Under the name
// capacity the quota bounds all leaves together, and closes none. A quota of an
// inner queue closes the leaves below it that have none.
func TestRootQuotaClosesNoLeaf(t *testing.T) {
	cluster := func(root, team string) *testbed.Scene {
		s := testbed.NewScene().Node("a", "A", 8).Queue("root", "", "quota", root).Queue("team", "root").Queue("leaf", "team").Queue("other", "root").
			Pods("leaf", "leaf", "A", 4, 1, testbed.InPhase(workload.Inqueue)).Pods("other", "other", "A", 4, 1, testbed.InPhase(workload.Inqueue))
		if team != "" {
			s.Queues[1].Annotations["volcano.sh/card.quota"] = team
		}
		s.Build = session.NewCapacity
		return s
	}
	f := cluster(`{"A":6}`, "").Open(t).Schedule(t)
	assert.Equal(t, 6.0, f.CardsOf("root", "A"), "the quota of the root bounds all leaves")
	assert.Len(t, f.Cache.Bound, 6)

	f = cluster(`{"A":6}`, `{"A":3}`).Open(t).Schedule(t)
	assert.Zero(t, f.CardsOf("leaf", "A"), "the leaf has no quota below a queue that has one")
	assert.Equal(t, 3.0, f.CardsOf("other", "A"), "the guarantee of team, its quota, stays free")
}
