package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// TestOtherPlugins reads the configuration of a plugin that is not one of the engine.
func TestOtherPlugins(t *testing.T) {
	given := framework.Arguments{"zebra": 1, arguments.ReclaimByClass: true}
	annotations := map[string]string{card.HolderKey: `{"namespace":{"*":{"rdma/ib":"1"}}}`}

	assert.Empty(t, ArgumentProblems("gang", given))
	assert.False(t, KeepsGangs("gang", given, gangTier(true)))
	assert.Nil(t, ServiceTypes("gang", given))
	assert.Empty(t, PolicyProblems("gang", given, annotations))
	assert.Empty(t, UncountedProblems("gang", v1.ResourceList{"rdma/ib": resource.MustParse("1")}))
	assert.Empty(t, DeviceProblems("gang", given, v1.ResourceList{"deviceclass.a": resource.MustParse("1")}, nil, nil))
}

func TestArgumentProblems(t *testing.T) {
	problems := ArgumentProblems(arguments.Capacity, framework.Arguments{arguments.ReclaimCompares: "damped=-1"})
	assert.Equal(t, []string{"argument reclaimCompares: damped=-1 (string) is not queue, or ancestors=N or damped=N with a whole number N above 0, using queue"}, problems)
}

func TestCardsOfConfiguration(t *testing.T) {
	given := framework.Arguments{
		arguments.CardLabels:     map[string]any{"example.com/gpu": "example.com/model"},
		arguments.CardAttributes: map[string]any{"gpu.example.com": "model"},
		arguments.CardGroups:     map[string]any{"right": map[string]any{"A": 1}, "wrong": 3},
		arguments.Fractions:      string(card.ByMemory),
	}

	settings, known := SettingsOf(arguments.Capacity, given)
	assert.True(t, known)
	assert.Equal(t, card.Labels{"example.com/gpu": "example.com/model"}, settings.Cards.Labels)
	assert.Equal(t, card.Attributes{"gpu.example.com": "model"}, settings.Cards.Attributes)
	assert.Equal(t, card.Groups{"right": {{Pattern: "A", Text: "1"}}}, settings.Cards.Groups)
	assert.Equal(t, card.ByMemory, settings.Cards.Fractions)
}

func TestDependsOnTime(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"nothing":           {nil, false},
		"a runtime":         {map[string]string{policy.MinRuntimeKey: "reclaim=1h"}, false},
		"a budget":          {map[string]string{card.BudgetKey: "{}"}, true},
		"a window":          {map[string]string{policy.OverrideKey: "[]"}, true},
		"no text of a key":  {map[string]string{policy.OverrideKey: ""}, false},
		"a grace":           {map[string]string{policy.EvictionGraceKey: "5m"}, true},
		"an order of jobs":  {map[string]string{policy.OrderKey: "x"}, true},
		"a hold":            {map[string]string{policy.OrderKey: "nodes=1h"}, true},
		"enforcement":       {map[string]string{policy.EnforceQuotaKey: "x"}, true},
		"a queue's timeout": {map[string]string{policy.InqueueTimeoutKey: "1h"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, DependsOnTime(test.annotations))
		})
	}
}

// gangTier is a configuration with the plugin gang, which votes about victims or does not.
func gangTier(votes bool) []conf.Tier {
	return []conf.Tier{{Plugins: []conf.PluginOption{{Name: "gang", EnabledReclaimable: &votes, EnabledPreemptable: &votes}}}}
}

func TestKeepsGangs(t *testing.T) {
	whole := framework.Arguments{arguments.ReclaimGangs: string(arguments.GangsWhole)}

	assert.True(t, KeepsGangs(arguments.Capacity, nil, gangTier(true)))
	assert.False(t, KeepsGangs(arguments.Capacity, nil, gangTier(false)), "gang does not vote")
	assert.False(t, KeepsGangs(arguments.Capacity, whole, gangTier(true)), "gangs are evicted as a whole")
}

func TestTreeOfAnnotations(t *testing.T) {
	given := framework.Arguments{arguments.HierarchyFrom: "annotation"}

	assert.True(t, TreeOfAnnotations(arguments.Capacity, given))
	assert.False(t, TreeOfAnnotations(arguments.Capacity, nil))
	assert.False(t, TreeOfAnnotations("gang", given))
}

func TestServiceTypes(t *testing.T) {
	given := framework.Arguments{
		arguments.ReclaimByClass: true,
		arguments.OwnerClasses:   map[string]any{"ReplicaSet": policy.Inference},
	}
	owned := &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet"}}}}

	classOf := ServiceTypes(arguments.Capacity, given)
	assert.Equal(t, policy.Inference, classOf(nil, owned))
	assert.Equal(t, policy.Training, classOf(map[string]string{policy.ServiceTypeKey: policy.Training}, owned))
	assert.Empty(t, classOf(nil, &v1.Pod{}))
	assert.Nil(t, ServiceTypes(arguments.Capacity, nil))
}

func TestUncountedProblems(t *testing.T) {
	bound := v1.ResourceList{"cpu": resource.MustParse("1"), "rdma/ib": resource.MustParse("1")}

	assert.Empty(t, UncountedProblems(arguments.Capacity, bound))
	problems := UncountedProblems(arguments.CapacityCard, bound)
	if assert.Len(t, problems, 1) {
		assert.Equal(t, "rdma/ib", problems[0].Key)
	}
}

// TestPolicyProblems reads policies that have no effect under some arguments or under some name.
func TestPolicyProblems(t *testing.T) {
	hold := map[string]string{policy.OrderKey: "nodes=1h"}
	on := framework.Arguments{arguments.FairShareHalfLife: "24h"}

	assert.Len(t, PolicyProblems(arguments.Capacity, nil, hold), 1, "usage over time is off")
	assert.Empty(t, PolicyProblems(arguments.Capacity, on, hold))
}
