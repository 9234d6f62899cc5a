package replay

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/measure"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

// The bounds of a queue in TestWeekOfPolicies.
const (
	byDay, byNight = 24.0, 8.0          // cards
	nightFrom      = 20 * time.Hour     // of a day, until midnight
	delay          = 10 * time.Minute   // of enforce-quota
	hoursOfDay     = 200.0              // card-hours in a day
	settled        = 15 * time.Minute   // a session is held within Idle, and evicts
	ofUTC          = 6400 * time.Second // from midnight to the first submission
	day            = 24 * time.Hour     // of UTC
	someJobs       = 1e6
)

// weekOf returns a cluster of queues with a quota that is lowered each night. Pods above the lowered quota are
// evicted. The queues also have budgets of card-hours and of evictions.
func weekOf(t *testing.T) Setup {
	s := setup(t, 6, []share{{"root", "", 48}, {"a", "root", 16}, {"b", "root", 16}, {"c", "root", 16}}, ", stateStore: none")
	for _, q := range s.Queues[1:] {
		q.Annotations[card.QuotaKey] = `{"H": 24}`
		q.Annotations[card.BudgetKey] = `{"H": "200h/day"}`
		q.Annotations[policy.EvictionBudgetKey] = "lose=40/1h"
		q.Annotations[policy.EnforceQuotaKey] = "after=10m"
		q.Annotations[policy.OverrideKey] = `[{"days": "Mon-Sun", "from": "20:00", "until": "24:00", "zone": "UTC", "card.quota": {"H": 8}}]`
	}
	s.Idle = 5 * time.Minute
	return s
}

func weekJobs() []trace.Job {
	var loads []trace.Load
	for _, queue := range []string{"a", "b", "c"} {
		loads = append(loads, trace.Load{Queue: queue, Card: "H", Node: 8, Most: 8, Night: 1, Day: 3, Hours: 1})
	}
	return trace.Make(7, time.Duration(*days)*day, someJobs, loads)
}

// ofDay is the time of a day, in UTC.
func ofDay(at time.Duration) time.Duration { return (at + ofUTC) % day }

// TestWeekOfPolicies replays days in which windows, budgets, and quotas that are lowered act together. At no instant is
// a bound exceeded that no rule lets a queue exceed.
func TestWeekOfPolicies(t *testing.T) {
	require.Equal(t, time.Duration(epoch.Unix()%86400)*time.Second, ofUTC)
	r := Run(context.Background(), weekOf(t), weekJobs())
	assert.NotZero(t, r.Evicted)
	require.Len(t, r.QueueCards, 3)
	for _, queueCard := range r.QueueCards {
		spent, night := 0.0, 0
		for i, p := range queueCard.Allocated {
			before, since := 0.0, time.Duration(0)
			if i > 0 {
				before, since = queueCard.Allocated[i-1].Amount, queueCard.Allocated[i-1].At
			}
			spent = used(spent, before, since, p.At)
			bound := byDay
			if ofDay(p.At) >= nightFrom {
				bound = byNight
				night++
			}
			if p.Amount > before {
				assert.LessOrEqual(t, p.Amount, bound, "%s takes a card at %s", queueCard.Queue, p.At)
				assert.Less(t, spent, hoursOfDay, "%s takes a card at %s", queueCard.Queue, p.At)
			}
		}
		assert.NotZero(t, night, "cards change hands at night")
	}
	assertLowered(t, r.QueueCards)
}

// assertLowered expects queues to have no more than the quota of the night, once pods above it had the time to end.
func assertLowered(t *testing.T, queueCards []*measure.QueueCard) {
	for _, queueCard := range queueCards {
		for i, p := range queueCard.Allocated {
			until := p.At
			if i+1 < len(queueCard.Allocated) {
				until = queueCard.Allocated[i+1].At
			}
			if ofDay(p.At) < nightFrom+delay+settled && ofDay(p.At)+until-p.At > nightFrom+delay+settled {
				assert.LessOrEqual(t, p.Amount, byNight, "%s keeps its cards from %s to %s", queueCard.Queue, p.At, until)
			}
		}
	}
}

// used adds the card-hours that a queue used from since to at. Only the hours on the day of at count.
func used(spent, amount float64, since, at time.Duration) float64 {
	if midnight := at - ofDay(at); since < midnight {
		spent, since = 0, midnight
	}
	return spent + amount*(at-since).Hours()
}

// TestNobodyIsEvictedWithoutARule has neither reclaim nor preempt: a queue loses pods only while it is above a quota
// that was lowered, once the delay is over.
func TestNobodyIsEvictedWithoutARule(t *testing.T) {
	s := weekOf(t)
	s.Actions = s.Actions[:2] // enqueue and allocate
	r := newRun(s, weekJobs())
	evicted := 0
	r.Progress = func(p Progress) {
		if r.book.Evicted > evicted {
			evicted = r.book.Evicted
			assert.GreaterOrEqual(t, ofDay(p.Now), nightFrom+delay, "pods are evicted")
		}
	}
	restore := r.open()
	defer restore()
	r.loop(context.Background())
	r.finish()
	assert.NotZero(t, evicted)
	assertLowered(t, r.QueueCards)
}
