package chaos

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// checkOwed looks for a pod that its queue deserves, that has no room, and for which
// reclaim could evict pods of queues that have more than they deserve of everything. At
// rest there is none.
func (c *chaosCycle) checkOwed(name string) {
	has, unsure := c.expected()
	if !slices.Contains(c.Actions, "reclaim") || c.Plugin == session.ProportionName || c.sharing() || c.damped() {
		return
	}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || job.IsPending() || !c.takesJobs(j.Spec.Queue) || !c.waits(job) || c.limitsHolders(j.Spec.Queue) || c.hasBudgets(j.Spec.Queue) || c.mayBeHeldBack(j) || c.hasSoftQuota(j.Spec.Queue) || job.MinAvailable-job.ReadyTaskNum() != 1 || unsure[j.Spec.Queue] {
			continue
		}
		if slices.Contains(c.Actions, "preempt") && c.anotherWaits(j) {
			continue // preempt gives free resources to a part of another job, before reclaim runs
		}
		for _, p := range j.Pods {
			task := job.Tasks[api.TaskID(p.Object.UID)]
			if task.Status != api.Pending || task.SchGated || task.BestEffort || p.Spec.Cards == "" && c.Arguments[arguments.UntypedCards] == "reject" {
				continue
			}
			for _, node := range c.NodeList {
				if victims := c.victimsFor(j, p, task, node, has, unsure); len(victims) > 0 {
					violated(name, "%s waits, its queue %s deserves what it requests, and %v on %s could be evicted for it", task.Name, j.Spec.Queue, victims, node.Name)
				}
			}
		}
	}
}

// anotherWaits reports whether another job of the queue waits.
func (c *chaosCycle) anotherWaits(j *Job) bool {
	return slices.ContainsFunc(c.World.Jobs, func(other *Job) bool {
		job := c.jobOf(other)
		return other != j && job != nil && other.Spec.Queue == j.Spec.Queue && !job.IsPending() && len(job.TaskStatusIndex[api.Pending]) > 0
	})
}

// jobOf returns the job of the session, and for one that is deleted the pods that are on nodes: nil where cards
// do not count in its queue.
func (c *chaosCycle) jobOf(j *Job) *api.JobInfo {
	if !slices.Contains(c.World.Orphans, j) {
		return c.all[j.ID()]
	}
	if c.World.Queues[j.Spec.Queue] == nil || !c.counted(j.Spec.Queue) {
		return nil
	}
	job := api.NewJobInfo(j.ID())
	group := j.Group.Clone()
	if group.Labels, group.Annotations = nil, nil; c.met[j] != nil {
		group.Labels, group.Annotations = c.met[j].Labels, c.met[j].Annotations
	}
	job.SetPodGroup(group)
	for _, p := range j.All() {
		if node := c.Nodes[p.Object.Spec.NodeName]; node != nil {
			if task := node.Tasks[api.PodKey(p.Object)]; task != nil && string(task.UID) == string(p.Object.UID) {
				job.AddTaskInfo(task.Clone())
			}
		}
	}
	return job
}

// deserves returns how much of a dimension a queue deserves.
func (c *chaosCycle) deserves(queue, dimension string) float64 {
	return c.row(c.own.Index.Deserved.Row(c.own.Index.Lookup(queue)))[dimension]
}

