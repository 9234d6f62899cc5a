package plugin

import (
	"github.com/capacity-card/capacity-card/plugin/arguments"

	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// checkOwed looks for a pod that its queue deserves, that has no room, and for which
// reclaim could evict pods of queues that have more than they deserve of everything. At
// rest there is none.
func (c *chaosCycle) checkOwed(name string) {
	has, unsure := c.expected()
	if !slices.Contains(c.actions, "reclaim") || c.plugin == ProportionName || c.arguments[arguments.ReclaimDamping] != nil {
		return
	}
	for _, j := range c.jobs {
		job := c.jobOf(j)
		if job == nil || job.IsPending() || !c.takesJobs(j.spec.queue) || !c.waits(job) || c.limitsNamespace(j.spec.queue) || job.MinAvailable-job.ReadyTaskNum() != 1 || unsure[j.spec.queue] {
			continue
		}
		if slices.Contains(c.actions, "preempt") && c.anotherWaits(j) {
			continue // preempt gives a part of another job what is free, before reclaim runs
		}
		for _, p := range j.pods {
			task := job.Tasks[api.TaskID(p.object.UID)]
			if task.Status != api.Pending || task.SchGated || task.BestEffort || p.spec.cards == "" && c.arguments[arguments.UntypedCards] == "reject" {
				continue
			}
			for _, node := range c.NodeList {
				if victims := c.victimsFor(j, p, task, node, has, unsure); len(victims) > 0 {
					violated(name, "%s waits, its queue %s deserves what it requests, and %v on %s could be evicted for it", task.Name, j.spec.queue, victims, node.Name)
				}
			}
		}
	}
}

// anotherWaits reports whether another job of the queue waits.
func (c *chaosCycle) anotherWaits(j *worldJob) bool {
	return slices.ContainsFunc(c.jobs, func(other *worldJob) bool {
		job := c.jobOf(other)
		return other != j && job != nil && other.spec.queue == j.spec.queue && !job.IsPending() && len(job.TaskStatusIndex[api.Pending]) > 0
	})
}

func (c *chaosCycle) jobOf(j *worldJob) *api.JobInfo {
	return c.Jobs[api.JobID(cluster.Namespace+"/"+j.spec.name)]
}

// deserves returns what a queue deserves of a dimension.
func (c *chaosCycle) deserves(queue, dimension string) float64 {
	return c.row(c.own.Index.Deserved.Row(c.own.Index.Lookup(queue)))[dimension]
}

// victimsFor returns pods on a node that reclaim may evict for a task, and that suffice.
func (c *chaosCycle) victimsFor(j *worldJob, p *worldPod, task *api.TaskInfo, node *api.NodeInfo, has map[string]amounts, unsure map[string]bool) (victims []string) {
	task.NodeName = node.Name
	request := c.request(j, p, task)
	task.NodeName = ""
	path := c.path(j.spec.queue)
	if !c.servesOn(p, node.Name) || !c.fitsBeside(path, has, request) || !c.fitsLent(path, has, request, c.present) {
		return nil
	}
	for d, amount := range request {
		if amount > 0 && has[j.spec.queue][d]+amount > c.deserves(j.spec.queue, d) {
			return nil
		}
	}
	free, room, left := node.FutureIdle(), node.FutureIdle(), map[string]amounts{}
	for queue, of := range has {
		left[queue] = maps.Clone(of)
	}
	for _, other := range c.jobs {
		victimJob := c.jobOf(other)
		if victimJob == nil || other.spec.queue == j.spec.queue || c.queues[other.spec.queue].spec.unreclaimable || c.path(other.spec.queue) == nil || unsure[other.spec.queue] {
			continue
		}
		spare := victimJob.ReadyTaskNum() - victimJob.MinAvailable
		for _, v := range other.pods {
			victim := victimJob.Tasks[api.TaskID(v.object.UID)]
			if victim.Status != api.Running || victim.NodeName != node.Name || v.spec.kept || spare <= 0 || !c.borrowed(other, v, victim, left) || !frees(p.spec, v.spec, free) || c.forbids(j, p, other, v) != "" || c.relabeled(v, node.Name) {
				continue
			}
			for d, amount := range c.request(other, v, victim) {
				for _, queue := range c.path(other.spec.queue) {
					left[queue][d] -= amount
				}
			}
			spare--
			victims = append(victims, victim.Name)
			if room.Add(victim.Resreq); task.InitResreq.LessEqual(room, api.Zero) {
				return victims
			}
		}
	}
	return nil
}

// frees reports whether the eviction of a pod frees the card resources that another
// requests, and lacks one of where a node has some free: cards are not taken for the sake of
// cpu or memory. A pod without cards takes any.
func frees(wants, victim podSpec, free *api.Resource) bool {
	all, lacks := true, false
	for _, resource := range cardResources {
		if n := wants.requests[resource]; n > 0 {
			all = all && victim.requests[resource] > 0
			lacks = lacks || free.Get(v1.ResourceName(resource)) < float64(1000*n)
		}
	}
	return all && (lacks || !wants.hasCards())
}

// relabeled reports whether a pod is charged for a card that its node does not have any more.
func (c *chaosCycle) relabeled(p *worldPod, node string) bool {
	for resource, has := range p.has {
		if n := c.nodes[node]; n != nil && has.card != cardOf(n.spec, resource) {
			return true
		}
	}
	return false
}

func (p podSpec) hasCards() bool {
	return slices.ContainsFunc(cardResources, func(resource string) bool { return p.requests[resource] > 0 })
}

// borrowed reports whether the queue of a pod has more than it deserves of everything
// that the pod requests, and keeps its guarantees without it. As in upstream, what is
// guaranteed and not used protects all pods of the queue.
func (c *chaosCycle) borrowed(j *worldJob, p *worldPod, task *api.TaskInfo, has map[string]amounts) bool {
	request := c.request(j, p, task)
	for d, amount := range request {
		if amount > 0 && has[j.spec.queue][d] <= c.deserves(j.spec.queue, d) {
			return false
		}
	}
	for _, d := range c.dimensions() {
		for _, queue := range c.path(j.spec.queue) {
			if isCard(d) && request[d] == 0 && !unchecked(otherCards) {
				continue
			}
			if has[queue][d]-request[d] < c.guarantee(queue, d) {
				return false
			}
		}
	}
	return true
}

// dimensions returns all dimensions of random worlds.
func (c *chaosCycle) dimensions() []string {
	all := []string{"cpu", "memory"}
	if c.plugin != Name {
		all = append(all, cardResources...)
	}
	for _, name := range cardNames {
		all = append(all, cardPrefix+name)
	}
	return all
}

// podsName is the dimension of pods, as byName returns it.
const podsName = "falsepods"

// checkFresh opens a second session on the same cluster, with the memory of a scheduler
// that has just started. Its accounts are the same, unless the world has what only a
// memory knows.
func (c *chaosCycle) checkFresh(name string) {
	if c.cycle%5 != 0 || c.remembers() {
		return
	}
	again := &chaosCycle{world: c.world}
	again.openWith(&builder{variant: c.builder.variant, now: c.clock})
	defer framework.CloseSession(again.Session)
	for q := range index.Queue(c.own.Index.Len()) {
		queue := c.own.Index.Name(q)
		p := again.own.Index.Lookup(queue)
		if p == index.None {
			violated(name, "queue %s does not exist for a scheduler that has just started", queue)
		}
		theirs := again.own.accounts(p)
		for what, x := range c.own.accounts(q) {
			is, fresh := byName(c.own, x), byName(again.own, theirs[what])
			if unchecked(gonePods) {
				delete(is, podsName)
				delete(fresh, podsName)
			}
			if !maps.Equal(is, fresh) {
				violated(name, "%s of queue %s is %v, for a scheduler that has just started %v", what, queue, is, fresh)
			}
		}
	}
}

// accounts returns the accounts of a queue.
func (s *session) accounts(q index.Queue) map[string]fastres.Vector {
	return map[string]fastres.Vector{
		"allocated": s.Index.Allocated(q), "request": s.Index.Request.Row(q), "inqueue": s.Index.Inqueue.Row(q), "elastic": s.Index.Elastic.Row(q),
		"capability": s.Index.Capability.Row(q), "realCapability": s.Index.RealCapability.Row(q),
		"guarantee": s.Index.Guarantee.Row(q), "deserved": s.Index.Deserved.Row(q),
	}
}

// forgotten reports whether the scheduler may have missed what became of the nodes of a
// job.
func (w *world) forgotten(j *worldJob) bool {
	return unchecked(outlivesQueue) && j.orphaned && slices.ContainsFunc(j.pods, (*worldPod).placed)
}

// known reports whether a node or a queue names a card. A new scheduler knows no other.
func (w *world) known(name string) bool {
	for _, n := range w.nodes {
		if !n.lost && slices.ContainsFunc(cardResources, func(resource string) bool { return cardOf(n.spec, resource) == name }) {
			return true
		}
	}
	for _, q := range w.queues {
		for _, amounts := range q.good {
			if _, ok := amounts[name]; ok {
				return true
			}
		}
	}
	return false
}

// remembers reports whether the scheduler knows what a new one would not: good values of
// annotations that are bad now, and cards that nodes do not name any more.
func (w *world) remembers() bool {
	for _, q := range w.queues {
		if q.bad {
			return true
		}
	}
	for _, j := range w.jobs {
		if w.forgotten(j) {
			return true
		}
		for _, p := range j.all() {
			if !p.placed() {
				continue
			}
			fresh := &worldPod{spec: p.spec}
			w.hold(fresh, p.object.Spec.NodeName, w.counted(j.spec.queue))
			for resource, has := range p.has {
				if has.card != fresh.has[resource].card || has.doubt || !w.known(has.card) || unchecked(unlisted) && p.spec.cards != "" && !slices.Contains(card.ParseList(p.spec.cards), has.card) {
					return true
				}
			}
		}
	}
	return false
}
