package neighbours

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/guard"
)

// protector is a neighbour that restricts which pods may be evicted.
type protector struct {
	name    string
	option  func(t *testing.T, verb string) string // its options in a configuration, nil for the name alone
	protect func(*api.ClusterInfo)                 // makes it protect the pod spared-0 and no other
}

var protectors = []protector{
	{
		// Every other job may lose all its pods. priority decides which jobs starve.
		name:    "gang",
		option:  func(*testing.T, string) string { return "{name: gang, enableJobStarving: false}" },
		protect: func(info *api.ClusterInfo) { jobOf(info, "spared").MinAvailable = 1 },
	},
	{
		name: "conformance",
		protect: func(info *api.ClusterInfo) {
			pod(info, "spared-0").Pod.Spec.PriorityClassName = "system-cluster-critical"
		},
	},
	{
		name: "cdp",
		protect: func(info *api.ClusterInfo) {
			spared := pod(info, "spared-0").Pod
			spared.Annotations["volcano.sh/cooldown-time"] = "1h"
			spared.Status = v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
				{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))}}}
		},
	},
	{
		name: "pdb",
		protect: func(info *api.ClusterInfo) {
			// It protects pods without labels, too.
			for _, job := range info.Jobs {
				for _, task := range job.Tasks {
					task.Pod.Labels = map[string]string{"app": job.Name}
				}
			}
		},
	},
	{
		name:    "extender",
		option:  func(t *testing.T, verb string) string { return answers{spared: "spared-0"}.serve(t, verb) },
		protect: func(*api.ClusterInfo) {},
	},
}

func (p protector) plugin(t *testing.T, verb string) string {
	if p.option == nil {
		return p.name
	}
	return p.option(t, verb)
}

// lent returns a full node. The queue "borrower" has two pods more than it deserves, and one of them is protected.
// "modest" has as many pods as it deserves. Two pods of "claimant" are pending.
func lent() workload.Cluster {
	return workload.Cluster{
		Nodes:  []workload.Node{node("n", 4)},
		Queues: []workload.Queue{deserving("borrower", 1), deserving("claimant", 2), deserving("modest", 1)},
		Jobs: []workload.Job{
			job("anchor", "borrower", 1, on("n"), needs(0), annotated("volcano.sh/preemptable", "false")),
			job("spare", "borrower", 1, on("n"), needs(0)), job("spared", "borrower", 1, on("n"), needs(0)),
			job("modest", "modest", 1, on("n"), needs(0)), job("claim", "claimant", 2),
		},
	}
}

// TestReclaim evicts no pod of a queue within its deserved, and no pod that the
// neighbour protects. The victims of the extender come first, so they are tasks decoded
// from JSON.
func TestReclaim(t *testing.T) {
	for _, p := range protectors {
		t.Run(p.name, func(t *testing.T) {
			pair{
				neighbour: p.name, actions: "reclaim", tiers: [][]string{{"priority", p.plugin(t, "reclaimable"), quota}},
				cluster: lent(), edit: p.protect,
				both: "spare-0 evicted", neighbourAlone: "modest-0 evicted, spare-0 evicted", quotaAlone: "spare-0 evicted, spared-0 evicted",
			}.run(t)
		})
	}
}

