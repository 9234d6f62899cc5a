package session

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// gatedScene is a scene with the rules of v1.15, in which Volcano removes queue allocation
// gates.
func gatedScene(t *testing.T) *scene {
	removeQueueGates(t)
	s := newScene()
	s.arguments = framework.Arguments{arguments.Semantics: release.V115.String()}
	return s
}

// optedIn gives the pods of an admitted job the annotation, and the gate unless it is removed.
func optedIn(removed bool) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase = workload.Inqueue
		for i := range j.Tasks {
			t := &j.Tasks[i]
			if t.Annotations == nil {
				t.Annotations = map[string]string{}
			}
			t.Annotations[reserve.QueueGate], t.QueueGated = "true", !removed
		}
	}
}

// openGated opens a session with reservations. Before v1.15 it is a second one of the plugin,
// because the feature gate is missing.
func (s *scene) openGated(t *testing.T) *fixture {
	t.Helper()
	f := s.open(t)
	if release.Built() < release.V115 {
		with := f.own.Settings
		with.Gates = true
		f.own = openSession(f.Session, f.own.variant, with, newMemory())
	}
	require.NotNil(t, f.own.gates)
	return f
}

// gatesRemoved runs allocate and returns the pods whose gate it removes, sorted. Before v1.15
// it does what allocate does from then on.
func (f *fixture) gatesRemoved(t *testing.T) (names []string) {
	t.Helper()
	set := reflect.ValueOf(f.Session).MethodByName("SetSchGateManager")
	if release.Built() < release.V115 {
		require.False(t, set.IsValid())
		names = f.removeGates()
		f.run(t, allocate.New())
		return names
	}
	manager := reflect.New(set.Type().In(0).Elem())
	removals := open(manager.Elem().FieldByName("opCh"))
	removals.Set(reflect.MakeChan(removals.Type(), 100))
	set.Call([]reflect.Value{manager})
	f.run(t, allocate.New())
	for {
		removal, ok := removals.TryRecv()
		if !ok {
			slices.Sort(names)
			return names
		}
		names = append(names, removal.FieldByName("name").String())
	}
}

// removeGates asks for the pods with the gate, queue by queue, and returns those that may have
// theirs removed.
func (f *fixture) removeGates() (names []string) {
	var pods []*api.TaskInfo
	for _, job := range f.Jobs {
		for _, task := range job.Tasks {
			if task.SchGated && !reserve.Gates(true).Gated(task) {
				pods = append(pods, task)
			}
		}
	}
	slices.SortFunc(pods, func(x, y *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(f.Jobs[x.Job].Queue, f.Jobs[y.Job].Queue), cmp.Compare(x.Name, y.Name))
	})
	for _, task := range pods {
		if f.Allocatable(f.Queues[f.Jobs[task.Job].Queue], task) && reserve.OptedIn(task) {
			names = append(names, task.Name)
		}
	}
	return names
}

// reservedOf returns what is reserved in a queue of a card, in whole cards.
func (f *fixture) reservedOf(queue, name string) float64 {
	d, ok := f.own.Memory.Names.LookupCard(name)
	if !ok || f.own.Index.Reserved.Len() == 0 {
		return 0
	}
	return f.own.Index.Reserved.Row(f.own.Index.Lookup(queue)).Get(d) / 1000
}

