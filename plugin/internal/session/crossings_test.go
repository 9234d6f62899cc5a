package session_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// The crossings of features and hooks that were wrong: docs/dev/CROSSINGS.md has all of them.

// TestDisplacesJobsOfTheSession displaces a job that was admitted after the first refusal of the
// session.
func TestDisplacesJobsOfTheSession(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("q", "root", "quota", `{"A":4}`).
		Pods("huge", "q", "A", 9, 1, testbed.Members(9), ofPriority(5)).Pods("low", "q", "A", 4, 1, testbed.Members(4)).
		Pods("high", "q", "A", 4, 1, testbed.Members(4), ofPriority(10))
	s.Annotate("q", policy.OrderKey, "displace")
	f := s.Open(t)
	require.False(t, f.JobEnqueueable(f.Job("huge")), "no displacement helps it")
	require.True(t, admit(f, "low"))
	require.True(t, admit(f, "high"))
	assert.Equal(t, scheduling.PodGroupPending, f.Job("low").PodGroup.Status.Phase)
	assert.False(t, f.JobEnqueueable(f.Job("low")), "its cards are promised to high")
}

// TestNothingIsTakenAtTheLimitOfTheNamespace asks for which pods train may take a card that serve borrows. Nothing that
// serve has counts in the limit of train.
func TestNothingIsTakenAtTheLimitOfTheNamespace(t *testing.T) {
	s := testbed.Namespaced().Annotate("train", card.DeservedKey, `{"A":8}`).Annotate("serve", card.DeservedKey, `{"A":8}`).
		Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).Pods("y.runs", "serve", "A", 13, 1, testbed.On("a")).
		Pods("x.waits", "train", "A", 1, 1).Pods("z.waits", "train", "A", 1, 1)
	f := s.Open(t, testbed.ByPrefix)
	may := func(task string) bool { return release.Preemptive(f.Session)(f.Queue("train"), f.Task(task)) }
	assert.False(t, may("x.waits-0"), "x has 3 of 3 in train")
	assert.True(t, may("z.waits-0"))
	f.Job("x.waits").PodGroup.Status.Phase = scheduling.PodGroupInqueue
	assert.Contains(t, session.InspectionOf(f.Own).Claim(f.Job("x.waits")).Refused.String(), "namespace <x>")
}

// TestNodeOrderKnowsNamespaces scores nodes for a pod with a list of cards. The namespace of the pod has reached its
// limit of the first card.
func TestNodeOrderKnowsNamespaces(t *testing.T) {
	s := testbed.Namespaced().Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).Pods("x.waits", "train", "A|B", 1, 1).Pods("z.waits", "train", "A|B", 1, 1)
	f := s.Open(t, testbed.ByPrefix)
	prefers := func(task, node, other string) bool {
		score := func(node string) float64 {
			score, err := f.Own.NodeOrder(f.Task(task), f.Nodes[node])
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
	f := testbed.Namespaced().Pods("x.runs", "train", "A", 2, 1, testbed.On("a")).Pods("x.waits", "train", "A", 1, 1).Open(t, testbed.ByPrefix)
	outer := f.Own.Frames.Open()
	x := outer.Vector()
	f.Own.Intake.SetCharge(x, f.Own.Index.Lookup("train"), f.Task("x.waits-0"), "a")
	before := fastres.NewVector(x.Len())
	before.CopyFrom(x)
	require.True(t, f.Own.AllocatableOf(f.Queue("train"), f.Task("x.waits-0")))
	f.Own.Reclaim.Reclaimable(f.Task("x.waits-0"), []*api.TaskInfo{f.Task("x.runs-0")})
	assert.Equal(t, before, x)
	outer.Close()
}

// TestClosedSessionsAreFreed asks for victims and closes the session. What is kept for the next one
// does not keep the cluster of this one alive.
func TestClosedSessionsAreFreed(t *testing.T) {
	b := session.BuilderOf(session.Name)
	closed := func() weak.Pointer[framework.Session] {
		s := testbed.Namespaced().Pods("x.runs", "train", "A", 2, 1, testbed.On("a")).Pods("y.waits", "serve", "A", 1, 1)
		s.Build = b.Build
		f := s.Open(t, testbed.ByPrefix)
		f.Own.Reclaim.Reclaimable(f.Task("y.waits-0"), []*api.TaskInfo{f.Task("x.runs-0")})
		f.Close()
		return weak.Make(f.Session)
	}()
	for range 3 {
		runtime.GC()
	}
	assert.True(t, closed.Value() == nil, "the session is still there")
	runtime.KeepAlive(b)
}
