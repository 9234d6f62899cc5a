package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/quota"
)

// The answers of package constraint in sessions with several features.

// asks returns the question about one card for a pod.
func asks(f *testbed.Fixture, t *testing.T, pod, name string) (constraint.Ask, fastres.Dim) {
	t.Helper()
	d, known := f.Own.Memory.Names.LookupCard(name)
	require.True(t, known)
	task := f.Task(pod)
	q := f.Own.QueueOf(task)
	return constraint.Ask{Task: task, Queue: q, Pod: f.Own.Cards.PodRequest(q, task.Pod), Complete: true}, d
}

// lacks reports whether the eviction of a pod makes room for one card for another one.
func lacks(f *testbed.Fixture, t *testing.T, pod, of string) bool {
	t.Helper()
	a, d := asks(f, t, pod, "A")
	victim := f.Task(of)
	return f.Own.Lacks(&f.Own.Books.Future, &a, f.Own.QueueOf(victim), victim, d, 1000)
}

// TestWhoseEvictionMakesRoom has candidates inside and outside of a full queue, and in the same and another namespace.
// An eviction makes room only within the bounds of the pod's own queues and namespace.
func TestWhoseEvictionMakesRoom(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("team", "root", "quota", `{"A":2}`).
		Queue("x", "team", "quota", `{"A":8}`).Queue("y", "team", "quota", `{"A":8}`).Queue("z", "root", "quota", `{"A":8}`, "guarantee", `{"A":0}`).
		Pods("near", "y", "A", 2, 1, testbed.On("a")).Pods("far", "z", "A", 2, 1, testbed.On("a")).Pods("waits", "x", "A", 1, 1).Open(t)
	assert.True(t, lacks(f, t, "waits-0", "near-0"))
	assert.False(t, lacks(f, t, "waits-0", "far-0"), "team is full, and far is not in it")
	f = testbed.Namespaced().Annotate("team", card.HolderKey, `{"namespace":{"*":{"A":8}}}`).Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).
		Pods("x.other", "serve", "A", 1, 1, testbed.On("a")).Pods("y.runs", "train", "A", 1, 1, testbed.On("a")).
		Pods("x.waits", "train", "A", 1, 1).Open(t, testbed.ByPrefix)
	assert.True(t, lacks(f, t, "x.waits-0", "x.runs-0"))
	assert.False(t, lacks(f, t, "x.waits-0", "x.other-0"), "x has 3 of 3 in train, and 4 of 8 in team")
	assert.False(t, lacks(f, t, "x.waits-0", "y.runs-0"), "another namespace")
}

// TestRoomOfWhatEnds asks whether an eviction makes room while another pod terminates. No eviction is needed, because
// that pod leaves enough room.
func TestRoomOfWhatEnds(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("team", "root", "quota", `{"A":2}`).Queue("x", "team", "quota", `{"A":8}`).
		Queue("y", "team", "quota", `{"A":8}`).Pods("near", "y", "A", 2, 1, testbed.On("a"), terminate(1)).Pods("waits", "x", "A", 1, 1).Open(t)
	assert.False(t, lacks(f, t, "waits-0", "near-1"))
	f = testbed.Namespaced().Pods("x.runs", "train", "A", 3, 1, testbed.On("a"), terminate(1)).Pods("x.waits", "train", "A", 1, 1).Open(t, testbed.ByPrefix)
	assert.False(t, lacks(f, t, "x.waits-0", "x.runs-1"))
}

// TestBoundsOfTheQueueItself asks for the bounds for which no eviction in another queue makes room.
func TestBoundsOfTheQueueItself(t *testing.T) {
	own := func(f *testbed.Fixture, pod string) quota.Reason {
		a, d := asks(f, t, pod, "A")
		return f.Own.FitsOwn(&f.Own.Books.Future, &a, d, 1000).Reason
	}
	f := testbed.Namespaced().Pods("x.runs", "serve", "A", 4, 1, testbed.On("a")).Pods("x.waits", "serve", "A", 1, 1).
		Pods("y.runs", "train", "A", 3, 1, testbed.On("a")).Pods("y.waits", "train", "A", 1, 1).Open(t, testbed.ByPrefix)
	assert.Equal(t, quota.Admitted, own(f, "x.waits-0"), "the limit is that of team")
	assert.Equal(t, quota.OverNamespace, own(f, "y.waits-0"))

	gated := func(ofTeam, ofOne, ofNamespace string) *testbed.Fixture {
		return testbed.GatedScene(t).Node("a", "A", 4).Queue("root", "").Queue("team", "root", "quota", ofTeam).
			Queue("one", "team", "quota", ofOne, "quota.by", `{"namespace":{"*":`+ofNamespace+`}}`).Queue("two", "team", "quota", `{"A":9}`).
			Pods("runs", "one", "A", 1, 1, testbed.On("a")).Pods("kept", "one", "A", 2, 1, testbed.OptedIn(true)).
			Pods("waits", "one", "A", 1, 1).Pods("beside", "two", "A", 1, 1).OpenGated(t)
	}
	f = gated(`{"A":9}`, `{"A":3}`, `{"A":9}`)
	assert.Equal(t, quota.Admitted, own(f, "waits-0"), "two of three are reserved, which ends when the pods have nodes")
	assert.Equal(t, quota.Admitted, own(f, "kept-0"), "that is its own")
	f = gated(`{"A":3}`, `{"A":9}`, `{"A":9}`)
	assert.Equal(t, quota.Admitted, own(f, "beside-0"), "they are reserved in the queue above")
	assert.Equal(t, quota.Admitted, own(f, "waits-0"))
	f = gated(`{"A":9}`, `{"A":9}`, `{"A":1}`)
	assert.Equal(t, quota.OverNamespace, own(f, "waits-0"))

	f = testbed.Namespaced().Annotate("train", card.BudgetKey, `{"A":"100h/day"}`).Pods("y.runs", "train", "A", 3, 1, testbed.On("a")).
		Pods("y.waits", "train", "A", 1, 1).Open(t, testbed.ByPrefix)
	assert.Equal(t, quota.OverNamespace, own(f, "y.waits-0"), "of two constraints, the first one that refuses")
}

