package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestEitherOrInOneSession schedules ten jobs that list A|B with a quota of 1 A and
// 2 B. Three of them run.
func TestEitherOrInOneSession(t *testing.T) {
	for _, hierarchy := range []bool{false, true} {
		s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":1,"B":2}`)
		if hierarchy {
			s.Queue("root", "")
			s.Hierarchy = true
		}
		for i := range 10 {
			s.Pods(fmt.Sprintf("job%d", i), "q", "A|B", 1, 1)
		}
		f := s.Open(t).Schedule(t)
		assert.Equal(t, map[string]int{"A": 1, "B": 2}, f.Placed(""))
		assert.Equal(t, 1.0, f.CardsOf("q", "A"))
		assert.Equal(t, 2.0, f.CardsOf("q", "B"))
	}
}

// TestQueueWithoutQuotaOfACard schedules pods with and without a card list. None of
// them gets a card that its queue has no quota of.
func TestQueueWithoutQuotaOfACard(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 1).Queue("q", "", "quota", `{"B":4}`).Queue("none", "").
		Pods("either", "q", "A|B", 3, 1).Pods("just", "q", "A", 2, 1).Pods("any", "q", "", 3, 1).
		Pods("elsewhere", "none", "A|B", 1, 1).Pods("nothing", "none", "", 1, 1).Pods("plain", "none", "", 1, 0)
	f := s.Open(t).Schedule(t)
	assert.Len(t, f.Placed("plain"), 1, "a pod without cards runs on any node")
	delete(f.Cache.Bound, "plain-0")
	assert.Equal(t, map[string]int{"B": 1}, f.Placed(""), "the cluster has one card of B")
	for _, job := range []string{"just", "elsewhere"} {
		assert.Contains(t, f.Job(job).JobFitErrors, "has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0>")
	}
}

// TestElasticGroup schedules a job of ten pods with minMember 1. As many pods run as
// the quota admits.
func TestElasticGroup(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 8).Node("a2", "A", 8).Queue("q", "", "quota", `{"A":5}`).
		Pods("web", "q", "A", 10, 1).Open(t).Schedule(t)
	assert.Equal(t, map[string]int{"A": 5}, f.Placed("web"))
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <6>, but capability is <5>", f.Job("web").JobFitErrors)
}

// TestUntyped schedules untyped pods under each value of untypedCards.
func TestUntyped(t *testing.T) {
	for policy, want := range map[string]int{"charge": 2, "reject": 0, "ignore": 6} {
		t.Run(policy, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":2}`).Pods("free", "q", "", 6, 1)
			s.Arguments = framework.Arguments{"untypedCards": policy}
			f := s.Open(t)
			if policy == "ignore" {
				assert.Len(t, f.Schedule(t).Cache.Bound, want)
				assert.Equal(t, 0.0, f.CardsOf("q", "A"))
				return
			}
			f.Schedule(t)
			assert.Equal(t, want, f.Placed("")["A"])
			assert.Equal(t, float64(want), f.CardsOf("q", "A"))
			if policy == "reject" {
				assert.Equal(t, "Pod requests <nvidia.com/gpu> but names no card: set the annotation volcano.sh/card.name", f.Job("free").JobFitErrors)
			}
		})
	}
}

// TestSharedCards schedules pods on one node with whole, MPS and MIG cards. Each kind
// of card has a quota of its own.
func TestSharedCards(t *testing.T) {
	labels := map[string]string{"nvidia.com/gpu.product": "H200", "nvidia.com/gpu.memory": "143771", "nvidia.com/gpu.replicas": "2",
		"huawei.com/Ascend910.product": "Ascend-910B"}
	s := testbed.NewScene().MixedNode("mixed", labels, workload.Resources{
		testbed.GPU: 4, "nvidia.com/gpu.shared": 4, "nvidia.com/mig-1g.18gb": 4, "huawei.com/Ascend910": 4, "nvidia.com/licenses": 100}).
		Queue("q", "", "quota", `{"H200":1,"H200/mps-140g*1/2":2,"H200/mig-1g.18gb-mixed":3,"Ascend-910B":2}`).
		Pods("whole", "q", "H200", 4, 1).
		Pods("mps", "q", "H200/mps-140g*1/2", 4, 0, testbed.Requesting("nvidia.com/gpu.shared", 1)).
		Pods("mig", "q", "H200/mig-1g.18gb-mixed", 4, 0, testbed.Requesting("nvidia.com/mig-1g.18gb", 1)).
		Pods("npu", "q", "Ascend-910B", 4, 0, testbed.Requesting("huawei.com/Ascend910", 1)).
		Pods("free", "q", "", 4, 0, testbed.Requesting("nvidia.com/mig-1g.18gb", 1)).
		Pods("license", "q", "", 2, 0, testbed.Requesting("nvidia.com/licenses", 1))
	f := s.Open(t).Schedule(t)
	for job, want := range map[string]int{"whole": 1, "mps": 2, "npu": 2, "license": 2} {
		got := 0
		for _, n := range f.Placed(job) {
			got += n
		}
		assert.Equal(t, want, got, job)
	}
	assert.Equal(t, 3.0, f.CardsOf("q", "H200/mig-1g.18gb-mixed"), "typed and untyped together")
}

