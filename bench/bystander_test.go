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

// withBystander compares with a plugin that permits everything.
var withBystander = append([]implementation{{none.name, newBystander}}, implementations...)

type bystander struct{}

func newBystander(framework.Arguments) framework.Plugin { return bystander{} }

func (bystander) Name() string                      { return plugin.CapacityName }
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
		ssn.GetCycleState(task.UID).Write(plugin.CapacityName, snapshot)
		return nil
	})
}
