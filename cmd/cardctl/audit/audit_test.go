package audit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
	"github.com/capacity-card/capacity-card/plugin/store"
)

const day = 24 * time.Hour

// configuration has a record of use with a half-life of a day, where counts is all.
func configuration(t *testing.T, counts string) *engine.Configuration {
	t.Helper()
	c, err := engine.Configure(`
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: capacity-card
    arguments: {fairShareHalfLife: 24h, fairShareCounts: ` + counts + `}
`)
	require.NoError(t, err)
	c.Usage = &store.Stored{Saved: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC), HalfLife: day}
	return c
}

// queue has a quota of 8 of card A, of which it has had some on average in the time that the record covers.
func queue(name, parent string, average float64, covered time.Duration) queues.Queue {
	quota, deserved := 8.0, 8.0
	return queues.Queue{Queue: name, Parent: parent, Bounds: map[string]bool{"A": true},
		Resources: []queues.Holding{{Resource: "A", Card: true, Capability: &quota, Deserved: &deserved}},
		Past:      &queues.Past{Records: map[string]queues.Record{"A": {Average: average, Covered: covered}}}}
}

func found(r *Report) (all []string) {
	for _, f := range r.Items {
		all = append(all, fmt.Sprintf("%s %s: %s", f.Check, f.Queue, f.Message))
	}
	return all
}

// TestUse has what the record tells of use, at its bounds: with the half-life of a day, an average of 0.004 is at most 0.106 in
// 7 days, and one of 0.003 at most 0.079.
func TestUse(t *testing.T) {
	none := &validate.Result{}
	for name, test := range map[string]struct {
		change func(q *queues.Queue)
		want   []string
	}{
		"as it is": {func(*queues.Queue) {}, []string{"UnusedQuota q: used less than 0.1 of its quota of 8 on average in the last 7 days"}},
		"exactly none": {func(q *queues.Queue) { q.Past.Records["A"] = queues.Record{Covered: 7 * day} },
			[]string{"UnusedQuota q: used none of its quota of 8 in the last 7 days"}},
		"it may be more":   {func(q *queues.Queue) { q.Past.Records["A"] = queues.Record{Average: 0.004, Covered: 7 * day} }, nil},
		"a younger record": {func(q *queues.Queue) { q.Past.Records["A"] = queues.Record{Covered: 7*day - 1} }, nil},
		"no record":        {func(q *queues.Queue) { q.Past = nil }, nil},
		"another's bound":  {func(q *queues.Queue) { q.Bounds = nil }, nil},
		"it is in use":     {func(q *queues.Queue) { q.Resources[0].Allocated = 1 }, nil},
		"a guarantee as well": {func(q *queues.Queue) {
			q.Resources[0].Guarantee = 8
			q.Past.Records["A"] = queues.Record{Average: 0.16, Covered: 7 * day}
		}, nil},
		"a guarantee that idles": {func(q *queues.Queue) {
			q.Resources[0].Guarantee = 8
			q.Past.Records["A"] = queues.Record{Average: 0.12, Covered: 7 * day}
		},
			[]string{"IdleGuarantee q: at least 4.8 of its guarantee of 8 idled on average in the last 7 days"}},
		"a guarantee, without a record": {func(q *queues.Queue) { q.Resources[0].Guarantee, q.Resources[0].Inqueue, q.Past = 8, 3, nil },
			[]string{"IdleGuarantee q: 5 of its guarantee of 8 idles now; the time before is not known"}},
		"it only borrows": {func(q *queues.Queue) {
			*q.Resources[0].Deserved, q.Past.Records["A"] = 0, queues.Record{Average: 2, Covered: day}
		},
			[]string{"OnlyBorrows q: deserves none, has 0 now, and has had 2 on average (half-life 24h)"}},
		"an average of what is assumed": {func(q *queues.Queue) {
			*q.Resources[0].Deserved, q.Past.Records["A"] = 0, queues.Record{Average: 2, Covered: day - 1}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := queue("q", "", 0.003, 7*day)
			test.change(&q)
			assert.Equal(t, test.want, found(Run([]queues.Queue{q}, none, configuration(t, "all"), 7)))
		})
	}
	r := Run([]queues.Queue{queue("q", "", 0, 7*day)}, none, configuration(t, "borrowed"), 7)
	assert.Empty(t, r.Items)
	assert.Equal(t, "it has only what queues borrow (fairShareCounts: borrowed)", r.Lacks)
}

// TestManyQueues has 2,000 queues below 20, of which the record covers all but one. A queue below one that is not used is not named.
func TestManyQueues(t *testing.T) {
	var all []queues.Queue
	for i := range 20 {
		name, average := fmt.Sprint("p", i), 0.0
		if i > 0 {
			average = 4
		}
		all = append(all, queue(name, "", average, 7*day))
		for j := range 99 {
			all = append(all, queue(fmt.Sprint(name, "-", j), name, 0, 7*day))
		}
	}
	all[len(all)-1].Past.Records["A"] = queues.Record{Covered: 3 * day}
	r := Run(all, &validate.Result{}, configuration(t, "all"), 7)
	assert.Len(t, all, 2000)
	assert.Equal(t, 1+19*99-1, len(r.Items))
	assert.Equal(t, []any{1999, 1, "72h0m0s"}, []any{r.Judged, r.Short, r.Covered})
	assert.Equal(t, "p0", r.Items[0].Queue)
	r.Keep(func(queue string) bool { return queue == "p1-5" })
	assert.Len(t, r.Items, 1)
}

// BenchmarkAudit audits 2,000 queues with 8 cards each.
func BenchmarkAudit(b *testing.B) {
	var all []queues.Queue
	for i := range 2000 {
		q := queue(fmt.Sprint("q", i), "", 0, 7*day)
		for j := range 7 {
			h := q.Resources[0]
			h.Resource = fmt.Sprint("A", j)
			q.Bounds[h.Resource], q.Resources = true, append(q.Resources, h)
			q.Past.Records[h.Resource] = queues.Record{Covered: 7 * day}
		}
		all = append(all, q)
	}
	c, err := engine.Configure("actions: \"enqueue\"\ntiers:\n- plugins:\n  - name: capacity-card\n    arguments: {fairShareHalfLife: 24h}\n")
	if err != nil {
		b.Fatal(err)
	}
	c.Usage = &store.Stored{}
	for b.Loop() {
		Run(all, &validate.Result{}, c, 7)
	}
}
