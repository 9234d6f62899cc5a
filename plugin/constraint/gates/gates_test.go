package gates_test

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
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// gatesRemoved runs allocate and returns the pods with a gate that it removes, sorted. Before v1.15, gatesRemoved
// finds these pods itself, as allocate does from v1.15 on.
func gatesRemoved(f *testbed.Fixture, t *testing.T) (names []string) {
	t.Helper()
	set := reflect.ValueOf(f.Session).MethodByName("SetSchGateManager")
	if release.Built() < release.V115 {
		require.False(t, set.IsValid())
		names = removeGates(f)
		f.Run(t, allocate.New())
		return names
	}
	manager := reflect.New(set.Type().In(0).Elem())
	removals := testbed.Settable(manager.Elem().FieldByName("opCh"))
	removals.Set(reflect.MakeChan(removals.Type(), 100))
	set.Call([]reflect.Value{manager})
	f.Run(t, allocate.New())
	for {
		removal, ok := removals.TryRecv()
		if !ok {
			slices.Sort(names)
			return names
		}
		names = append(names, removal.FieldByName("name").String())
	}
}

// removeGates asks for the pods with the gate, queue by queue. It returns the pods with a gate that may be removed.
func removeGates(f *testbed.Fixture) (names []string) {
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

// reservedOf returns the reserved amount of a card in a queue, in whole cards.
func reservedOf(f *testbed.Fixture, queue, name string) float64 {
	d, ok := f.Own.Memory.Names.LookupCard(name)
	if !ok || f.Own.Index.Reserved.Len() == 0 {
		return 0
	}
	return f.Own.Index.Reserved.Row(f.Own.Index.Lookup(queue)).Get(d) / 1000
}

// TestCardQuotaKeepsGates has pods with the gate in queues with a card quota. The quota of the queue or of an
// ancestor has room for some, all or none of the pods. No node has a free card.
func TestCardQuotaKeepsGates(t *testing.T) {
	full := func(t *testing.T) *testbed.Scene {
		return testbed.GatedScene(t).Node("a", "A", 2).Node("b", "B", 1).Queue("root", "").
			Queue("team", "root", "quota", `{"A":3,"B":1}`).Queue("one", "team", "quota", `{"A":3,"B":1}`).Queue("two", "team", "quota", `{"A":3,"B":1}`).
			Queue("other", "root", "quota", `{"A":9,"B":9}`).Pods("busy", "other", "A", 2, 1, testbed.On("a")).Pods("busyb", "other", "B", 1, 1, testbed.On("b"))
	}
	tests := []struct {
		name  string
		add   func(*testbed.Scene) *testbed.Scene
		want  []string
		cards map[string]float64 // reserved in team
	}{
		{"no quota left", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("old", "two", "A", 3, 1, testbed.On("a")).Pods("new", "one", "A", 1, 1, testbed.OptedIn(false))
		}, nil, map[string]float64{"A": 0}},
		{"room for both", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("new", "one", "A", 2, 1, testbed.OptedIn(false))
		}, []string{"new-0", "new-1"}, map[string]float64{"A": 2}},
		{"the ancestor has room for one", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("new", "one", "A", 1, 2, testbed.OptedIn(false)).Pods("more", "two", "A", 1, 2, testbed.OptedIn(false))
		}, []string{"new-0"}, map[string]float64{"A": 2}},
		{"a removed gate keeps the room", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("first", "two", "A", 1, 2, testbed.OptedIn(true)).Pods("new", "one", "A", 1, 2, testbed.OptedIn(false))
		}, nil, map[string]float64{"A": 2}},
		{"the second card of a list", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("first", "two", "A", 3, 1, testbed.OptedIn(true)).Pods("new", "one", "A|B", 2, 1, testbed.OptedIn(false))
		}, []string{"new-0"}, map[string]float64{"A": 3, "B": 1}},
		{"lists leave a card to pods without a choice", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("either", "two", "A|B", 1, 1, testbed.OptedIn(true)).Pods("only", "two", "A", 3, 1, testbed.OptedIn(true))
		}, nil, map[string]float64{"A": 3, "B": 1}},
		{"another gate", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("new", "one", "A", 1, 1, testbed.OptedIn(false), func(j *workload.Job) { j.Tasks[0].Gated = true })
		}, nil, map[string]float64{"A": 0}},
		{"the gate without the annotation", func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("new", "one", "A", 1, 1, testbed.InPhase(workload.Inqueue), func(j *workload.Job) { j.Tasks[0].QueueGated = true })
		}, nil, map[string]float64{"A": 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := test.add(full(t)).OpenGated(t)
			assert.Equal(t, test.want, gatesRemoved(f, t))
			for card, want := range test.cards {
				assert.Equal(t, want, reservedOf(f, "team", card), card)
			}
			assert.Empty(t, f.Cache.Bound)
		})
	}
}