// victimsFor returns pods on a node that reclaim may evict for a task, and that suffice.
func (c *chaosCycle) victimsFor(j *Job, p *Pod, task *api.TaskInfo, node *api.NodeInfo, has map[string]amounts, unsure map[string]bool) (victims []string) {
	task.NodeName = node.Name
	request := c.request(j, p, task)
	task.NodeName = ""
	path := c.Path(j.Spec.Queue)
	if !c.servesOn(p, node.Name) || !c.fitsBeside(path, has, request) || !c.fitsLent(path, has, request, c.present) {
		return nil
	}
	for d, amount := range request {
		if amount > 0 && has[j.Spec.Queue][d]+amount > c.deserves(j.Spec.Queue, d) {
			return nil
		}
	}
	free, room, left := node.FutureIdle(), node.FutureIdle(), map[string]amounts{}
	for queue, of := range has {
		left[queue] = maps.Clone(of)
	}
	for _, other := range c.World.Jobs {
		victimJob := c.jobOf(other)
		if victimJob == nil || other.Spec.Queue == j.Spec.Queue || c.World.Queues[other.Spec.Queue].Spec.Unreclaimable || c.Path(other.Spec.Queue) == nil || unsure[other.Spec.Queue] {
			continue
		}
		spare := victimJob.ReadyTaskNum() - victimJob.MinAvailable
		for _, v := range other.Pods {
			victim := victimJob.Tasks[api.TaskID(v.Object.UID)]
			if victim.Status != api.Running || victim.NodeName != node.Name || v.Spec.Kept || spare <= 0 || !c.borrowed(other, v, victim, left) || !frees(p.Spec, v.Spec, free) || !sharesDimension(request, c.request(other, v, victim)) || c.forbids(j, p, other, v) != "" || c.relabeled(v, node.Name) {
				continue
			}
			for d, amount := range c.request(other, v, victim) {
				for _, queue := range c.Path(other.Spec.Queue) {
					left[queue][d] -= amount
				}
			}
			spare--
			victims = append(victims, victim.Name)
			if c.exceedsRates(j, other, len(victims)) {
				return nil
			}
			if room.Add(victim.Resreq); task.InitResreq.LessEqual(room, api.Zero) {
				return victims
			}
		}
	}
	return nil
}

// exceedsRates reports whether budgets of evictions never allow n evictions at once between the queues of two jobs.
func (c *chaosCycle) exceedsRates(to, from *Job, n int) bool {
	lost, taken := oracle.CountsFor(c.Path(from.Spec.Queue), c.Path(to.Spec.Queue))
	exceeds := func(queues []string, key string) bool {
		return slices.ContainsFunc(queues, func(queue string) bool {
			most := rateOf(c.ownPolicy(queue, key)).most
			return most > 0 && n > most
		})
	}
	return exceeds(lost, loseBudget) || exceeds(taken, takeBudget)
}

// sharesDimension reports whether two pods count in one dimension. A victim frees something that
// counts and that its reclaimer requests.
func sharesDimension(a, b amounts) bool {
	for d, amount := range a {
		if amount > 0 && b[d] > 0 {
			return true
		}
	}
	return false
}

// frees reports whether the eviction of a pod frees the card resources that another
// requests, and lacks one of where a node has some free: cards are not taken for the sake of
// cpu or memory. A pod without cards takes any.
func frees(wants, victim PodSpec, free *api.Resource) bool {
	all, lacks := true, false
	for _, resource := range cardResources {
		if n := wants.Requests[resource]; n > 0 {
			all = all && victim.Requests[resource] > 0
			lacks = lacks || free.Get(v1.ResourceName(resource)) < float64(1000*n)
		}
	}
	return all && (lacks || !hasCards(wants))
}

// relabeled reports whether a pod is charged for a card that its node does not have any more.
func (c *chaosCycle) relabeled(p *Pod, node string) bool {
	for resource, has := range c.has[p] {
		if n := c.World.Nodes[node]; n != nil && has.card != cardOf(n.Spec, resource) {
			return true
		}
	}
	return false
}

func hasCards(p PodSpec) bool {
	return slices.ContainsFunc(cardResources, func(resource string) bool { return p.Requests[resource] > 0 })
}

