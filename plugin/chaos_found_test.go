package plugin

import (
	"github.com/capacity-card/capacity-card/plugin/arguments"

	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// found are minimised scenarios of what random worlds have found, by the entry of known
// that they belong to.
var found = map[string]*scenario{
	outlivesQueue: acts(Name, false, "allocate").
		then(card8("A"), annotated("q", `{"A":7}`, "", ""), job("j", "q", 1, gpus("", 1))).
		then(deleteQueue{"q"}, loseNode{"n"}).
		then(annotated("q", `{"A":7}`, "", "")),
	unlisted: acts(Name, false, "allocate").
		then(card8("B"), annotated("q", `{"B":8}`, "", ""), job("j", "q", 0, gpus("B", 2))).
		then(card8("A"), restart{}).
		then(card8("")).
		then(card8("A")),
	otherCards: acts(Name, false, "allocate", "reclaim").
		then(card8("A"), annotated("mine", `{"A":8}`, "", `{"A":0}`), annotated("other", `{"A":8,"B":8}`, `{"A":1}`, `{"A":0}`),
			job("borrows", "other", 0, gpus("A", 4), gpus("A", 4))).
		then(job("claims", "mine", 1, gpus("A", 1))),
	// The pod without cards may not run: the queue has no cpu. Its job counts as ready for
	// the pod without requests, so Volcano evicts the other job's pod for nothing.
	preemptGain: acts(Name, false, "allocate", "preempt").
		then(card8("B"), annotated("q", `{"B":6}`, "", ""), job("runs", "q", 1, gpus("B", 1)), urgent(job("waits", "q", 1, cpus(2), podSpec{cards: "B"}))),
	staleNodes: acts(CapacityName, false, "allocate").
		then(card8("C"), annotated("q", `{}`, "", "")).
		then(setQueue{queueSpec{queue: workload.Queue{Name: "q"}}}, card8("A"), job("j", "q", 1, gpus("B", 1))).
		then(annotated("q", `{}`, "", "")),
	"what is guaranteed to a flat queue is lent": acts(Name, false, "allocate").
		then(card8("A"), annotated("owner", `{"A":3}`, "", ""), annotated("x", `{"A":8}`, "", `{"A":0}`), annotated("y", `{"A":8}`, "", `{"A":0}`),
			job("jx", "x", 1, gpus("A", 4)), job("jy", "y", 1, gpus("A", 4))),
	rootParent: acts(CapacityName, false, "allocate").
		then(card8(""), setQueue{queueSpec{queue: workload.Queue{Name: index.RootName, Parent: "q"}}}, job("j", index.RootName, 1, cpus(1))),
	goneQueue: acts(CapacityName, true, "allocate").
		then(card8(""), setQueue{queueSpec{queue: workload.Queue{Name: "q"}}}, job("j", "q", 1, cpus(4))).
		then(deleteQueue{"q"}, loseNode{"n"}).
		then(setQueue{queueSpec{queue: workload.Queue{Name: "q"}}}),
	// The queue above the reclaimer's is guaranteed more than its children: a refund changes
	// what it does not use, and nothing of the child.
	"a refund below an inner queue frees its guarantee": acts(Name, true, "allocate", "preempt").
		then(gpuNode("n", "A", 2), annotated("inner", `{}`, "", `{"A":1}`), annotated("other", `{"A":8}`, "", `{"A":1}`),
			below("inner", annotated("q", `{"A":8}`, "", `{"A":0}`)), job("low", "q", 1, gpus("", 1)), urgent(job("high", "q", 1, gpus("A", 2)))),
	"a preemptor that the capability never admits": acts(CapacityName, false, "allocate", "preempt").
		then(card8(""), queueBelow("q", ""), job("runs", "q", 0, cpus(5))).
		then(setQueue{queueSpec{queue: workload.Queue{Name: "q", Capability: workload.Resources{"cpu": 2000}}}}, urgent(job("waits", "q", 1, cpus(4), podSpec{}))),
	// Without the gang's pods there would be room, but gang keeps them.
	"a preemptor that the victims of gang do not make room for": spared(acts(CapacityName, false, "allocate", "preempt").
		then(card8(""), queueBelow("q", ""), job("gang", "q", 2, cpus(1), cpus(3)), job("low", "q", 0, podSpec{requests: workload.Resources{"memory": 1 << 30}})).
		then(setQueue{queueSpec{queue: workload.Queue{Name: "q", Capability: workload.Resources{"cpu": 6000}}}}, urgent(job("waits", "q", 1, cpus(3), podSpec{})))),
	"a preemptor that the quota of a card never admits": acts(Name, false, "allocate", "preempt").
		then(card8("A"), annotated("q", `{"A":4}`, "", ""), job("runs", "q", 1, gpus("A", 2)), urgent(job("waits", "q", 1, gpus("A", 6), podSpec{}))),
	// The quotas of A and B are used up. The pods on n, which has B now, are charged for A.
	"a preemptor with a list is not admitted on the card of the node": acts(CapacityName, true, "allocate", "preempt").
		then(gpuNode("n", "A", 8), gpuNode("z", "B", 4), annotated("q", `{"A":8,"B":4}`, "", ""),
			job("a", "q", 0, gpus("A", 2), gpus("A", 2), gpus("A", 2), gpus("A", 2)), job("b", "q", 1, gpus("B", 4))).
		then(gpuNode("n", "B", 8)).
		then(urgent(job("waits", "q", 1, gpus("B|A", 2), podSpec{cards: "B"}))),
	"the parent of a queue exists again after a node is lost": acts(CapacityName, true, "allocate").
		then(card8(""), queueBelow("p", ""), queueBelow("q", "p"), job("j", "q", 1, cpus(4))).
		then(deleteQueue{"p"}, loseNode{"n"}).
		then(queueBelow("p", "")),
	// The pods on n hold A, which their list does not name, and another one of the job has C.
	"a node loses the cards of pods that have an unlisted one": acts(CapacityName, false, "allocate").
		then(setNode{workload.Node{Name: "n", Allocatable: workload.Resources{"pods": 100, gpuName: 2, mpsName: 3},
			Labels: map[string]string{"nvidia.com/gpu.product": "A", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.memory": "81559"}}},
			gpuNode("z", "C", 1), queueBelow("q", ""), job("j", "q", 1, gpus("C", 1), gpus("C", 1), gpus("C", 1))).
		then(annotated("q", `{}`, "", "")).
		then(setNode{workload.Node{Name: "n", Labels: map[string]string{"nvidia.com/gpu.product": "A"}}}),
	"reclaim for a pod beside one that requests a card": damped(acts(Name, false, "allocate", "reclaim")).
		then(setNode{workload.Node{Name: "n", Allocatable: workload.Resources{"cpu": 8000, "memory": 8 << 30, "pods": 100}}},
			setQueue{queueSpec{queue: workload.Queue{Name: "mine", Deserved: workload.Resources{"memory": 8 << 30}}}}, annotated("other", `{"A":1}`, "", ""),
			job("waits", "mine", 1, gpus("A", 1)), job("borrows", "other", 1, cpus(3), cpus(3)), job("runs", "mine", 1, sized(1, 3)), job("claims", "mine", 1, sized(2, 1))),
	// early deserves B, too, but no node has it.
	"reclaim from a queue that deserves what is not there": damped(acts(CapacityName, false, "allocate", "reclaim")).
		then(setNode{workload.Node{Name: "n", Allocatable: workload.Resources{"cpu": 4000, "pods": 100}}}, queueBelow("third", ""),
			annotated("early", `{"B":20}`, "", ""), job("borrows", "early", 1, cpus(1), cpus(1), cpus(1)), job("runs", "third", 1, podSpec{requests: workload.Resources{"cpu": 600}}),
			job("waits", "early", 0, gpus("B", 1))).
		then(setQueue{queueSpec{queue: workload.Queue{Name: "late", Deserved: workload.Resources{"cpu": 1000}}}}, job("claims", "late", 1, cpus(1))),
	// other deserves A, too, but no node with A has cpu.
	"reclaim from an untyped pod that may get another card": damped(acts(Name, false, "allocate", "reclaim")).
		then(setNode{workload.Node{Name: "n", Allocatable: workload.Resources{"cpu": 2000, "pods": 100, gpuName: 6}, Labels: map[string]string{"nvidia.com/gpu.product": "B"}}},
			gpuNode("z", "A", 4), annotated("mine", `{"A":8,"B":8}`, `{"A":1}`, `{"A":0,"B":0}`), annotated("other", `{"A":8,"B":8}`, `{"B":5}`, `{"A":0,"B":0}`),
			job("a", "mine", 1, gpus("A", 2)), job("borrows", "other", 1, untyped, untyped, untyped)).
		then(job("claims", "mine", 1, podSpec{cards: "B", requests: workload.Resources{"cpu": 800, gpuName: 1}})),
	gonePods: acts(CapacityName, true, "allocate", "backfill").
		then(card8(""), setQueue{queueSpec{queue: workload.Queue{Name: "q"}}}, job("j", "q", 0, podSpec{})).
		then(loseNode{"n"}).
		then(replacePods{"n"}),
}

// acts returns a scenario without acts.
func acts(plugin string, hierarchy bool, actions ...string) *scenario {
	return &scenario{plugin: plugin, hierarchy: hierarchy, actions: actions}
}

// damped damps reclaim, and sets no bound of cpu and memory.
func damped(s *scenario) *scenario {
	s.arguments = framework.Arguments{arguments.ReclaimDamping: 1, arguments.UnsetCapability: "unlimited"}
	return s
}

// spared has gang spare the minimum of a job from preemption.
func spared(s *scenario) *scenario {
	s.gangSpares = true
	return s
}

// then adds a cycle.
func (s *scenario) then(deeds ...deed) *scenario {
	s.cycles++
	for _, d := range deeds {
		s.acts = append(s.acts, act{s.cycles, d})
	}
	return s
}

// card8 makes the node n with 8 GPUs, or changes its label.
func card8(product string) deed {
	n := workload.Node{Name: "n", Allocatable: workload.Resources{"cpu": 8000, "memory": 8 << 30, "pods": 100, gpuName: 8}}
	if product != "" {
		n.Labels = map[string]string{"nvidia.com/gpu.product": product}
	}
	return setNode{n}
}

// gpuNode makes a node with GPUs of a model.
func gpuNode(name, model string, n int64) deed {
	return setNode{workload.Node{Name: name, Allocatable: workload.Resources{"pods": 100, gpuName: n}, Labels: map[string]string{"nvidia.com/gpu.product": model}}}
}

// queueBelow makes a queue without card annotations.
func queueBelow(name, parent string) deed {
	return setQueue{queueSpec{queue: workload.Queue{Name: name, Parent: parent}}}
}

// below moves a queue that is made below another one.
func below(parent string, d deed) deed {
	made := d.(setQueue)
	made.spec.queue.Parent = parent
	return made
}

// annotated makes a queue with card annotations.
func annotated(name, quota, deserved, guarantee string) deed {
	q := workload.Queue{Name: name, Annotations: map[string]string{card.QuotaKey: quota}}
	for key, text := range map[string]string{card.DeservedKey: deserved, card.GuaranteeKey: guarantee} {
		if text != "" {
			q.Annotations[key] = text
		}
	}
	return setQueue{queueSpec{queue: q}}
}

func job(name, queue string, minMember int, pods ...podSpec) submitJob {
	return submitJob{jobSpec{name: name, queue: queue, minMember: minMember, pods: pods}}
}

func urgent(d submitJob) deed {
	d.spec.priority = 1
	return d
}

func gpus(cards string, n int64) podSpec {
	return podSpec{cards: cards, requests: workload.Resources{gpuName: n}}
}

var untyped = podSpec{requests: workload.Resources{"cpu": 600, gpuName: 2}}

func sized(cores, gib int64) podSpec {
	return podSpec{requests: workload.Resources{"cpu": 1000 * cores, "memory": gib << 30}}
}

func cpus(cores int64) podSpec { return podSpec{requests: workload.Resources{"cpu": 1000 * cores}} }

// TestChaosFound plays the scenarios of found. Those of known break an invariant, and all
// others do not.
func TestChaosFound(t *testing.T) {
	defer oneAtATime()()
	defer func(was bool) { *worldKnown = was }(*worldKnown)
	*worldKnown = true
	for name := range known {
		assert.Contains(t, found, name)
	}
	for name, s := range found {
		_, violation := play(s, nil)
		if known[name] != "" {
			assert.NotNil(t, violation, "%q holds: take it off known", name)
		} else {
			assert.Nil(t, violation, name)
		}
	}
}
