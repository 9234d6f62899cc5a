package plugin

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/quota"
)

// Standing is what the policies say of who may reclaim a running task.
type Standing struct {
	Spared string // why no queue may reclaim it now, for the end of "it …"; "" where some may
	Fence  string // the queue outside of which nobody may, "" for none
	// Training: jobs of inference may reclaim it down to what is guaranteed.
	Training bool
}

// Standing returns what the policies say of a running task.
func (i Inspection) Standing(task *api.TaskInfo) (st Standing) {
	s := i.session
	q := s.queueOf(task)
	if !s.governs || q == index.None {
		return st
	}
	if fence := s.memory.fences.Of(q); fence != index.None {
		st.Fence = s.ix.Name(fence)
	}
	class := quota.Unclassified
	if s.settings.byClass {
		class = s.classOf(task)
	}
	least, ran := s.intake.Policies(q).MinRuntime(), s.runtimeOf(task.Pod)
	switch {
	case class == quota.Inference:
		st.Spared = "has the service class " + policy.Inference
	case ran < least:
		st.Spared = fmt.Sprintf("runs for less than %s, its queue's %s", least, policy.MinRuntimeKey)
	}
	st.Training = class == quota.Training
	return st
}
