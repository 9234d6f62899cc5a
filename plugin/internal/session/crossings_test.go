package session

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// The crossings of features and hooks that were wrong: docs/dev/CROSSINGS.md has all of them.

// TestDisplacesJobsOfTheSession displaces a job that was admitted after the first refusal of the
// session.
func TestDisplacesJobsOfTheSession(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("root", "").queue("q", "root", "quota", `{"A":4}`).
		pods("huge", "q", "A", 9, 1, members(9), ofPriority(5)).pods("low", "q", "A", 4, 1, members(4)).
		pods("high", "q", "A", 4, 1, members(4), ofPriority(10))
	s.arguments = framework.Arguments{arguments.DisplacePromises: true}
	f := s.open(t)
	require.False(t, f.JobEnqueueable(f.job("huge")), "no displacement helps it")
	require.True(t, f.admit("low"))
	require.True(t, f.admit("high"))
	assert.Equal(t, scheduling.PodGroupPending, f.job("low").PodGroup.Status.Phase)
	assert.False(t, f.JobEnqueueable(f.job("low")), "its cards are promised to high")
}

// TestDisplacedJobsReturnTheirDevices admits a job in place of another one of the session, whose
// devices are all that the queue may have.
func TestDisplacedJobsReturnTheirDevices(t *testing.T) {
	s := deviceScene().deviceQueue("q", "", workload.Resources{gpuClass: 4}).
		pods("low", "q", "", 1, 0).pods("high", "q", "", 1, 0, ofPriority(10)).pods("last", "q", "", 1, 0)
	s.arguments[arguments.DisplacePromises] = true
	f := s.openClaimed(t, podClaims{"low-0": {"ns/low": gpuDevices(4)}, "high-0": {"ns/high": gpuDevices(3)}, "last-0": {"ns/last": gpuDevices(1)}})
	if f == nil {
		return
	}
	for _, job := range []string{"low", "high", "last"} {
		f.job(job).MinAvailable = 1
	}
	require.True(t, f.admit("low"))
	require.False(t, f.JobEnqueueable(f.job("last")))
	require.True(t, f.admit("high"))
	assert.Equal(t, scheduling.PodGroupPending, f.job("low").PodGroup.Status.Phase)
	assert.True(t, f.JobEnqueueable(f.job("last")), "high has 3 of 4")
	assert.False(t, f.JobEnqueueable(f.job("low")))
}

// TestNothingIsTakenAtTheLimitOfTheNamespace asks for whom train may take a card that serve
// borrows. Nothing that serve has counts in the limit of train.
func TestNothingIsTakenAtTheLimitOfTheNamespace(t *testing.T) {
	s := namespaced().annotate("train", card.DeservedKey, `{"A":8}`).annotate("serve", card.DeservedKey, `{"A":8}`).
		pods("x.runs", "train", "A", 3, 1, on("a")).pods("y.runs", "serve", "A", 13, 1, on("a")).
		pods("x.waits", "train", "A", 1, 1).pods("z.waits", "train", "A", 1, 1)
	f := s.open(t, byPrefix)
	may := func(task string) bool { return release.Preemptive(f.Session)(f.queue("train"), f.task(task)) }
	assert.False(t, may("x.waits-0"), "x has 3 of 3 in train")
	assert.True(t, may("z.waits-0"))
	assert.Contains(t, InspectionOf(f.own).Preempt(f.task("x.waits-0")).String(), "namespace <x>")
}

// TestNodeOrderKnowsNamespaces scores the nodes of a list whose first card the namespace may have
// no more of.
func TestNodeOrderKnowsNamespaces(t *testing.T) {
	s := namespaced().pods("x.runs", "train", "A", 3, 1, on("a")).pods("x.waits", "train", "A|B", 1, 1).pods("z.waits", "train", "A|B", 1, 1)
	f := s.open(t, byPrefix)
	prefers := func(task, node, other string) bool {
		score := func(node string) float64 {
			score, err := f.own.nodeOrder(f.task(task), f.Nodes[node])
			require.NoError(t, err)
			return score
		}
		return score(node) > score(other)
	}
	assert.True(t, prefers("x.waits-0", "b", "a"))
	assert.True(t, prefers("z.waits-0", "a", "b"))
}

// TestVectorsDoNotOutliveTheirFrames asks for victims and then allocates. A question inside of
// another one takes other vectors.
func TestVectorsDoNotOutliveTheirFrames(t *testing.T) {
	f := namespaced().pods("x.runs", "train", "A", 2, 1, on("a")).pods("x.waits", "train", "A", 1, 1).open(t, byPrefix)
	outer := f.own.Frames.Open()
	x := outer.Vector()
	f.own.Intake.SetCharge(x, f.own.Index.Lookup("train"), f.task("x.waits-0"), "a")
	before := fastres.NewVector(x.Len())
	before.CopyFrom(x)
	require.True(t, f.own.AllocatableOf(f.queue("train"), f.task("x.waits-0")))
	f.own.Reclaim.Reclaimable(f.task("x.waits-0"), []*api.TaskInfo{f.task("x.runs-0")})
	assert.Equal(t, before, x)
	outer.Close()
}

// TestClosedSessionsAreFreed asks for victims and closes the session. What is kept for the next one
// does not keep the cluster of this one alive.
func TestClosedSessionsAreFreed(t *testing.T) {
	b := &Builder{Variant: cardBuilder.Variant}
	closed := func() weak.Pointer[framework.Session] {
		s := namespaced().pods("x.runs", "train", "A", 2, 1, on("a")).pods("y.waits", "serve", "A", 1, 1)
		s.build = b.Build
		f := s.open(t, byPrefix)
		f.own.Reclaim.Reclaimable(f.task("y.waits-0"), []*api.TaskInfo{f.task("x.runs-0")})
		f.close()
		return weak.Make(f.Session)
	}()
	for range 3 {
		runtime.GC()
	}
	assert.True(t, closed.Value() == nil, "the session is still there")
	runtime.KeepAlive(b)
}
