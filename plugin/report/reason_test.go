package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota"
)

// TestReasonString formats a reason of each rule.
func TestReasonString(t *testing.T) {
	short := Shortage{Queue: "q", Resource: "A", Requested: 1, Total: 2, Bound: 1, Against: "capability"}
	for _, test := range []struct {
		name   string
		reason Reason
		want   string
	}{
		{"an unknown queue", Reason{Rule: UnknownQueue}, "The job's queue does not exist"},
		{"a queue that does not reach the root", Reason{Rule: BrokenQueue, Queue: "q", Detail: "the parents form a cycle"},
			"Queue <q> takes no jobs: the parents form a cycle"},
		{"an inner queue", Reason{Rule: InnerQueue, Queue: "q"}, "Queue <q> has child queues and takes no jobs itself"},
		{"a closed queue", Reason{Rule: ClosedQueue, Queue: "q"}, "Queue <q> is not open"},
		{"a job that another one holds back", Reason{Rule: HeldByOrder, Queue: "q", Detail: "job <ns/x> goes first"},
			"Queue <q> holds the job back: job <ns/x> goes first"},
		{"cards of several resources", Reason{Rule: MixedResources, Cards: "A|B"},
			"Cards <A|B> do not share one resource name, so no pod can request either of them"},
		{"another resource", Reason{Rule: ResourceMismatch, Cards: "A", Resource: "example.com/gpu"},
			"Pod requests <example.com/gpu>, which is not the resource name of the cards <A>"},
		{"an untyped pod", Reason{Rule: UntypedPod, Cards: gpuName},
			"Pod requests <nvidia.com/gpu> but names no card: set the annotation volcano.sh/card.name"},
		{"a search without a result", Reason{Rule: SearchExhausted, Queue: "q", Cards: "A|B", Requested: 2},
			"Queue <q> may have room for <2> of <A|B>, but the search for an assignment of cards used up its budget in this session"},
		{"unlabeled nodes", Reason{Rule: UnlabeledNodes, Cards: gpuName, Label: "nvidia.com/gpu.product"},
			"No queue has a quota of <nvidia.com/gpu>: the nodes that have it lack the label nvidia.com/gpu.product, which names the card"},
		{"no such card, with a list", Reason{Rule: NoSuchCard, Cards: "A|B", typed: true}, "node(s) have none of the cards <A|B>"},
		{"no such card, untyped", Reason{Rule: NoSuchCard, Cards: gpuName}, "node(s) have no <nvidia.com/gpu>"},
		{"an unlabeled node", Reason{Rule: UnlabeledNode, Resource: gpuName, Label: "nvidia.com/gpu.product"},
			"node(s) have <nvidia.com/gpu> but lack the label nvidia.com/gpu.product, which names the card"},
		{"two shortages", Reason{Rule: OverQuota, Queue: "q", Cards: gpuName, Requested: 1, Shortages: []Shortage{short, short}},
			short.in(format.Mi) + "; " + short.in(format.Mi)},
		{"more shortages than an untyped pod is shown", Reason{Rule: OverQuota, Queue: "q", Cards: gpuName, Requested: 1, Shortages: []Shortage{short, short, short}},
			"Queue <q> has insufficient quota of every <nvidia.com/gpu> card: requested <1>"},
		{"as many shortages as a list has cards", Reason{Rule: OverQuota, Queue: "q", Cards: "A|B|C", typed: true, Shortages: []Shortage{short, short, short}},
			short.in(format.Mi) + "; " + short.in(format.Mi) + "; " + short.in(format.Mi)},
		{"no single bound is exceeded", Reason{Rule: OverQuota, Queue: "q", Cards: "A|B", typed: true, Requested: 1.5},
			"Queue <q> has insufficient <A|B> quota: requested <1.5>"},
		{"a resource without a quota", Reason{Rule: OverQuota, Queue: "q"}, "Queue <q> has no quota for a requested resource"},
	} {
		t.Run(test.name, func(t *testing.T) { assert.Equal(t, test.want, test.reason.String()) })
	}
}

// TestIsRefusal knows the reasons of conditions that the plugin sets, and not the others.
func TestIsRefusal(t *testing.T) {
	for _, reason := range []string{string(OverQuota), string(ClosedQueue), string(UnlabeledNodes), Displaced} {
		assert.True(t, IsRefusal(reason), reason)
	}
	for _, reason := range []string{Admitted, "NotEnoughResources", "NotEnoughTasks", ""} {
		assert.False(t, IsRefusal(reason), reason)
	}
}

// TestAnnotation has as many shortages as the text, and only the rule and the queue if a number is infinite.
func TestAnnotation(t *testing.T) {
	var read Reason
	many := Reason{Rule: OverQuota, Shortages: make([]Shortage, 20)}
	require.NoError(t, json.Unmarshal([]byte(many.annotation()), &read))
	assert.Len(t, read.Shortages, maxShortages)
	assert.Len(t, many.Shortages, 20)
	assert.Equal(t, `{"rule":"OverQuota"}`, Reason{Rule: OverQuota, Requested: math.Inf(1)}.annotation())
}

// TestShortageString formats quantities in the units that people read.
func TestShortageString(t *testing.T) {
	assert.Equal(t, "Queue <q> has insufficient <cpu> quota: requested <0.5>, total would be <2.25>, but capability is <2>",
		Shortage{Queue: "q", Resource: "cpu", Requested: 0.5, Total: 2.25, Bound: 2, Against: "capability"}.in(format.Mi))
	assert.Equal(t, "Queue <q> has insufficient <memory> quota: requested <1024Mi>, total would be <1536Mi>, but deserved is <0.5Mi>",
		Shortage{Queue: "q", Resource: "memory", Requested: 1 << 30, Total: 1536 << 20, Bound: 512 << 10, Against: "deserved"}.in(format.Mi))
}

// TestRulesAreThoseOfQuota expects each rule that stands for a reason of package quota to have its name, which Explain
// converts.
func TestRulesAreThoseOfQuota(t *testing.T) {
	rules := []Rule{UnknownQueue, BrokenQueue, InnerQueue, ClosedQueue, TooManyJobs, HeldByOrder, OverQuota, OverNamespace,
		OverHolder, OverBudget, OverSoftQuota, OverDeserved, Guaranteed, Reserved, Earmarked, HeldForFairShare, MixedResources,
		ResourceMismatch, UntypedPod, SearchExhausted, ReclaimDelayed, TrainingJob, ReclaimBudgetUsed}
	names := map[Rule]bool{}
	for r := quota.Admitted + 1; !strings.HasPrefix(r.String(), "Reason("); r++ {
		names[Rule(r.String())] = true
	}
	for _, rule := range rules {
		assert.Contains(t, names, rule)
	}
}

// TestReasonJSON encodes a reason as cardctl prints it.
func TestReasonJSON(t *testing.T) {
	text, err := json.Marshal(Reason{Rule: OverQuota, Queue: "q", Cards: "A", Requested: 2, typed: true,
		Shortages: []Shortage{{Queue: "q", Resource: "A", Requested: 2, Total: 4, Bound: 3, Against: "capability"}}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"rule":"OverQuota","queue":"q","cards":"A","requested":2,
		"shortages":[{"queue":"q","resource":"A","requested":2,"total":4,"bound":3,"against":"capability"}]}`, string(text))
}