// TestLists refuses card lists that cannot be satisfied, and repairs those with empty
// and repeated names.
func TestLists(t *testing.T) {
	labels := map[string]string{"nvidia.com/gpu.product": "H200", "huawei.com/npu.product": "910B"}
	s := testbed.NewScene().MixedNode("n", labels, workload.Resources{testbed.GPU: 4, "huawei.com/npu": 4, "nvidia.com/mig-1g.18gb": 4}).
		Queue("q", "", "quota", `{"H200":4,"910B":4,"H200/mig-1g.18gb-mixed":4}`).
		Pods("vendors", "q", "H200|910B", 1, 1).
		Pods("shared", "q", "H200|H200/mig-1g.18gb-mixed", 1, 1).
		Pods("unknown", "q", "H200|H20/mig-2g.24gb-mixed", 1, 1).
		Pods("other", "q", "H200", 1, 0, testbed.Requesting("nvidia.com/mig-1g.18gb", 1)).
		Pods("twice", "q", " H200 || H200|", 1, 1).
		Pods("empty", "q", " | ", 1, 1).
		Pods("long", "q", strings.Repeat("x", 4096), 1, 1)
	f := s.Open(t).Schedule(t)
	for job, reason := range map[string]string{
		"vendors": "Cards <H200|910B> do not share one resource name, so no pod can request either of them",
		"shared":  "Cards <H200|H200/mig-1g.18gb-mixed> do not share one resource name, so no pod can request either of them",
		"unknown": "Cards <H200|H20/mig-2g.24gb-mixed> do not share one resource name, so no pod can request either of them",
		"other":   "Pod requests <nvidia.com/mig-1g.18gb>, which is not the resource name of the cards <H200>",
		"twice":   "",
		"empty":   "",
		"long":    "Queue <q> has insufficient <" + strings.Repeat("x", 200) + "…> quota: requested <1>, total would be <1>, but capability is <0>",
	} {
		assert.Equal(t, reason, f.Job(job).JobFitErrors, job)
		assert.Equal(t, reason == "", f.Cache.Bound[job+"-0"] != "", job)
	}
}

// TestTwoResourcesOfOneCard charges a pod that requests one card through two
// resources for both.
func TestTwoResourcesOfOneCard(t *testing.T) {
	s := testbed.NewScene().MixedNode("n", map[string]string{"nvidia.com/gpu.product": "A", "example.com/gpu.product": "A"},
		workload.Resources{testbed.GPU: 4, "example.com/gpu": 4}).Queue("q", "", "quota", `{"A":3}`).
		Pods("two", "q", "", 2, 1, func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Request["example.com/gpu"] = 1
			}
		})
	f := s.Open(t).Schedule(t)
	assert.Len(t, f.Cache.Bound, 1)
	assert.Equal(t, 2.0, f.CardsOf("q", "A"))
}

// TestUntypedPodWithManyCards refuses an untyped pod. With more than two cards the
// reason does not list each.
func TestUntypedPodWithManyCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 1).Node("b", "B", 1).Queue("q", "").Pods("job", "q", "", 1, 1)
	reason := func() string {
		f := s.Open(t)
		assert.False(t, f.Allocatable(f.Queue("q"), f.Task("job-0")))
		return f.Job("job").JobFitErrors
	}
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0>; "+
		"Queue <q> has insufficient <B> quota: requested <1>, total would be <1>, but capability is <0>", reason())
	s.Node("c", "C", 1)
	assert.Equal(t, "Queue <q> has insufficient quota of every <nvidia.com/gpu> card: requested <1>", reason())
}