// TestDraftsLeaveOutWhatEnds makes a draft without a pod that is being deleted. The future has no
// such pod.
func TestDraftsLeaveOutWhatEnds(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`).Pods("ends", "q", "A", 1, 1, testbed.On("a"), terminate(1)).
		Pods("runs", "q", "A", 2, 1, testbed.On("a")).Open(t)
	a, d := asks(f, t, "runs-0", "A")
	has := func(b quota.Books) float64 { return b.Queues.Allocated(a.Queue).Get(d) }
	require.Equal(t, 3000.0, has(f.Own.Books.Now))
	assert.Equal(t, 2000.0, has(f.Own.Without([]*api.TaskInfo{f.Task("ends-0")}).Books))
	assert.Equal(t, 1000.0, has(f.Own.Without([]*api.TaskInfo{f.Task("ends-0"), f.Task("runs-0")}).Books))
	assert.Equal(t, 2000.0, has(f.Own.Books.Future), "a draft changes nothing")
}

// TestVictimsLeaveTheirNamespace reclaims for a namespace that has all that the queue above allows
// it, in the queue of the victims.
func TestVictimsLeaveTheirNamespace(t *testing.T) {
	f := testbed.Namespaced().Annotate("train", card.DeservedKey, `{"A":8}`).Annotate("serve", card.DeservedKey, `{"A":0}`).
		Pods("x.runs", "serve", "A", 4, 1, testbed.Members(0), testbed.On("a")).Pods("x.waits", "train", "A", 1, 1, testbed.InPhase(workload.Inqueue)).Open(t, testbed.ByPrefix)
	assert.Len(t, f.Run(t, session.NewReclaim()).Evicted(), 1)
}

// TestWhatIsLeftIsEarmarked keeps the last card of a quota, or of a limit of namespaces, for others.
// Without it, the quota itself refuses.
func TestWhatIsLeftIsEarmarked(t *testing.T) {
	f := testbed.Namespaced().Pods("x.waits", "train", "A", 1, 3).Pods("y.waits", "serve", "A", 1, 1).Open(t, testbed.ByPrefix)
	verdict := func(pod string, milli float64) quota.Verdict {
		a, d := asks(f, t, pod, "A")
		return f.Own.FitsCard(f.Own.Books.For(a.Task, false), &a, d, milli)
	}
	keep := func(queue string, account index.Queue, cards float64) {
		_, d := asks(f, t, "x.waits-0", "A")
		x := fastres.NewVector(f.Own.Intake.Dims.Length())
		x.Set(d, 1000*cards)
		f.Own.Books.Charge(f.Own.Index.Lookup(queue), account, x)
	}
	require.True(t, verdict("x.waits-0", 3000).OK())
	keep("train", f.Own.Intake.AccountOf(f.Task("x.waits-0").Job), 1)
	assert.Equal(t, quota.Earmarked, verdict("x.waits-0", 3000).Reason, "x may have 3 in train")
	assert.Equal(t, quota.OverNamespace, verdict("x.waits-0", 4000).Reason)
	keep("serve", index.None, 15)
	assert.Equal(t, quota.Earmarked, verdict("y.waits-0", 2000).Reason, "serve may have 16")
	assert.Equal(t, quota.OverQuota, verdict("y.waits-0", 17000).Reason)
}

// TestGoneCardsLeaveWithTheirPods has two pods on a node that is lost. Their cards are available as
// long as they have them.
func TestGoneCardsLeaveWithTheirPods(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 4).Queue("q", "", "quota", `{"A":16}`).Pods("runs", "q", "A", 2, 1, testbed.On("lost")).
		Pods("waits", "q", "A", 1, 1).Open(t)
	_, d := asks(f, t, "waits-0", "A")
	available := func() float64 { return f.Own.Intake.Available.Get(d) / 1000 }
	require.Equal(t, 6.0, available())
	event := &framework.Event{Task: f.Task("runs-0")}
	f.Own.OnDeallocate(event)
	assert.Equal(t, 5.0, available())
	f.Own.OnAllocate(event)
	assert.Equal(t, 6.0, available())
}

// TestRefundsOfNamespacesAdmitAgain asks again about a job with a list, once a pod of its namespace
// is gone.
func TestRefundsOfNamespacesAdmitAgain(t *testing.T) {
	f := testbed.Namespaced().Pods("x.runs", "train", "B", 4, 1, testbed.Members(4), testbed.On("b")).
		Pods("x.list", "train", "A|B", 6, 1, testbed.Members(6)).Open(t, testbed.ByPrefix)
	job := jobOf(f, "x.list-0")
	require.False(t, f.JobEnqueueable(job), "3 of A and 2 of B are left")
	event := &framework.Event{Task: f.Task("x.runs-0")}
	f.Own.OnDeallocate(event)
	assert.True(t, f.JobEnqueueable(job))
	f.Own.OnAllocate(event)
	assert.False(t, f.JobEnqueueable(job))
}

func jobOf(f *testbed.Fixture, pod string) *api.JobInfo { return f.Jobs[f.Task(pod).Job] }

// TestDisplacedListsReturnToTheirNamespace asks about a job of a high priority that no displacement
// helps. The promise that was taken back for the question is there again.
func TestDisplacedListsReturnToTheirNamespace(t *testing.T) {
	s := testbed.NewScene().Node("c", "C", 8).Queue("q", "", "quota", `{"A":16,"B":16}`, "quota.by", `{"namespace":{"*":{"A":2,"B":2}}}`).
		Pods("low", "q", "A|B", 4, 1, testbed.Members(4), testbed.InPhase(workload.Inqueue)).Pods("last", "q", "A|B", 1, 1).
		Pods("high", "q", "A|B", 5, 1, testbed.Members(5), ofPriority(10))
	s.Annotate("q", policy.OrderKey, "displace")
	f := s.Open(t)
	for range 2 {
		require.False(t, f.JobEnqueueable(f.Job("last")), "4 of 4 are promised to low")
		require.False(t, f.JobEnqueueable(f.Job("high")), "5 of 4")
	}
}

// TestClassOfEachGang asks about two gangs, one after the other.
func TestClassOfEachGang(t *testing.T) {
	s := testbed.Tide(testbed.ByClass(), `{"A":0}`, "training", "inference").Pods("other", "day", "A", 1, 2, testbed.InPhase(workload.Inqueue))
	f := s.Open(t)
	for range 2 {
		for job, want := range map[string]quota.Protection{"claim": quota.ByGuarantee, "other": quota.ByDeserved} {
			r := constraint.Reclaimer{Queue: f.Own.Index.Lookup("day"), Gang: f.Job(job)}
			assert.Equal(t, want, f.Own.Protection(r, f.Own.Index.Lookup("night"), f.Task("held-0")), job)
		}
	}
}

// TestClassOfMixedGangs has a gang take as inference where all of its pods are of that class.
func TestClassOfMixedGangs(t *testing.T) {
	for n, want := range []quota.Protection{quota.ByDeserved, quota.ByDeserved, quota.ByGuarantee} {
		s := testbed.Tide(testbed.ByClass(arguments.OwnerClasses, map[string]any{"ReplicaSet": "inference"}), `{"A":0}`, "training", "").
			Pods("gang", "day", "A", 2, 1, testbed.InPhase(workload.Inqueue))
		f := s.Open(t)
		for i := range n {
			f.Job("gang").Tasks[f.Task(fmt.Sprintf("gang-%d", i)).UID].Pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet"}}
		}
		r := constraint.Reclaimer{Queue: f.Own.Index.Lookup("day"), Gang: f.Job("gang")}
		assert.Equal(t, want, f.Own.Protection(r, f.Own.Index.Lookup("night"), f.Task("held-0")), "%d of 2 are of inference", n)
	}
}

// TestCPUThatIsLeftIsEarmarked keeps cpu for others. A pod with other resources than cards sees it,
// too.
func TestCPUThatIsLeftIsEarmarked(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`).Pods("waits", "q", "A", 1, 1)
	s.Queues[0].Capability["cpu"] = 1000
	f := s.Open(t)
	task, x := f.Task("waits-0"), fastres.NewVector(f.Own.Intake.Dims.Length())
	reason := func() quota.Reason {
		q := f.Own.QueueOf(task)
		return f.Own.AllocationOf(f.Own.Books.For(task, false), q, task, fastres.NewVector(x.Len()), new(cards.Request)).Reason
	}
	require.Equal(t, quota.Admitted, reason())
	x.Set(fastres.CPU, 950)
	f.Own.Books.Charge(f.Own.QueueOf(task), index.None, x)
	assert.Equal(t, quota.Earmarked, reason(), "it requests 100 of 1000")
}