// TestCardQuotaKeepsGates has pods with the gate in queues whose card quota, or that of an
// ancestor, has room for some of them. No node has a free card.
func TestCardQuotaKeepsGates(t *testing.T) {
	full := func(t *testing.T) *scene {
		return gatedScene(t).node("a", "A", 2).node("b", "B", 1).queue("root", "").
			queue("team", "root", "quota", `{"A":3,"B":1}`).queue("one", "team", "quota", `{"A":3,"B":1}`).queue("two", "team", "quota", `{"A":3,"B":1}`).
			queue("other", "root", "quota", `{"A":9,"B":9}`).pods("busy", "other", "A", 2, 1, on("a")).pods("busyb", "other", "B", 1, 1, on("b"))
	}
	tests := []struct {
		name  string
		add   func(*scene) *scene
		want  []string
		cards map[string]float64 // reserved in team
	}{
		{"no quota left", func(s *scene) *scene {
			return s.pods("old", "two", "A", 3, 1, on("a")).pods("new", "one", "A", 1, 1, optedIn(false))
		}, nil, map[string]float64{"A": 0}},
		{"room for both", func(s *scene) *scene {
			return s.pods("new", "one", "A", 2, 1, optedIn(false))
		}, []string{"new-0", "new-1"}, map[string]float64{"A": 2}},
		{"the ancestor has room for one", func(s *scene) *scene {
			return s.pods("new", "one", "A", 1, 2, optedIn(false)).pods("more", "two", "A", 1, 2, optedIn(false))
		}, []string{"new-0"}, map[string]float64{"A": 2}},
		{"a removed gate keeps the room", func(s *scene) *scene {
			return s.pods("first", "two", "A", 1, 2, optedIn(true)).pods("new", "one", "A", 1, 2, optedIn(false))
		}, nil, map[string]float64{"A": 2}},
		{"the second card of a list", func(s *scene) *scene {
			return s.pods("first", "two", "A", 3, 1, optedIn(true)).pods("new", "one", "A|B", 2, 1, optedIn(false))
		}, []string{"new-0"}, map[string]float64{"A": 3, "B": 1}},
		{"lists leave a card to pods without a choice", func(s *scene) *scene {
			return s.pods("either", "two", "A|B", 1, 1, optedIn(true)).pods("only", "two", "A", 3, 1, optedIn(true))
		}, nil, map[string]float64{"A": 3, "B": 1}},
		{"another gate", func(s *scene) *scene {
			return s.pods("new", "one", "A", 1, 1, optedIn(false), func(j *workload.Job) { j.Tasks[0].Gated = true })
		}, nil, map[string]float64{"A": 0}},
		{"the gate without the annotation", func(s *scene) *scene {
			return s.pods("new", "one", "A", 1, 1, inPhase(workload.Inqueue), func(j *workload.Job) { j.Tasks[0].QueueGated = true })
		}, nil, map[string]float64{"A": 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := test.add(full(t)).openGated(t)
			assert.Equal(t, test.want, f.gatesRemoved(t))
			for card, want := range test.cards {
				assert.Equal(t, want, f.reservedOf("team", card), card)
			}
			assert.Empty(t, f.cache.Bound)
		})
	}
}

// TestOtherQuotasKeepGates is the same for cpu, in a tree under the name capacity.
func TestOtherQuotasKeepGates(t *testing.T) {
	s := gatedScene(t).node("a", "A", 1).queue("root", "").queue("team", "root").queue("one", "team").queue("two", "team").
		pods("held", "two", "", 2, 0, optedIn(true)).pods("new", "one", "", 2, 0, optedIn(false))
	s.build = NewCapacity
	s.Queues[1].Capability["cpu"] = 300
	s.Nodes[0].Allocatable["cpu"], s.Nodes[0].Allocatable["pods"] = 300, 0 // no pod gets a node
	f := s.openGated(t)
	assert.Equal(t, []string{"new-0"}, f.gatesRemoved(t))
	assert.Equal(t, 300.0, f.own.Index.Reserved.Row(f.own.Index.Lookup("team")).Get(fastres.CPU))
}

// TestRemovedGateGetsItsNode has a node for one of two pods with equal requests. The one whose
// gate is removed gets the card, though the other one comes first.
func TestRemovedGateGetsItsNode(t *testing.T) {
	f := gatedScene(t).node("a", "A", 1).queue("q", "", "quota", `{"A":1}`).
		pods("plain", "q", "A", 1, 1, inPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 }).
		pods("gate", "q", "A", 1, 1, optedIn(true)).openGated(t)
	f.gatesRemoved(t)
	assert.Equal(t, map[string]string{"gate-0": "a"}, f.cache.Bound)
	assert.Zero(t, f.reservedOf("q", "A"))
}

