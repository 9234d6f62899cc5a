package plugin

import (
	"github.com/capacity-card/capacity-card/plugin/arguments"

	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// claims are scenarios in which pods are evicted for others, and how many evictions these need.
var claims = map[string]struct {
	scenario  *scenario
	evictions int
	running   map[string]int // pods at the end, by job
	but       string         // the kind with which it ends otherwise
}{
	// Topology-aware preemption finds no node for a pod that needs no victim, as one of the gang.
	"a gang preempts beside the replacements of its victims": {but: "topology-aware", evictions: 2, running: map[string]int{"gang": 2, "low": 1}, scenario: acts(Name, false, "allocate", "preempt").
		then(card8("A"), annotated("q", `{"A":5}`, "", ""), job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("A", 1))).
		then(urgent(job("gang", "q", 2, gpus("A", 2), gpus("A", 2))))},
	"a gang preempts on nodes that are full": {acts(Name, false, "allocate", "preempt").
		then(gpuNode("n", "A", 3), gpuNode("z", "A", 2), annotated("q", `{"A":9}`, "", ""), job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("A", 1), gpus("A", 1), gpus("A", 1))).
		then(urgent(job("gang", "q", 2, gpus("A", 2), gpus("A", 2)))), 4, map[string]int{"gang": 2, "low": 1}, ""},
	"one pod preempts": {acts(Name, false, "allocate", "preempt").
		then(card8("A"), annotated("q", `{"A":3}`, "", ""), job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("A", 1))).
		then(urgent(job("high", "q", 1, gpus("A", 1)))), 1, map[string]int{"high": 1, "low": 2}, ""},
	"a pod with a list preempts": {acts(Name, false, "allocate", "preempt").
		then(gpuNode("n", "A", 2), gpuNode("z", "B", 2), annotated("q", `{"A":8,"B":8}`, "", ""),
			job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("B", 1), gpus("B", 1))).
		then(urgent(job("high", "q", 1, gpus("A|B", 2)))), 2, map[string]int{"high": 1, "low": 2}, ""},
	"an untyped pod preempts": {acts(Name, false, "allocate", "preempt").
		then(gpuNode("n", "A", 2), gpuNode("z", "B", 2), annotated("q", `{"A":8,"B":8}`, "", ""),
			job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("B", 1), gpus("B", 1))).
		then(urgent(job("high", "q", 1, gpus("", 2)))), 2, map[string]int{"high": 1, "low": 2}, ""},
	"quotas of both cards of a list are used up": {acts(Name, false, "allocate", "preempt").
		then(card8("A"), gpuNode("z", "B", 8), annotated("q", `{"A":2,"B":2}`, "", ""),
			job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("B", 1), gpus("B", 1))).
		then(urgent(job("high", "q", 1, gpus("A|B", 2)))), 2, map[string]int{"high": 1, "low": 2}, ""},
	"reclaim in a tree": {acts(Name, true, "allocate", "reclaim").
		then(card8("A"), annotated("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`), annotated("other", `{"A":8}`, `{"A":4}`, `{"A":0}`), job("borrows", "other", 0, eightCards...)).
		then(job("claims", "mine", 1, gpus("A", 1))), 1, map[string]int{"claims": 1, "borrows": 7}, ""},
	"damped reclaim in a tree": {reclaimDamped(3, acts(Name, true, "allocate", "reclaim")).
		then(card8("A"), annotated("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`), annotated("other", `{"A":8}`, `{"A":4}`, `{"A":0}`), job("borrows", "other", 0, eightCards...)).
		then(job("claims", "mine", 1, gpus("A", 1))), 1, map[string]int{"claims": 1, "borrows": 7}, ""},
	"a gang reclaims from queues with a higher priority": {acts(Name, false, "allocate", "reclaim").
		then(card8("A"), annotated("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`), prioritised(annotated("other", `{"A":8}`, `{"A":4}`, `{"A":0}`)), job("borrows", "other", 0, eightCards...)).
		then(job("claims", "mine", 2, gpus("A", 1), gpus("A", 2))), 3, map[string]int{"claims": 2, "borrows": 5}, ""},
	"a namespace without room preempts": {acts(Name, false, "allocate", "preempt").
		then(card8("A"), limited("q", `{"A":8}`, `{"A":4}`), job("low1", "q", 0, eightCards[:4]...)).
		then(urgent(job("high1", "q", 1, gpus("A", 1)))), 1, map[string]int{"high1": 1, "low1": 3}, ""},
	"a namespace without room reclaims": {acts(Name, true, "allocate", "reclaim").
		then(card8("A"), limited("team", `{"A":8}`, `{"A":6}`), below("team", annotated("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`)),
			below("team", annotated("other", `{"A":8}`, `{"A":2}`, `{"A":0}`)), job("borrows1", "other", 0, eightCards[:6]...)).
		then(job("claims1", "mine", 1, gpus("A", 1))), 1, map[string]int{"claims1": 1, "borrows1": 5}, ""},
	// y is guaranteed 3 cards and idle.
	"what is guaranteed to others stops a flat queue": {acts(Name, false, "allocate", "reclaim").
		then(card8("A"), annotated("y", `{"A":8}`, `{"A":3}`, `{"A":3}`), annotated("z", `{"A":8}`, `{"A":3}`, `{"A":0}`), annotated("x", `{"A":8}`, `{"A":2}`, `{"A":0}`),
			job("borrows", "z", 0, eightCards[:5]...)).
		then(job("claims", "x", 1, gpus("A", 1)), job("again", "x", 1, gpus("A", 1))), 2, map[string]int{"claims": 1, "again": 1, "borrows": 3}, ""},
	"what is guaranteed to others stops a queue of a tree": {acts(Name, true, "allocate", "reclaim").
		then(card8("A"), annotated("y", `{"A":8}`, `{"A":3}`, `{"A":3}`), annotated("z", `{"A":8}`, `{"A":3}`, `{"A":0}`), annotated("x", `{"A":8}`, `{"A":2}`, `{"A":0}`),
			job("borrows", "z", 0, eightCards[:5]...)).
		then(job("claims", "x", 1, gpus("A", 1)), job("again", "x", 1, gpus("A", 1))), 2, map[string]int{"claims": 1, "again": 1, "borrows": 3}, ""},
	"z has all when y is created": {acts(Name, false, "allocate", "reclaim").
		then(card8("A"), annotated("z", `{"A":8}`, `{"A":3}`, `{"A":0}`), annotated("x", `{"A":8}`, `{"A":2}`, `{"A":0}`), job("borrows", "z", 0, eightCards...)).
		then(annotated("y", `{"A":8}`, `{"A":3}`, `{"A":3}`)).
		then(job("claims", "x", 1, gpus("A", 1)), job("again", "x", 1, gpus("A", 1))), 5, map[string]int{"claims": 1, "again": 1, "borrows": 3}, ""},
	"a Deployment that has its minimum": {beyondMinimum(acts(Name, false, "allocate", "reclaim").
		then(card8("A"), annotated("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`), annotated("other", `{"A":8}`, `{"A":4}`, `{"A":0}`),
													job("serve", "mine", 1, eightCards[:2]...), job("train", "other", 1, eightCards[:6]...)).
		then(scaleJob{"serve", 8})), 2, map[string]int{"serve": 4, "train": 4}, gangActions}, // they ask for all six pods at once
	// mine deserves a card for namespace odd, which has all that team allows it; the pods of even come first.
	"the limit of a namespace stops a reclaimer on a full node": {acts(Name, true, "allocate", "reclaim").
		then(card8("A"), limited("team", `{"A":8}`, `{"A":4}`), below("team", annotated("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`)),
			below("team", annotated("other", `{"A":8}`, `{"A":2}`, `{"A":0}`)), job("a1", "other", 0, eightCards[:4]...), job("b2", "other", 0, eightCards[:4]...)).
		then(job("c3", "mine", 1, gpus("A", 1))), 1, map[string]int{"c3": 1, "a1": 3, "b2": 4}, ""},
	"the scheduler restarts while victims of a gang end": {but: "topology-aware", evictions: 2, running: map[string]int{"gang": 2, "low": 1}, scenario: acts(Name, false, "allocate", "preempt").
		then(card8("A"), annotated("q", `{"A":5}`, "", ""), job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("A", 1))).
		then(urgent(job("gang", "q", 2, gpus("A", 2), gpus("A", 2)))).then(restart{})},
	"the scheduler restarts while victims end": {acts(Name, false, "allocate", "preempt").
		then(gpuNode("n", "A", 2), gpuNode("z", "B", 2), annotated("q", `{"A":8,"B":8}`, "", ""),
			job("low", "q", 0, gpus("A", 1), gpus("A", 1), gpus("B", 1), gpus("B", 1))).
		then(urgent(job("high", "q", 1, gpus("A|B", 2)))).then(restart{}), 2, map[string]int{"high": 1, "low": 2}, ""},
	"a guarantee stops a preemptor of the queue itself": {acts(Name, true, "allocate", "preempt").
		then(card8("A"), annotated("y", `{"A":8}`, `{"A":3}`, `{"A":3}`), annotated("q", `{"A":8}`, `{"A":5}`, `{"A":0}`), job("low", "q", 0, eightCards[:5]...)).
		then(urgent(job("high", "q", 1, gpus("A", 1)))), 1, map[string]int{"high": 1, "low": 4}, ""},
}

var eightCards = slices.Repeat([]podSpec{gpus("A", 1)}, 8)

// limited makes a queue that limits its namespaces.
func limited(name, quota, ofNamespace string) deed {
	made := annotated(name, quota, "", "").(setQueue)
	made.spec.queue.Annotations["volcano.sh/card.quota.namespace"] = ofNamespace
	return made
}

// prioritised gives a queue that is made a priority.
func prioritised(d deed) deed {
	made := d.(setQueue)
	made.spec.queue.Priority = 10
	return made
}

// beyondMinimum has jobs reclaim that have their minimum.
func beyondMinimum(s *scenario) *scenario {
	s.arguments = framework.Arguments{arguments.ReclaimBeyondMinimum: true}
	return s
}

// reclaimDamped damps reclaim.
func reclaimDamped(levels int, s *scenario) *scenario {
	s.arguments = framework.Arguments{arguments.ReclaimDamping: levels}
	return s
}

// gangActions is the kind of scenarios with the gang actions of v1.15.
const gangActions = "gang actions"

// kinds are ways to configure the scheduler with which the scenarios of claims end alike.
var kinds = map[string]func(*scenario){
	"capacity-card":                       func(*scenario) {},
	"capacity, cards are held":            func(s *scenario) { s.plugin = CapacityName; s.set(arguments.TerminatingCards, "hold") },
	"capacity":                            func(s *scenario) { s.plugin = CapacityName },
	"cards are released":                  func(s *scenario) { s.set(arguments.TerminatingCards, "release") },
	"damped":                              func(s *scenario) { s.set(arguments.ReclaimDamping, 3) },
	"ancestorReclaimLevel":                func(s *scenario) { s.set(arguments.AncestorReclaimLevel, 2) },
	"the least work":                      func(s *scenario) { s.set(arguments.VictimOrder, "leastWork") },
	"the rules of v1.15":                  func(s *scenario) { s.set(arguments.Semantics, "v1.15") },
	"topology-aware":                      func(s *scenario) { s.topology = true },
	"controllers replace pods that ended": func(s *scenario) { s.eager = false },
}

// set sets an argument of the plugin.
func (s *scenario) set(key string, value any) {
	s.arguments = maps.Clone(s.arguments)
	if s.arguments == nil {
		s.arguments = framework.Arguments{}
	}
	s.arguments[key] = value
}

// ends plays a scenario, and compares the evictions and the pods that run at the end.
func ends(t *testing.T, s *scenario, evictions int, running map[string]int) {
	t.Helper()
	w, found := play(s, nil)
	defer func() {
		if t.Failed() {
			t.Logf("%s\n%s", s, strings.Join(w.history, "\n"))
		}
	}()
	require.Nil(t, found)
	all, run := 0, map[string]int{}
	for _, n := range w.evictions {
		all += n
	}
	assert.Equal(t, evictions, all, "evictions")
	for job := range running {
		for _, p := range w.job(job).pods {
			if p.placed() {
				run[job]++
			}
		}
	}
	assert.Equal(t, running, run)
}

// TestWhatVictimsLeave plays scenarios with victims that take 1, 6 and 60 cycles to end. Each one ends
// with the pods that it was played for, and no more evictions than these need.
func TestWhatVictimsLeave(t *testing.T) {
	defer oneAtATime()()
	for name, test := range claims {
		for kind, configure := range kinds {
			if kind == test.but {
				continue
			}
			for _, cycles := range []int{1, 6, 60} {
				t.Run(fmt.Sprintf("%s/%s/%d cycles", name, kind, cycles), func(t *testing.T) {
					s := *test.scenario
					s.actions = slices.Clone(s.actions)
					s.grace, s.eager = cycles-1, true
					configure(&s)
					ends(t, &s, test.evictions, test.running)
				})
			}
		}
	}
}

// TestVictimsWithoutCards evicts pods without cards, under all three names. Pods that are being
// deleted count nowhere, and a gang of high priority comes before the replacements of its victims.
func TestVictimsWithoutCards(t *testing.T) {
	defer oneAtATime()()
	for _, name := range Names {
		for _, cycles := range []int{1, 6, 60} {
			t.Run(fmt.Sprintf("%s/%d cycles", name, cycles), func(t *testing.T) {
				s := acts(name, false, "allocate", "preempt").
					then(setNode{workload.Node{Name: "n", Allocatable: workload.Resources{"cpu": 8000, "memory": 8 << 30, "pods": 100}}},
						setQueue{queueSpec{queue: workload.Queue{Name: "q", Weight: 1, Capability: workload.Resources{"cpu": 5000, "memory": 8 << 30}}}},
						job("low", "q", 0, cpus(1), cpus(1), cpus(1))).
					then(urgent(job("gang", "q", 2, cpus(2), cpus(2))))
				s.grace, s.eager = cycles-1, true
				ends(t, s, 2, map[string]int{"gang": 2, "low": 1})
			})
		}
	}
}

// TestGangActions plays the scenarios of claims with the gang actions of Volcano v1.15, which evict
// jobs as a whole. The pods that they evict for start, and nobody is evicted for them again.
func TestGangActions(t *testing.T) {
	if _, found := framework.GetAction("gangreclaim"); !found {
		t.Skip("this release has no gang actions")
	}
	defer oneAtATime()()
	for name, test := range claims {
		for _, cycles := range []int{1, 6, 60} {
			if test.but == gangActions {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d cycles", name, cycles), func(t *testing.T) {
				s := *test.scenario
				s.actions = slices.Clone(s.actions)
				s.actions[1] = "gang" + s.actions[1]
				s.grace, s.eager = cycles-1, true
				w, found := play(&s, nil)
				defer func() {
					if t.Failed() {
						t.Logf("%s\n%s", &s, strings.Join(w.history, "\n"))
					}
				}()
				require.Nil(t, found)
				evicting := 0
				for _, n := range w.evictions {
					evicting += min(n, 1)
				}
				assert.LessOrEqual(t, evicting, len(test.running)-1, "cycles with evictions")
				for job, n := range test.running {
					if job == "low" || strings.HasPrefix(job, "borrows") || job == "train" || job == "a1" || job == "b2" {
						continue // a victim
					}
					running := 0
					for _, p := range w.job(job).pods {
						if p.placed() {
							running++
						}
					}
					assert.Equal(t, n, running, job)
				}
			})
		}
	}
}
