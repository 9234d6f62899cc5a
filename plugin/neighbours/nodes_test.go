package neighbours

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

const (
	binpack   = "{name: binpack, arguments: {binpack.weight: 10, binpack.resources: nvidia.com/gpu}}"
	nodeorder = "{name: nodeorder, arguments: {leastrequested.weight: 1}}"
)

// drawn returns a cluster of two nodes and a job of two pods in a queue with quota for
// one. The node "full" is half used, "idle" is empty.
func drawn() workload.Cluster {
	return workload.Cluster{
		Nodes:  []workload.Node{node("full", 8), node("idle", 8)},
		Queues: []workload.Queue{bounded("other", 8), bounded("q", 1)},
		Jobs:   []workload.Job{job("busy", "other", 4, on("full")), job("new", "q", 2)},
	}
}

// drawnByCards is drawn with cards: "full" and "idle" have card A, which the pods
// prefer, and "fuller" has card B. The quota is one A and more B than are requested.
func drawnByCards() workload.Cluster {
	return workload.Cluster{
		Nodes:  []workload.Node{cardNode("full", "A", 8), cardNode("fuller", "B", 8), cardNode("idle", "A", 8)},
		Queues: []workload.Queue{quoted("other", `{"A":8,"B":8}`), quoted("q", `{"A":1,"B":8}`)},
		Jobs: []workload.Job{
			job("busy", "other", 4, on("full"), named("A")), job("busier", "other", 6, on("fuller"), named("B")),
			job("new", "q", 2, named("A|B")),
		},
	}
}

// TestBinpack fills nodes; the order of a card list decides first.
func TestBinpack(t *testing.T) {
	pair{
		neighbour: "binpack", actions: "allocate", tiers: [][]string{{quota}, {nodeorder, binpack}}, cluster: drawn(),
		both: "new-0 on full", neighbourAlone: "new-0 on full, new-1 on full", quotaAlone: "new-0 on idle",
	}.run(t)
	pair{
		neighbour: "binpack", actions: "allocate", tiers: [][]string{{cards}, {nodeorder, binpack}},
		cluster: drawnByCards(), withCards: true,
		both: "new-0 on full, new-1 on fuller", neighbourAlone: "new-0 on fuller, new-1 on fuller", quotaAlone: "new-0 on idle, new-1 on fuller",
	}.run(t)
}

// TestNodeOrder spreads pods; the order of a card list decides first.
func TestNodeOrder(t *testing.T) {
	spread, light := "{name: nodeorder, arguments: {leastrequested.weight: 10}}", "binpack"
	pair{
		neighbour: "nodeorder", actions: "allocate", tiers: [][]string{{quota}, {light, spread}}, cluster: drawn(),
		both: "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
	}.run(t)
	// Only cpu is scored here; the busy pods have one core for each of their cards.
	pair{
		neighbour: "nodeorder", actions: "allocate", tiers: [][]string{{cards}, {light, spread}},
		cluster: drawnByCards(), withCards: true,
		both: "new-0 on idle, new-1 on fuller", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full, new-1 on fuller",
	}.run(t)
}

// TestListDecidesBeforeScores has a node with the seventh card of a list and a node with the eighth card. Everything
// else favours the second node: it is empty, has no taint, and has the label that the pod prefers. The plugins are
// the plugins of Volcano's default configuration.
func TestListDecidesBeforeScores(t *testing.T) {
	favour := func(info *api.ClusterInfo) {
		info.Nodes["seventh"].Node.Spec.Taints = []v1.Taint{{Key: "example.com/old", Effect: v1.TaintEffectPreferNoSchedule}}
		info.Nodes["eighth"].Node.Labels["example.com/zone"] = "here"
		here := v1.NodeSelectorRequirement{Key: "example.com/zone", Operator: v1.NodeSelectorOpIn, Values: []string{"here"}}
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{here}}
		pod(info, "new-0").Pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 100, Preference: term}},
		}}
	}
	for option, want := range map[string]string{
		cards: "new-0 on seventh",
		"{name: capacity-card, arguments: {nodeOrderWeight: 100}}": "new-0 on eighth",
	} {
		p := pair{
			actions: "allocate", tiers: [][]string{{option}, {"predicates", "nodeorder", "binpack"}}, edit: favour,
			cluster: workload.Cluster{
				Nodes:  []workload.Node{cardNode("seventh", "G", 64), cardNode("eighth", "H", 64)},
				Queues: []workload.Queue{quoted("q", `{"G":64,"H":64}`)},
				Jobs:   []workload.Job{job("busy", "q", 60, on("seventh"), named("G")), job("new", "q", 1, named("A|B|C|D|E|F|G|H"))},
			},
		}
		require.Equal(t, want, p.play(t, "", ""), option)
	}
}

