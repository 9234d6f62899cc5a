package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// TestReasonsOfLists refuses a pod with a list of cards that do not fit for different causes. The reason names each
// card with its own cause, in the order of the list.
func TestReasonsOfLists(t *testing.T) {
	const (
		a    = "What is left of <A> at queue <root> is guaranteed to other queues: requested <1>"
		b    = "Queue <q> has insufficient <B> quota: requested <1>, total would be <2>, but capability is <1>"
		c    = "Queue <team> has insufficient <C> quota for namespace <default>: requested <1>, total would be <2>, but card.quota.by is <1>"
		z    = "Queue <q> has insufficient <Z> quota: requested <1>, total would be <1>, but capability is <0>"
		flat = "What is left of <A> at queue <q> is guaranteed to other queues: requested <1>"
	)
	for list, test := range map[string]struct {
		flat bool
		want string
		rule report.Rule
		at   string // the queue of the reason
	}{
		"A|B":       {false, a + "; " + b, report.Guaranteed, "root"},
		"B|A":       {false, b + "; " + a, report.OverQuota, "q"},
		"C|A|B":     {false, c + "; " + a + "; " + b, report.OverNamespace, "q"},
		"Z|A":       {false, z + "; " + a, report.OverQuota, "q"},
		"A|Z":       {false, a + "; " + z, report.Guaranteed, "root"},
		"B|Z":       {false, b + "; " + z, report.OverQuota, "q"},
		"A":         {false, "What is left at queue <root> is guaranteed to other queues: requested <1> of <A>", report.Guaranteed, "root"},
		"B|A, flat": {true, b + "; " + flat, report.OverQuota, "q"},
	} {
		t.Run(list, func(t *testing.T) {
			root, team, holder := "root", "team", "q"
			if test.flat {
				root, team, holder, list = "", "", "other", "B|A"
			}
			s := testbed.NewScene().Node("a", "A", 4).Node("b", "B", 4).Node("c", "C", 4)
			if !test.flat {
				s.Queue("root", "").Queue("team", root, "quota", `{"A":8,"B":8,"C":8}`, "guarantee", `{"A":0,"B":0,"C":0}`).
					Annotate("team", card.HolderKey, `{"namespace":{"*":{"C":1}}}`)
			}
			s.Queue("q", team, "quota", `{"A":8,"B":1,"C":8}`, "guarantee", `{"A":0,"B":0,"C":0}`).Queue("owner", root, "quota", `{"A":3}`).
				Queue("other", root, "quota", `{"A":8}`, "guarantee", `{"A":0}`).Pods("a", holder, "A", 1, 1, testbed.On("a")).Pods("b", "q", "B", 1, 1, testbed.On("b")).Pods("c", "q", "C", 1, 1, testbed.On("c")).Pods("job", "q", list, 1, 1)
			f := s.Open(t)
			require.False(t, f.Allocatable(f.Queue("q"), f.Task("job-0")))
			assert.Equal(t, test.want, f.Job("job").JobFitErrors)
			why := session.InspectionOf(f.Own).Allocate(f.Task("job-0"))
			require.NotNil(t, why)
			assert.Equal(t, test.want, why.String())
			assert.Equal(t, []string{string(test.rule), test.at}, []string{string(why.Rule), why.Queue})
			for _, s := range why.Shortages {
				assert.Greater(t, s.Total, s.Bound, s.Resource)
			}
		})
	}
}

// TestReasonsOfListsChange has a queue that lacks A because the rest is guaranteed to others. Then the queue uses up
// its own quota of A. The cause for A changes, and so does the reason.
func TestReasonsOfListsChange(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 4).Queue("root", "").Queue("q", "root", "quota", `{"A":2,"B":0}`, "guarantee", `{"A":0}`).
		Queue("owner", "root", "quota", `{"A":3}`).Pods("run", "q", "A", 1, 1, testbed.On("a")).Pods("job", "q", "B|A", 1, 1)
	run := testbed.NewSequence(t, s)
	f := run.Open(t)
	require.False(t, f.Allocatable(f.Queue("q"), f.Task("job-0")))
	assert.Contains(t, f.Job("job").JobFitErrors, "What is left of <A> at queue <root> is guaranteed to other queues")
	s.Jobs[0].Tasks[0].Request[testbed.GPU] = 2
	f = run.Open(t)
	require.False(t, f.Allocatable(f.Queue("q"), f.Task("job-0")))
	assert.Contains(t, f.Job("job").JobFitErrors, "Queue <q> has insufficient <A> quota: requested <1>, total would be <3>")
}

// TestReasonsOfListsWithEarmarks refuses a pod with a list, because the rest of A is earmarked.
func TestReasonsOfListsWithEarmarks(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 4).Queue("q", "", "quota", `{"A":2,"B":0,"C":2}`).
		Pods("mixed", "q", "A|B", 1, 1).Pods("equal", "q", "A|C", 1, 1).Open(t)
	for job, want := range map[string]string{
		"mixed": "What is left of <A> at queue <q> is earmarked for pods that others were evicted for: requested <1>; " +
			"Queue <q> has insufficient <B> quota: requested <1>, total would be <1>, but capability is <0>",
		"equal": "What is left at queue <q> is earmarked for pods that others were evicted for: requested <1> of <A|C>",
	} {
		q := f.Own.Index.Lookup("q")
		for request := range f.Own.Cards.Requests(f.Own.Cards.PodRequest(q, f.Task(job+"-0").Pod)) {
			refused := f.Own.Refusal(constraint.Frame{}, &constraint.Answer{
				Ask:   constraint.Ask{Task: f.Task(job + "-0"), Queue: q},
				Books: &f.Own.Books.Now,
				Fit:   cards.NodeFit{Verdict: quota.Verdict{Reason: quota.Earmarked, Queue: q}, Request: request},
				Whole: true,
			})
			assert.Equal(t, want, f.Own.Explainer().Explain(refused).String())
		}
	}
}

// TestReasonsHaveTheNumbersThatDecided refuses a pod by the future accounts, in which two of the cards are earmarked
// for others. The current accounts would admit it.
func TestReasonsHaveTheNumbersThatDecided(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 4).Queue("q", "", "quota", `{"A":2}`).Pods("job", "q", "A", 1, 1).Open(t)
	q, task := f.Own.Index.Lookup("q"), f.Task("job-0")
	d, _ := f.Own.Names.LookupCard("A")
	earmarked, request := fastres.NewVector(f.Own.Intake.Dims.Length()), fastres.NewVector(f.Own.Intake.Dims.Length())
	earmarked.Set(d, 2000)
	f.Own.Books.Charge(q, index.None, earmarked)
	answer := f.Own.Decide(constraint.Question{Task: task, Queue: q, As: &f.Own.Books.Future, Request: request})
	refused := f.Own.Refusal(constraint.Frame{}, &answer)
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <3>, but capability is <2>",
		f.Own.Explainer().Explain(refused).String())
}
