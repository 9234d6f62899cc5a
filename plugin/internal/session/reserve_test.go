package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

func enqueued(f *testbed.Fixture, job string) bool {
	return f.Job(job).PodGroup.Status.Phase == scheduling.PodGroupInqueue
}

// TestEnqueue admits jobs in their order as long as the minimum of each can be
// assigned together with the reservations.
func TestEnqueue(t *testing.T) {
	tests := []struct {
		name  string
		quota string
		jobs  func(*testbed.Scene)
		want  []string // of the jobs j0, j1, …, which come in this order
		why   string   // of the first that waits
	}{
		{"before pods exist", `{"A":3}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "", 0, 0, testbed.CardRequest(`{"A":2}`, workload.Pending)).
				Pods("j1", "q", "", 0, 0, testbed.CardRequest(`{"A":2}`, workload.Pending)).
				Pods("j2", "q", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending))
		}, []string{"j0", "j2"}, "Queue <q> has insufficient <A> quota: requested <2>, total would be <4>, but capability is <3>"},
		{"the valid entries of card.request count", `{"A":3}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "", 0, 0, testbed.CardRequest(`{"A":4,"B":-1}`, workload.Pending)).
				Pods("j1", "q", "", 0, 0, testbed.CardRequest(`{"A":3,"B":"x","C":1.5}`, workload.Pending)).
				Pods("j2", "q", "", 0, 0, testbed.CardRequest(`{`, workload.Pending))
		}, []string{"j1", "j2"}, "Queue <q> has insufficient <A> quota: requested <4>, total would be <4>, but capability is <3>"},
		{"pods take the place of card.request", `{"A":3}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A", 2, 1, testbed.Members(2), func(j *workload.Job) {
				j.Annotations = map[string]string{"volcano.sh/card.request": `{"A":99}`}
			})
		}, []string{"j0"}, ""},
		{"the smallest unfinished pods make the minimum", `{"A":5}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A", 4, 4, testbed.Members(2), func(j *workload.Job) {
				j.Tasks[1].Request[testbed.GPU] = 1
				j.Tasks[3].Request[testbed.GPU] = 1
			})
			s.Pods("j1", "q", "A", 1, 4)
		}, []string{"j0"}, "Queue <q> has insufficient <A> quota: requested <4>, total would be <6>, but capability is <5>"},
		{"finished pods reserve nothing", `{"A":4}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A", 4, 2, testbed.Members(3), firstPods(3, workload.TaskSucceeded, "a"), testbed.InPhase(workload.Inqueue))
			s.Pods("j1", "q", "A", 1, 2)
		}, []string{"j0", "j1"}, ""},
		{"reservations of admitted jobs count", `{"A":4}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A", 4, 1, testbed.Members(3), firstPods(1, workload.TaskRunning, "a"), testbed.InPhase(workload.Inqueue))
			s.Pods("j1", "q", "A", 1, 2)
			s.Pods("j2", "q", "A", 1, 1)
		}, []string{"j0", "j2"}, "Queue <q> has insufficient <A> quota: requested <2>, total would be <5>, but capability is <4>"},
		{"a reservation is the minimum less allocated", `{"A":5}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A", 3, 2, testbed.Members(2), firstPods(1, workload.TaskRunning, "a"), testbed.InPhase(workload.Inqueue), func(j *workload.Job) {
				j.Tasks[0].Request[testbed.GPU] = 3 // of 2+2, so that 1 is left
			})
			s.Pods("j1", "q", "A", 1, 1).Pods("j2", "q", "A", 1, 1)
		}, []string{"j0", "j1"}, "Queue <q> has insufficient <A> quota: requested <1>, total would be <6>, but capability is <5>"},
		{"elastic makes room for other jobs", `{"A":4}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A", 4, 1, testbed.On("a"))
			s.Pods("j1", "q", "A", 3, 1, testbed.Members(3))
			s.Pods("j2", "q", "A", 1, 1)
		}, []string{"j1"}, "Queue <q> has insufficient <A> quota: requested <1>, total would be <5>, but capability is <4>"},
		{"gated pods reserve nothing", `{"A":4}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A", 3, 1, testbed.Members(3), testbed.InPhase(workload.Inqueue), func(j *workload.Job) {
				j.Tasks[0].Gated, j.Tasks[1].Gated = true, true
			})
			s.Pods("j1", "q", "A", 1, 3)
		}, []string{"j0", "j1"}, ""},
		{"a list takes the card that others leave", `{"A":1,"B":1}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "", 0, 0, testbed.CardRequest(`{"A|B":1}`, workload.Pending)).
				Pods("j1", "q", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending)).
				Pods("j2", "q", "", 0, 0, testbed.CardRequest(`{"A|B":1}`, workload.Pending)).
				Pods("j3", "q", "", 0, 0, testbed.CardRequest(`{"B":1}`, workload.Pending))
		}, []string{"j0", "j1"}, "Queue <q> has insufficient <A|B> quota: requested <1>, total would be <3>, but capability is <2>"},
		{"all cards of a pod have one name", `{"A":1,"B":1}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A|B", 1, 2).Pods("j1", "q", "A|B", 2, 1, testbed.Members(2))
		}, []string{"j1"}, "Queue <q> has insufficient <A> quota: requested <2>, total would be <2>, but capability is <1>; " +
			"Queue <q> has insufficient <B> quota: requested <2>, total would be <2>, but capability is <1>"},
		{"quota for each pod, but not for all", `{"A":3,"B":3}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A|B", 3, 2, testbed.Members(3))
		}, nil, "Queue <q> has insufficient <A> quota: requested <6>, total would be <6>, but capability is <3>; " +
			"Queue <q> has insufficient <B> quota: requested <6>, total would be <6>, but capability is <3>"},
		{"the reason of a job of several pods sums up its cards", `{"A":2,"B":2}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "B", 1, 1, testbed.On("b")).Pods("j1", "q", "A|B", 4, 1, testbed.Members(4))
		}, nil, "Queue <q> has insufficient <A|B> quota: requested <4>, total would be <5>, but capability is <4>"},
		{"a pod that runs on a card of its list reserves nothing", `{"A":2,"B":2}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "A|B", 2, 1, testbed.Members(2), firstPods(1, workload.TaskRunning, "b"), testbed.InPhase(workload.Inqueue)).
				Pods("j1", "q", "B", 1, 1).Pods("j2", "q", "A|B", 1, 1).Pods("j3", "q", "A|B", 1, 1)
		}, []string{"j0", "j1", "j2"}, "Queue <q> has insufficient <A|B> quota: requested <1>, total would be <5>, but capability is <4>"},
		{"untyped pods take any card", `{"A":1,"B":1}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "", 1, 1).Pods("j1", "q", "A", 1, 1).Pods("j2", "q", "", 1, 1)
		}, []string{"j0", "j1"}, "Queue <q> has insufficient <nvidia.com/gpu> quota: requested <1>, total would be <3>, but capability is <2>"},
		{"a list of cards that share no resource", `{"A":1,"N":1}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "", 0, 0, testbed.CardRequest(`{"A|N":1}`, workload.Pending))
		}, nil, "Cards <A|N> do not share one resource name, so no pod can request either of them"},
		{"an unknown card", `{"A":1}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "", 0, 0, testbed.CardRequest(`{"Z":1}`, workload.Pending))
		}, nil, "Queue <q> has insufficient <Z> quota: requested <1>, total would be <1>, but capability is <0>"},
		{"a quota that exceeds the cluster", `{"A":100}`, func(s *testbed.Scene) {
			s.Pods("j0", "q", "", 0, 0, testbed.CardRequest(`{"A":100}`, workload.Pending)).Pods("j1", "q", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending))
		}, []string{"j0"}, "Queue <q> has insufficient <A> quota: requested <1>, total would be <101>, but capability is <100>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).
				MixedNode("n", map[string]string{"huawei.com/npu.product": "N"}, workload.Resources{"huawei.com/npu": 8}).
				Queue("q", "", "quota", test.quota)
			test.jobs(s)
			f := s.Open(t)
			for i := range s.Jobs { // in the order of the scene, which is not the order of a session
				job := f.Job(fmt.Sprintf("j%d", i))
				if job.IsPending() && f.JobEnqueueable(job) {
					f.JobEnqueued(job)
					job.PodGroup.Status.Phase = scheduling.PodGroupInqueue
				}
			}
			var got []string
			why := ""
			for i := range s.Jobs {
				name := fmt.Sprintf("j%d", i)
				if enqueued(f, name) {
					got = append(got, name)
				} else if why == "" {
					why = f.Job(name).JobFitErrors
				}
			}
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.why, why)
		})
	}
}

// TestReservationsAcrossQueues reserves cards in two queues that share the quota of
// their parent.
func TestReservationsAcrossQueues(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("root", "").Queue("inner", "root", "quota", `{"A":1,"B":1}`).
		Queue("x", "inner", "quota", `{"A":1,"B":1}`).Queue("y", "inner", "quota", `{"A":1,"B":1}`).
		Pods("x", "x", "", 0, 0, testbed.CardRequest(`{"A|B":1}`, workload.Inqueue)).
		Pods("y", "y", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending)).
		Pods("y2", "y", "", 0, 0, testbed.CardRequest(`{"B":1}`, workload.Pending))
	f := s.Open(t)
	assert.True(t, f.JobEnqueueable(f.Job("y")))
	f.JobEnqueued(f.Job("y"))
	assert.False(t, f.JobEnqueueable(f.Job("y2")), "no card would be left for x")
}

// TestReservationsThatNoCardServes has admitted jobs with reservations that exceed the
// quota. They refuse no job that requests another card.
func TestReservationsThatNoCardServes(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":1,"B":2}`)
	for i := range 5 {
		s.Pods(fmt.Sprintf("old%d", i), "q", "", 0, 0, testbed.CardRequest(`{"A|B":1}`, workload.Inqueue))
	}
	s.Pods("huge", "q", "A|B", 1, 8, testbed.InPhase(workload.Inqueue))
	s.Pods("next", "q", "", 0, 0, testbed.CardRequest(`{"B":1}`, workload.Pending))
	f := s.Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("next")), "three of the reservations can be served")
	assert.Equal(t, 3, f.Own.Memory.Admit.Reservations.Len())

	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":1,"B":2,"C":1}`
	s.Pods("c", "q", "", 0, 0, testbed.CardRequest(`{"C":1}`, workload.Pending))
	f = s.Open(t)
	assert.True(t, f.JobEnqueueable(f.Job("c")))
}

