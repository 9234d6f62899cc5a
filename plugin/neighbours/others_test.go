package neighbours

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics/source"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestResourceQuota admits a job within the quotas of its queue and of its namespace.
func TestResourceQuota(t *testing.T) {
	pair{
		neighbour: "resourcequota", actions: "enqueue", tiers: [][]string{{"resourcequota", quota}},
		cluster: workload.Cluster{
			Nodes: []workload.Node{node("n", 16)}, Queues: []workload.Queue{bounded("a", 2), bounded("b", 16)},
			Jobs: []workload.Job{
				job("a-1", "a", 0, enqueueing(2)), job("a-2", "a", 0, enqueueing(2)),
				job("b-huge", "b", 0, enqueueing(6)), job("b-small", "b", 0, enqueueing(1)),
			},
		},
		edit: func(info *api.ClusterInfo) {
			limits := v1.ResourceQuotaStatus{Hard: cluster.List(cores(5)), Used: cluster.List(cores(0))}
			info.NamespaceInfo = map[api.NamespaceName]*api.NamespaceInfo{
				cluster.Namespace: {Name: cluster.Namespace, QuotaStatus: map[string]v1.ResourceQuotaStatus{"limits": limits}}}
		},
		both: "a-1 enqueued, b-small enqueued", neighbourAlone: "a-1 enqueued, a-2 enqueued, b-small enqueued",
		quotaAlone: "a-1 enqueued, b-huge enqueued, b-small enqueued",
	}.run(t)
}

// TestUsage places no pods on nodes with a high measured usage.
func TestUsage(t *testing.T) {
	pair{
		neighbour: "usage", actions: "allocate", tiers: [][]string{{quota}, {"usage", binpack}}, cluster: drawn(),
		edit: func(info *api.ClusterInfo) {
			busy := map[string]float64{source.NODE_METRICS_PERIOD: 90}
			info.Nodes["full"].ResourceUsage = &api.NodeUsage{MetricsTime: time.Now(), CPUUsageAvg: busy, MEMUsageAvg: busy}
		},
		both: "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
	}.run(t)
}

// TestResourceStrategyFit spreads cpu; binpack does the opposite.
func TestResourceStrategyFit(t *testing.T) {
	spread := "{name: resource-strategy-fit, arguments: {resourceStrategyFitWeight: 100}}"
	pair{
		neighbour: "resource-strategy-fit", actions: "allocate", tiers: [][]string{{quota}, {"binpack", spread}}, cluster: drawn(),
		both: "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
	}.run(t)
}

// TestTaskTopology places the tasks of a job in the order of their roles, as many as
// the quota admits.
func TestTaskTopology(t *testing.T) {
	c := drawn()
	c.Jobs = []workload.Job{job("new", "q", 3,
		annotated("volcano.sh/task-topology-affinity", "ps,worker"), annotated("volcano.sh/task-topology-task-order", "ps,worker"))}
	for i, role := range []string{"worker", "worker", "ps"} {
		task := &c.Jobs[0].Tasks[i]
		task.Annotations = map[string]string{"volcano.sh/task-spec": role}
	}
	c.Nodes = c.Nodes[:1]
	c.Queues[1] = bounded("q", 2)
	pair{
		neighbour: "task-topology", actions: "allocate", tiers: [][]string{{"task-topology", quota}}, cluster: c,
		both: "new-0 on full, new-2 on full", neighbourAlone: "new-0 on full, new-1 on full, new-2 on full",
		quotaAlone: "new-0 on full, new-1 on full",
	}.run(t)
}