// TestReservationsBeyondTheQuota has more pods without their gate than the quota has room for.
// Some of them get nodes.
func TestReservationsBeyondTheQuota(t *testing.T) {
	f := gatedScene(t).node("a", "A", 8).queue("q", "", "quota", `{"A":4}`).pods("gate", "q", "A", 3, 2, optedIn(true)).openGated(t)
	f.gatesRemoved(t)
	assert.Len(t, f.cache.Bound, 2)
	assert.Equal(t, 4.0, f.cardsOf("q", "A"))
	assert.Equal(t, 2.0, f.reservedOf("q", "A"))
}

// TestReservationsFollowEvents allocates, discards and evicts a pod without its gate.
func TestReservationsFollowEvents(t *testing.T) {
	f := gatedScene(t).node("a", "A", 1).node("b", "B", 1).queue("q", "", "quota", `{"A":1,"B":1}`).
		pods("gate", "q", "B|A", 1, 1, optedIn(true), members(2)).pods("plain", "q", "B", 1, 1, inPhase(workload.Inqueue)).openGated(t)
	task := f.task("gate-0")
	expect := func(a, b float64) {
		t.Helper()
		assert.Equal(t, []float64{a, b}, []float64{f.reservedOf("q", "A"), f.reservedOf("q", "B")})
	}
	expect(0, 1)
	require.True(t, f.Allocatable(f.queue("q"), task))
	expect(0, 1)
	statement := framework.NewStatement(f.Session)
	require.NoError(t, release.Allocate(statement, task, f.Nodes["a"]))
	expect(0, 0)
	statement.Discard()
	expect(0, 1)
	require.NoError(t, release.Pipeline(statement, task, "a", false))
	expect(0, 0)
	require.NoError(t, statement.UnPipeline(task))
	expect(0, 1)
	// Another pod takes the card that was reserved, so the other one is reserved.
	statement = framework.NewStatement(f.Session)
	require.NoError(t, release.Allocate(statement, task, f.Nodes["a"]))
	other := framework.NewStatement(f.Session)
	require.NoError(t, release.Allocate(other, f.task("plain-0"), f.Nodes["b"]))
	statement.Discard()
	expect(1, 0)
	other.Discard()
	require.NoError(t, release.Allocate(statement, task, f.Nodes["b"]))
	expect(0, 0)
	require.NoError(t, release.Evict(statement, task, "test"))
	expect(0, 0)
}

// TestOtherCardOfTheList has a reservation for one card of a list. The pod may have the other
// one only where that is not reserved.
func TestOtherCardOfTheList(t *testing.T) {
	for _, test := range []struct {
		name string
		b    int // pods without a choice
		want map[string]bool
	}{
		{"free", 0, map[string]bool{"a": true, "b": true}},
		{"reserved", 1, map[string]bool{"a": true, "b": false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := gatedScene(t).node("a", "A", 1).node("b", "B", 1).queue("q", "", "quota", `{"A":1,"B":1}`).
				pods("either", "q", "A|B", 1, 1, optedIn(true)).pods("only", "q", "B", test.b, 1, optedIn(true)).openGated(t)
			assert.True(t, f.Allocatable(f.queue("q"), f.task("either-0")))
			for node, want := range test.want {
				assert.Equal(t, want, f.PredicateFn(f.task("either-0"), f.Nodes[node]) == nil, node)
			}
		})
	}
}