// TestEnqueueChangesNothing calls JobEnqueueable several times before and after a job
// is admitted.
func TestEnqueueChangesNothing(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":1}`).Pods("job", "q", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending))
	f := s.Open(t)
	for range 5 {
		assert.True(t, f.JobEnqueueable(f.Job("job")))
	}
	f.Run(t, enqueue.New())
	assert.True(t, enqueued(f, "job"))
	assert.False(t, f.JobEnqueueable(f.Job("job")))
}

// TestElasticKeepsPreferredCards runs a job on two cards with more than its minimum. Its elastic cards are the cards
// that it prefers less.
func TestElasticKeepsPreferredCards(t *testing.T) {
	for least, want := range map[int32][]float64{4: {0, 0}, 3: {0, 1000}, 2: {0, 2000}, 1: {1000, 2000}} {
		s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":2,"B":2}`).
			Pods("job", "q", "A|B", 4, 1, testbed.On("a"), testbed.Members(least), func(j *workload.Job) {
				j.Tasks[2].Node, j.Tasks[3].Node = "b", "b"
			})
		f := s.Open(t)
		var elastic []float64
		for _, name := range []string{"A", "B"} {
			d, _ := f.Own.Memory.Names.LookupCard(name)
			elastic = append(elastic, f.Own.Index.Elastic.Row(f.Own.Index.Lookup("q")).Get(d))
		}
		assert.Equal(t, want, elastic, "a minimum of %d", least)
	}
}

// TestAskedAgainAfterARefund refuses a job with a list, because another one has the promise of the only card that is
// left. Once a pod is evicted in the same session, there is a card for each.
func TestAskedAgainAfterARefund(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 1).Node("b", "B", 1).Queue("q", "", "quota", `{"A":1,"B":1}`).Pods("runs", "q", "B", 1, 1, testbed.On("b")).
		Pods("promised", "q", "A|B", 1, 1, testbed.InPhase(workload.Inqueue)).Pods("waits", "q", "A|B", 1, 1).Open(t)
	require.False(t, f.JobEnqueueable(f.Job("waits")))
	require.NoError(t, release.Evict(framework.NewStatement(f.Session), f.Task("runs-0"), "test"))
	assert.True(t, f.JobEnqueueable(f.Job("waits")))
}
