package whatif

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

// TestEveryPolicyCanBeTried sets each annotation of queues that is read: the policies, and those that place a queue.
func TestEveryPolicyCanBeTried(t *testing.T) {
	keys := append(policy.Keys(), index.PathKey, index.WeightsKey)
	w, _ := world(t, lending)
	tried := 0
	for _, s := range settings.In(settings.Queue) {
		if !slices.Contains(keys, s.Name) {
			continue
		}

		setting := "queue/owner:" + s.Short() + "="
		require.Contains(t, Fields(w), s.Short()+"=")
		require.NoError(t, Set(w, setting+s.Example), s.Name)
		assert.Equal(t, s.Example, w.Queue("owner").Annotations[s.Name])
		require.NoError(t, Set(w, setting), s.Name)
		assert.NotContains(t, w.Queue("owner").Annotations, s.Name, "an empty value removes it")
		tried++
	}
	assert.Equal(t, len(keys), tried, "the table of settings has each policy")
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
