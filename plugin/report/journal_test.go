package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/quota"
)

// TestJournalReportsNewReasons refuses one job again and again. The reason is new
// when the request, the quota, the queue or the rule is another one; it is not when
// only the usage or a bound changes, and then its text stays.
func TestJournalReportsNewReasons(t *testing.T) {
	f, j, waiting := newFixture(t), NewJournal(), job("waiting")
	overQuota := quota.Verdict{Reason: quota.OverQuota, Queue: f.q}
	refuse := func(r Refusal) bool { return f.refuse(j, waiting, r) }
	refusal := Refusal{Verdict: overQuota, Cards: f.request(h200, 2)}
	assert.True(t, refuse(refusal))
	text := waiting.JobFitErrors
	assert.Equal(t, f.Explain(refusal).String(), text)

	waiting.JobFitErrors = ""
	f.allocate(f.h200, 1000)
	assert.False(t, refuse(refusal), "only the usage is another one")
	assert.Equal(t, text, waiting.JobFitErrors)
	f.Index.RealCapability.Row(f.q).Set(f.h200, 2500)
	assert.False(t, refuse(refusal), "only a bound that follows from the nodes is another one")

	f.Index.Capability.Row(f.q).Set(f.h200, 2500)
	assert.True(t, refuse(refusal), "the quota of the card is another one")
	assert.Contains(t, waiting.JobFitErrors, "total would be <5>, but capability is <2.5>")
	assert.True(t, refuse(Refusal{Verdict: overQuota, Cards: f.request(h200, 3)}), "the request is another one")
	assert.True(t, refuse(Refusal{Verdict: overQuota, Cards: f.request(h800, 3)}), "the card is another one")
	assert.True(t, refuse(Refusal{Verdict: overQuota, Cards: f.request("NVIDIA-X", 3)}))
	assert.True(t, refuse(Refusal{Verdict: overQuota, Cards: f.request("NVIDIA-Y", 3)}), "an unknown card is another one")
	assert.True(t, refuse(Refusal{Verdict: quota.Verdict{Reason: quota.ClosedQueue, Queue: f.q}}), "the rule is another one")
	assert.True(t, refuse(Refusal{Verdict: quota.Verdict{Reason: quota.ClosedQueue, Queue: f.Index.Lookup("team")}}), "the queue is another one")
	assert.True(t, refuse(Refusal{Verdict: quota.Verdict{Reason: quota.InnerQueue, Queue: f.Index.Lookup("team")}}), "only the rule is another one")

	assert.True(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(2000, 0)}))
	assert.True(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(2000, 1<<30)}), "a second resource is short")
	assert.True(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(3000, 1<<30)}), "the request is another one")
	assert.False(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(3000, 1<<30)}))

	f.Index.RealCapability.Row(f.q).Set(fastres.Memory, 1000)
	assert.True(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(2000, 0)}))
	assert.True(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(0, 2000)}), "another resource is short by the same number")
	assert.True(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(3000, 1<<30)}))

	assert.True(t, f.refuse(j, job("other"), Refusal{Verdict: overQuota, Request: f.vector(3000, 1<<30)}), "each job has its own reason")
	assert.Equal(t, 2, j.Len())
	j.Open(map[api.JobID]*api.JobInfo{waiting.UID: waiting})
	assert.Equal(t, 1, j.Len())
	assert.False(t, refuse(Refusal{Verdict: overQuota, Request: f.vector(3000, 1<<30)}))
}

// TestJournalEvent makes the event of the last refusal. Drop-ins keep upstream's
// type and opening words.
func TestJournalEvent(t *testing.T) {
	f, j, waiting := newFixture(t), NewJournal(), job("waiting")
	overQuota := quota.Verdict{Reason: quota.OverQuota, Queue: f.q}
	for _, test := range []struct {
		refusal Refusal
		opening string
	}{
		{Refusal{Verdict: overQuota, Cards: f.request(h200, 2)}, "queue resource quota insufficient: insufficient NVIDIA-H200; "},
		{Refusal{Verdict: overQuota, Request: f.vector(2000, 1<<30)}, "queue resource quota insufficient: insufficient cpu, insufficient memory; "},
	} {
		f.refuse(j, waiting, test.refusal)
		text := f.Explain(test.refusal).String()
		assert.Equal(t, record.PodGroupEvent{Type: "Warning", Reason: "Unschedulable", Message: text}, j.Event(&f.Explainer, waiting, false))
		assert.Equal(t, record.PodGroupEvent{Type: "Normal", Reason: "Unschedulable", Message: test.opening + text}, j.Event(&f.Explainer, waiting, true))
	}
}

// TestJournalKeepsReasonsWhenNamesStartAnew gives the dimensions other numbers. The
// reasons stay the same.
func TestJournalKeepsReasonsWhenNamesStartAnew(t *testing.T) {
	f, j, waiting := newFixture(t), NewJournal(), job("waiting")
	refusal := Refusal{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: f.q}, Request: f.vector(2000, 1<<30)}
	assert.True(t, f.refuse(j, waiting, refusal))
	j.RenewNames(func(d fastres.Dim) fastres.Dim { return 10 - d })
	assert.Equal(t, []fastres.Dim{10 - fastres.Memory, 10 - fastres.CPU}, j.entries[waiting.UID].exceeded)
}

// TestJournalReportsNewDetails refuses a job for two causes of a budget of cards. The texts of the causes have the
// same length.
func TestJournalReportsNewDetails(t *testing.T) {
	f, j, waiting := newFixture(t), NewJournal(), job("waiting")
	refuse := func(detail string) bool {
		return j.Refuse(&f.Explainer, waiting, &Refusal{Verdict: quota.Verdict{Reason: quota.OverBudget, Queue: f.q}, Cards: f.request(h200, 2),
			Shortfalls: []constraint.Shortfall{{Verdict: quota.Verdict{Reason: quota.OverBudget, Queue: f.q}, Dim: f.h200,
				Against: constraint.CardBudget, Detail: detail}}})
	}
	assert.True(t, refuse("the record is read"))
	assert.False(t, refuse("the record is read"))
	assert.True(t, refuse("the record is lost"))
	assert.Contains(t, waiting.JobFitErrors, "the record is lost")
}

// TestJournalReportsWhoGoesFirst refuses a job that others hold back, one after the other. Neither the cards nor any
// other number of the refusals changes.
func TestJournalReportsWhoGoesFirst(t *testing.T) {
	nine := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for _, reason := range []quota.Reason{quota.HeldByOrder, quota.HeldForFairShare} {
		f, j, waiting := newFixture(t), NewJournal(), job("waiting")
		refuse := func(detail string, until time.Time) bool {
			v := quota.Verdict{Reason: reason, Queue: f.q}
			return j.Refuse(&f.Explainer, waiting, &Refusal{Verdict: v, Shortfalls: []constraint.Shortfall{{Verdict: v, Until: until, Detail: detail}}})
		}
		assert.True(t, refuse("job <ns/a>", nine))
		assert.False(t, refuse("job <ns/a>", nine))
		assert.True(t, refuse("job <ns/b>", nine), "another job goes first")
		assert.Contains(t, waiting.JobFitErrors, "job <ns/b>")
		assert.NotContains(t, waiting.JobFitErrors, "job <ns/a>")
		if reason == quota.HeldByOrder {
			assert.True(t, refuse("job <ns/b>", nine.Add(time.Hour)), "it does so for longer")
			assert.Contains(t, waiting.JobFitErrors, "until 2026-12-01T10:00Z at most")
		}
	}
}
