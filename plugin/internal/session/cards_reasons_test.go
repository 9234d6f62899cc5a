package session

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// TestReasonsOfLists refuses a pod with a list whose cards do not fit for different causes. The
// reason names each card with its own, in the order of the list.
func TestReasonsOfLists(t *testing.T) {
	const (
		a    = "What is left of <A> at queue <root> is guaranteed to other queues: requested <1>"
		b    = "Queue <q> has insufficient <B> quota: requested <1>, total would be <2>, but capability is <1>"
		c    = "Queue <team> has insufficient <C> quota for namespace <default>: requested <1>, total would be <2>, but card.quota.namespace is <1>"
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
			s := newScene().node("a", "A", 4).node("b", "B", 4).node("c", "C", 4)
			if !test.flat {
				s.queue("root", "").queue("team", root, "quota", `{"A":8,"B":8,"C":8}`, "guarantee", `{"A":0,"B":0,"C":0}`).
					annotate("team", card.NamespaceKey, `{"C":1}`)
			}
			s.queue("q", team, "quota", `{"A":8,"B":1,"C":8}`, "guarantee", `{"A":0,"B":0,"C":0}`).queue("owner", root, "quota", `{"A":3}`).
				queue("other", root, "quota", `{"A":8}`, "guarantee", `{"A":0}`).pods("a", holder, "A", 1, 1, on("a")).pods("b", "q", "B", 1, 1, on("b")).pods("c", "q", "C", 1, 1, on("c")).pods("job", "q", list, 1, 1)
			f := s.open(t)
			require.False(t, f.Allocatable(f.queue("q"), f.task("job-0")))
			assert.Equal(t, test.want, f.job("job").JobFitErrors)
			why := InspectionOf(f.own).Allocate(f.task("job-0"))
			require.NotNil(t, why)
			assert.Equal(t, test.want, why.String())
			assert.Equal(t, []string{string(test.rule), test.at}, []string{string(why.Rule), why.Queue})
			for _, s := range why.Shortages {
				assert.Greater(t, s.Total, s.Bound, s.Resource)
			}
		})
	}
}

// TestReasonsOfListsChange has a queue use up its quota of A, of which others are guaranteed the
// rest: the cause of A is another one, and so is the reason.
func TestReasonsOfListsChange(t *testing.T) {
	s := newScene().node("a", "A", 4).queue("root", "").queue("q", "root", "quota", `{"A":2,"B":0}`, "guarantee", `{"A":0}`).
		queue("owner", "root", "quota", `{"A":3}`).pods("run", "q", "A", 1, 1, on("a")).pods("job", "q", "B|A", 1, 1)
	run := newSequence(t, s)
	f := run.open(t)
	require.False(t, f.Allocatable(f.queue("q"), f.task("job-0")))
	assert.Contains(t, f.job("job").JobFitErrors, "What is left of <A> at queue <root> is guaranteed to other queues")
	s.Jobs[0].Tasks[0].Request[gpuName] = 2
	f = run.open(t)
	require.False(t, f.Allocatable(f.queue("q"), f.task("job-0")))
	assert.Contains(t, f.job("job").JobFitErrors, "Queue <q> has insufficient <A> quota: requested <1>, total would be <3>")
}

// TestReasonsOfListsWithEarmarks refuses a pod with a list, because what is left of A is earmarked.
func TestReasonsOfListsWithEarmarks(t *testing.T) {
	f := newScene().node("a", "A", 4).queue("q", "", "quota", `{"A":2,"B":0,"C":2}`).
		pods("mixed", "q", "A|B", 1, 1).pods("equal", "q", "A|C", 1, 1).open(t)
	for job, want := range map[string]string{
		"mixed": "What is left of <A> at queue <q> is earmarked for pods that others were evicted for: requested <1>; " +
			"Queue <q> has insufficient <B> quota: requested <1>, total would be <1>, but capability is <0>",
		"equal": "What is left at queue <q> is earmarked for pods that others were evicted for: requested <1> of <A|C>",
	} {
		q := f.own.Index.Lookup("q")
		for request := range f.own.Cards.Requests(f.own.Cards.PodRequest(q, f.task(job+"-0").Pod)) {
			refused := f.own.RefusedTask(constraint.Frame{}, &f.own.Books.Now, constraint.Ask{Task: f.task(job + "-0"), Queue: q},
				cards.Outcome{Verdict: quota.Verdict{Reason: quota.Earmarked, Queue: q}, Request: request})
			assert.Equal(t, want, f.own.explain.Explain(refused).String())
		}
	}
}

// TestReasonsHaveTheNumbersThatDecided refuses a pod by the accounts as they will be, in which two of the cards
// are earmarked for others. Those of now would let it in.
func TestReasonsHaveTheNumbersThatDecided(t *testing.T) {
	f := newScene().node("a", "A", 4).queue("q", "", "quota", `{"A":2}`).pods("job", "q", "A", 1, 1).open(t)
	q, task := f.own.Index.Lookup("q"), f.task("job-0")
	d, _ := f.own.Names.LookupCard("A")
	earmarked, request := fastres.NewVector(f.own.Intake.Dims.Length()), fastres.NewVector(f.own.Intake.Dims.Length())
	earmarked.Set(d, 2000)
	f.own.Books.Charge(q, index.None, earmarked)
	var outcome cards.Outcome
	outcome.Verdict = f.own.AllocationOf(&f.own.Books.Future, q, task, request, &outcome.Request)
	refused := f.own.RefusedTask(constraint.Frame{}, &f.own.Books.Future, constraint.Ask{Task: task, Queue: q, Request: request}, outcome)
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <3>, but capability is <2>",
		f.own.explain.Explain(refused).String())
}
