package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

const quotaKey = card.QuotaKey

// admits has the API server admit a queue with these annotations without creating it, and returns why it does not.
func (c *cluster) admits(ctx context.Context, annotations map[string]string) error {
	queue := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "admitted", Annotations: annotations}, Spec: scheduling.QueueSpec{Weight: 1}}
	_, err := c.Volcano.SchedulingV1beta1().Queues().Create(ctx, queue, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// awaitPolicy waits until the API server follows the policy, or no longer does. It reads policies some time after they
// are written.
func (c *cluster) awaitPolicy(t *testing.T, ctx context.Context, inForce bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(ctx, schedulePeriod, patience, true, func(ctx context.Context) (bool, error) {
		return (c.admits(ctx, map[string]string{quotaKey: "broken"}) != nil) == inForce, nil
	})
	require.NoError(t, err)
}

// policy applies deploy/admission until the test ends.
func (c *cluster) policy(t *testing.T) {
	t.Helper()
	objects := render(t, "../deploy/admission")
	c.send(t, objects, "kubectl")
	t.Cleanup(func() { c.removePolicy(t) })
	c.awaitPolicy(t, t.Context(), true)
}

func (c *cluster) removePolicy(t *testing.T) {
	t.Helper()
	ctx, all := context.Background(), c.Kube.AdmissionregistrationV1()
	require.NoError(t, all.ValidatingAdmissionPolicyBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	require.NoError(t, all.ValidatingAdmissionPolicies().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	c.awaitPolicy(t, ctx, false)
}

const wholeNumbers = ` is not a JSON object of card names and whole numbers of cards or shares, such as {"NVIDIA-H200": 8} or {"NVIDIA-H200": "25%"}`

// TestAdmission has the API server admit and refuse queues by deploy/admission.
func TestAdmission(t *testing.T) {
	c := plane(t)
	c.policy(t)
	for _, each := range []struct{ name, key, text, refused string }{
		{"Quota", quotaKey, `{"NVIDIA-H200": 8, "NVIDIA-GeForce-RTX-4090":4}`, ""},
		{"Slices", quotaKey, `{"NVIDIA-H200/mig-1g.18gb-mixed":3,"NVIDIA-H800/mps-80g*1/2":0}`, ""},
		{"Empty", quotaKey, `{}`, ""},
		{"Lines", quotaKey, "\n{\n  \"NVIDIA H200\" : 8\n}\n", ""},
		{"Escapes", quotaKey, `{"NVIDIA-H200\/mig-1g.18gb-mixed": 3, "a\u002db": 1}`, ""},
		{"Groups", quotaKey, `{"@hopper": 8, "NVIDIA-H200": 4}`, ""},
		{"Deserved", card.DeservedKey, `{"NVIDIA-H200": 8}`, ""},
		{"Guarantee", card.GuaranteeKey, `{"NVIDIA-H200": 8}`, ""},
		{"Share", quotaKey, `{"NVIDIA-H200": "12.5%", "@hopper": "25%,min=2,max=64", "A": 8}`, ""},
		{"AllCards", card.GuaranteeKey, `{"NVIDIA-H200": "100%"}`, ""},
		{"Large", quotaKey, `{"NVIDIA-H200": 99999999999999999999}`, ""},
		{"LongName", quotaKey, `{"` + strings.Repeat("x", 4096) + `": 1}`, ""},
		{"ManyCards", quotaKey, manyCards(500), ""},
		{"Hierarchy", "volcano.sh/hierarchy", "root/eng", ""},
		{"Weights", "volcano.sh/hierarchy-weights", "1/0.5/10", ""},
		{"OfOthers", "volcano.sh/queue-owner", "eng", ""},

		{"NoText", quotaKey, ``, quotaKey + wholeNumbers},
		{"NoJSON", quotaKey, `NVIDIA-H200: 8`, quotaKey + wholeNumbers},
		{"NoEnd", quotaKey, `{"NVIDIA-H200": 8`, quotaKey + wholeNumbers},
		{"NoObject", quotaKey, `["NVIDIA-H200"]`, quotaKey + wholeNumbers},
		{"GoesOn", quotaKey, `{"NVIDIA-H200": 8} {}`, quotaKey + wholeNumbers},
		{"CommaAtTheEnd", quotaKey, `{"NVIDIA-H200": 8,}`, quotaKey + wholeNumbers},
		{"Fraction", card.DeservedKey, `{"A": 1, "NVIDIA-H200": 2.5}`, card.DeservedKey + wholeNumbers + `: "NVIDIA-H200": 2.5`},
		{"Negative", card.GuaranteeKey, `{"NVIDIA-H200": -1, "A": 1}`, card.GuaranteeKey + wholeNumbers + `: "NVIDIA-H200": -1`},
		{"Text", quotaKey, `{"NVIDIA-H200": "8"}`, quotaKey + wholeNumbers + `: "NVIDIA-H200": "8"`},
		{"LargeShare", card.DeservedKey, `{"A": "25%", "NVIDIA-H200": "101%"}`, card.DeservedKey + wholeNumbers + `: "NVIDIA-H200": "101%"`},
		{"MaxBeforeMin", quotaKey, `{"NVIDIA-H200": "25%,max=4,min=2"}`, quotaKey + wholeNumbers + `: "NVIDIA-H200": "25%,max=4,min=2"`},
		{"SoftShare", policy.SoftQuotaKey, `{"NVIDIA-H200": "25%"}`, ` is not a JSON object of card names and whole numbers of cards, such as {"NVIDIA-H200": 8}: "NVIDIA-H200": "25%"`},
		{"Null", quotaKey, `{"NVIDIA-H200": null}`, quotaKey + wholeNumbers + `: "NVIDIA-H200": null`},
		{"Nested", quotaKey, `{"NVIDIA-H200": {"count": 8}}`, quotaKey + wholeNumbers},
		{"List", quotaKey, `{"NVIDIA-H200|NVIDIA-H800": 8}`, quotaKey + wholeNumbers + `: "NVIDIA-H200|NVIDIA-H800": 8`},
		{"BlankName", quotaKey, `{" ": 8}`, quotaKey + wholeNumbers + `: " ": 8`},
		{"LeadingZero", quotaKey, `{"NVIDIA-H200": 08}`, quotaKey + wholeNumbers + `: "NVIDIA-H200": 08`},
		{"Misspelt", "volcano.sh/card.qouta", `{"NVIDIA-H200": 8}`, "unknown annotation volcano.sh/card.qouta: a queue can have volcano.sh/card.quota"},
		{"OfPods", "volcano.sh/card.name", `NVIDIA-H200`, "unknown annotation volcano.sh/card.name"},
		{"MaxJobs", policy.MaxJobsKey, `20`, ""},
		{"Overcommit", policy.OvercommitFactorKey, `1.25`, ""},
		{"SmallOvercommit", policy.OvercommitFactorKey, `0.005`, ""},
		{"Timeout", policy.InqueueTimeoutKey, `1h30m`, ""},
		{"NoRuntime", policy.MinRuntimeKey, `reclaim=0`, ""},
		{"Preempt", policy.MinRuntimeKey, ` preempt=1.5h , reclaim=5m `, ""},
		{"Delay", policy.ReclaimDelayKey, `90s`, ""},
		{"Fence", policy.ReclaimFenceKey, `true`, ""},
		{"Namespaces", card.HolderKey, `{"namespace": {"*": {"cpu": "64", "memory": "1Ti", "NVIDIA-H200": 5}, "a": {}}}`, ""},
		{"Holders", card.HolderKey, `{"label:x.y/team": {"alpha": {"NVIDIA-H200": 8}, "*": {}}, "user": {"": {"@hopper": 0, "B": 2}}, "group": {}}`, ""},
		{"NoHolders", card.HolderKey, `{"users": {"*": {"NVIDIA-H200": 8}}}`, card.HolderKey + `: {"users": {"*": {"NVIDIA-H200": 8}}} is not a JSON object of namespace, user, group or label:<name>`},
		{"NegativeHolder", card.HolderKey, `{"user": {"*": {"NVIDIA-H200": -8}}}`, ` is not a JSON object of namespace, user, group or label:<name>`},
		{"Budget", card.BudgetKey, `{"NVIDIA-H200": "5000h/30d", "@large":"0.5h/12h sliding", "A": "1h/month"}`, ""},
		{"NoBudgets", card.BudgetKey, `{}`, ""},
		{"NoHours", card.BudgetKey, `{"NVIDIA-H200": "0.000h/day"}`, card.BudgetKey + `: {"NVIDIA-H200": "0.000h/day"} is not a JSON object of cards and hours per window`},
		{"TooManyHours", card.BudgetKey, `{"NVIDIA-H200": "1e18h/day"}`, ` is not a JSON object of cards and hours per window`},
		{"LongWindow", card.BudgetKey, `{"NVIDIA-H200": "5h/367d"}`, ` is not a JSON object of cards and hours per window`},
		{"LongHours", card.BudgetKey, `{"NVIDIA-H200": "5h/8785h"}`, ` is not a JSON object of cards and hours per window`},
		{"SlidingMonth", card.BudgetKey, `{"NVIDIA-H200": "5h/month sliding"}`, ` is not a JSON object of cards and hours per window`},
		{"BudgetOfAList", card.BudgetKey, `{"A|B": "5h/day"}`, ` is not a JSON object of cards and hours per window`},
		{"Evictions", policy.EvictionBudgetKey, `lose=10/1h`, ""},
		{"MostEvictions", policy.EvictionBudgetKey, ` lose=10000/31d `, ""},
		{"ShortEvictions", policy.EvictionBudgetKey, `take=1/1m`, ""},
		{"Minutes", policy.EvictionBudgetKey, `take=20/44640m , lose=1/1h`, ""},
		{"Status", card.StatusKey, `{"version":"v1"}`, ""},
		{"Enforced", policy.EnforceQuotaKey, `after=1h30m`, ""},
		{"EnforcedAtOnce", policy.EnforceQuotaKey, `after=0`, ""},
		{"EnforcedBudgets", policy.EnforceQuotaKey, `after=5m,budgets`, ""},
		{"BudgetsFirst", policy.EnforceQuotaKey, `budgets, after=5m`, ""},
		{"Order", policy.OrderKey, `fifo,hold=30m`, ""},
		{"HoldFirst", policy.OrderKey, `displace, hold=30m , nodes=5m,priority-fifo`, ""},
		{"NoOrder", policy.OrderKey, `displace=off,nodes=5m`, ""},
		{"HoldAlone", policy.OrderKey, `hold=30m`, policy.OrderKey + `: hold=30m is not a list of fifo, priority-fifo or best-effort; hold=TIME;`},
		{"HoldNothing", policy.OrderKey, `best-effort,hold=30m`, ` is not a list of fifo,`},
		{"TwoOrders", policy.OrderKey, `fifo,best-effort`, ` is not a list of fifo,`},
		{"Share", policy.FairShareKey, `off, weight=1.5 ,namespaces`, ""},
		{"OldShare", policy.FairShareKey, `false`, policy.FairShareKey + `: false is not a list of off or on;`},
		{"OldRuntime", policy.MinRuntimeKey, `30m`, policy.MinRuntimeKey + `: 30m is not a list of reclaim=TIME; preempt=TIME`},
		{"OldPreempt", "volcano.sh/preempt-min-runtime", `30m`, "volcano.sh/preempt-min-runtime is volcano.sh/min-runtime: preempt=TIME now"},
		{"OldNamespace", "volcano.sh/card.quota.namespace", `{"A": 1}`, `is volcano.sh/card.quota.by: {"namespace": {"*": {"NVIDIA-H200": 8}}} now`},
		{"OnlyBudgets", policy.EnforceQuotaKey, `budgets`, ` is not a list of off or after=TIME; budgets`},
		{"NotEnforced", policy.EnforceQuotaKey, `off`, ""},
		{"NoEvictions", policy.EvictionBudgetKey, `lose=0/1h`, policy.EvictionBudgetKey + `: lose=0/1h is not a list of lose=N/LENGTH; take=N/LENGTH`},
		{"ManyEvictions", policy.EvictionBudgetKey, `lose=10001/1h`, ` is not a list of lose=N/LENGTH; take=N/LENGTH`},
		{"HugeBudget", policy.EvictionBudgetKey, `lose=1e18/1h`, ` is not a list of lose=N/LENGTH; take=N/LENGTH`},
		{"Seconds", policy.EvictionBudgetKey, `take=10/90s`, ` is not a list of lose=N/LENGTH; take=N/LENGTH`},
		{"LongBudget", policy.EvictionBudgetKey, `take=10/32d`, ` is not a list of lose=N/LENGTH; take=N/LENGTH`},
		{"ManyMinutes", policy.EvictionBudgetKey, `take=10/44641m`, ` is not a list of lose=N/LENGTH; take=N/LENGTH`},
		{"NoLength", policy.EvictionBudgetKey, `take=10`, ` is not a list of lose=N/LENGTH; take=N/LENGTH`},
		{"Soon", policy.EnforceQuotaKey, `30m`, policy.EnforceQuotaKey + `: 30m is not a list of off or after=TIME; budgets`},
		{"BeforeNow", policy.EnforceQuotaKey, `after=-1m`, ` is not a list of off or after=TIME; budgets`},
		{"InDays", policy.EnforceQuotaKey, `after=1d`, ` is not a list of off or after=TIME; budgets`},
		{"NoJobs", policy.MaxJobsKey, `0`, policy.MaxJobsKey + `: 0 is not a whole number above 0`},
		{"ManyDecimals", policy.OvercommitFactorKey, `1.2345`, policy.OvercommitFactorKey + `: 1.2345 is not a number above 0 with at most 3 decimals, such as 1.5`},
		{"NoOvercommit", policy.OvercommitFactorKey, `0.000`, ` is not a number above 0`},
		{"NoUnit", policy.InqueueTimeoutKey, `30`, policy.InqueueTimeoutKey + `: 30 is not a duration of 0 or more, such as 30m`},
		{"NegativeDuration", policy.MinRuntimeKey, `reclaim=-5m`, ` is not a list of reclaim=TIME; preempt=TIME`},
		{"Days", policy.MinRuntimeKey, `preempt=2d`, ` is not a list of reclaim=TIME; preempt=TIME`},
		{"Words", policy.ReclaimDelayKey, `soon`, ` is not a duration of 0 or more, such as 30m`},
		{"Yes", policy.ReclaimFenceKey, `yes`, policy.ReclaimFenceKey + `: yes is not true or false`},
		{"NegativeQuantity", card.HolderKey, `{"namespace": {"*": {"cpu": "-1"}}}`, ` is not a JSON object of namespace, user, group or label:<name>`},
		{"EmptyName", "volcano.sh/hierarchy", "root/eng//prod", "volcano.sh/hierarchy: root/eng//prod is not a path of names from the root, such as root/eng/prod"},
		{"NoRoot", "volcano.sh/hierarchy", "eng/prod", "volcano.sh/hierarchy: eng/prod is not a path"},
		{"NoWeight", "volcano.sh/hierarchy-weights", "1/0/8", "volcano.sh/hierarchy-weights: 1/0/8 is not a path of numbers above 0, such as 1/6/8"},
		{"OfTrees", "volcano.sh/hierarchy-weight", `1/2`, "unknown annotation volcano.sh/hierarchy-weight"},
	} {
		t.Run(each.name, func(t *testing.T) {
			annotations := map[string]string{each.key: each.text}
			_, problems := card.ParseAmounts(each.text)
			if !strings.HasPrefix(each.key, card.Prefix+".") || slices.Contains([]string{card.HolderKey, card.BudgetKey, card.StatusKey}, each.key) {
				problems = nil
			}
			problems = append(problems, policy.Problems(annotations)...)
			problems = append(problems, policy.Unknown(annotations)...)
			problems = append(problems, card.QueueKeys.Unknown(annotations)...)
			problems = append(problems, problemsOfPlace(annotations)...)
			err := c.admits(t.Context(), annotations)
			if each.refused == "" {
				assert.NoError(t, err)
				assert.Empty(t, problems, "the scheduler reports a queue that the policy admits")
				return
			}
			assert.ErrorContains(t, err, each.refused)
			assert.NotEmpty(t, problems, "the policy refuses a queue that the scheduler does not report")
		})
	}
}

// problemsOfPlace are the problems of the annotations that place a queue in the tree. An annotation that a case leaves
// out counts as right.
func problemsOfPlace(annotations map[string]string) (problems []card.Problem) {
	path, weights := annotations[index.PathKey], annotations[index.WeightsKey]
	if path == "" && weights != "" {
		path = index.RootName + strings.Repeat("/x", strings.Count(weights, "/"))
	}
	for key, err := range index.Place([]index.Placement{{Queue: "admitted", Path: path, Weights: weights}}, index.RootName).Problems {
		problems = append(problems, card.Problem{Key: key, Reason: err.Error()})
	}
	return problems
}

// TestAdmissionKnowsEveryPolicy has a value of each policy annotation that none can have.
func TestAdmissionKnowsEveryPolicy(t *testing.T) {
	c := plane(t)
	c.policy(t)
	for _, key := range policy.Keys() {
		require.ErrorContains(t, c.admits(t.Context(), map[string]string{key: "neither this"}), key)
	}
}

// manyCards is a quota of so many cards.
func manyCards(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"NVIDIA-H200-of-the-rack-number-%d": %d`, i, i))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// TestAdmissionLeavesOut shows the limits of CEL, and the cases in which the policy is stricter than the scheduler, as
// docs/deploy.md describes.
func TestAdmissionLeavesOut(t *testing.T) {
	c := plane(t)
	c.policy(t)
	for _, text := range []string{`{"NVIDIA-H200": 8, "NVIDIA-H200": 4}`, `{"NVIDIA-H200\u007cNVIDIA-H800": 8}`, `{"NVIDIA-H200": "25%,min=4,max=2"}`} {
		require.NoError(t, c.admits(t.Context(), map[string]string{quotaKey: text}))
		_, problems := card.ParseAmounts(text)
		require.NotEmpty(t, problems)
	}
	for _, text := range []string{`{"NVIDIA-H200": 8.0}`, `{"NVIDIA-H200": 1e1}`} {
		require.Error(t, c.admits(t.Context(), map[string]string{quotaKey: text}))
		_, problems := card.ParseQuota(text)
		require.Empty(t, problems)
	}
}

// TestAdmissionOfUpdates changes a queue that was broken before the policy. A broken value that an update does not
// change stays admitted.
func TestAdmissionOfUpdates(t *testing.T) {
	c := plane(t)
	c.queue(t, "old", `{"NVIDIA-H200": 2.5}`)
	c.policy(t)
	patch := func(text string) error {
		_, err := c.Volcano.SchedulingV1beta1().Queues().Patch(t.Context(), "old", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	require.NoError(t, patch(`{"spec": {"weight": 3}}`))
	require.NoError(t, patch(`{"metadata": {"annotations": {"volcano.sh/card.deserved": "{}"}}}`))
	require.ErrorContains(t, patch(`{"metadata": {"annotations": {"volcano.sh/card.quota": "{\"NVIDIA-H200\": 3.5}"}}}`), `"NVIDIA-H200": 3.5`)
	require.NoError(t, patch(`{"metadata": {"annotations": {"volcano.sh/card.quota": "{\"NVIDIA-H200\": 3}"}}}`))
	require.NoError(t, patch(`{"metadata": {"annotations": {"volcano.sh/card.quota": null}}}`))
}

// TestAdmissionOfALongQuota has the API server evaluate the policy on an annotation of more than 100 kB. It gives up on
// an expression that costs too much, and then admits the queue.
func TestAdmissionOfALongQuota(t *testing.T) {
	c := plane(t)
	c.policy(t)
	broken := strings.TrimSuffix(manyCards(2300), "}") + `, "last": 2.5}`
	require.Greater(t, len(broken), 100_000)
	require.ErrorContains(t, c.admits(t.Context(), map[string]string{quotaKey: broken}), `"last": 2.5`)
}
