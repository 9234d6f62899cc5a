package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capacity-card/capacity-card/index/card"
)

// TestTranslated has the examples of the pages and the scenes from before several annotations became lists of words,
// each as it stood there and as it is written now. The former parser gave the values. No former name is read.
func TestTranslated(t *testing.T) {
	day := 24 * time.Hour
	lasts := func(d time.Duration) Value { return Value{Duration: d} }
	rate := func(most int, length time.Duration) Value { return Value{Rate: Rate{most, length}} }
	namespaces := func(resources v1.ResourceList, cards ...card.Entry) Value {
		limit := HolderLimit{Other: true, Cards: cards, Resources: resources}
		return Value{Holders: []HolderLimits{{Key: "namespace", Limits: []HolderLimit{limit}}}}
	}
	amount := resource.MustParse

	for _, test := range []struct {
		former, was string // the short name of the annotation, and its text
		name, text  string
		key         Key
		want        Value
	}{
		{"min-runtime", "0s", MinRuntimeKey, "reclaim=0s", MinRuntime, lasts(0)},
		{"min-runtime", "1s", MinRuntimeKey, "reclaim=1s", MinRuntime, lasts(time.Second)},
		{"min-runtime", "1m", MinRuntimeKey, "reclaim=1m", MinRuntime, lasts(time.Minute)},
		{"min-runtime", "3m", MinRuntimeKey, "reclaim=3m", MinRuntime, lasts(3 * time.Minute)},
		{"min-runtime", "200s", MinRuntimeKey, "reclaim=200s", MinRuntime, lasts(200 * time.Second)},
		{"min-runtime", "6m", MinRuntimeKey, "reclaim=6m", MinRuntime, lasts(6 * time.Minute)},
		{"min-runtime", "10m", MinRuntimeKey, "reclaim=10m", MinRuntime, lasts(10 * time.Minute)},
		{"min-runtime", "30m", MinRuntimeKey, "reclaim=30m,preempt=10m", MinRuntime, lasts(30 * time.Minute)},
		{"min-runtime", "1h", MinRuntimeKey, "reclaim=1h", MinRuntime, lasts(time.Hour)},
		{"preempt-min-runtime", "1s", MinRuntimeKey, "preempt=1s", PreemptMinRuntime, lasts(time.Second)},
		{"preempt-min-runtime", "200s", MinRuntimeKey, "preempt=200s", PreemptMinRuntime, lasts(200 * time.Second)},
		{"preempt-min-runtime", "10m", MinRuntimeKey, "reclaim=30m,preempt=10m", PreemptMinRuntime, lasts(10 * time.Minute)},
		{"preempt-min-runtime", "1h", MinRuntimeKey, "preempt=1h", PreemptMinRuntime, lasts(time.Hour)},
		{"eviction-budget", "1/10m", EvictionBudgetKey, "lose=1/10m", EvictionBudget, rate(1, 10*time.Minute)},
		{"eviction-budget", "1/1h", EvictionBudgetKey, "lose=1/1h,take=1/1h", EvictionBudget, rate(1, time.Hour)},
		{"eviction-budget", "2/5m", EvictionBudgetKey, "lose=2/5m", EvictionBudget, rate(2, 5*time.Minute)},
		{"eviction-budget", "4/2h", EvictionBudgetKey, "lose=4/2h", EvictionBudget, rate(4, 2*time.Hour)},
		{"eviction-budget", "10/1h", EvictionBudgetKey, "lose=10/1h,take=20/1d", EvictionBudget, rate(10, time.Hour)},
		{"reclaim-budget", "1/1h", EvictionBudgetKey, "lose=1/1h,take=1/1h", ReclaimBudget, rate(1, time.Hour)},
		{"reclaim-budget", "3/10m", EvictionBudgetKey, "take=3/10m", ReclaimBudget, rate(3, 10*time.Minute)},
		{"reclaim-budget", "20/1d", EvictionBudgetKey, "lose=10/1h,take=20/1d", ReclaimBudget, rate(20, day)},
		{"fair-share", "true", FairShareKey, "on", FairShare, Value{Flag: true}},
		{"fair-share", "false", FairShareKey, "off", FairShare, Value{}},
		{"fair-share.namespaces", "true", FairShareKey, "namespaces", FairShareNamespaces, Value{Flag: true}},
		{"fair-share.namespaces", "false", FairShareKey, "namespaces=off", FairShareNamespaces, Value{}},
		{"fair-share-weight", "2", FairShareKey, "weight=2", FairShareWeight, Value{Milli: 2000}},
		{"fair-share-weight", "3", FairShareKey, "off,weight=3", FairShareWeight, Value{Milli: 3000}},
		{"fair-share-hold", "0s", OrderKey, "nodes=0s", FairShareHold, lasts(0)},
		{"fair-share-hold", "5m", OrderKey, "nodes=5m", FairShareHold, lasts(5 * time.Minute)},
		{"fair-share-hold", "30m", OrderKey, "fifo,nodes=30m", FairShareHold, lasts(30 * time.Minute)},
		{"order", "best-effort", OrderKey, "best-effort", JobOrder, Value{}},
		{"order", "fifo", OrderKey, "fifo,nodes=30m", JobOrder, Value{Order: Order{FIFO, time.Hour}}},
		{"order", "fifo,hold=0s", OrderKey, "fifo,hold=0s", JobOrder, Value{Order: Order{FIFO, 0}}},
		{"order", "fifo,hold=2h", OrderKey, "fifo,hold=2h", JobOrder, Value{Order: Order{FIFO, 2 * time.Hour}}},
		{"order", "priority-fifo", OrderKey, "displace, priority-fifo", JobOrder, Value{Order: Order{PriorityFIFO, time.Hour}}},
		{"the argument displacePromises", "true", OrderKey, "displace", Displace, Value{Flag: true}},
		{"the argument fairShareNamespaces", "true", FairShareKey, "namespaces", FairShareNamespaces, Value{Flag: true}},
		{"the argument inqueueTimeout", "30m", InqueueTimeoutKey, "30m", InqueueTimeout, lasts(30 * time.Minute)},
		{"enforce-quota", "off", EnforceQuotaKey, "off", EnforceQuota, Value{}},
		{"enforce-quota", "after=0s", EnforceQuotaKey, "after=0s", EnforceQuota, Value{Flag: true}},
		{"enforce-quota", "after=30m,budgets", EnforceQuotaKey, "after=30m,budgets", EnforceQuota,
			Value{Flag: true, Budgeted: true, Duration: 30 * time.Minute}},
		{"card.quota.namespace", "{}", card.HolderKey, "{}", HolderQuota, Value{}},
		{"card.quota.namespace", `{"A":4,"B":6}`, card.HolderKey, `{"namespace":{"*":{"A":4,"B":6}}}`, HolderQuota,
			namespaces(nil, card.Entry{Name: "A", Cards: 4}, card.Entry{Name: "B", Cards: 6})},
		{"card.quota.namespace", `{"@hopper":3}`, card.HolderKey, `{"namespace":{"*":{"@hopper":3}}}`, HolderQuota,
			namespaces(nil, card.Entry{Name: "@hopper", Cards: 3})},
		{"card.quota.namespace", `{"NVIDIA-H200": 8}`, card.HolderKey, `{"namespace": {"*": {"NVIDIA-H200": 8}}}`, HolderQuota,
			namespaces(nil, card.Entry{Name: "NVIDIA-H200", Cards: 8})},
		{"capability.namespace", `{"cpu":"2500m"}`, card.HolderKey, `{"namespace":{"*":{"cpu":"2500m"}}}`, HolderQuota,
			namespaces(v1.ResourceList{"cpu": amount("2500m")})},
		{"capability.namespace", `{"cpu": "64", "memory": "512Gi"}`, card.HolderKey,
			`{"namespace": {"*": {"NVIDIA-H200": 8, "cpu": "64", "memory": "512Gi"}}}`, HolderQuota,
			namespaces(v1.ResourceList{"cpu": amount("64"), "memory": amount("512Gi")}, card.Entry{Name: "NVIDIA-H200", Cards: 8})},
		{"capability.namespace", `{"nvidia.com/gpu":"1"}`, card.HolderKey, `{"namespace":{"*":{"nvidia.com/gpu":"1"}}}`, HolderQuota,
			namespaces(v1.ResourceList{"nvidia.com/gpu": amount("1")})},
	} {
		values, wrong := Parse(map[string]string{test.name: test.text})
		require.Empty(t, wrong, test.text)
		got := values[test.key]
		require.True(t, got.Set, test.text)
		got.Set, got.Text = false, ""
		assert.True(t, equality.Semantic.DeepEqual(test.want, got), "%s: %s is %s: %+v", test.former, test.was, test.text, got)

		former := map[string]string{Prefix + test.former: test.was}
		values, wrong = Parse(former)
		unread := len(wrong) + len(Unknown(former)) + len(card.QueueKeys.Unknown(former))
		if Prefix+test.former != test.name {
			assert.Equal(t, Values{}, values, test.former)
		}
		if card.Renamed(Prefix+test.former) != "" {
			assert.Equal(t, 1, unread, "a former name is a problem: %s", test.former)
		}
	}
}
