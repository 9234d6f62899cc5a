package whatif

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// TestEveryPolicyCanBeTried sets each annotation of queues that is read: the policies, and those that place a queue.
func TestEveryPolicyCanBeTried(t *testing.T) {
	values := map[string]string{policy.MaxJobsKey: "3", policy.OrderKey: "fifo,hold=30m", policy.SoftQuotaKey: `{"A": 1}`, policy.OvercommitFactorKey: "1.5", policy.InqueueTimeoutKey: "30m", policy.ReclaimFenceKey: "true",
		policy.MinRuntimeKey: "reclaim=1h", policy.ReclaimDelayKey: "5m",
		card.HolderKey: `{"user": {"*": {"A": 1}}}`, policy.FairShareKey: "off,weight=2", card.BudgetKey: `{"A": "10h/day"}`,
		policy.EvictionBudgetKey: "lose=10/1h", policy.EnforceQuotaKey: "after=30m", policy.EvictionGraceKey: "10m"}
	require.ElementsMatch(t, policy.Keys(), slices.Collect(maps.Keys(values)), "a policy is new: give it a value")
	values[index.PathKey], values[index.WeightsKey] = "root/eng/owner", "1/6/8"
	w, _ := world(t, lending)
	for key, value := range values {
		setting := "queue/owner:" + policy.Short(key) + "="
		require.Contains(t, Fields(w), policy.Short(key)+"=")
		require.NoError(t, Set(w, setting+value), key)
		assert.Equal(t, value, w.Queue("owner").Annotations[key])
		require.NoError(t, Set(w, setting), key)
		assert.NotContains(t, w.Queue("owner").Annotations, key, "an empty value removes it")
	}
}

// TestWithoutEffect has settings of the tree that the configuration does not read.
func TestWithoutEffect(t *testing.T) {
	flat, parents, annotations := &engine.Configuration{}, &engine.Configuration{Hierarchy: true}, &engine.Configuration{Hierarchy: true, Annotated: true}
	for field, want := range map[string][3]string{
		"parent":            {"has no effect: the queues are flat", "", "has no effect: annotations make the tree (hierarchyFrom)"},
		"hierarchy":         {"has no effect: the queues are flat", "has no effect: spec.parent makes the tree (hierarchyFrom)", ""},
		"hierarchy-weights": {"has no effect: the queues are flat", "has no effect: spec.parent makes the tree (hierarchyFrom)", ""},
		"max-jobs":          {},
	} {
		for i, c := range []*engine.Configuration{flat, parents, annotations} {
			assert.Equal(t, want[i], WithoutEffect(c, "queue/q:"+field+"=1"), field)
		}
	}
}
