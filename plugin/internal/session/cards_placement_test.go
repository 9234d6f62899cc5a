package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestEitherOrInOneSession schedules ten jobs that list A|B with a quota of 1 A and
// 2 B. Three of them run.
func TestEitherOrInOneSession(t *testing.T) {
	for _, hierarchy := range []bool{false, true} {
		s := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", `{"A":1,"B":2}`)
		if hierarchy {
			s.queue("root", "")
			s.Hierarchy = true
		}
		for i := range 10 {
			s.pods(fmt.Sprintf("job%d", i), "q", "A|B", 1, 1)
		}
		f := s.open(t).schedule(t)
		assert.Equal(t, map[string]int{"A": 1, "B": 2}, f.placed(""))
		assert.Equal(t, 1.0, f.cardsOf("q", "A"))
		assert.Equal(t, 2.0, f.cardsOf("q", "B"))
	}
}

// TestQueueWithoutQuotaOfACard schedules pods with and without a card list. None of
// them gets a card that its queue has no quota of.
func TestQueueWithoutQuotaOfACard(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 1).queue("q", "", "quota", `{"B":4}`).queue("none", "").
		pods("either", "q", "A|B", 3, 1).pods("just", "q", "A", 2, 1).pods("any", "q", "", 3, 1).
		pods("elsewhere", "none", "A|B", 1, 1).pods("nothing", "none", "", 1, 1).pods("plain", "none", "", 1, 0)
	f := s.open(t).schedule(t)
	assert.Len(t, f.placed("plain"), 1, "a pod without cards runs on any node")
	delete(f.cache.Bound, "plain-0")
	assert.Equal(t, map[string]int{"B": 1}, f.placed(""), "the cluster has one card of B")
	for _, job := range []string{"just", "elsewhere"} {
		assert.Contains(t, f.job(job).JobFitErrors, "has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0>")
	}
}

// TestElasticGroup schedules a job of ten pods with minMember 1. As many pods run as
// the quota admits.
func TestElasticGroup(t *testing.T) {
	f := newScene().node("a", "A", 8).node("a2", "A", 8).queue("q", "", "quota", `{"A":5}`).
		pods("web", "q", "A", 10, 1).open(t).schedule(t)
	assert.Equal(t, map[string]int{"A": 5}, f.placed("web"))
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <6>, but capability is <5>", f.job("web").JobFitErrors)
}

// TestUntyped schedules untyped pods under each value of untypedCards.
func TestUntyped(t *testing.T) {
	for policy, want := range map[string]int{"charge": 2, "reject": 0, "ignore": 6} {
		t.Run(policy, func(t *testing.T) {
			s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":2}`).pods("free", "q", "", 6, 1)
			s.arguments = framework.Arguments{"untypedCards": policy}
			f := s.open(t)
			if policy == "ignore" {
				assert.Len(t, f.schedule(t).cache.Bound, want)
				assert.Equal(t, 0.0, f.cardsOf("q", "A"))
				return
			}
			f.schedule(t)
			assert.Equal(t, want, f.placed("")["A"])
			assert.Equal(t, float64(want), f.cardsOf("q", "A"))
			if policy == "reject" {
				assert.Equal(t, "Pod requests <nvidia.com/gpu> but names no card: set the annotation volcano.sh/card.name", f.job("free").JobFitErrors)
			}
		})
	}
}

// TestSharedCards schedules pods on one node with whole, MPS and MIG cards. Each kind
// of card has a quota of its own.
func TestSharedCards(t *testing.T) {
	labels := map[string]string{"nvidia.com/gpu.product": "H200", "nvidia.com/gpu.memory": "143771", "nvidia.com/gpu.replicas": "2",
		"huawei.com/Ascend910.product": "Ascend-910B"}
	s := newScene().mixedNode("mixed", labels, workload.Resources{
		gpuName: 4, "nvidia.com/gpu.shared": 4, "nvidia.com/mig-1g.18gb": 4, "huawei.com/Ascend910": 4, "nvidia.com/licenses": 100}).
		queue("q", "", "quota", `{"H200":1,"H200/mps-140g*1/2":2,"H200/mig-1g.18gb-mixed":3,"Ascend-910B":2}`).
		pods("whole", "q", "H200", 4, 1).
		pods("mps", "q", "H200/mps-140g*1/2", 4, 0, requesting("nvidia.com/gpu.shared", 1)).
		pods("mig", "q", "H200/mig-1g.18gb-mixed", 4, 0, requesting("nvidia.com/mig-1g.18gb", 1)).
		pods("npu", "q", "Ascend-910B", 4, 0, requesting("huawei.com/Ascend910", 1)).
		pods("free", "q", "", 4, 0, requesting("nvidia.com/mig-1g.18gb", 1)).
		pods("license", "q", "", 2, 0, requesting("nvidia.com/licenses", 1))
	f := s.open(t).schedule(t)
	for job, want := range map[string]int{"whole": 1, "mps": 2, "npu": 2, "license": 2} {
		got := 0
		for _, n := range f.placed(job) {
			got += n
		}
		assert.Equal(t, want, got, job)
	}
	assert.Equal(t, 3.0, f.cardsOf("q", "H200/mig-1g.18gb-mixed"), "typed and untyped together")
}

