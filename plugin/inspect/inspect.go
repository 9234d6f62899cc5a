// Package inspect lets programs read the accounts and reasons of an open session, and the meaning of a configuration.
// It changes no decision.
package inspect

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/admit"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/constraint/fairness"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Inspection reads an open session: why a job or task is refused, and the accounts of the queues. Only the goroutine
// that runs the session may use it.
type Inspection struct{ s *Parts }

// Parts has the parts of an open session that an Inspection reads.
type Parts struct {
	*constraint.Session
	Settings  *arguments.Settings
	Admit     *admit.Admission
	Reclaim   *reclaim.Rules
	Explain   *report.Explainer
	Fences    *quota.Fences
	Fairness  *fairness.Memory
	Queues    *objects.Queues
	Evictions *evictions.Memory
	Budgets   *budget.Memory
	Order     func(l, r *api.QueueInfo) int // of queues
	Decide    func(constraint.Question) constraint.Answer
}

// Of returns the inspection of a session.
func Of(s Parts) Inspection { return Inspection{&s} }

// Enqueue returns why a job may not have its pods created now, nil if it may.
func (i Inspection) Enqueue(job *api.JobInfo) *report.Reason { return i.s.Admit.Reason(job) }

// Allocate returns why a task may not be allocated now, on any node, nil if it may.
func (i Inspection) Allocate(task *api.TaskInfo) *report.Reason {
	s := i.s
	frame := s.Frames.Open()
	defer frame.Close()

	answer := s.Decide(constraint.Question{Task: task, Queue: s.QueueOf(task), Request: frame.Vector()})
	return s.Explain.ExplainNode(answer.Fit, s.Refusal(frame, &answer))
}

// Levels returns the bounds of a queue and its ancestors that a quantity of a resource exceeds, from the queue up.
// admission selects the rule of enqueue instead of the rule of allocate.
func (i Inspection) Levels(queue, resource string, quantity float64, admission bool) (all []report.Shortage) {
	s := i.s
	q := s.Index.Lookup(queue)
	d, known := s.Names.LookupCard(resource)
	if !known {
		d, known = s.Names.Lookup(resource)
	}
	if q == index.None || !known {
		return nil
	}

	for _, shortfall := range s.Levels(q, d, quantity/format.Readable(d, 1), admission) {
		shortage := s.Explain.Shortage(shortfall)
		if !slices.Contains(all, shortage) { // several levels inherit one bound
			all = append(all, shortage)
		}
	}
	return all
}

// Node returns why a task cannot have its cards on a node, nil if it can.
func (i Inspection) Node(task *api.TaskInfo, node string) *report.Reason {
	s := i.s
	if s.Cards == nil {
		return nil
	}
	on := s.Volcano.Nodes[node]
	if on == nil {
		on = &api.NodeInfo{Name: node}
	}

	s.PrepareTask(task)
	answer := s.Decide(constraint.Question{Task: task, Queue: s.QueueOf(task), Node: on})
	return s.Explain.ExplainNode(answer.Fit, s.Refusal(constraint.Frame{}, &answer))
}

// Gated reports whether a pod has a scheduling gate that stays although the quotas have room.
func (i Inspection) Gated(task *api.TaskInfo) bool {
	return task.SchGated && (i.s.Settings.Bounds.Gates.Gated(task) || !reserve.OptedIn(task))
}