// TestOtherQuotasKeepGates is the same for cpu, in a tree under the name capacity.
func TestOtherQuotasKeepGates(t *testing.T) {
	s := testbed.GatedScene(t).Node("a", "A", 1).Queue("root", "").Queue("team", "root").Queue("one", "team").Queue("two", "team").
		Pods("held", "two", "", 2, 0, testbed.OptedIn(true)).Pods("new", "one", "", 2, 0, testbed.OptedIn(false))
	s.Build = session.NewCapacity
	s.Queues[1].Capability["cpu"] = 300
	s.Nodes[0].Allocatable["cpu"], s.Nodes[0].Allocatable["pods"] = 300, 0 // no pod gets a node
	f := s.OpenGated(t)
	assert.Equal(t, []string{"new-0"}, gatesRemoved(f, t))
	assert.Equal(t, 300.0, f.Own.Index.Reserved.Row(f.Own.Index.Lookup("team")).Get(fastres.CPU))
}

// TestLostPromisesReserveNothing has pods without their gate, of jobs that have lost their promise.
func TestLostPromisesReserveNothing(t *testing.T) {
	for name, test := range map[string]struct {
		annotation, value string
		phase             workload.Phase
		over              bool
		want              float64
	}{
		"displaced":                    {policy.OrderKey, "displace", workload.Pending, false, 0},
		"not admitted, as upstream":    {policy.OrderKey, "fifo", workload.Pending, false, 2},
		"Inqueue":                      {policy.OrderKey, "displace", workload.Inqueue, false, 2},
		"Inqueue for too long":         {policy.InqueueTimeoutKey, "30m", workload.Inqueue, true, 0},
		"without a timeout any more":   {policy.OrderKey, "fifo", workload.Inqueue, true, 2},
		"more pods of a job that runs": {policy.InqueueTimeoutKey, "30m", workload.Running, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := testbed.GatedScene(t).Node("b", "B", 8).Queue("q", "", "quota", `{"A":4}`).
				Pods("gate", "q", "A", 2, 1, testbed.OptedIn(true), testbed.InPhase(test.phase), testbed.Members(2)).
				Annotate("q", test.annotation, test.value).OpenGated(t)
			if test.over {
				reserve.EndPromise(f.Job("gate"), f.Own.Now, reserve.InqueueTimeout, "")
				f.Own = session.Open(f.Session, f.Own.Variant, f.Own.Settings, session.NewMemory())
			}
			assert.Equal(t, test.want, reservedOf(f, "q", "A"))
			f.Own.Gates.Allocatable(f.Own.Index.Lookup("q"), f.Task("gate-0"))
			assert.Equal(t, test.want, reservedOf(f, "q", "A"))
		})
	}
}

// TestRemovedGateGetsItsNode has a node for one of two pods with equal requests. The pod with the removed gate gets
// the card, although the other pod comes first.
func TestRemovedGateGetsItsNode(t *testing.T) {
	f := testbed.GatedScene(t).Node("a", "A", 1).Queue("q", "", "quota", `{"A":1}`).
		Pods("plain", "q", "A", 1, 1, testbed.InPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 }).
		Pods("gate", "q", "A", 1, 1, testbed.OptedIn(true)).OpenGated(t)
	gatesRemoved(f, t)
	assert.Equal(t, map[string]string{"gate-0": "a"}, f.Cache.Bound)
	assert.Zero(t, reservedOf(f, "q", "A"))
}

