package budget_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// hoursUsed returns the card-hours that a queue has used of its budget.
func hoursUsed(f *testbed.Fixture, t *testing.T, queue string) float64 {
	t.Helper()
	rule := f.Own.Memory.Budgets.InForce()
	require.NotNil(t, rule)
	for _, b := range rule.All() {
		if f.Own.Index.Name(b.Queue) == queue {
			return budget.Hours(b.Used)
		}
	}
	require.Fail(t, "no budget of "+queue)
	return 0
}

// TestBudgetsSurviveRestarts compares a scheduler that restarts again and again with a scheduler that runs on. It
// also compares both with the exact sum. Only the usage of pods that ended while the scheduler was away is lost.
func TestBudgetsSurviveRestarts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	with := framework.Arguments{arguments.StateSave: "1s"}
	steady, restarted := testbed.NewScheduler(with), testbed.NewScheduler(with)
	type job struct {
		name  string
		cards int64
		ends  bool // its pod terminates, and has its cards until it is gone
	}
	var jobs []job
	exact, lost, away, restarts := 0.0, 0.0, time.Duration(0), 0
	for step := range 200 {
		gap := time.Second * time.Duration(1+r.IntN(1200))
		away += gap
		for _, j := range jobs {
			exact += float64(j.cards) * gap.Hours()
		}
		if r.IntN(2) == 0 {
			jobs = append(jobs, job{name: fmt.Sprint("j", step), cards: int64(1 + r.IntN(4))})
		}
		starts := away == gap && r.IntN(5) == 0
		switch ends := len(jobs) > 4 || len(jobs) > 0 && r.IntN(4) == 0; {
		case ends && !jobs[0].ends:
			jobs[0].ends = true
		case ends:
			if starts || away > gap {
				lost += float64(jobs[0].cards) * away.Hours()
			}
			jobs = jobs[1:]
		}
		scene := func() *testbed.Scene {
			s := testbed.WithBudget("100000h/366d")
			for _, j := range jobs {
				s.Pods(j.name, "q", "A", 1, j.cards, testbed.On("a"))
				if last := len(s.Jobs) - 1; j.ends {
					s.Jobs[last].Tasks[0].Status = workload.TaskReleasing
				}
			}
			return s
		}
		if starts {
			restarts++
			restarted.Restart()
		}
		a, b := steady.Open(t, scene(), gap), restarted.Open(t, scene(), gap)
		require.InDelta(t, exact, hoursUsed(a, t, "q"), 1e-9*max(1, exact), "step %d", step)
		if !starts { // the store is read while the first session runs
			require.InDelta(t, hoursUsed(a, t, "q"), hoursUsed(b, t, "q"), lost+1e-9, "step %d", step)
			away = 0
		}
		a.Close()
		b.Close()
	}
	assert.Greater(t, restarts, 20)
	assert.Greater(t, exact, 10.0)
}

// TestNothingStartsBeforeBudgetsAreKnown has a scheduler that restarts when the budget is used up.
func TestNothingStartsBeforeBudgetsAreKnown(t *testing.T) {
	for _, readable := range []bool{true, false} {
		c := testbed.NewScheduler(framework.Arguments{arguments.StateSave: "1s"})
		started := func(after time.Duration, running bool) (int, string) {
			s := testbed.WithBudget("10h/month")
			if running {
				s.Pods("runs", "q", "A", 8, 1, testbed.On("a"))
			}
			s.Pods("waits", "q", "A", 1, 1, testbed.InPhase("Inqueue"))
			f := c.Open(t, s, after).Run(t, allocate.New())
			defer f.Close()
			return len(f.Job("waits").TaskStatusIndex[api.Binding]), f.Job("waits").JobFitErrors
		}
		started(0, true) // finds that nothing is stored
		n, _ := started(0, true)
		assert.Equal(t, 1, n)
		n, why := started(2*time.Hour, true)
		assert.Zero(t, n)
		assert.Equal(t, "Queue <q> has insufficient <A> budget: <0> of <10> card-hours are left until 2026-12-01T00:00Z", why)
		c.Restart()
		isOpen, open := context.WithCancel(t.Context())
		c.Opened = open
		c.Kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-isOpen.Done() // the session opens before anything is read
			return !readable, nil, fmt.Errorf("the API server is away")
		})
		n, why = started(time.Second, false)
		assert.Zero(t, n)
		assert.Equal(t, "Queue <q> has a budget of <A>, and what was used is being read", why)
		n, _ = started(time.Second, false)
		assert.Equal(t, map[bool]int{true: 0, false: 1}[readable], n, "an API server that refuses stops nobody")
	}
}

