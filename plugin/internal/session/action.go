package session

import (
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// plannedAction is an action of Volcano that evicts pods. It carries out plans where a plugin of this package makes
// some.
//
// DIVERGES: upstream's actions evict for one pod at a time. Register puts actions that plan for whole jobs in their
// place.
type plannedAction struct {
	framework.Action
	plan func(s *Session)
	// then: Volcano's action runs after the plans, too.
	then bool
}

// NewReclaim returns the action reclaim. Where cards count, or policies decide who is evicted, it carries out plans for
// whole jobs (quota/plan). Elsewhere it is Volcano's.
func NewReclaim() framework.Action { return plannedAction{Action: reclaim.New(), plan: planReclaim} }

// NewPreempt returns the action preempt, which carries out plans as NewReclaim does. What tasks of one job take from
// one another is left to Volcano's action.
func NewPreempt() framework.Action {
	return plannedAction{Action: preempt.New(), plan: planPreempt, then: true}
}

func planReclaim(s *Session) { s.Reclaim.Reclaim() }
func planPreempt(s *Session) { s.Reclaim.Preempt() }

// RegisterActions puts the actions with plans in the place of those that Volcano has registered. Register calls it. A
// shared object of one plugin calls it when it is loaded.
func RegisterActions() {
	framework.RegisterAction(NewReclaim())
	framework.RegisterAction(NewPreempt())
	for name, plan := range map[string]func(*Session){"gangreclaim": planReclaim, "gangpreempt": planPreempt} {
		action, known := framework.GetAction(name) // from v1.15 on
		if _, planned := action.(plannedAction); known && !planned {
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
	if !plans || a.then {
		a.Action.Execute(ssn)
	}
}