// TestReservationsBeyondTheQuota has more pods without their gate than the quota has room for.
// Some of them get nodes.
func TestReservationsBeyondTheQuota(t *testing.T) {
	f := testbed.GatedScene(t).Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Pods("gate", "q", "A", 3, 2, testbed.OptedIn(true)).OpenGated(t)
	gatesRemoved(f, t)
	assert.Len(t, f.Cache.Bound, 2)
	assert.Equal(t, 4.0, f.CardsOf("q", "A"))
	assert.Equal(t, 2.0, reservedOf(f, "q", "A"))
}

// TestReservationsFollowEvents allocates, discards and evicts a pod without its gate.
func TestReservationsFollowEvents(t *testing.T) {
	f := testbed.GatedScene(t).Node("a", "A", 1).Node("b", "B", 1).Queue("q", "", "quota", `{"A":1,"B":1}`).
		Pods("gate", "q", "B|A", 1, 1, testbed.OptedIn(true), testbed.Members(2)).Pods("plain", "q", "B", 1, 1, testbed.InPhase(workload.Inqueue)).OpenGated(t)
	task := f.Task("gate-0")
	expect := func(a, b float64) {
		t.Helper()
		assert.Equal(t, []float64{a, b}, []float64{reservedOf(f, "q", "A"), reservedOf(f, "q", "B")})
	}
	expect(0, 1)
	require.True(t, f.Allocatable(f.Queue("q"), task))
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
	require.NoError(t, release.Allocate(other, f.Task("plain-0"), f.Nodes["b"]))
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
			f := testbed.GatedScene(t).Node("a", "A", 1).Node("b", "B", 1).Queue("q", "", "quota", `{"A":1,"B":1}`).
				Pods("either", "q", "A|B", 1, 1, testbed.OptedIn(true)).Pods("only", "q", "B", test.b, 1, testbed.OptedIn(true)).OpenGated(t)
			assert.True(t, f.Allocatable(f.Queue("q"), f.Task("either-0")))
			for node, want := range test.want {
				assert.Equal(t, want, f.PredicateFn(f.Task("either-0"), f.Nodes[node]) == nil, node)
			}
		})
	}
}