// TestReclaimOfCards is TestReclaim with cards.
func TestReclaimOfCards(t *testing.T) {
	for _, p := range protectors {
		t.Run(p.name, func(t *testing.T) {
			c := lent()
			c.Nodes = []workload.Node{cardNode("a", "A", 4)}
			for i := range c.Queues {
				c.Queues[i].Deserved = nil
				c.Queues[i].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`,
					"volcano.sh/card.deserved": `{"A":1}`, "volcano.sh/card.guarantee": `{"A":0}`}
			}
			c.Queues[1].Annotations["volcano.sh/card.deserved"] = `{"A":2}`
			for i := range c.Jobs {
				named("A")(&c.Jobs[i])
				if i < len(c.Jobs)-1 { // the last one is the reclaimer
					on("a")(&c.Jobs[i])
				}
			}
			pair{
				neighbour: p.name, actions: "reclaim", tiers: [][]string{{"priority", p.plugin(t, "reclaimable"), quota}},
				cluster: c, edit: p.protect, withCards: true,
				both: "spare-0 evicted", neighbourAlone: "modest-0 evicted, spare-0 evicted", quotaAlone: "spare-0 evicted, spared-0 evicted",
			}.run(t)
		})
	}
}

// crowded returns a queue with three running pods of low priority, one more than its
// quota, and a pending pod of high priority, which needs two evictions.
func crowded() workload.Cluster {
	return workload.Cluster{
		Nodes:  []workload.Node{node("n", 3)},
		Queues: []workload.Queue{bounded("q", 2)},
		Jobs: []workload.Job{
			job("a", "q", 1, on("n"), needs(0)), job("b", "q", 1, on("n"), needs(0)), job("spared", "q", 1, on("n"), needs(0)),
			job("claim", "q", 1, priority(10)),
		},
	}
}

// TestPreempt evicts as many pods of a queue as its quota requires, and none that the
// neighbour protects. The plugin gang, always present, protects none.
func TestPreempt(t *testing.T) {
	others := append(protectors[1:len(protectors):len(protectors)], protector{
		name:    "priority",
		protect: func(info *api.ClusterInfo) { jobOf(info, "spared").Priority = 10 },
	})
	others = append(others, protector{
		name: "tdm",
		protect: func(info *api.ClusterInfo) {
			claim := pod(info, "claim-0") // a preemptable pod preempts no other
			claim.Preemptable, claim.RevocableZone = false, ""
			jobOf(info, "spared").Budget = &api.DisruptionBudget{MinAvailable: "1"}
		},
	})
	for _, p := range others {
		t.Run(p.name, func(t *testing.T) {
			pair{
				neighbour: p.name, actions: "preempt", tiers: [][]string{{"gang", p.plugin(t, "preemptable"), quota}},
				cluster: crowded(), edit: p.protect, noCards: p.name == "priority", // plans take the lowest priority first by themselves
				both: "a-0 evicted, b-0 evicted", neighbourAlone: "b-0 evicted", quotaAlone: "b-0 evicted, spared-0 evicted",
			}.run(t)
		})
	}
}

// TestTiersThatBypassDeserved shows the victims that Volcano evicts if plugins in several tiers name victims, or if a
// third plugin names victims. Package guard warns of these configurations. Where cards count, plans evict nobody
// against the rules, whatever the tiers.
func TestTiersThatBypassDeserved(t *testing.T) {
	gang := "{name: gang, enableJobStarving: false}"
	for _, c := range []struct {
		name    string
		tiers   [][]string
		evicted string // without cards
	}{
		{"in one tier, the quota plugin last", [][]string{{"priority", "conformance", quota}}, ""},
		{"in one tier, two of them", [][]string{{"priority", quota, gang}}, ""},
		{"in an earlier tier", [][]string{{"priority", "conformance"}, {quota}}, "modest-0 evicted, whole-0 evicted, whole-1 evicted"},
		{"in a later tier", [][]string{{"priority", gang, quota}, {"conformance"}}, "modest-0 evicted, whole-0 evicted, whole-1 evicted"},
		{"a third one after it", [][]string{{"priority", gang, quota, "conformance"}}, "modest-0 evicted, whole-0 evicted, whole-1 evicted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pair{actions: "allocate, reclaim", tiers: c.tiers, cluster: workload.Cluster{
				Nodes:  []workload.Node{node("n", 3)},
				Queues: []workload.Queue{deserving("borrower", 0), deserving("claimant", 3), deserving("modest", 1)},
				Jobs: []workload.Job{
					// gang names the first pod, the quota plugin the second, and no pod is named by both.
					job("modest", "modest", 1, on("n"), needs(0)), job("whole", "borrower", 2, on("n"), needs(2)),
					job("claim", "claimant", 1, func(j *workload.Job) { j.Tasks[0].Request = cores(3) }),
				},
			}}
			for _, q := range []string{capacities, cards} {
				evicted := c.evicted
				if q == cards {
					evicted = ""
				}
				assert.Equal(t, evicted, p.play(t, q, ""))
				assert.Equal(t, c.evicted != "", len(guard.Warnings(p.configuration(q))) > 0)
			}
		})
	}
}

// TestTiersThatBypassTheQuota does the same for the admission of jobs.
func TestTiersThatBypassTheQuota(t *testing.T) {
	for _, c := range []struct {
		name     string
		tiers    [][]string
		enqueued string
	}{
		{"in one tier", [][]string{{"overcommit", quota}}, "fits enqueued"},
		{"in an earlier tier", [][]string{{"overcommit"}, {quota}}, "above enqueued, fits enqueued"},
		{"in a later tier", [][]string{{quota}, {"overcommit"}}, "fits enqueued, huge enqueued"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pair{actions: "enqueue", tiers: c.tiers, cluster: workload.Cluster{
				Nodes:  []workload.Node{node("n", 10)},
				Queues: []workload.Queue{bounded("q", 2), {Name: "r", Weight: 1}, {Name: "s", Weight: 1}},
				Jobs: []workload.Job{
					job("above", "q", 0, enqueueing(3)), job("fits", "q", 0, enqueueing(2)),
					// More than the cluster has left, but within the bounds of its queue.
					job("used", "s", 6, on("n")), job("huge", "r", 0, enqueueing(7)),
				},
			}}
			for _, q := range []string{capacities, cards} {
				assert.Equal(t, c.enqueued, p.play(t, q, ""))
				assert.Equal(t, c.name != "in one tier", len(guard.Warnings(p.configuration(q))) > 0)
			}
		})
	}
}