// TestPredicates places pods on nodes without a taint that match their selector.
func TestPredicates(t *testing.T) {
	pair{
		neighbour: "predicates", actions: "allocate", tiers: [][]string{{quota}, {"predicates", binpack}}, cluster: drawn(),
		edit: func(info *api.ClusterInfo) {
			info.Nodes["full"].Node.Spec.Taints = []v1.Taint{{Key: "example.com/kept", Effect: v1.TaintEffectNoSchedule}}
		},
		both: "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
	}.run(t)
	pair{
		neighbour: "predicates", actions: "allocate", tiers: [][]string{{cards}, {"predicates", binpack}},
		cluster: drawnByCards(), withCards: true,
		edit: func(info *api.ClusterInfo) {
			info.Nodes["idle"].Node.Labels["example.com/zone"] = "here"
			for _, name := range []string{"new-0", "new-1"} {
				pod(info, name).Pod.Spec.NodeSelector = map[string]string{"example.com/zone": "here"}
			}
		},
		both: "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full, new-1 on fuller",
	}.run(t)
}

// TestNodeGroup places the pods of a queue on the nodes of its group.
func TestNodeGroup(t *testing.T) {
	groups := func(of map[string]string, queue string) func(*api.ClusterInfo) {
		return func(info *api.ClusterInfo) {
			for name, group := range of {
				info.Nodes[name].Node.Labels["volcano.sh/nodegroup-name"] = group
			}
			queueOf(info, queue).Spec.Affinity = &scheduling.Affinity{NodeGroupAffinity: &scheduling.NodeGroupAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []string{"mine"}}}
		}
	}
	pair{
		neighbour: "nodegroup", actions: "allocate", tiers: [][]string{{quota}, {"nodegroup", binpack}}, cluster: drawn(),
		edit: groups(map[string]string{"full": "theirs", "idle": "mine"}, "q"),
		both: "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
	}.run(t)
	c := drawnByCards()
	c.Queues[1].Annotations["volcano.sh/card.quota"] = `{"A":1,"B":1}`
	pair{
		neighbour: "nodegroup", actions: "allocate", tiers: [][]string{{cards}, {"nodegroup", binpack}},
		cluster: c, withCards: true,
		edit: groups(map[string]string{"full": "theirs", "idle": "theirs", "fuller": "mine"}, "q"),
		both: "new-0 on fuller", neighbourAlone: "new-0 on fuller, new-1 on fuller", quotaAlone: "new-0 on full, new-1 on fuller",
	}.run(t)
}

// revocable makes "full" a node of the zone rz1.
func revocable(info *api.ClusterInfo) {
	lent := info.Nodes["full"]
	lent.RevocableZone = "rz1"
	info.RevocableNodes = map[string]*api.NodeInfo{lent.Name: lent}
}

// TestTDM places preemptable pods on a revocable node during its hours.
func TestTDM(t *testing.T) {
	// The same time twice is a whole day.
	always := "{name: tdm, arguments: {tdm.revocable-zone.rz1: '00:00-00:00'}}"
	c := drawn()
	c.Jobs = append(c.Jobs, job("stays", "q2", 2, annotated("volcano.sh/revocable-zone", "none")))
	c.Queues = append(c.Queues, bounded("q2", 1))
	pair{
		neighbour: "tdm", actions: "allocate", tiers: [][]string{{quota}, {always, binpack}}, cluster: c, edit: revocable,
		both:           "new-0 on full, stays-0 on idle",
		neighbourAlone: "new-0 on full, new-1 on full, stays-0 on idle, stays-1 on idle",
		quotaAlone:     "new-0 on full, stays-0 on full",
	}.run(t)
}

// TestTDMEvicts runs the action shuffle after the hours of a revocable node. shuffle
// evicts a task that the node itself holds, so the accounts of the node become wrong,
// and it panics, with any quota plugin. docs/neighbours.md warns of it.
func TestTDMEvicts(t *testing.T) {
	hour := func(after int) string { return time.Now().Add(time.Duration(after) * time.Hour).Format("15:04") }
	over := "{name: tdm, arguments: {tdm.evict.period: 0s, tdm.revocable-zone.rz1: '" + hour(2) + "-" + hour(3) + "'}}"
	p := pair{actions: "shuffle", tiers: [][]string{{quota}, {over}}, cluster: drawn(), edit: revocable}
	require.Panics(t, func() { p.play(t, capacities, "") })
	require.Panics(t, func() { p.play(t, capacities, "capacity") })
}