// TestNoVictimsForWhatIsReserved has a reclaimer in a team. Another queue of the team has reserved cards. If the
// quota of the team has no room for both, no pod is evicted.
func TestNoVictimsForWhatIsReserved(t *testing.T) {
	for quota, victims := range map[string]int{`{"A":4}`: 1, `{"A":3}`: 0} {
		f := testbed.GatedScene(t).Node("a", "A", 4).Queue("root", "").Queue("team", "root", "quota", quota, "guarantee", `{"A":0}`).
			Queue("mine", "team", "quota", `{"A":2}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
			Queue("next", "team", "quota", `{"A":2}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
			Queue("other", "root", "quota", `{"A":4}`, "deserved", `{"A":0}`, "guarantee", `{"A":0}`).
			Pods("busy", "other", "A", 2, 2, testbed.On("a")).Pods("gate", "next", "A", 1, 2, testbed.OptedIn(true)).
			Pods("reclaimer", "mine", "A", 1, 2, testbed.InPhase(workload.Inqueue)).OpenGated(t)
		got := f.Reclaimable(f.Task("reclaimer-0"), []*api.TaskInfo{f.Task("busy-0")})
		assert.Len(t, got, victims, quota)
	}
}

// TestNoPreemptionOfWhatIsReserved asks whether a pod fits next to the reservation of another pod once a third pod of
// its queue is gone. In one case the pod fits then, and in the other case it does not. In both cases, the third pod
// takes room that the pod lacks.
func TestNoPreemptionOfWhatIsReserved(t *testing.T) {
	for capability, want := range map[int64]bool{12000: true, 11000: false} {
		s := testbed.GatedScene(t).Node("a", "A", 4).Queue("q", "").Pods("low", "q", "", 1, 0, testbed.On("a"), testbed.Requesting("cpu", 4000), testbed.Members(0)).
			Pods("gate", "q", "", 1, 0, testbed.OptedIn(true), testbed.Requesting("cpu", 4000)).Pods("high", "q", "", 1, 0, testbed.InPhase(workload.Inqueue), testbed.Requesting("cpu", 8000))
		s.Queues[0].Capability["cpu"] = capability
		f := s.OpenGated(t)
		low, high := f.Task("low-0"), f.Task("high-0")
		a := f.Own.AskOn(f.Own.QueueOf(high), high, "a", fastres.NewVector(f.Own.Intake.Dims.Length()))
		assert.Equal(t, want, f.Own.Fits(&f.Own.Without([]*api.TaskInfo{low}).Books, &a).OK(), capability)
		assert.True(t, f.Own.Lacks(&f.Own.Books.Future, &a, a.Queue, low, fastres.CPU, 8000))
	}
}

// TestReservedReason checks the text that says why a pod without a reservation waits.
func TestReservedReason(t *testing.T) {
	f := testbed.GatedScene(t).Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Pods("gate", "q", "A", 1, 3, testbed.OptedIn(true)).
		Pods("plain", "q", "A", 1, 2, testbed.InPhase(workload.Inqueue)).OpenGated(t)
	reason := session.InspectionOf(f.Own).Allocate(f.Task("plain-0"))
	require.NotNil(t, reason)
	const text = "Queue <q> has insufficient <A> quota: requested <2>, total would be <5>, but capability is <4>; the rest is reserved for pods that wait for a node"
	assert.Equal(t, text, reason.String())
	assert.Equal(t, text, session.InspectionOf(f.Own).Node(f.Task("plain-0"), "a").String())
}

// TestQueueGatesOff opens sessions that reserve nothing: under another name, with the rules of
// another release, and with the feature gate off.
func TestQueueGatesOff(t *testing.T) {
	for name, change := range map[string]func(*testbed.Scene){
		"proportion":   func(s *testbed.Scene) { s.Build = session.NewProportion },
		"v1.14.4":      func(s *testbed.Scene) { s.Arguments = framework.Arguments{arguments.Semantics: release.V1144} },
		"feature gate": func(*testbed.Scene) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene()
			if name != "feature gate" {
				s = testbed.GatedScene(t)
			}
			s.Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Pods("gate", "q", "A", 1, 3, testbed.OptedIn(true)).
				Pods("plain", "q", "A", 1, 2, testbed.InPhase(workload.Inqueue))
			change(s)
			f := s.Open(t)
			f.Allocatable(f.Queue("q"), f.Task("gate-0"))
			assert.Zero(t, f.Own.Gates.Len())
			assert.Zero(t, f.Own.Index.Reserved.Len())
		})
	}
}

// TestQueueGateCountsInInqueue has an admitted job with the gate. From v1.15 on, the job reserves its minimum.
func TestQueueGateCountsInInqueue(t *testing.T) {
	for _, rules := range []release.Release{release.V1141, release.V115} {
		s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Pods("gate", "q", "A", 2, 1, testbed.Members(2), testbed.OptedIn(false),
			func(j *workload.Job) { j.MinResources = workload.Resources{"cpu": 200, "memory": 2 << 20} })
		s.Arguments = framework.Arguments{arguments.Semantics: rules}
		f := s.Open(t)
		inqueue := f.Own.Index.Inqueue.Row(f.Own.Index.Lookup("q"))
		a, _ := f.Own.Memory.Names.LookupCard("A")
		want := []float64{0, 0}
		if rules >= release.V115 {
			want = []float64{2000, 200}
		}
		assert.Equal(t, want, []float64{inqueue.Get(a), inqueue.Get(fastres.CPU)}, rules)
	}
}
