package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// quotaOf returns the quota of a queue for a card in a session, in whole cards.
func quotaOf(f *testbed.Fixture, queue, name string) float64 {
	d, _ := f.Own.Memory.Names.LookupCard(name)
	return f.Own.Cards.Quotas(f.Own.Index.Lookup(queue))[d].Cards()
}

// TestSharesFollowTheNodes changes nodes and shares. Programs see the share, and the number that it is.
func TestSharesFollowTheNodes(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).
		Lending("p", `{"A":"50%"}`, `{"A":"25%"}`, `{"A":0}`).Lending("q", `{"A":"50%","Z":"10%,min=2"}`, `{"A":3}`, `{"A":"12.5%"}`)
	run := testbed.NewSequence(t, s)
	both := func(f *testbed.Fixture) []float64 { return []float64{quotaOf(f, "p", "A"), quotaOf(f, "q", "A")} }

	f := run.Open(t)
	assert.Equal(t, []float64{4, 4}, both(f))
	s.Node("b", "A", 5)
	f = run.Open(t)
	assert.Equal(t, []float64{7, 6}, both(f), "the first queue gets the odd card")
	in := session.InspectionOf(f.Own)
	assert.Equal(t, []inspect.StatedShare{share(card.QuotaKey, "A", "50%", 7), share(card.DeservedKey, "A", "25%", 3)}, in.Shares("p"))
	assert.Equal(t, []inspect.StatedShare{share(card.QuotaKey, "A", "50%", 6), share(card.QuotaKey, "Z", "10%,min=2", 2),
		share(card.GuaranteeKey, "A", "12.5%", 1)}, in.Shares("q"))
	assert.Equal(t, "10%,min=2 = 2", in.Shares("q")[1].String())
	assert.Empty(t, in.Shares("nobody"))
	assert.Equal(t, `{"A":6,"Z":2}`, in.Annotations("q")[card.QuotaKey])
	assert.Equal(t, `{"A":3}`, in.Annotations("q")[card.DeservedKey])
	assert.Equal(t, `{"A":1}`, in.Annotations("q")[card.GuaranteeKey])
	assert.Equal(t, `{"A":"50%","Z":"10%,min=2"}`, s.Queues[1].Annotations[card.QuotaKey])

	s.Nodes = s.Nodes[1:]
	assert.Equal(t, []float64{3, 2}, both(run.Open(t)), "a node is gone")
	s.Queues[1].Annotations[card.QuotaKey] = `{"A":2}`
	assert.Equal(t, []float64{2, 2}, both(run.Open(t)), "a number of a sibling")
	s.Queues[0].Annotations[card.QuotaKey] = `{"A":"150%"}`
	f = run.Open(t)
	assert.Equal(t, []float64{2, 2}, both(f), "the last good share")
	assert.Equal(t, `annotation volcano.sh/card.quota: "A": "150%" is not a share of the cards: 0% to 100%, then min=N or max=N or both; the last good value, 50%, stays in force`,
		problemsOf(f, "p")[0])
	s.Node("c", "A", 8)
	assert.Equal(t, []float64{6, 2}, both(run.Open(t)), "the last good share follows the nodes")
	s.Queues[0].Annotations[card.QuotaKey] = `{"A":"150%"`
	f = run.Open(t)
	assert.Equal(t, []float64{6, 2}, both(f))
	assert.Contains(t, strings.Join(problemsOf(f, "p"), "; "), "the last good value stays in force")
	s.Nodes = s.Nodes[1:]
	assert.Equal(t, []float64{4, 2}, both(run.Open(t)))
	delete(s.Queues[0].Annotations, card.QuotaKey)
	assert.Equal(t, []float64{0, 2}, both(run.Open(t)))
}

// TestSharesInATree has queues at two levels. A queue that does not reach the root has no siblings.
func TestSharesInATree(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 7).Queue("root", "", "quota", `{"A":"80%"}`).
		Queue("x", "root", "quota", `{"A":"50%"}`).Queue("y", "root", "quota", `{"A":"50%"}`).
		Queue("x1", "x", "quota", `{"A":"50%"}`).Queue("x2", "x", "quota", `{"A":"50%"}`).Queue("y1", "y", "quota", `{"A":"50%"}`).
		Queue("lost", "gone", "quota", `{"A":"50%"}`)
	f := s.Open(t)
	for queue, want := range map[string]float64{"x": 4, "y": 3, "x1": 4, "x2": 3, "y1": 3, "lost": 3, "root": 5} {
		assert.Equal(t, want, quotaOf(f, queue, "A"), queue)
	}
}

// TestSharesOfHeldCards has pods of queues on cards that no node gives any more, and a pod that no queue counts.
func TestSharesOfHeldCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Lending("q", `{"A":"50%"}`, `{"A":0}`, `{"A":0}`).Pods("job", "q", "A", 6, 1)
	for i := range s.Jobs[0].Tasks {
		s.Jobs[0].Tasks[i].Node = "a"
		s.Jobs[0].Tasks[i].Status = workload.TaskRunning
	}
	run := testbed.NewSequence(t, s)
	assert.Equal(t, 4.0, quotaOf(run.Open(t), "q", "A"))
	s.Jobs[0].Queue = "nowhere"
	assert.Equal(t, 1.0, quotaOf(run.Open(t), "q", "A"), "no queue counts the pods")
	s.Jobs[0].Queue = "q"
	s.Nodes[0].Allocatable[testbed.GPU] = 4
	assert.Equal(t, 3.0, quotaOf(run.Open(t), "q", "A"), "the pods hold six cards")
}

// TestLastGoodSharesAreStored breaks a share, and starts another scheduler: it knows the share, and not its number.
func TestLastGoodSharesAreStored(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{})
	c.Open(t, lender().Annotate("own", card.QuotaKey, `{"A":"50%,min=1"}`), 0).Close()
	broken := lender().Annotate("own", card.QuotaKey, `{"A":"50%",}`)
	for range 3 {
		c.Open(t, broken, time.Second).Close()
	}
	known := stored(c, t)
	require.Equal(t, map[string]string{card.QuotaKey: `{"A":"50%,min=1"}`}, known.Record.Remembered.Queues["own"].Annotations)
	begun := begins(c, t, broken, 0, known)
	assert.Equal(t, []inspect.StatedShare{share(card.QuotaKey, "A", "50%,min=1", 4)}, begun.Shares("own"))
}

// share returns a share with its present number of cards.
func share(annotation, name, text string, cards float64) inspect.StatedShare {
	return inspect.StatedShare{Annotation: annotation, Card: name, Share: text, Cards: cards}
}