// TestAnnotationAlias reads volcano.sh/card.card in place of volcano.sh/card.name.
func TestAnnotationAlias(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":1,"B":1}`).
		Pods("job", "q", "", 2, 1, func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Annotations = map[string]string{"volcano.sh/card.card": "B"}
			}
		})
	assert.Equal(t, map[string]int{"B": 1}, s.Open(t).Schedule(t).Placed(""))
}

// TestInnerQuota bounds a subtree by the quota of its inner queue, card by card.
func TestInnerQuota(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 16).Node("b", "B", 16).Queue("root", "").
		Queue("inner", "root", "quota", `{"A":3}`).
		Queue("x", "inner", "quota", `{"A":2,"B":1}`).Queue("y", "inner", "quota", `{"A":2,"B":1}`).
		Queue("z", "root", "quota", `{"A":9}`).
		Pods("x", "x", "A|B", 9, 1).Pods("y", "y", "A|B", 9, 1).Pods("z", "z", "A", 9, 1)
	f := s.Open(t).Schedule(t)
	assert.Equal(t, 3.0, f.CardsOf("inner", "A"))
	assert.Equal(t, 2.0, f.CardsOf("inner", "B"), "an inner queue bounds only the cards that its quota names")
	assert.Equal(t, 9.0, f.CardsOf("z", "A"))
	assert.Equal(t, 12.0, f.CardsOf("root", "A"))
}

// TestRootQuota bounds all queues by the quota of the root.
func TestRootQuota(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 16).Queue("root", "", "quota", `{"A":3}`).
		Queue("x", "root", "quota", `{"A":2}`).Queue("y", "root", "quota", `{"A":2}`).
		Pods("x", "x", "A", 9, 1).Pods("y", "y", "A", 9, 1)
	s.Queues[0].Capability = nil
	f := s.Open(t).Schedule(t)
	assert.Equal(t, 3.0, f.CardsOf("root", "A"))
}

// TestCapacityWithCards counts cards under the name capacity in queues with a card
// annotation and below them, and nowhere else.
func TestCapacityWithCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 16).Queue("root", "").
		Queue("carded", "root", "quota", `{"A":2}`).Queue("leaf", "carded", "quota", `{"A":2}`).Queue("bare", "carded").
		Queue("other", "root").
		Pods("leaf", "leaf", "A", 4, 1).Pods("bare", "bare", "A", 2, 1).Pods("other", "other", "A", 3, 1)
	s.Build = session.NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = nil
	}
	f := s.Open(t)
	f.Schedule(t)
	assert.Len(t, f.Placed("leaf"), 1)
	assert.Equal(t, 2, f.Placed("leaf")["A"])
	assert.Empty(t, f.Placed("bare"), "a leaf without a quota, below a queue with one, has a quota of 0")
	assert.Equal(t, 3, f.Placed("other")["A"], "as upstream")
	assert.Equal(t, 5000.0, f.Allocated("root").ScalarResources[testbed.GPU], "scalars count as before")
}

// TestCapacityWithoutCards computes nothing about cards where no queue has a card
// annotation.
func TestCapacityWithoutCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 16).Queue("q", "").Pods("job", "q", "B", 2, 1)
	s.Build = session.NewCapacity
	f := s.Open(t)
	assert.Nil(t, f.Own.Cards)
	assert.Equal(t, 2, f.Schedule(t).Placed("")["A"])
}

// TestPreference places pods on the cards that their list names first.
func TestPreference(t *testing.T) {
	s := testbed.NewScene().Node("c", "C", 2).Node("b", "B", 2).Node("a", "A", 2).Queue("q", "", "quota", `{"A":8,"B":8,"C":8}`).
		Pods("job", "q", "B|C|A", 3, 1)
	f := s.Open(t)
	for node, want := range map[string]float64{"b": 200000, "c": 100000, "a": 50000} {
		score, err := f.NodeOrderFn(f.Task("job-0"), f.Nodes[node])
		require.NoError(t, err)
		assert.Equal(t, want, score, node)
	}
	assert.Equal(t, map[string]int{"B": 2, "C": 1}, f.Schedule(t).Placed(""))

	s.Pods("unknown", "q", "Z|C", 1, 1)
	s.Arguments = framework.Arguments{"nodeOrderWeight": 2.5}
	f = s.Open(t)
	second, err := f.NodeOrderFn(f.Task("unknown-0"), f.Nodes["c"])
	require.NoError(t, err)
	assert.Equal(t, 125.0, second, "C is second in the list, although no node has Z")
	score, err := f.NodeOrderFn(f.Task("job-0"), f.Nodes["c"])
	require.NoError(t, err)
	assert.Equal(t, 125.0, score)
}
