package session

import (
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// plannedAction is an action of Volcano that evicts pods. Where a plugin of this package plans evictions, it carries
// out the plans.
//
// DIVERGES: upstream's actions evict for one pod at a time. Register replaces them by actions that plan for whole jobs.
type plannedAction struct {
	framework.Action
	plan func(s *Session)
	// then: Volcano's action runs after the plans, too.
	then bool
}

// NewReclaim returns the action reclaim. Where cards count, or policies decide who is evicted, it carries out plans for
// whole jobs (quota/plan). Elsewhere it is Volcano's.
func NewReclaim() framework.Action {
	return plannedAction{Action: reclaim.New(), plan: planReclaim}
}

// NewPreempt returns the action preempt, which carries out plans as NewReclaim does. Volcano's action then decides
// between the tasks of one job.
func NewPreempt() framework.Action {
	return plannedAction{Action: preempt.New(), plan: planPreempt, then: true}
}

func planReclaim(s *Session) { s.Reclaim.Reclaim() }
func planPreempt(s *Session) { s.Reclaim.Preempt() }

// RegisterActions replaces the actions that Volcano has registered by actions with plans. Register calls it. A shared
// object of one plugin calls it when it is loaded.
func RegisterActions() {
	framework.RegisterAction(NewReclaim())
	framework.RegisterAction(NewPreempt())

	gangs := map[string]func(*Session){"gangreclaim": planReclaim, "gangpreempt": planPreempt}
	for name, plan := range gangs {
		action, known := framework.GetAction(name) // from v1.15 on
		_, planned := action.(plannedAction)
		if known && !planned {
			framework.RegisterAction(plannedAction{Action: action, plan: plan})
		}
	}
}

// Plans reports whether the actions reclaim and preempt carry out plans in a session. It is false where no plugin of
// this package is in force.
func Plans(ssn *framework.Session) bool {
	s := inForce.of(ssn)
	return s != nil && s.Reclaim.Plans()
}

// Execute evicts pods for other pods.
func (a plannedAction) Execute(ssn *framework.Session) {
	plans := Plans(ssn)
	if plans {
		a.plan(inForce.of(ssn))
	}

	// After preempt with plans, Volcano's action decides within jobs.
	if !plans || a.then {
		a.Action.Execute(ssn)
	}
}
