package session

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
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// The answers of package constraint in sessions with several features.

// asks returns the question about one card for a pod.
func (f *fixture) asks(t *testing.T, pod, name string) (constraint.Ask, fastres.Dim) {
	t.Helper()
	d, known := f.own.Memory.Names.LookupCard(name)
	require.True(t, known)
	task := f.task(pod)
	q := f.own.QueueOf(task)
	return constraint.Ask{Task: task, Queue: q, Pod: f.own.Cards.PodRequest(q, task.Pod), Complete: true}, d
}

// lacks reports whether the eviction of a pod makes room for one card for another one.
func (f *fixture) lacks(t *testing.T, pod, of string) bool {
	t.Helper()
	a, d := f.asks(t, pod, "A")
	victim := f.task(of)
	return f.own.Lacks(&f.own.Books.Future, &a, f.own.QueueOf(victim), victim, d, 1000)
}

// TestWhoseEvictionMakesRoom has pods in a queue that is full, beside it, and in its namespace. A
// bound of another queue or namespace than their own is not raised by what they leave.
func TestWhoseEvictionMakesRoom(t *testing.T) {
	f := newScene().node("a", "A", 8).queue("root", "").queue("team", "root", "quota", `{"A":2}`).
		queue("x", "team", "quota", `{"A":8}`).queue("y", "team", "quota", `{"A":8}`).queue("z", "root", "quota", `{"A":8}`, "guarantee", `{"A":0}`).
		pods("near", "y", "A", 2, 1, on("a")).pods("far", "z", "A", 2, 1, on("a")).pods("waits", "x", "A", 1, 1).open(t)
	assert.True(t, f.lacks(t, "waits-0", "near-0"))
	assert.False(t, f.lacks(t, "waits-0", "far-0"), "team is full, and far is not in it")
	f = namespaced().annotate("team", card.NamespaceKey, `{"A":8}`).pods("x.runs", "train", "A", 3, 1, on("a")).
		pods("x.other", "serve", "A", 1, 1, on("a")).pods("y.runs", "train", "A", 1, 1, on("a")).
		pods("x.waits", "train", "A", 1, 1).open(t, byPrefix)
	assert.True(t, f.lacks(t, "x.waits-0", "x.runs-0"))
	assert.False(t, f.lacks(t, "x.waits-0", "x.other-0"), "x has 3 of 3 in train, and 4 of 8 in team")
	assert.False(t, f.lacks(t, "x.waits-0", "y.runs-0"), "another namespace")
}

// TestRoomOfWhatEnds asks whose eviction makes room where a pod ends: it leaves enough.
func TestRoomOfWhatEnds(t *testing.T) {
	f := newScene().node("a", "A", 8).queue("root", "").queue("team", "root", "quota", `{"A":2}`).queue("x", "team", "quota", `{"A":8}`).
		queue("y", "team", "quota", `{"A":8}`).pods("near", "y", "A", 2, 1, on("a"), terminate(1)).pods("waits", "x", "A", 1, 1).open(t)
	assert.False(t, f.lacks(t, "waits-0", "near-1"))
	f = namespaced().pods("x.runs", "train", "A", 3, 1, on("a"), terminate(1)).pods("x.waits", "train", "A", 1, 1).open(t, byPrefix)
	assert.False(t, f.lacks(t, "x.waits-0", "x.runs-1"))
}

// TestBoundsOfTheQueueItself asks what no eviction in another queue makes room for.
func TestBoundsOfTheQueueItself(t *testing.T) {
	own := func(f *fixture, pod string) quota.Reason {
		a, d := f.asks(t, pod, "A")
		return f.own.FitsOwn(&f.own.Books.Future, &a, d, 1000).Reason
	}
	f := namespaced().pods("x.runs", "serve", "A", 4, 1, on("a")).pods("x.waits", "serve", "A", 1, 1).
		pods("y.runs", "train", "A", 3, 1, on("a")).pods("y.waits", "train", "A", 1, 1).open(t, byPrefix)
	assert.Equal(t, quota.Admitted, own(f, "x.waits-0"), "the limit is that of team")
	assert.Equal(t, quota.OverNamespace, own(f, "y.waits-0"))

	gated := func(ofTeam, ofOne, ofNamespace string) *fixture {
		return gatedScene(t).node("a", "A", 4).queue("root", "").queue("team", "root", "quota", ofTeam).
			queue("one", "team", "quota", ofOne, "quota.namespace", ofNamespace).queue("two", "team", "quota", `{"A":9}`).
			pods("runs", "one", "A", 1, 1, on("a")).pods("kept", "one", "A", 2, 1, optedIn(true)).
			pods("waits", "one", "A", 1, 1).pods("beside", "two", "A", 1, 1).openGated(t)
	}
	f = gated(`{"A":9}`, `{"A":3}`, `{"A":9}`)
	assert.Equal(t, quota.Admitted, own(f, "waits-0"), "two of three are reserved, which ends when the pods have nodes")
	assert.Equal(t, quota.Admitted, own(f, "kept-0"), "that is its own")
	f = gated(`{"A":3}`, `{"A":9}`, `{"A":9}`)
	assert.Equal(t, quota.Admitted, own(f, "beside-0"), "they are reserved in the queue above")
	assert.Equal(t, quota.Admitted, own(f, "waits-0"))
	f = gated(`{"A":9}`, `{"A":9}`, `{"A":1}`)
	assert.Equal(t, quota.OverNamespace, own(f, "waits-0"), "of two constraints, the first one that refuses")
}