// TestNoVictimsForWhatIsReserved has a reclaimer whose team has no room beside what is reserved
// in another queue of the team. No pod is evicted for it.
func TestNoVictimsForWhatIsReserved(t *testing.T) {
	for quota, victims := range map[string]int{`{"A":4}`: 1, `{"A":3}`: 0} {
		f := gatedScene(t).node("a", "A", 4).queue("root", "").queue("team", "root", "quota", quota, "guarantee", `{"A":0}`).
			queue("mine", "team", "quota", `{"A":2}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
			queue("next", "team", "quota", `{"A":2}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
			queue("other", "root", "quota", `{"A":4}`, "deserved", `{"A":0}`, "guarantee", `{"A":0}`).
			pods("busy", "other", "A", 2, 2, on("a")).pods("gate", "next", "A", 1, 2, optedIn(true)).
			pods("reclaimer", "mine", "A", 1, 2, inPhase(workload.Inqueue)).openGated(t)
		got := f.Reclaimable(f.task("reclaimer-0"), []*api.TaskInfo{f.task("busy-0")})
		assert.Len(t, got, victims, quota)
	}
}

// TestNoPreemptionOfWhatIsReserved asks about a pod that fits beside what is reserved for another pod once a third pod
// of its queue is gone, or does not fit then either. In both cases the third pod takes room that is lacking.
func TestNoPreemptionOfWhatIsReserved(t *testing.T) {
	for capability, want := range map[int64]bool{12000: true, 11000: false} {
		s := gatedScene(t).node("a", "A", 4).queue("q", "").pods("low", "q", "", 1, 0, on("a"), requesting("cpu", 4000), members(0)).
			pods("gate", "q", "", 1, 0, optedIn(true), requesting("cpu", 4000)).pods("high", "q", "", 1, 0, inPhase(workload.Inqueue), requesting("cpu", 8000))
		s.Queues[0].Capability["cpu"] = capability
		f := s.openGated(t)
		low, high := f.task("low-0"), f.task("high-0")
		a := f.own.AskOn(f.own.QueueOf(high), high, "a", fastres.NewVector(f.own.Intake.Dims.Length()))
		assert.Equal(t, want, f.own.Fits(&f.own.Without([]*api.TaskInfo{low}).Books, &a).OK(), capability)
		assert.True(t, f.own.Lacks(&f.own.Books.Future, &a, a.Queue, low, fastres.CPU, 8000))
	}
}

// TestReservedReason says what a pod without a reservation waits for.
func TestReservedReason(t *testing.T) {
	f := gatedScene(t).node("a", "A", 8).queue("q", "", "quota", `{"A":4}`).pods("gate", "q", "A", 1, 3, optedIn(true)).
		pods("plain", "q", "A", 1, 2, inPhase(workload.Inqueue)).openGated(t)
	reason := InspectionOf(f.own).Allocate(f.task("plain-0"))
	require.NotNil(t, reason)
	const text = "Queue <q> has insufficient <A> quota: requested <2>, total would be <5>, but capability is <4>; the rest is reserved for pods that wait for a node"
	assert.Equal(t, text, reason.String())
	assert.Equal(t, text, InspectionOf(f.own).Node(f.task("plain-0"), "a").String())
}

// TestQueueGatesOff opens sessions that reserve nothing: under another name, with the rules of
// another release, and with the feature gate off.
func TestQueueGatesOff(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"proportion":   func(s *scene) { s.build = NewProportion },
		"v1.14.4":      func(s *scene) { s.arguments = framework.Arguments{arguments.Semantics: release.V1144.String()} },
		"feature gate": func(*scene) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			if name != "feature gate" {
				s = gatedScene(t)
			}
			s.node("a", "A", 8).queue("q", "", "quota", `{"A":4}`).pods("gate", "q", "A", 1, 3, optedIn(true)).
				pods("plain", "q", "A", 1, 2, inPhase(workload.Inqueue))
			change(s)
			f := s.open(t)
			f.Allocatable(f.queue("q"), f.task("gate-0"))
			assert.Zero(t, f.own.gates.Len())
			assert.Zero(t, f.own.Index.Reserved.Len())
		})
	}
}

// TestQueueGateCountsInInqueue has a job with the gate, whose minimum an admitted job reserves
// from v1.15 on.
func TestQueueGateCountsInInqueue(t *testing.T) {
	for _, rules := range []release.Release{release.V1141, release.V115} {
		s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":4}`).pods("gate", "q", "A", 2, 1, members(2), optedIn(false),
			func(j *workload.Job) { j.MinResources = workload.Resources{"cpu": 200, "memory": 2 << 20} })
		s.arguments = framework.Arguments{arguments.Semantics: rules.String()}
		f := s.open(t)
		inqueue := f.own.Index.Inqueue.Row(f.own.Index.Lookup("q"))
		a, _ := f.own.Memory.Names.LookupCard("A")
		want := []float64{0, 0}
		if rules >= release.V115 {
			want = []float64{2000, 200}
		}
		assert.Equal(t, want, []float64{inqueue.Get(a), inqueue.Get(fastres.CPU)}, rules)
	}
}
