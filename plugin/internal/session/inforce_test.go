package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// openSeveral opens a session in which all of names are configured in one tier,
// each with a builder of its own, and returns our plugins in that order.
func openSeveral(t *testing.T, s *testbed.Scene, names ...string) (*framework.Session, []*session.Plugin) {
	t.Helper()
	variants := map[string]arguments.Variant{}
	for _, b := range []*session.Builder{session.CardBuilder, session.CapacityBuilder, session.ProportionBuilder} {
		variants[b.Variant.Name] = b.Variant
	}
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	var ours []*session.Plugin
	builders := map[string]*session.Builder{}
	for _, name := range names {
		if builders[name] == nil {
			b := &session.Builder{Variant: variants[name]}
			builders[name] = b
			framework.RegisterPluginBuilder(name, func(a framework.Arguments) framework.Plugin {
				p := b.Build(a).(*session.Plugin)
				ours = append(ours, p)
				return p
			})
		}
	}
	info, err := cluster.Build(s.Cluster, t.Name())
	require.NoError(t, err)
	tiers := offline.Tiers(s.Hierarchy, append([]string{priority.PluginName, gang.PluginName}, names...)...)
	return offline.Open(offline.NewCache(info), tiers), ours
}

// preemptingScene is a full node, and a waiting job of higher priority in the same
// queue.
func preemptingScene() *testbed.Scene {
	return testbed.NewScene().Node("a", "A", 2).Queue("q", "", "quota", `{"A":2}`).
		Pods("low", "q", "A", 2, 1, testbed.On("a"), testbed.Members(0)).
		Pods("high", "q", "A", 1, 1, testbed.InPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 })
}

// TestSecondPluginPermitsEverything configures two quota plugins in one tier. The
// first serves the session, the second registers nothing, and preempt ends: each
// would call the preemptable hook of the other.
func TestSecondPluginPermitsEverything(t *testing.T) {
	for _, names := range [][]string{{session.Name, session.CapacityName}, {session.CapacityName, session.Name}, {session.Name, session.ProportionName}, {session.ProportionName, session.CapacityName, session.Name}} {
		ssn, ours := openSeveral(t, preemptingScene(), names...)
		require.Len(t, ours, len(names))
		require.NotNil(t, ours[0].Session)
		for _, second := range ours[1:] {
			assert.Nil(t, second.Session, names)
			assert.Empty(t, second.Builder().Idle(), "it needs no memory")
		}
		assert.Positive(t, session.InForce.Warnings().Len(), "a warning names both")
		session.NewPreempt().Execute(ssn)
		for _, p := range ours {
			p.OnSessionClose(ssn)
		}
		assert.Len(t, ours[0].Builder().Idle(), 1, "its memory serves the next session")
	}
}

// TestPluginConfiguredTwice charges each task once, and gives its memory back
// though Volcano closes only the last plugin of a name.
func TestPluginConfiguredTwice(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 4).Queue("q", "", "quota", `{"A":4}`).Pods("job", "q", "A", 1, 1, testbed.InPhase(workload.Inqueue))
	ssn, ours := openSeveral(t, s, session.Name, session.Name)
	require.Len(t, ours, 2)
	own := ours[0].Session
	require.Same(t, own, ours[1].Session)
	task := ssn.Jobs["default/job"].Tasks["default-job-0"]
	task.NodeName, task.Status = "a", api.Allocated
	st := framework.NewStatement(ssn)
	task.NodeName, task.Status = "", api.Pending
	require.NoError(t, st.Allocate(task, ssn.Nodes["a"]))
	d, known := own.Memory.Names.LookupCard("A")
	require.True(t, known)
	assert.Equal(t, 1000.0, own.Index.Allocated(own.Index.Lookup("q")).Get(d))

	ours[1].OnSessionClose(ssn)
	ours[0].OnSessionClose(ssn)
	assert.Len(t, ours[0].Builder().Idle(), 1)
}
