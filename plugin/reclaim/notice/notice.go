// Package notice keeps plans with victims that get notice before they are evicted (constraint.Notifier).
//
// Nobody is evicted for such a plan at first: its victims are told, and the plan is kept from session to session.
//
//	        ┌─────────┐  the last notice is over   ┌─────┐
//	Add ──▶ │ Running │ ─────────────────────────▶ │ Due │
//	        └─────────┘                            └─────┘
//	             │ not needed any more                │ carried out, refused, not needed any more,
//	             │                                    │ or Lateness has passed
//	             ▼                                    ▼
//	           Ended                                Ended
//
// While a plan is Running, it is booked: the future accounts are without its victims, and its pods have their places.
// Once it is Due, it is booked until its action serves the job, and makes a new plan with its victims. In both states,
// the victims are kept for the job of the claimant, and are offered to no other job.
//
// Time stands still in a session, so a plan changes from Running to Due only between two sessions. When a session
// opens, each plan is Suspended until the session has decided whether it is still needed.
package notice

import (
	"iter"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/earmark"
)

// Lateness bounds how long the victims of a plan are kept after their notice, for a claimant that nobody asks about.
const Lateness = time.Minute

// State is the state of a plan.
type State int

// The states of a plan. StateAt computes the last three from the time.
const (
	Suspended State = iota // the session has not decided yet whether the plan is needed
	Running                // a notice is not over
	Due                    // all notices are over: the victims may be evicted
	Ended                  // the plan is kept no longer
)

// StateAt returns the state of a plan with notices that last until a time.
func StateAt(until, now time.Time) State {
	switch over := now.Sub(until); {
	case over < 0:
		return Running
	case over <= Lateness:
		return Due
	}
	return Ended
}

// Plan is a plan of evictions for a claimant: some pods of a job that wait.
type Plan struct {
	Job     api.JobID
	Queue   api.QueueID
	Within  bool // the victims are of the claimant's own queue
	Pods    []Pod
	Victims []Victim

	state State
	until time.Time       // the end of the last notice
	marks []*earmark.Mark // the places of the pods, while the plan is booked
}

// Pod is a pod of the claimant, and its place in the plan.
type Pod struct {
	Task api.TaskID
	earmark.Place
}

// Victim is a pod that is evicted at the end of its notice.
type Victim struct {
	Job  api.JobID
	Task api.TaskID
	Node string
}

// VictimOf returns a running task as a victim.
func VictimOf(task *api.TaskInfo) Victim {
	return Victim{Job: task.Job, Task: task.UID, Node: task.NodeName}
}

// Until returns when the last notice of a plan is over.
func (p *Plan) Until() time.Time { return p.until }

// Board is the plans that are kept. It lasts across sessions. The zero Board is ready.
type Board struct {
	plans []*Plan
	kept  map[api.TaskID]api.JobID // the victims, by the job that they are kept for
}

// Suspend begins a session: all plans are Suspended, and no victim is kept.
func (b *Board) Suspend() {
	b.kept = nil
	for _, p := range b.plans {
		p.state = Suspended
		p.marks = nil
	}
}

// Plans returns all plans, in the order of Add.
func (b *Board) Plans() []*Plan { return slices.Clone(b.plans) }

// Add keeps a new plan, which is Running until a time. marks are the places of its pods in the session.
func (b *Board) Add(p *Plan, until time.Time, marks []*earmark.Mark) {
	b.plans = append(b.plans, p)
	b.Run(p, until, marks)
}

// Run makes a plan Running until a time. marks are the places of its pods in the session.
func (b *Board) Run(p *Plan, until time.Time, marks []*earmark.Mark) {
	p.state = Running
	p.until = until
	p.marks = marks
	b.keep(p)
}

// Expire makes a plan Due: its notices ended at a time. marks are the places of its pods in the session.
func (b *Board) Expire(p *Plan, until time.Time, marks []*earmark.Mark) {
	p.state = Due
	p.until = until
	p.marks = marks
	b.keep(p)
}

// keep keeps the victims of a plan for its job.
func (b *Board) keep(p *Plan) {
	if b.kept == nil {
		b.kept = map[api.TaskID]api.JobID{}
	}
	for _, v := range p.Victims {
		b.kept[v.Task] = p.Job
	}
}

// End ends a plan. It returns the places that the session has to take back.
func (b *Board) End(p *Plan) []*earmark.Mark {
	if p.state != Suspended { // otherwise the victims may be kept for another plan
		for _, v := range p.Victims {
			delete(b.kept, v.Task)
		}
	}
	b.plans = slices.DeleteFunc(b.plans, func(other *Plan) bool { return other == p })

	marks := p.marks
	p.state = Ended
	p.marks = nil
	return marks
}

// Close lets go of the tasks of the session, so that they can be garbage collected.
func (b *Board) Close() {
	for _, p := range b.plans {
		p.marks = nil
	}
}

// KeptFor returns the job that a victim is kept for, "" for none.
func (b *Board) KeptFor(victim api.TaskID) api.JobID { return b.kept[victim] }

// DueFor returns the plan of a job that is Due, nil for none.
func (b *Board) DueFor(job api.JobID, within bool) *Plan {
	i := slices.IndexFunc(b.plans, func(p *Plan) bool { return p.Job == job && p.Within == within && p.state == Due })
	if i < 0 {
		return nil
	}
	return b.plans[i]
}

// With returns the plans that have a task as a victim.
func (b *Board) With(victim api.TaskID) (plans []*Plan) {
	for _, p := range b.plans {
		if slices.ContainsFunc(p.Victims, func(v Victim) bool { return v.Task == victim }) {
			plans = append(plans, p)
		}
	}
	return plans
}

// Unbook returns the places of the plans of a job that are Due, which the session has to take back.
func (b *Board) Unbook(job api.JobID, within bool) (places []*earmark.Mark) {
	for _, p := range b.plans {
		if p.Job == job && p.Within == within && p.state == Due {
			places = append(places, p.marks...)
			p.marks = nil
		}
	}
	return places
}

// Booked returns the places of all plans that are booked.
func (b *Board) Booked() (places []*earmark.Mark) {
	for _, p := range b.plans {
		places = append(places, p.marks...)
	}
	return places
}

// Kept iterates over the victims that are kept, each with its plan.
func (b *Board) Kept() iter.Seq2[Victim, *Plan] {
	return func(yield func(Victim, *Plan) bool) {
		for _, p := range b.plans {
			for _, v := range p.Victims {
				if b.kept[v.Task] == p.Job && !yield(v, p) {
					return
				}
			}
		}
	}
}
