package joborder_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestAdmittedJobUnderALimit has an admitted job that lacks quota. A later job waits for it, unless another limit
// refuses the first job as well.
func TestAdmittedJobUnderALimit(t *testing.T) {
	for name, test := range map[string]struct {
		cards  string // of the first job
		limit  []string
		passes bool
	}{
		"no limit":                            {"A", nil, false},
		"a budget that is used up":            {"A", []string{card.BudgetKey, `{"A":"1h/month"}`}, true},
		"a budget with something left":        {"A", []string{card.BudgetKey, `{"A":"1000h/month"}`}, false},
		"a limit of the namespace":            {"A", []string{card.HolderKey, `{"namespace":{"*":{"A":4}}}`}, true},
		"a limit with room for some pods":     {"A", []string{card.HolderKey, `{"namespace":{"*":{"A":6}}}`}, true},
		"a limit of cores":                    {"A", []string{card.HolderKey, `{"namespace":{"*":{"cpu":"1"}}}`}, true},
		"a budget of one card of the list":    {"A|B", []string{card.BudgetKey, `{"A":"1h/month"}`}, false},
		"budgets of both cards of the list":   {"A|B", []string{card.BudgetKey, `{"A":"1h/month","B":"1h/month"}`}, true},
		"a limit of the first card of a list": {"A|B", []string{card.HolderKey, `{"namespace":{"*":{"A":4}}}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			scene := func() *testbed.Scene {
				s := testbed.NewScene().Node("a", "A", 16).Node("b", "B", 16).Queue("q", "", "quota", `{"A":4,"B":4}`).
					Pods("runs-a", "q", "A", 4, 1, testbed.On("a")).Pods("runs-b", "q", "B", 4, 1, testbed.On("b")).
					Pods("first", "q", test.cards, 4, 1, testbed.Members(4), testbed.InPhase(workload.Inqueue)).
					Pods("later", "q", "", 1, 0)
				return s.Annotate("q", policy.OrderKey, "fifo").Annotate("q", test.limit...)
			}
			c := testbed.NewScheduler(framework.Arguments{arguments.StateStore: "none"})
			c.Open(t, scene(), 0).Close()
			f := c.Open(t, scene(), time.Hour)
			assert.Equal(t, test.passes, f.JobEnqueueable(f.Job("later")))
			if !test.passes {
				assert.Contains(t, f.Job("later").JobFitErrors, "job <default/first> goes first")
			}
		})
	}
}
