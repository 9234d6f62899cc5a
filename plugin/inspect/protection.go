package inspect

import (
	"fmt"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/constraint/classes"
	"github.com/capacity-card/capacity-card/quota"
)

// Protection says which queues may reclaim a running task, by policy.
type Protection struct {
	Spared string // why no queue may reclaim it now, for the end of "it …"; "" if some may
	// Training: jobs of inference may reclaim it down to the guarantee.
	Training bool
}

// Policies returns the policies that arguments set for all queues, by argument.
func (i Inspection) Policies() map[string]string {
	s := i.s.Settings
	all := map[string]string{}
	if s.ByClass {
		all[arguments.ReclaimByClass] = "true"
	}
	if s.ByWork {
		all[arguments.VictimOrder] = string(arguments.VictimsByWork)
	}
	return all
}

// Fence returns the queue with the fence that keeps the queue to from reclaiming pods of another queue, "" for none.
func (i Inspection) Fence(queue, to string) string {
	s := i.s
	q, reclaimer := s.Index.Lookup(queue), s.Index.Lookup(to)
	if !s.HasPolicies() || !s.Fences.Separate(q, reclaimer) {
		return ""
	}

	// A reclaimer inside the fence of q is stopped by a fence of its own, further down.
	fence := s.Fences.Of(q)
	if fence == index.None || reclaimer != index.None && slices.Contains(s.Index.Path(reclaimer), fence) {
		fence = s.Fences.Of(reclaimer)
	}
	return s.Index.Name(fence)
}

// Unsaved returns the work that a running task loses if it is evicted. since reports whether a checkpoint bounds it.
func (i Inspection) Unsaved(task *api.TaskInfo) (lost time.Duration, since bool) {
	lost = constraint.Unsaved(task, i.s.Volcano.Jobs[task.Job], i.s.Now)
	return lost, lost != constraint.Ran(task.Pod, i.s.Now)
}

// Notice returns the end of the notice of a task, before which it may not be evicted. told reports whether the task has
// a notice that has not ended.
func (i Inspection) Notice(task *api.TaskInfo) (until time.Time, told bool) {
	s, q := i.s, i.s.QueueOf(task)
	until = s.NoticeOf(q, task)
	return until, s.HasNotice(q, task) && until.After(s.Now)
}

// Protection returns which queues may reclaim a running task, by policy.
func (i Inspection) Protection(task *api.TaskInfo) (p Protection) {
	s := i.s
	q := s.QueueOf(task)
	if !s.HasPolicies() || q == index.None {
		return p
	}

	class := quota.Unclassified
	if s.Settings.ByClass {
		class = classes.Of(s.Session, s.Settings.Owners, task)
	}
	p.Training = class == quota.Training

	least := s.Intake.Policies(q).MinRuntime()
	switch {
	case class == quota.Inference:
		p.Spared = "has the service class " + policy.Inference
	case constraint.Ran(task.Pod, s.Now) < least:
		p.Spared = fmt.Sprintf("runs for less than %s, its queue's %s", least, policy.MinRuntimeKey)
	}
	return p
}
