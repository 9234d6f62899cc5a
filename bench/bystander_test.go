package bench

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// compared returns the implementations to compare on a content, without a bystander.
func (c *content) compared() []implementation {
	if c.plugin != plugin.CapacityName { // upstream has no cards
		return []implementation{c.floor(), {"ours", newCards}}
	}
	return []implementation{implementations[0], c.floor(), implementations[1]}
}

// comparedWithNone returns the implementations to compare on a content, and a plugin that permits everything.
func (c *content) comparedWithNone() []implementation {
	return append([]implementation{{none.name, bystanderOf(c.plugin)}}, c.compared()...)
}

// bystander permits everything, under the name of the plugin that it stands in for.
type bystander struct{ name string }

func bystanderOf(name string) framework.PluginBuilder {
	return func(framework.Arguments) framework.Plugin { return bystander{name} }
}

func (x bystander) Name() string                    { return x.name }
func (bystander) OnSessionClose(*framework.Session) {}

// Clone has a bystander be its own snapshot (fwk.StateData).
func (x bystander) Clone() fwk.StateData { return x }

func (x bystander) OnSessionOpen(ssn *framework.Session) {
	ssn.AddAllocatableFn(x.Name(), func(*api.QueueInfo, *api.TaskInfo) bool { return true })
	release.AddPreemptiveFn(ssn, x.Name(), func(*api.QueueInfo, []*api.TaskInfo) bool { return true })
	ssn.AddJobEnqueueableFn(x.Name(), func(any) int { return util.Permit })
	ssn.AddQueueOrderFn(x.Name(), func(l, r any) int {
		return strings.Compare(l.(*api.QueueInfo).Name, r.(*api.QueueInfo).Name)
	})
	var snapshot fwk.StateData = x
	ssn.AddPrePredicateFn(x.Name(), func(task *api.TaskInfo) error {
		ssn.GetCycleState(task.UID).Write(fwk.StateKey(x.name), snapshot)
		return nil
	})
	ssn.AddPredicateFn(x.Name(), func(*api.TaskInfo, *api.NodeInfo) error { return nil })
	ssn.AddNodeOrderFn(x.Name(), func(*api.TaskInfo, *api.NodeInfo) (float64, error) { return 0, nil })
}
