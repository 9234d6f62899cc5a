package neighbours

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestPriority gives the rest of a quota to the job with the highest priority.
func TestPriority(t *testing.T) {
	pair{
		neighbour: "priority", actions: "allocate", tiers: [][]string{{"priority", quota}},
		cluster: workload.Cluster{
			Nodes: []workload.Node{node("n", 8)}, Queues: []workload.Queue{bounded("q", 2)},
			Jobs: []workload.Job{job("a-low", "q", 2, priority(1)), job("b-high", "q", 2, priority(10))},
		},
		both:           "b-high-0 on n, b-high-1 on n",
		neighbourAlone: "a-low-0 on n, a-low-1 on n, b-high-0 on n, b-high-1 on n",
		quotaAlone:     "a-low-0 on n, a-low-1 on n",
	}.run(t)
}

// TestDRF gives the rest of a quota to the job with the smallest share of the cluster.
func TestDRF(t *testing.T) {
	pair{
		neighbour: "drf", actions: "allocate", tiers: [][]string{{"drf", quota}},
		cluster: workload.Cluster{
			Nodes: []workload.Node{node("n", 8)}, Queues: []workload.Queue{bounded("q", 3)},
			Jobs: []workload.Job{job("a-big", "q", 3, first(2, "n")), job("b-small", "q", 2)},
		},
		both:           "b-small-0 on n",
		neighbourAlone: "a-big-2 on n, b-small-0 on n, b-small-1 on n",
		quotaAlone:     "a-big-2 on n",
	}.run(t)
}

// TestHierarchicalDRF divides the cluster by the weights of a hierarchy in
// annotations, three to one, within the quotas.
func TestHierarchicalDRF(t *testing.T) {
	queue := func(name, weights string, capability int64) workload.Queue {
		q := bounded(name, capability)
		q.Annotations = map[string]string{"volcano.sh/hierarchy": "root/" + name, "volcano.sh/hierarchy-weights": weights}
		return q
	}
	pair{
		neighbour: "drf", actions: "allocate", tiers: [][]string{{"{name: drf, enableHierarchy: true}", quota}},
		cluster: workload.Cluster{
			Nodes:  []workload.Node{node("n", 8)},
			Queues: []workload.Queue{queue("biz", "1/1", 8), queue("eng", "1/3", 5)},
			Jobs:   []workload.Job{job("b", "biz", 8), job("e", "eng", 8)},
		},
		both:           "b-0 on n, b-1 on n, b-2 on n, e-0 on n, e-1 on n, e-2 on n, e-3 on n, e-4 on n",
		neighbourAlone: "b-0 on n, b-1 on n, e-0 on n, e-1 on n, e-2 on n, e-3 on n, e-4 on n, e-5 on n",
		quotaAlone:     "b-0 on n, b-1 on n, b-2 on n, b-3 on n, b-4 on n, e-0 on n, e-1 on n, e-2 on n",
	}.run(t)
}

// TestSLA admits the job with an expired waiting time first, and only jobs within the quota.
func TestSLA(t *testing.T) {
	pair{
		neighbour: "sla", actions: "enqueue", tiers: [][]string{{"sla", quota}},
		cluster: workload.Cluster{
			Nodes: []workload.Node{node("n", 8)}, Queues: []workload.Queue{bounded("q", 2)},
			Jobs: []workload.Job{
				job("a", "q", 0, enqueueing(2)), job("late", "q", 0, enqueueing(2), annotated("sla-waiting-time", "1m")),
				job("later", "q", 0, enqueueing(2), annotated("sla-waiting-time", "2m")),
			},
		},
		edit: func(info *api.ClusterInfo) {
			for name, age := range map[string]time.Duration{"a": 2 * time.Hour, "late": time.Hour, "later": time.Hour} {
				jobOf(info, name).CreationTimestamp = metav1.NewTime(time.Now().Add(-age))
			}
		},
		both: "late enqueued", neighbourAlone: "a enqueued, late enqueued, later enqueued", quotaAlone: "a enqueued",
	}.run(t)
}

// TestOvercommit admits jobs up to a factor of the cluster and up to the quota of
// their queue.
func TestOvercommit(t *testing.T) {
	pair{
		neighbour: "overcommit", actions: "enqueue", tiers: [][]string{{"{name: overcommit, arguments: {overcommit-factor: 1.2}}", quota}},
		cluster: workload.Cluster{
			Nodes: []workload.Node{node("n", 10)}, Queues: []workload.Queue{bounded("a", 8), bounded("b", 8), bounded("c", 8)},
			Jobs: []workload.Job{
				job("a-1", "a", 0, enqueueing(6)), job("a-2", "a", 0, enqueueing(6)),
				job("b", "b", 0, enqueueing(6)), job("c", "c", 0, enqueueing(6)),
			},
		},
		both: "a-1 enqueued, b enqueued", neighbourAlone: "a-1 enqueued, a-2 enqueued",
		quotaAlone: "a-1 enqueued, b enqueued, c enqueued",
	}.run(t)
}

// TestOvercommitRefusesOwners asks for a job of high priority on a full node. overcommit compares the job with the
// idle resources. So it refuses the job, although preempt can take back the resources that the job lacks
// (admitReclaimable). Without the vote of overcommit, the job is admitted.
func TestOvercommitRefusesOwners(t *testing.T) {
	p := pair{
		actions: "enqueue, preempt",
		cluster: workload.Cluster{
			Nodes: []workload.Node{node("n", 4)}, Queues: []workload.Queue{bounded("q", 4)},
			Jobs: []workload.Job{job("low", "q", 4, needs(4), enqueueing(4), on("n")), job("high", "q", 0, enqueueing(1), priority(9))},
		},
	}
	for overcommit, want := range map[string]string{
		"overcommit": "", "{name: overcommit, arguments: {overcommit-factor: 1.25}}": "high enqueued",
		"{name: overcommit, enableJobEnqueued: false}": "high enqueued",
	} {
		p.tiers = [][]string{{"priority", "{name: gang, enablePreemptable: false}", overcommit, quota}}
		require.Equal(t, want, p.play(t, cards, ""), overcommit)
		require.Empty(t, p.play(t, capacities, ""), "admitReclaimable is off")
	}
	p.tiers = [][]string{{"priority", "gang", quota}}
	require.Empty(t, p.play(t, cards, ""), "gang spares the pods")
}
