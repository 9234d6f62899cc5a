package session

import (
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// plannedAction is an action of Volcano that evicts pods. Where a plugin of this package plans evictions, it carries
// out the plans.
//
// DIVERGES: upstream's actions evict for one pod at a time. Register replaces them by actions that plan for whole jobs.
type plannedAction struct {
	framework.Action
	plan func(s *Session)
	// then: Volcano's action decides within jobs after the plans.
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

// displacing returns the jobs with pods that their own pending pods may displace.
func displacing(all map[api.JobID]*api.JobInfo) map[api.JobID]*api.JobInfo {
	jobs := map[api.JobID]*api.JobInfo{}
	for id, job := range all {
		if len(job.TaskStatusIndex[api.Pending]) == 0 {
			continue
		}
		for status, tasks := range job.TaskStatusIndex {
			if api.PreemptableStatus(status) && len(tasks) > 0 {
				jobs[id] = job
			}
		}
	}
	return jobs
}

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
	if !Plans(ssn) {
		a.Action.Execute(ssn)
		return
	}

	a.plan(inForce.of(ssn))
	if a.then {
		a.executeWithin(ssn)
	}
}

// executeWithin has Volcano's action decide within jobs. It sees no other jobs: it would look at all nodes for each of
// them, in v1.14 once more for each queue, and reserve nodes for parts of gangs (actions/preempt/preempt.go 229–276).
func (a plannedAction) executeWithin(ssn *framework.Session) {
	all := ssn.Jobs
	ssn.Jobs = displacing(all)
	if len(ssn.Jobs) > 0 {
		a.Action.Execute(ssn)
	}
	ssn.Jobs = all
}
