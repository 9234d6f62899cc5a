package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestVictimsSuffice reclaims under a parent that is full because of queues that lose nothing. The reclaimer would be
// refused after the evictions, so nothing is evicted.
func TestVictimsSuffice(t *testing.T) {
	cores := func(n int64) workload.Resources { return workload.Resources{"cpu": n * 1000, "memory": 1 << 40} }
	build := func(team int64) *testbed.Scene {
		s := sharing(20, 200).Queue("root", "").Queue("team", "root").
			Deserving("mine", "team", 8, 50).Deserving("twin", "team", 8, 50).Deserving("other", "root", 2, 50).
			Pods("twin", "twin", "", 6, 0, batch(6, 1, 1)).Pods("other", "other", "", 14, 0, batch(14, 1, 1)).Pods("claim", "mine", "", 1, 0, batch(0, 1, 1))
		s.Queues[1].Capability = cores(team)
		return s
	}
	assert.Empty(t, build(6).Open(t).Run(t, session.NewReclaim()).Evicted(), "team has six of six, and no victim is in team")
	assert.Len(t, build(7).Open(t).Run(t, session.NewReclaim()).Evicted(), 1)
}

// TestInnerGuaranteeIsKept reclaims from a queue below an inner queue that is guaranteed
// more than its children.
func TestInnerGuaranteeIsKept(t *testing.T) {
	for guarantee, want := range map[int64]int{0: 4, 8: 2, 10: 0, 6: 4} {
		s := sharing(10, 200).Queue("root", "").Queue("team", "root").Deserving("mine", "root", 4, 50).Deserving("other", "team", 2, 50).
			Pods("other", "other", "", 10, 0, batch(10, 1, 1))
		for _, name := range []string{"c1", "c2", "c3", "c4"} {
			s.Pods(name, "mine", "", 1, 0, batch(0, 1, 1))
		}
		s.Queues[1].Guarantee, s.Queues[2].Guarantee = workload.Resources{"cpu": guarantee * 1000}, workload.Resources{"cpu": 4000}
		assert.Len(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), want, "guarantee %d", guarantee)
	}
}

// TestVictimsFreeWhatIsLacking evicts for a pod with a card on a full node. Pods without
// cards are victims where cpu is lacking, and pods with cards where the card is.
func TestVictimsFreeWhatIsLacking(t *testing.T) {
	const cpu = 60000 // of the 64 cores of the node
	request := func(cores int64) func(*workload.Job) {
		return func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Request["cpu"] = cores
			}
		}
	}
	for name, test := range map[string]struct {
		plain, card, claim int64 // cpu of a pod without a card, of the pods with cards, of the claim
		cards              int   // pods with cards that run, of the four cards of the node
		want               string
	}{
		"cpu is lacking":                {cpu, 100, 8000, 2, "plain"},
		"the card is lacking":           {1000, 100, 8000, 4, "card"},
		"nothing is lacking":            {1000, 100, 1000, 2, ""},
		"cpu is lacking, cards have it": {1000, 31000, 8000, 2, ""},
	} {
		for _, within := range []bool{false, true} {
			kind := "reclaim"
			if within {
				kind = "preempt"
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := testbed.NewScene().Node("a", "A", 4).
					Lending("mine", `{"A":4}`, `{"A":4}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":1}`, `{"A":0}`)
				from := "other"
				if within {
					from = "mine"
				}
				low := func(j *workload.Job) { j.Priority = 1 }
				high := func(j *workload.Job) { j.Priority = 9 }
				s.Pods("plain", from, "", 1, 0, testbed.On("a"), testbed.Members(0), request(test.plain), low).
					Pods("card", from, "A", test.cards, 1, testbed.On("a"), testbed.Members(0), request(test.card), low).
					Pods("claim", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue), request(test.claim), high)
				f := s.Open(t)
				if within {
					f.Run(t, session.NewPreempt())
				} else {
					f.Run(t, session.NewReclaim())
				}
				evicted := f.Evicted()
				if test.want == "" {
					assert.Empty(t, evicted)
					return
				}
				assert.NotEmpty(t, evicted)
				for _, pod := range evicted {
					assert.Contains(t, pod, test.want)
				}
			})
		}
	}
}

// TestRestOfVictims evicts more pods for a claim than its node lacks, so that the guarantee of late stays free. Nobody
// is evicted where gang refuses the claim.
func TestRestOfVictims(t *testing.T) {
	for name, test := range map[string]struct {
		gang   int
		change func(plugins []conf.PluginOption) []conf.PluginOption
		want   int
	}{
		"Volcano commits":                {1, func(all []conf.PluginOption) []conf.PluginOption { return all }, 3},
		"gang refuses, and is the last":  {5, func(all []conf.PluginOption) []conf.PluginOption { slices.Reverse(all); return all }, 0},
		"gang refuses, and is the first": {5, func(all []conf.PluginOption) []conf.PluginOption { return all }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 8).Lending("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`).Lending("late", `{"A":8}`, `{"A":2}`, `{"A":2}`).
				Lending("other", `{"A":8}`, `{"A":0}`, `{"A":0}`).Pods("runs", "other", "A", 8, 1, testbed.On("a"), testbed.Members(0)).
				Pods("claim", "mine", "A", test.gang, 1, testbed.Members(int32(test.gang)), testbed.InPhase(workload.Inqueue))
			f := s.Open(t)
			f.Tiers[0].Plugins = test.change(f.Tiers[0].Plugins)
			assert.Len(t, f.Run(t, session.NewReclaim()).Evicted(), test.want)
		})
	}
}