// TestBudgetsAndUsageShareTheStore switches usage over time on, and removes the budget of a queue for some time. In
// this time the scheduler restarts twice. What was used before counts, and so does what pods used that still run.
func TestBudgetsAndUsageShareTheStore(t *testing.T) {
	for others, want := range map[bool]float64{false: 16, true: 12} {
		c := testbed.NewScheduler(framework.Arguments{arguments.StateSave: "1s"})
		used := func(after time.Duration, with framework.Arguments, annotated bool) (hours, cards float64) {
			c.With = with
			s := testbed.WithBudget("1000h/366d")
			if !annotated {
				delete(s.Queues[0].Annotations, "volcano.sh/card.budget")
			}
			f := c.Open(t, s.Pods("runs", "q", "A", 4, 1, testbed.On("a")), after)
			defer f.Close()
			if annotated {
				hours = hoursUsed(f, t, "q")
			}
			if f.Own.Memory.Fairness.History() != nil {
				cards = f.CardsUsed("q")
			}
			return hours, cards
		}
		off := framework.Arguments{arguments.StateSave: "1s"}
		on := framework.Arguments{arguments.StateSave: "1s", arguments.FairShareHalfLife: "1h"}
		used(0, off, true)
		hours, _ := used(time.Hour, off, true)
		assert.InDelta(t, 4, hours, 1e-9)
		hours, cards := used(time.Hour, on, true)
		assert.InDelta(t, 8, hours, 1e-9)
		assert.InDelta(t, 4, cards, 1e-9)
		used(time.Second, on, true) // takes what was read for the new half-life
		used(time.Hour, on, false)
		for pod := range c.Started {
			if others {
				c.Started[pod] = c.Clock
			}
		}
		for range 2 {
			c.Restart()
			used(time.Second, on, false) // reads the store
			used(time.Second, on, false) // saves
		}
		hours, cards = used(time.Hour, on, true)
		assert.InDelta(t, want, hours, 0.01, "the pods are others: %t", others)
		assert.InDelta(t, 4, cards, 1e-9)
	}
}

// TestWrongLength records one event for each announced length that is wrong, where a queue has a budget.
func TestWrongLength(t *testing.T) {
	for budgets, want := range map[bool]int{true: 1, false: 0} {
		s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`)
		if budgets {
			s = testbed.WithBudget("10h/day")
		}
		d := testbed.NewSequence(t, s.Pods("soon", "q", "A", 2, 1).Pods("later", "q", "A", 1, 1).Pods("good", "q", "A", 1, 1))
		length := func(text string) map[string]string { return map[string]string{policy.ExpectedRuntimeKey: text} }
		d.Jobs[0].Annotations, d.Jobs[2].Annotations = length("4 hours"), length("4h")
		for i := range d.Jobs[0].Tasks {
			d.Jobs[0].Tasks[i].Annotations[policy.ExpectedRuntimeKey] = "-1h"
		}
		events := func() map[string]int {
			counts := map[string]int{}
			for _, event := range d.Open(t).Cache.Events() {
				counts[event]++
			}
			return counts
		}
		const key = "Warning BadPolicyAnnotation annotation volcano.sh/expected-runtime"
		first := events()
		assert.Equal(t, want, first[key+`: "4 hours" is not a duration above 0, such as 4h; it counts as not set`], first)
		assert.Equal(t, want, first[key+` of pods: "-1h" is not a duration above 0, such as 4h; it counts as not set`], first)
		for event := range events() {
			assert.NotContains(t, event, key, "once")
		}
	}
}

// TestDeadlinesAnnounceLengths has a job with pods that announce their runtime by a deadline. The part of the budget
// that the job still needs is not left for other jobs.
func TestDeadlinesAnnounceLengths(t *testing.T) {
	for seconds, want := range map[int64]bool{0: true, 3600: true, 7200: false} {
		s := testbed.WithBudget("10h/day").Pods("runs", "q", "A", 4, 1, testbed.On("a")).
			Pods("later", "q", "", 0, 0, testbed.CardRequest(`{"A":4}`, workload.Pending))
		s.Jobs[1].Annotations[policy.ExpectedRuntimeKey] = "1h"
		s.Build = testbed.NewScheduler(nil).Build // at noon: no pod needs more than its day has left
		f := s.Open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
			for _, job := range info.Jobs {
				for _, task := range job.Tasks {
					if seconds > 0 {
						task.Pod.Spec.ActiveDeadlineSeconds = &seconds
					}
				}
			}
		})
		assert.Equal(t, want, f.JobEnqueueable(f.Job("later")), "a deadline of %d seconds", seconds)
	}
}
