package reclaim

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

// EvictableForGang returns the tasks among candidates that may be evicted for a whole job. Volcano
// simulates the placement of the job without them, and evicts none if it fails, so the victims
// need not suffice here. A task with cards must free one that a pod of the job can use.
func (s *Rules) EvictableForGang(eviction release.Eviction, candidates []*api.TaskInfo) ([]*api.TaskInfo, int) {
	to := index.None
	if eviction.Job != nil {
		to = s.Index.Lookup(string(eviction.Job.Queue))
	}
	if eviction.Job != nil && s.beginGang(eviction.Job) {
		return nil, util.Permit
	}

	pods := s.pendingCards(to, eviction.Job)
	useful := func(task *api.TaskInfo) bool {
		q := s.QueueOf(task)
		return q != index.None && s.Index.Broken(q) == nil && s.freesForAny(to, pods, q, task)
	}

	if eviction.Kind == release.GangPreempt {
		useless := func(task *api.TaskInfo) bool { return !useful(task) }
		return slices.DeleteFunc(slices.Clone(s.unspared(candidates)), useless), util.Permit
	}
	if !s.gangMayTake(to, eviction.Job) {
		return nil, util.Permit
	}

	frame := s.Frames.Open()
	defer frame.Close()
	g := s.gangOf(frame, to, eviction.Job)
	charge := frame.Vector()

	s.beginVictims()
	var victims []*api.TaskInfo
	for _, task := range candidates {
		if useful(task) && s.evictForGang(g, task, charge) {
			victims = append(victims, task)
		}
	}

	if klog.V(4).Enabled() {
		klog.Infof("[%s] gang reclaim may evict %d of %d tasks: %v", s.Plugin, len(victims), len(candidates), victims)
	}

	s.evictions.nameMore(victims) // Volcano asks about one bundle of pods after the other
	return victims, util.Permit
}

// evictForGang decides about one victim for a gang, and counts it as gone. charge is memory for the charge of the
// victim.
func (s *Rules) evictForGang(g *gang, task *api.TaskInfo, charge fastres.Vector) bool {
	q := s.QueueOf(task)
	protection := s.Protection(g.Reclaimer, q, task)
	s.Intake.SetCharge(charge, q, task, task.NodeName)
	if protection == quota.Spared || protection == quota.ByDeserved && s.keeps(q, charge) {
		return false
	}

	if !s.AllowsVictim(q, g.Queue) || !s.takeForGang(g, q, task.NodeName, charge, protection) {
		return false
	}

	s.CountVictim(q, g.Queue, 1)
	return true
}

// gangMayTake decides whether the policies allow each pending task of a job to take from other
// queues.
func (s *Rules) gangMayTake(q index.Queue, job *api.JobInfo) bool {
	if job == nil {
		return true
	}

	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !s.MayTake(q, task).OK() {
			return false
		}
	}
	return true
}

// beginGang notes the job of the next evictions. It reports whether all pending tasks of the job wait for pods
// that were evicted for them before.
func (s *Rules) beginGang(job *api.JobInfo) (waits bool) {
	var evictor *api.TaskInfo
	others := false
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if task.SchGated || task.BestEffort {
			continue
		}
		evictor = task
		others = others || !s.Books.Waits(task)
	}

	s.evictions.prepareJob(job.UID, evictor)
	return evictor != nil && !others
}

// gang is a whole job that others would be evicted for.
type gang struct {
	constraint.Reclaimer
	// compares: reclaimCompares is not queue. The request of the gang counts, and the fields below have it.
	compares bool
	pods     []*cards.PodRequest // of the pending tasks with cards
	request  fastres.Vector      // of the pending tasks together, without cards
	charge   fastres.Vector      // memory for the request with cards
}

// gangOf returns the gang of a job of q. Volcano simulates the placement of all its pending tasks.
func (s *Rules) gangOf(frame constraint.Frame, q index.Queue, job *api.JobInfo) *gang {
	g := &gang{Reclaimer: constraint.Reclaimer{Queue: q, Gang: job}}
	g.compares = q != index.None && (s.settings.Damping != 0 || s.settings.Levels != 0)
	if !g.compares {
		return g
	}

	var tasks []*api.TaskInfo
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated {
			tasks = append(tasks, task)
		}
	}

	g.request = frame.Vector()
	g.charge = frame.Vector()
	pods, _ := s.requestAll(q, g.request, tasks)
	g.pods = slices.Clone(pods)
	return g
}

// takeForGang applies the rule of reclaim to one victim of q on a node. With
// reclaimCompares: queue, the request of the gang does not matter. Otherwise the request has the cards of the victim's
// node for the tasks that can use them, and the first card of the list for all others.
//
// DIVERGES: upstream's gang reclaim ignores ancestorReclaimLevel.
func (s *Rules) takeForGang(g *gang, q index.Queue, node string, victim fastres.Vector,
	protection quota.Protection) bool {
	if !g.compares {
		return s.memory.victims.TakeForGang(q, victim, g.Queue, protection)
	}

	g.charge.CopyFrom(g.request)
	for _, pod := range g.pods {
		n := s.Cards.Node(node)
		if n != nil && s.Cards.Usable(g.Queue, pod, n) {
			s.Cards.AddOn(g.charge, pod, n)
			continue
		}
		for r := range s.Cards.Requests(pod) {
			if len(r.Selector.Dims) > 0 {
				d := r.Selector.Dims[0]
				s.Names.AddCard(g.charge, d, float64(r.Of(d)))
			}
		}
	}

	return s.take(q, victim, g.Queue, g.charge, g.charge, protection)
}

// pendingCards returns the different requests for cards of the pending tasks of a job.
func (s *Rules) pendingCards(q index.Queue, job *api.JobInfo) (pods []*cards.PodRequest) {
	if job == nil || s.Cards == nil {
		return nil
	}

	for _, task := range job.TaskStatusIndex[api.Pending] {
		pod := s.Cards.PodRequest(q, task.Pod)
		if !pod.None() && s.Cards.Uses(pod) && !slices.Contains(pods, pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// freesForAny reports whether a task of q has no cards, or frees one that a pod of the queue
// to can use and may take.
func (s *Rules) freesForAny(to index.Queue, pods []*cards.PodRequest, q index.Queue, task *api.TaskInfo) bool {
	if s.Cards == nil {
		return true
	}
	occupied := s.Cards.Stated(task.Pod)
	if !s.Cards.Occupies(occupied) {
		return true
	}
	node := s.Cards.Node(task.NodeName)
	if node == nil {
		return false
	}

	mayTake := func(r cards.Request, d fastres.Dim) bool {
		return q == to || s.deserves(s.Books.Future.Queues, to, d, float64(r.Of(d)), fastres.Vector{}).OK()
	}
	return slices.ContainsFunc(pods, func(pod *cards.PodRequest) bool {
		return s.Cards.Usable(to, pod, node) && s.Cards.Frees(pod, occupied, node, mayTake)
	})
}
