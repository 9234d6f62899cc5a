package reclaim

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/index"
)

// The action reclaim evicts the victims of a node in an order of its own, and stops at the first
// with which the node has room. Where the node is not all that the reclaimer lacks, it may stop
// too early: what is guaranteed to others, the quota of a queue above, or the limit of a namespace
// needs more victims, or others. So reclaimable names victims such that the node has room no
// sooner than everything else has. Where there are none, it names those that suffice, and a plan
// has the rest: once Volcano is about to commit the evictions, the plugin evicts the rest itself.
//
// DIVERGES: upstream places a reclaimer that its victims make room for on the node alone.
//
// Only Volcano's vote JobPipelined comes at that time: after the reclaimer was placed, and before
// the statement is committed.

// plan is the victims with which a reclaimer has all that it lacks.
type plan struct {
	evictor *api.TaskInfo
	node    string
	victims []*api.TaskInfo
	rest    []*api.TaskInfo // those that Volcano left, from the placement of the evictor on
	failed  bool            // the rest was not evicted
}

// planOf returns the plan for a task, nil for none.
func (s *Session) planOf(task *api.TaskInfo) *plan {
	for _, p := range s.plans {
		if p.evictor.UID == task.UID {
			return p
		}
	}
	return nil
}

// seesCommits reports whether Volcano asks this plugin before it commits evictions.
func (s *Session) seesCommits() bool {
	return len(s.Volcano.Tiers) > 0 && slices.ContainsFunc(s.Volcano.Tiers[0].Plugins, func(p conf.PluginOption) bool {
		return p.Name == s.Plugin && p.EnabledJobPipelined != nil && *p.EnabledJobPipelined
	})
}

// inOrder returns the victims on a node to name for an evictor, for which all victims suffice.
func (s *Session) inOrder(e *evictor, victims []*api.TaskInfo) []*api.TaskInfo {
	s.plans = slices.DeleteFunc(s.plans, func(p *plan) bool { return p.evictor.UID == e.Task.UID })
	if !s.rules.evicts || len(victims) == 0 || e.Queue == index.None || !onOneNode(victims) {
		return victims
	}
	if s.fitsWithout(e, nil) && s.Books.KeptOn(victims[0].NodeName, e.Task) == nil {
		return victims // Volcano sees all that the evictor lacks: room on the node
	}
	node := s.Volcano.Nodes[victims[0].NodeName]
	if node == nil {
		return nil
	}
	ordered := s.evictionOrder(e.Task, s.agreedOn(e.Task, victims))
	if named := s.together(e, node, ordered); named != nil {
		return named
	}
	if !s.seesCommits() {
		return nil
	}
	for n := range ordered {
		if enough := ordered[:n+1]; makesRoom(e, node, enough) && s.fitsOn(e, node, enough) {
			s.plans = append(s.plans, &plan{evictor: e.Task, node: node.Name, victims: enough})
			return enough
		}
	}
	return nil
}

// together returns victims in the order of their eviction, the last of which makes room on the node
// and in the quotas at once, nil if there are none.
func (s *Session) together(e *evictor, node *api.NodeInfo, ordered []*api.TaskInfo) []*api.TaskInfo {
	if s.rules.roomSpares && makesRoom(e, node, nil) {
		return nil
	}
	var named []*api.TaskInfo
	for _, task := range ordered {
		with := append(named[:len(named):len(named)], task)
		if !makesRoom(e, node, with) {
			named = with
		} else if s.fitsOn(e, node, with) {
			return with
		}
	}
	return nil
}

// makesRoom reports whether a node has room for an evictor without some tasks, as Volcano counts.
func makesRoom(e *evictor, node *api.NodeInfo, without []*api.TaskInfo) bool {
	free := node.FutureIdle()
	for _, task := range without {
		free.Add(task.Resreq)
	}
	return e.Task.InitResreq.LessEqual(free, api.Zero)
}

// fitsOn reports whether an evictor has all that it lacks without some tasks on a node,
// beside what is earmarked there for others.
func (s *Session) fitsOn(e *evictor, node *api.NodeInfo, tasks []*api.TaskInfo) bool {
	return s.fitsWithout(e, tasks) && s.Books.LeavesRoom(e.Task, node, false, tasks, s.leftOn(node.Name))
}

