package session

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
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// openSeveral opens a session in which all of names are configured in one tier,
// each with a builder of its own, and returns our plugins in that order.
func openSeveral(t *testing.T, s *scene, names ...string) (*framework.Session, []*Plugin) {
	t.Helper()
	variants := map[string]arguments.Variant{}
	for _, b := range []*Builder{cardBuilder, capacityBuilder, proportionBuilder} {
		variants[b.Variant.Name] = b.Variant
	}
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	var ours []*Plugin
	builders := map[string]*Builder{}
	for _, name := range names {
		if builders[name] == nil {
			b := &Builder{Variant: variants[name]}
			builders[name] = b
			framework.RegisterPluginBuilder(name, func(a framework.Arguments) framework.Plugin {
				p := b.Build(a).(*Plugin)
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
func preemptingScene() *scene {
	return newScene().node("a", "A", 2).queue("q", "", "quota", `{"A":2}`).
		pods("low", "q", "A", 2, 1, on("a"), members(0)).
		pods("high", "q", "A", 1, 1, inPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 })
}

// TestSecondPluginPermitsEverything configures two quota plugins in one tier. The
// first serves the session, the second registers nothing, and preempt ends: each
// would call the preemptable hook of the other.
func TestSecondPluginPermitsEverything(t *testing.T) {
	for _, names := range [][]string{{Name, CapacityName}, {CapacityName, Name}, {Name, ProportionName}, {ProportionName, CapacityName, Name}} {
		ssn, ours := openSeveral(t, preemptingScene(), names...)
		require.Len(t, ours, len(names))
		require.NotNil(t, ours[0].Session)
		for _, second := range ours[1:] {
			assert.Nil(t, second.Session, names)
			assert.Empty(t, second.builder.idle, "it needs no memory")
		}
		assert.Positive(t, inForce.warnings.Len(), "a warning names both")
		NewPreempt().Execute(ssn)
		for _, p := range ours {
			p.OnSessionClose(ssn)
		}
		assert.Len(t, ours[0].builder.idle, 1, "its memory serves the next session")
	}
}

// TestPluginConfiguredTwice charges each task once, and gives its memory back
// though Volcano closes only the last plugin of a name.
func TestPluginConfiguredTwice(t *testing.T) {
	s := newScene().node("a", "A", 4).queue("q", "", "quota", `{"A":4}`).pods("job", "q", "A", 1, 1, inPhase(workload.Inqueue))
	ssn, ours := openSeveral(t, s, Name, Name)
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
	assert.Len(t, ours[0].builder.idle, 1)
}