// borrowed reports whether the queue of a pod has more than it deserves of all requested resources, and keeps its
// guarantees without the pod. As in upstream, an unused guarantee protects all pods of the queue.
func (c *chaosCycle) borrowed(j *Job, p *Pod, task *api.TaskInfo, has map[string]amounts) bool {
	request := c.request(j, p, task)
	for d, amount := range request {
		if amount > 0 && has[j.Spec.Queue][d] <= c.deserves(j.Spec.Queue, d) {
			return false
		}
	}
	for _, d := range c.dimensions() {
		for _, queue := range c.Path(j.Spec.Queue) {
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
	if c.Plugin != session.Name {
		all = append(all, cardResources...)
	}
	for _, name := range slices.Concat(cardNames, c.groupNames()) {
		all = append(all, cardPrefix+name)
	}
	return all
}

// podsName is the dimension of pods, as byName returns it.
const podsName = "falsepods"

// checkFresh opens a second session on the same cluster, with the memory of a scheduler that has just started. Its
// accounts are the same, unless the world has facts that only a memory knows.
func (c *chaosCycle) checkFresh(name string) {
	if c.Cycle%5 != 0 || c.remembers() {
		return
	}
	again := &chaosCycle{chaos: c.chaos}
	again.openWith(&session.Builder{Variant: c.builder.Variant, Now: c.Clock})
	defer framework.CloseSession(again.Session)
	for name, node := range c.Session.Nodes {
		if len(node.Tasks) != len(again.Session.Nodes[name].Tasks) {
			return // a new scheduler does not know that the node was deleted and created again
		}
	}
	for q := range index.Queue(c.own.Index.Len()) {
		queue := c.own.Index.Name(q)
		p := again.own.Index.Lookup(queue)
		if p == index.None {
			violated(name, "queue %s does not exist for a scheduler that has just started", queue)
		}
		theirs := accountsOf(again.own, p)
		for what, x := range accountsOf(c.own, q) {
			is, fresh := testbed.ByName(&c.own.Memory.Names, x), testbed.ByName(&again.own.Memory.Names, theirs[what])
			if strings.Contains("capability realCapability deserved", what) { // groups also bound cards that are gone
				maps.DeleteFunc(is, func(d string, _ float64) bool {
					name, isCard := strings.CutPrefix(d, "true")
					return isCard && !c.known(name) && !strings.HasPrefix(name, card.GroupPrefix)
				})
			}
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

// accountsOf returns the accounts of a queue.
func accountsOf(s *session.Session, q index.Queue) map[string]fastres.Vector {
	return map[string]fastres.Vector{
		"allocated": s.Index.Allocated(q), "request": s.Index.Request.Row(q), "inqueue": s.Index.Inqueue.Row(q), "elastic": s.Index.Elastic.Row(q),
		"capability": s.Index.Capability.Row(q), "realCapability": s.Index.RealCapability.Row(q),
		"guarantee": s.Index.Guarantee.Row(q), "deserved": s.Index.Deserved.Row(q),
	}
}

// forgotten reports whether the scheduler may have missed changes of the nodes of a job.
func (w *chaos) forgotten(j *Job) bool {
	return unchecked(outlivesQueue) && w.orphaned[j] && slices.ContainsFunc(j.Pods, (*Pod).Placed)
}

// known reports whether a node or a queue names a card. A new scheduler knows no other.
func (w *chaos) known(name string) bool {
	for _, n := range w.Nodes {
		if !n.Lost && slices.ContainsFunc(cardResources, func(resource string) bool { return cardOf(n.Spec, resource) == name }) || !n.Lost && slices.Contains(w.Pools[n.Spec.Name].Gives(), name) {
			return true
		}
	}
	for _, q := range w.Queues {
		for _, amounts := range w.readOf(q).good {
			if _, ok := amounts[name]; ok {
				return true
			}
		}
	}
	return false
}

// remembers reports whether the scheduler knows more than a new one would. It keeps good values of annotations that are
// bad now, and cards that nodes do not name any more.
func (w *chaos) remembers() bool {
	for _, q := range w.Queues {
		if w.readOf(q).bad {
			return true
		}
	}
	if w.remembersClaims() {
		return true
	}
	if slices.ContainsFunc(w.Jobs, w.forgotten) {
		return true
	}
	for _, j := range slices.Concat(w.Jobs, w.Orphans) {
		for _, p := range j.All() {
			if !p.Placed() {
				continue
			}
			fresh := &Pod{Spec: p.Spec}
			w.hold(fresh, p.Object.Spec.NodeName, w.counted(j.Spec.Queue))
			for resource, has := range w.has[p] {
				if strings.HasPrefix(resource, claimPrefix) {
					continue
				}
				again := w.has[fresh][resource]
				other := unchecked(unlisted) && p.Spec.Cards != "" && !slices.Contains(card.ParseList(p.Spec.Cards), has.card)
				if has.card != again.card || has.milli != again.milli || has.doubt || !w.known(has.card) || other {
					return true
				}
			}
		}
	}
	return false
}