// TestPreemptionIsNoExchange counts the places that a queue loses to another one, and not the places that change within
// a queue.
func TestPreemptionIsNoExchange(t *testing.T) {
	for _, from := range []string{"mine", "other"} {
		s := testbed.NewScene().Node("a", "A", 1).Lending("mine", `{"A":1}`, `{"A":1}`, `{"A":0}`).Lending("other", `{"A":1}`, `{"A":0}`, `{"A":0}`).
			Pods("low", from, "A", 1, 1, testbed.On("a"), testbed.Members(0)).
			Pods("high", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 })
		f := s.Open(t).Run(t, session.NewReclaim(), session.NewPreempt())
		require.Len(t, f.Evicted(), 1)
		f.Close()
		assert.Equal(t, from == "mine", f.Own.Reclaim.Exchanges.Empty())
	}
}

// TestTakesForSeveralPods asks for several pods of a job at once, as gang reclaim of Volcano v1.15 does. The sum of
// their requests counts.
func TestTakesForSeveralPods(t *testing.T) {
	cpu := sharing(8, 200).Deserving("mine", "", 4, 50).Deserving("other", "", 4, 50).
		Pods("runs", "other", "", 8, 0, batch(8, 1, 1)).Pods("claim", "mine", "", 3, 0, batch(0, 2, 1))
	cpu.Queues[0].Capability = workload.Resources{"cpu": 4000, "memory": 50 << 30}
	limited := testbed.NewScene().Node("a", "A", 8).Lending("mine", `{"A":8}`, `{"A":8}`, `{"A":0}`).Lending("other", `{"A":8}`, `{"A":0}`, `{"A":0}`).
		Annotate("mine", card.HolderKey, `{"namespace":{"*":{"A":2}}}`).Pods("runs", "other", "A", 8, 1, testbed.On("a"), testbed.Members(0)).
		Pods("claim", "mine", "A", 3, 1, testbed.InPhase(workload.Inqueue), testbed.Members(3))
	for name, s := range map[string]*testbed.Scene{"cpu and a capability": cpu, "cards and the limit of the namespace": limited} {
		t.Run(name, func(t *testing.T) {
			f := s.Open(t)
			q, tasks := f.Own.Index.Lookup("mine"), []*api.TaskInfo{f.Task("claim-0"), f.Task("claim-1"), f.Task("claim-2")}
			assert.True(t, f.Own.Reclaim.Preemptive(q, tasks[:2]))
			assert.False(t, f.Own.Reclaim.Preemptive(q, tasks))
		})
	}
}

// TestNothingIsTakenForAnUnknownResource asks for a pod with a resource that the session does not know. No queue admits
// it.
func TestNothingIsTakenForAnUnknownResource(t *testing.T) {
	f := sharing(8, 200).Deserving("mine", "", 4, 50).Pods("claim", "mine", "", 1, 0, batch(0, 2, 1)).Open(t)
	q, claim := f.Own.Index.Lookup("mine"), f.Task("claim-0")
	require.True(t, f.Own.Reclaim.Preemptive(q, []*api.TaskInfo{claim}))
	unknown := *claim
	unknown.Resreq = unknown.Resreq.Clone()
	unknown.Resreq.AddScalar("example.com/unknown", 1000)
	assert.False(t, f.Own.Reclaim.Preemptive(q, []*api.TaskInfo{&unknown}))
}

// TestNobodyIsPreemptedForAClosedQueue names nobody for a pod that its queue does not take any more.
func TestNobodyIsPreemptedForAClosedQueue(t *testing.T) {
	for state, want := range map[scheduling.QueueState]int{scheduling.QueueStateOpen: 1, scheduling.QueueStateClosed: 0} {
		f := testbed.NewScene().Node("a", "A", 1).Lending("mine", `{"A":1}`, `{"A":1}`, `{"A":0}`).Pods("low", "mine", "A", 1, 1, testbed.On("a"), testbed.Members(0)).
			Pods("high", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 }).
			Open(t, func(c *api.ClusterInfo, _ *offline.Cache) { c.Queues["mine"].Queue.Status.State = state })
		assert.Len(t, f.Run(t, session.NewPreempt()).Evicted(), want, state)
	}
}