// TestDraftsLeaveOutWhatEnds makes a draft without a pod that is being deleted. The future has no
// such pod.
func TestDraftsLeaveOutWhatEnds(t *testing.T) {
	f := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`).pods("ends", "q", "A", 1, 1, on("a"), terminate(1)).
		pods("runs", "q", "A", 2, 1, on("a")).open(t)
	a, d := f.asks(t, "runs-0", "A")
	has := func(b quota.Books) float64 { return b.Queues.Allocated(a.Queue).Get(d) }
	require.Equal(t, 3000.0, has(f.own.Books.Now))
	assert.Equal(t, 2000.0, has(f.own.Without([]*api.TaskInfo{f.task("ends-0")}).Books))
	assert.Equal(t, 1000.0, has(f.own.Without([]*api.TaskInfo{f.task("ends-0"), f.task("runs-0")}).Books))
	assert.Equal(t, 2000.0, has(f.own.Books.Future), "a draft changes nothing")
}

// TestVictimsLeaveTheirNamespace reclaims for a namespace that has all that the queue above allows
// it, in the queue of the victims.
func TestVictimsLeaveTheirNamespace(t *testing.T) {
	f := namespaced().annotate("train", card.DeservedKey, `{"A":8}`).annotate("serve", card.DeservedKey, `{"A":0}`).
		pods("x.runs", "serve", "A", 4, 1, members(0), on("a")).pods("x.waits", "train", "A", 1, 1, inPhase(workload.Inqueue)).open(t, byPrefix)
	assert.Len(t, f.run(t, NewReclaim()).evicted(), 1)
}

// TestWhatIsLeftIsEarmarked keeps the last card of a quota, or of a limit of namespaces, for others.
// Without it, the quota itself refuses.
func TestWhatIsLeftIsEarmarked(t *testing.T) {
	f := namespaced().pods("x.waits", "train", "A", 1, 3).pods("y.waits", "serve", "A", 1, 1).open(t, byPrefix)
	verdict := func(pod string, milli float64) quota.Verdict {
		a, d := f.asks(t, pod, "A")
		return f.own.FitsCard(f.own.Books.Books(a.Task), &a, d, milli)
	}
	keep := func(queue string, account index.Queue, cards float64) {
		_, d := f.asks(t, "x.waits-0", "A")
		x := fastres.NewVector(f.own.Intake.Dims.Length())
		x.Set(d, 1000*cards)
		f.own.Books.Charge(f.own.Index.Lookup(queue), account, x)
	}
	require.True(t, verdict("x.waits-0", 3000).OK())
	keep("train", f.own.Intake.AccountOf(f.task("x.waits-0").Job), 1)
	assert.Equal(t, quota.Earmarked, verdict("x.waits-0", 3000).Reason, "x may have 3 in train")
	assert.Equal(t, quota.OverNamespace, verdict("x.waits-0", 4000).Reason)
	keep("serve", index.None, 15)
	assert.Equal(t, quota.Earmarked, verdict("y.waits-0", 2000).Reason, "serve may have 16")
	assert.Equal(t, quota.OverQuota, verdict("y.waits-0", 17000).Reason)
}

// TestGoneCardsLeaveWithTheirPods has two pods on a node that is lost. Their cards are available as
// long as they have them.
func TestGoneCardsLeaveWithTheirPods(t *testing.T) {
	f := newScene().node("a", "A", 4).queue("q", "", "quota", `{"A":16}`).pods("runs", "q", "A", 2, 1, on("lost")).
		pods("waits", "q", "A", 1, 1).open(t)
	_, d := f.asks(t, "waits-0", "A")
	available := func() float64 { return f.own.Intake.Available.Get(d) / 1000 }
	require.Equal(t, 6.0, available())
	event := &framework.Event{Task: f.task("runs-0")}
	f.own.onDeallocate(event)
	assert.Equal(t, 5.0, available())
	f.own.OnAllocate(event)
	assert.Equal(t, 6.0, available())
}

// TestRefundsOfNamespacesAdmitAgain asks again about a job with a list, once a pod of its namespace
// is gone.
func TestRefundsOfNamespacesAdmitAgain(t *testing.T) {
	f := namespaced().pods("x.runs", "train", "B", 4, 1, members(4), on("b")).
		pods("x.list", "train", "A|B", 6, 1, members(6)).open(t, byPrefix)
	job := f.jobOf("x.list-0")
	require.False(t, f.JobEnqueueable(job), "3 of A and 2 of B are left")
	event := &framework.Event{Task: f.task("x.runs-0")}
	f.own.onDeallocate(event)
	assert.True(t, f.JobEnqueueable(job))
	f.own.OnAllocate(event)
	assert.False(t, f.JobEnqueueable(job))
}

func (f *fixture) jobOf(pod string) *api.JobInfo { return f.Jobs[f.task(pod).Job] }

// TestDisplacedListsReturnToTheirNamespace asks about a job of a high priority that no displacement
// helps. The promise that was taken back for the question is there again.
func TestDisplacedListsReturnToTheirNamespace(t *testing.T) {
	s := newScene().node("c", "C", 8).queue("q", "", "quota", `{"A":16,"B":16}`, "quota.namespace", `{"A":2,"B":2}`).
		pods("low", "q", "A|B", 4, 1, members(4), inPhase(workload.Inqueue)).pods("last", "q", "A|B", 1, 1).
		pods("high", "q", "A|B", 5, 1, members(5), ofPriority(10))
	s.arguments = framework.Arguments{arguments.DisplacePromises: true}
	f := s.open(t)
	for range 2 {
		require.False(t, f.JobEnqueueable(f.job("last")), "4 of 4 are promised to low")
		require.False(t, f.JobEnqueueable(f.job("high")), "5 of 4")
	}
}

// TestClassOfEachGang asks about two gangs, one after the other.
func TestClassOfEachGang(t *testing.T) {
	s := tide(byClass(), `{"A":0}`, "training", "inference").pods("other", "day", "A", 1, 2, inPhase(workload.Inqueue))
	f := s.open(t)
	for range 2 {
		for job, want := range map[string]quota.Protection{"claim": quota.ByGuarantee, "other": quota.ByDeserved} {
			r := constraint.Reclaimer{Queue: f.own.Index.Lookup("day"), Gang: f.job(job)}
			assert.Equal(t, want, f.own.Protection(r, f.own.Index.Lookup("night"), f.task("held-0")), job)
		}
	}
}

// TestClassOfMixedGangs has a gang take as inference where all of its pods are of that class.
func TestClassOfMixedGangs(t *testing.T) {
	for n, want := range []quota.Protection{quota.ByDeserved, quota.ByDeserved, quota.ByGuarantee} {
		s := tide(byClass(arguments.OwnerClasses, map[string]any{"ReplicaSet": "inference"}), `{"A":0}`, "training", "").
			pods("gang", "day", "A", 2, 1, inPhase(workload.Inqueue))
		f := s.open(t)
		for i := range n {
			f.job("gang").Tasks[f.task(fmt.Sprintf("gang-%d", i)).UID].Pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet"}}
		}
		r := constraint.Reclaimer{Queue: f.own.Index.Lookup("day"), Gang: f.job("gang")}
		assert.Equal(t, want, f.own.Protection(r, f.own.Index.Lookup("night"), f.task("held-0")), "%d of 2 are of inference", n)
	}
}

// TestCPUThatIsLeftIsEarmarked keeps cpu for others. A pod with other resources than cards sees it,
// too.
func TestCPUThatIsLeftIsEarmarked(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`).pods("waits", "q", "A", 1, 1)
	s.Queues[0].Capability["cpu"] = 1000
	f := s.open(t)
	task, x := f.task("waits-0"), fastres.NewVector(f.own.Intake.Dims.Length())
	reason := func() quota.Reason {
		q := f.own.QueueOf(task)
		return f.own.AllocationOf(f.own.Books.Books(task), q, task, fastres.NewVector(x.Len()), new(cards.Request)).Reason
	}
	require.Equal(t, quota.Admitted, reason())
	x.Set(fastres.CPU, 950)
	f.own.Books.Charge(f.own.QueueOf(task), index.None, x)
	assert.Equal(t, quota.Earmarked, reason(), "it requests 100 of 1000")
}
