package plugin

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

// evictableForGang returns the tasks among candidates that may be evicted for a whole job.
// Volcano simulates the placement of the job without them, and evicts none if it fails, so
// the victims need not suffice here. A task with cards must free one that a pod of the job
// can use.
func (s *session) evictableForGang(eviction release.Eviction, candidates []*api.TaskInfo) ([]*api.TaskInfo, int) {
	to := index.None
	if eviction.Job != nil {
		to = s.ix.Lookup(string(eviction.Job.Queue))
	}
	if eviction.Job != nil && s.beginGang(eviction.Job) {
		return nil, util.Permit
	}
	pods := s.pendingCards(to, eviction.Job)
	useful := func(task *api.TaskInfo) bool {
		q := s.queueOf(task)
		return q != index.None && s.ix.Broken(q) == nil && s.freesForAny(to, pods, q, task)
	}
	if eviction.Kind == release.GangPreempt {
		return slices.DeleteFunc(slices.Clone(s.preemptible(candidates)), func(task *api.TaskInfo) bool { return !useful(task) }), util.Permit
	}
	if !s.gangMayTake(to, eviction.Job) {
		return nil, util.Permit
	}
	s.memory.victims.Begin()
	v, class := &s.memory.vectors, s.classOfGang(eviction.Job)
	g := s.gangClaim(to, eviction.Job)
	var victims []*api.TaskInfo
	for _, task := range candidates {
		if !useful(task) {
			continue
		}
		q := s.queueOf(task)
		terms := s.terms(class, to, q, task)
		if s.intake.SetCharge(v.request, q, task, task.NodeName); terms == quota.Spared || terms == quota.ByDeserved && s.protected(q, v.request) {
			continue
		}
		if s.takeForGang(g, q, task, v.request, terms) {
			victims = append(victims, task)
		}
	}
	if klog.V(4).Enabled() {
		klog.Infof("[%s] gang reclaim may evict %d of %d tasks: %v", s.variant.name, len(victims), len(candidates), victims)
	}
	return victims, util.Permit
}

// beginGang notes for whom the next evictions are, and reports whether all pending tasks of the job
// wait for pods that were evicted for them before.
func (s *session) beginGang(job *api.JobInfo) (waits bool) {
	others := false
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated && !task.BestEffort {
			s.claimant, waits = task, true
			others = others || !s.books.Waits(task)
		}
	}
	return waits && !others
}

// gangClaim is what the pending tasks of a job request together, where reclaim compares it with what
// the queues of the job deserve.
type gangClaim struct {
	queue index.Queue
	pods  []*cards.PodRequest // of the tasks with cards
}

// gangClaim sets the vector claim to what the pending tasks of a job of q request without cards.
// Volcano simulates the placement of all of them.
func (s *session) gangClaim(q index.Queue, job *api.JobInfo) *gangClaim {
	g := &gangClaim{queue: q}
	if job == nil || q == index.None || !s.damped() && s.settings.levels == 0 {
		return g
	}
	var tasks []*api.TaskInfo
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated {
			tasks = append(tasks, task)
		}
	}
	pods, _ := s.requestAll(q, s.memory.vectors.claim, tasks)
	g.pods = slices.Clone(pods)
	return g
}

// takeForGang applies the rule of reclaim to one victim of q for a gang. reclaimDamping and
// ancestorReclaimLevel compare what the gang requests, with the cards of the victim's node for the
// tasks that can use them, and the first card of the list for all others.
//
// DIVERGES: upstream's gang reclaim ignores ancestorReclaimLevel.
func (s *session) takeForGang(g *gangClaim, q index.Queue, task *api.TaskInfo, victim fastres.Vector, terms quota.Terms) bool {
	if g.queue == index.None || !s.damped() && s.settings.levels == 0 {
		return s.memory.victims.TakeForGang(q, victim, g.queue, terms)
	}
	v := &s.memory.vectors
	v.charge.CopyFrom(v.claim)
	for _, pod := range g.pods {
		if node := s.cards.Node(task.NodeName); node != nil && s.cards.Usable(g.queue, pod, node) {
			s.cards.AddTo(v.charge, pod, task.NodeName)
			continue
		}
		for r := range s.cards.Requests(pod) {
			if len(r.Selector.Dims) > 0 {
				v.charge.Increase(r.Selector.Dims[0], float64(r.Amount))
			}
		}
	}
	return s.take(q, victim, g.queue, v.charge, terms)
}

// pendingCards returns the different requests for cards of the pending tasks of a job.
func (s *session) pendingCards(q index.Queue, job *api.JobInfo) (pods []*cards.PodRequest) {
	if job == nil || s.cards == nil {
		return nil
	}
	for _, task := range job.TaskStatusIndex[api.Pending] {
		pod := s.cards.PodRequest(q, task.Pod)
		if !pod.None() && s.cards.Uses(pod) && !slices.Contains(pods, pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// freesForAny reports whether a task of q has no cards, or frees one that a pod of the queue
// to can use and may take.
func (s *session) freesForAny(to index.Queue, pods []*cards.PodRequest, q index.Queue, task *api.TaskInfo) bool {
	if s.cards == nil {
		return true
	}
	occupied := s.cards.Stated(task.Pod)
	if !s.cards.Occupies(occupied) {
		return true
	}
	node := s.cards.Node(task.NodeName)
	return slices.ContainsFunc(pods, func(pod *cards.PodRequest) bool {
		return node != nil && s.cards.Usable(to, pod, node) && s.cards.Frees(pod, occupied, node, func(r cards.Request, d fastres.Dim) bool {
			return q == to || quota.PreemptiveCard(s.ix, s.books.Future.Queues, s.limit, to, d, float64(r.Amount), s.settings.levels).OK()
		})
	})
}