// TestLists refuses card lists that cannot be satisfied, and repairs those with empty
// and repeated names.
func TestLists(t *testing.T) {
	labels := map[string]string{"nvidia.com/gpu.product": "H200", "huawei.com/npu.product": "910B"}
	s := newScene().mixedNode("n", labels, workload.Resources{gpuName: 4, "huawei.com/npu": 4, "nvidia.com/mig-1g.18gb": 4}).
		queue("q", "", "quota", `{"H200":4,"910B":4,"H200/mig-1g.18gb-mixed":4}`).
		pods("vendors", "q", "H200|910B", 1, 1).
		pods("shared", "q", "H200|H200/mig-1g.18gb-mixed", 1, 1).
		pods("unknown", "q", "H200|H20/mig-2g.24gb-mixed", 1, 1).
		pods("other", "q", "H200", 1, 0, requesting("nvidia.com/mig-1g.18gb", 1)).
		pods("twice", "q", " H200 || H200|", 1, 1).
		pods("empty", "q", " | ", 1, 1).
		pods("long", "q", strings.Repeat("x", 4096), 1, 1)
	f := s.open(t).schedule(t)
	for job, reason := range map[string]string{
		"vendors": "Cards <H200|910B> do not share one resource name, so no pod can request either of them",
		"shared":  "Cards <H200|H200/mig-1g.18gb-mixed> do not share one resource name, so no pod can request either of them",
		"unknown": "Cards <H200|H20/mig-2g.24gb-mixed> do not share one resource name, so no pod can request either of them",
		"other":   "Pod requests <nvidia.com/mig-1g.18gb>, which is not the resource name of the cards <H200>",
		"twice":   "",
		"empty":   "",
		"long":    "Queue <q> has insufficient <" + strings.Repeat("x", 200) + "…> quota: requested <1>, total would be <1>, but capability is <0>",
	} {
		assert.Equal(t, reason, f.job(job).JobFitErrors, job)
		assert.Equal(t, reason == "", f.cache.Bound[job+"-0"] != "", job)
	}
}

// TestTwoResourcesOfOneCard charges a pod that requests one card through two
// resources for both.
func TestTwoResourcesOfOneCard(t *testing.T) {
	s := newScene().mixedNode("n", map[string]string{"nvidia.com/gpu.product": "A", "example.com/gpu.product": "A"},
		workload.Resources{gpuName: 4, "example.com/gpu": 4}).queue("q", "", "quota", `{"A":3}`).
		pods("two", "q", "", 2, 1, func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Request["example.com/gpu"] = 1
			}
		})
	f := s.open(t).schedule(t)
	assert.Len(t, f.cache.Bound, 1)
	assert.Equal(t, 2.0, f.cardsOf("q", "A"))
}

// TestUntypedPodWithManyCards refuses an untyped pod. With more than two cards the
// reason does not list each.
func TestUntypedPodWithManyCards(t *testing.T) {
	s := newScene().node("a", "A", 1).node("b", "B", 1).queue("q", "").pods("job", "q", "", 1, 1)
	reason := func() string {
		f := s.open(t)
		assert.False(t, f.Allocatable(f.queue("q"), f.task("job-0")))
		return f.job("job").JobFitErrors
	}
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0>; "+
		"Queue <q> has insufficient <B> quota: requested <1>, total would be <1>, but capability is <0>", reason())
	s.node("c", "C", 1)
	assert.Equal(t, "Queue <q> has insufficient quota of every <nvidia.com/gpu> card: requested <1>", reason())
}

// TestAnnotationAlias reads volcano.sh/card.card in place of volcano.sh/card.name.
func TestAnnotationAlias(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", `{"A":1,"B":1}`).
		pods("job", "q", "", 2, 1, func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Annotations = map[string]string{"volcano.sh/card.card": "B"}
			}
		})
	assert.Equal(t, map[string]int{"B": 1}, s.open(t).schedule(t).placed(""))
}