// TestPreemptReservesNoPartOfAGang has a job wait for two cards while one card becomes free. Volcano's preempt would
// reserve it for a part of a gang. A job that runs already gets it.
func TestPreemptReservesNoPartOfAGang(t *testing.T) {
	for name, c := range map[string]struct {
		cards  int64
		change []func(*workload.Job)
		want   int
	}{
		"a gang waits":         {1, []func(*workload.Job){testbed.Members(2)}, 0},
		"a part of a job runs": {2, []func(*workload.Job){testbed.Members(2), firstPods(1, workload.TaskRunning, "a")}, 1},
	} {
		f := testbed.NewScene().Node("a", "A", c.cards).Queue("q", "", "quota", `{"A":8}`).
			Pods("ends", "q", "A", 1, 1, firstPods(1, workload.TaskReleasing, "a")).
			Pods("waits", "q", "A", 3, 1, append(c.change, testbed.InPhase(workload.Inqueue))...).Open(t)
		f.Run(t, session.NewPreempt())
		assert.Len(t, f.Job("waits").TaskStatusIndex[api.Pipelined], c.want, name)
	}
}

// TestReclaimerWithoutAQueue asks for a pod in a deleted queue. From v1.15 on, nobody is evicted for it.
func TestReclaimerWithoutAQueue(t *testing.T) {
	for rules, want := range map[string]int{"v1.14.1": 1, "v1.15": 0} {
		f := testbed.NewScene().WithArguments(framework.Arguments{arguments.Semantics: rules}).Node("a", "A", 1).
			Lending("mine", `{"A":1}`, `{"A":1}`, `{"A":0}`).Lending("other", `{"A":1}`, `{"A":0}`, `{"A":0}`).
			Pods("runs", "other", "A", 1, 1, testbed.On("a"), testbed.Members(0)).Pods("claim", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue)).Open(t)
		f.Job("claim").Queue = "gone"
		victims, _ := f.Own.Reclaim.Reclaimable(f.Task("claim-0"), []*api.TaskInfo{f.Task("runs-0")})
		assert.Len(t, victims, want, rules)
	}
}

// TestDiscardedStatementsChangeNothing has a quota of two cards, both of pods that terminate. A pod waits until they
// are gone, unless others are evicted for its job. It still waits after such an eviction, or a place of its job, was
// discarded.
func TestDiscardedStatementsChangeNothing(t *testing.T) {
	for name, try := range map[string]func(f *testbed.Fixture, statement *framework.Statement) error{
		"an eviction": func(f *testbed.Fixture, statement *framework.Statement) error {
			return release.Evict(statement, f.Task("runs-0"), "test")
		},
		"a place": func(f *testbed.Fixture, statement *framework.Statement) error {
			return release.Pipeline(statement, f.Task("claim-1"), "a", false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := testbed.NewScene().Node("a", "A", 4).Lending("mine", `{"A":2}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":0}`, `{"A":0}`).
				Pods("ends", "mine", "A", 2, 1, firstPods(2, workload.TaskReleasing, "a")).Pods("runs", "other", "A", 1, 1, testbed.On("a"), testbed.Members(0)).
				Pods("claim", "mine", "A", 2, 1, testbed.InPhase(workload.Inqueue), testbed.Members(2)).Open(t)
			claim, queue := f.Task("claim-0"), f.Queue("mine")
			require.NoError(t, f.PrePredicateFn(claim))
			require.False(t, f.Allocatable(queue, claim), "two terminate")
			statement := framework.NewStatement(f.Session)
			require.NoError(t, try(f, statement))
			statement.Discard()
			assert.False(t, f.Allocatable(queue, claim))
		})
	}
}

// TestPlacesWhileOthersTerminate allocates a card that its quota has room for only once two pods are gone: that is
// refused. A pod may wait for it.
func TestPlacesWhileOthersTerminate(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 4).Queue("q", "", "quota", `{"A":2}`).
		Pods("ends", "q", "A", 2, 1, firstPods(2, workload.TaskReleasing, "a")).Pods("claim", "q", "A", 2, 1, testbed.InPhase(workload.Inqueue), testbed.Members(2)).Open(t)
	statement := framework.NewStatement(f.Session)
	assert.Error(t, release.Allocate(statement, f.Task("claim-0"), f.Nodes["a"]))
	assert.NoError(t, release.Pipeline(statement, f.Task("claim-1"), "a", false))
}

// TestPreemptiveWithoutRequests asks for a pod that requests nothing. Under the name proportion, such a pod fits within
// the deserved amount of its queue, as in upstream. Under other names, a queue takes only resources that it has less of
// than it deserves.
func TestPreemptiveWithoutRequests(t *testing.T) {
	for name, want := range map[string]bool{session.ProportionName: true, session.CapacityName: false} {
		s := sharing(8, 200).Deserving("mine", "", 4, 50).
			Pods("claim", "mine", "", 1, 0, testbed.InPhase(workload.Inqueue), func(j *workload.Job) { j.Tasks[0].Request = nil })
		if name == session.ProportionName {
			s.Build = session.NewProportion
		}
		f := s.Open(t)
		assert.Equal(t, want, f.Own.Reclaim.Preemptive(f.Own.Index.Lookup("mine"), []*api.TaskInfo{f.Task("claim-0")}), name)
	}
}
