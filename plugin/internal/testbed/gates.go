package testbed

import (
	"testing"

	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// RemoveQueueGates turns the feature gate of queue allocation gates on for a test, where the
// release has it.
func RemoveQueueGates(t *testing.T) {
	t.Helper()
	if release.Built() < release.V115 {
		require.False(t, release.RemovesQueueGates())
		return
	}

	set := func(on string) {
		require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set("SchedulingGatesQueueAdmission="+on))
	}
	set("true")
	t.Cleanup(func() { set("false") })
	require.True(t, release.RemovesQueueGates())
}

// GatedScene is a scene with the rules of v1.15, in which Volcano removes queue allocation
// gates.
func GatedScene(t *testing.T) *Scene {
	RemoveQueueGates(t)
	s := NewScene()
	s.Arguments = framework.Arguments{arguments.Semantics: release.V115}
	return s
}

// OptedIn gives the pods of an admitted job the annotation, and the gate unless it is removed.
func OptedIn(removed bool) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase = workload.Inqueue
		for i := range j.Tasks {
			t := &j.Tasks[i]
			if t.Annotations == nil {
				t.Annotations = map[string]string{}
			}
			t.Annotations[reserve.QueueGate] = "true"
			t.QueueGated = !removed
		}
	}
}

// OpenGated opens a session with reservations. Before v1.15 it is a second one of the plugin,
// because the feature gate is missing.
func (s *Scene) OpenGated(t *testing.T) *Fixture {
	t.Helper()
	f := s.Open(t)
	if release.Built() < release.V115 {
		with := f.Own.Settings
		with.Gates = true
		f.Own = session.Open(f.Session, f.Own.Variant, with, session.NewMemory())
	}
	require.NotNil(t, f.Own.Gates)
	return f
}