// left returns the victims that plans have left.
func (s *Session) left() (left []*api.TaskInfo) {
	for _, p := range s.plans {
		left = append(left, p.rest...)
	}
	return left
}

// leftOn returns the victims on a node that plans have left.
func (s *Session) leftOn(node string) (left []*api.TaskInfo) {
	for _, p := range s.plans {
		if p.node == node {
			left = append(left, p.rest...)
		}
	}
	return left
}

// Follow takes the rest of the victims from the future, when the evictor of a plan is placed.
func (s *Session) Follow(task *api.TaskInfo) {
	p := s.planOf(task)
	if p == nil || task.NodeName != p.node || len(p.rest) > 0 {
		return
	}
	for _, victim := range p.victims {
		if own := s.ownTask(victim); own != nil && own.Status == api.Running {
			p.rest = append(p.rest, own)
		}
	}
	if len(p.rest) == 0 {
		return
	}
	s.shiftFuture(p.rest, false)
	s.noteRest(p, 1)
	task.EvictionOccurred = true
}

// ownTask returns the session's own object of a task, nil if it has none.
func (s *Session) ownTask(task *api.TaskInfo) *api.TaskInfo {
	if job := s.Volcano.Jobs[task.Job]; job != nil {
		return job.Tasks[task.UID]
	}
	return nil
}

// Abandon gives the rest of the victims back, when the evictor of a plan loses its place.
func (s *Session) Abandon(task *api.TaskInfo) {
	if p := s.planOf(task); p != nil && len(p.rest) > 0 {
		s.returnRest(p)
	}
}

func (s *Session) returnRest(p *plan) {
	s.shiftFuture(p.rest, true)
	s.noteRest(p, -1)
	p.rest = nil
}

// noteRest counts the rest of the victims of a plan as evicted, or takes it back.
func (s *Session) noteRest(p *plan, n int) {
	to := s.QueueOf(p.evictor)
	for _, victim := range p.rest {
		s.NoteEvicted(s.QueueOf(victim), to, n)
	}
}

// shiftFuture charges running tasks to the future again, or refunds them.
func (s *Session) shiftFuture(tasks []*api.TaskInfo, charge bool) {
	frame := s.Frames.Open()
	defer frame.Close()
	request := frame.Vector()
	for _, task := range tasks {
		q := s.QueueOf(task)
		s.Intake.SetCharge(request, q, task, task.NodeName)
		if account := s.Intake.AccountOf(task.Job); charge {
			s.Books.Charge(q, account, request)
		} else {
			s.Books.Refund(q, account, request)
		}
	}
}

// JobPipelined evicts the rest of the victims for the pods of a job, when the action is about to
// commit the evictions of the others. It rejects a gang that is left to the action allocate, and leaves
// the vote to the other plugins otherwise.
func (s *Session) JobPipelined(obj any) int {
	job := obj.(*api.JobInfo)
	if s.gangLeftToAllocate(job) {
		return util.Reject
	}
	if s.evictions.committing || !slices.ContainsFunc(s.plans, func(p *plan) bool { return p.leavesRest(job.UID) }) {
		return util.Abstain
	}
	s.evictions.committing = true
	defer func() { s.evictions.committing = false }()
	if !s.Volcano.JobPipelined(job) {
		return util.Abstain // the evictions are discarded
	}
	for _, p := range s.plans {
		if p.leavesRest(job.UID) {
			s.evictRest(p)
		}
	}
	return util.Abstain
}

// leavesRest reports whether the plan is for a job, and Volcano left some of its victims.
func (p *plan) leavesRest(job api.JobID) bool { return p.evictor.Job == job && len(p.rest) > 0 }

func (s *Session) evictRest(p *plan) {
	rest, before, named := p.rest, s.evictions.evictor, s.evictions.named
	s.returnRest(p)
	if len(s.agreedOn(p.evictor, rest)) < len(rest) {
		p.failed = true // a pod of their job was evicted meanwhile
		return
	}
	s.evictions.evictor, s.evictions.named = p.evictor, rest
	defer func() { s.evictions.evictor, s.evictions.named = before, named }()
	for _, victim := range rest {
		if err := s.Volcano.Evict(victim, "reclaim"); err != nil {
			p.failed = true
			klog.Errorf("[%s] failed to evict task %s/%s: %v", s.Plugin, victim.Namespace, victim.Name, err)
		}
	}
}