// TestInnerQuota bounds a subtree by the quota of its inner queue, card by card.
func TestInnerQuota(t *testing.T) {
	s := newScene().node("a", "A", 16).node("b", "B", 16).queue("root", "").
		queue("inner", "root", "quota", `{"A":3}`).
		queue("x", "inner", "quota", `{"A":2,"B":1}`).queue("y", "inner", "quota", `{"A":2,"B":1}`).
		queue("z", "root", "quota", `{"A":9}`).
		pods("x", "x", "A|B", 9, 1).pods("y", "y", "A|B", 9, 1).pods("z", "z", "A", 9, 1)
	f := s.open(t).schedule(t)
	assert.Equal(t, 3.0, f.cardsOf("inner", "A"))
	assert.Equal(t, 2.0, f.cardsOf("inner", "B"), "an inner queue bounds only the cards that its quota names")
	assert.Equal(t, 9.0, f.cardsOf("z", "A"))
	assert.Equal(t, 12.0, f.cardsOf("root", "A"))
}

// TestRootQuota bounds all queues by the quota of the root.
func TestRootQuota(t *testing.T) {
	s := newScene().node("a", "A", 16).queue("root", "", "quota", `{"A":3}`).
		queue("x", "root", "quota", `{"A":2}`).queue("y", "root", "quota", `{"A":2}`).
		pods("x", "x", "A", 9, 1).pods("y", "y", "A", 9, 1)
	s.Queues[0].Capability = nil
	f := s.open(t).schedule(t)
	assert.Equal(t, 3.0, f.cardsOf("root", "A"))
}

// TestCapacityWithCards counts cards under the name capacity in queues with a card
// annotation and below them, and nowhere else.
func TestCapacityWithCards(t *testing.T) {
	s := newScene().node("a", "A", 16).queue("root", "").
		queue("carded", "root", "quota", `{"A":2}`).queue("leaf", "carded", "quota", `{"A":2}`).queue("bare", "carded").
		queue("other", "root").
		pods("leaf", "leaf", "A", 4, 1).pods("bare", "bare", "A", 2, 1).pods("other", "other", "A", 3, 1)
	s.build = NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = nil
	}
	f := s.open(t)
	f.schedule(t)
	assert.Len(t, f.placed("leaf"), 1)
	assert.Equal(t, 2, f.placed("leaf")["A"])
	assert.Empty(t, f.placed("bare"), "a leaf without a quota, below a queue with one, has a quota of 0")
	assert.Equal(t, 3, f.placed("other")["A"], "as upstream")
	assert.Equal(t, 5000.0, f.allocated("root").ScalarResources[gpuName], "scalars count as before")
}

// TestCapacityWithoutCards computes nothing about cards where no queue has a card
// annotation.
func TestCapacityWithoutCards(t *testing.T) {
	s := newScene().node("a", "A", 16).queue("q", "").pods("job", "q", "B", 2, 1)
	s.build = NewCapacity
	f := s.open(t)
	assert.Nil(t, f.own.Cards)
	assert.Equal(t, 2, f.schedule(t).placed("")["A"])
}

// TestPreference places pods on the cards that their list names first.
func TestPreference(t *testing.T) {
	s := newScene().node("c", "C", 2).node("b", "B", 2).node("a", "A", 2).queue("q", "", "quota", `{"A":8,"B":8,"C":8}`).
		pods("job", "q", "B|C|A", 3, 1)
	f := s.open(t)
	for node, want := range map[string]float64{"b": 100, "c": 50, "a": 25} {
		score, err := f.NodeOrderFn(f.task("job-0"), f.Nodes[node])
		require.NoError(t, err)
		assert.Equal(t, want, score, node)
	}
	assert.Equal(t, map[string]int{"B": 2, "C": 1}, f.schedule(t).placed(""))

	s.pods("unknown", "q", "Z|C", 1, 1)
	s.arguments = framework.Arguments{"nodeOrderWeight": 2.5}
	f = s.open(t)
	second, err := f.NodeOrderFn(f.task("unknown-0"), f.Nodes["c"])
	require.NoError(t, err)
	assert.Equal(t, 125.0, second, "C is second in the list, although no node has Z")
	score, err := f.NodeOrderFn(f.task("job-0"), f.Nodes["c"])
	require.NoError(t, err)
	assert.Equal(t, 125.0, score)
}
