package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// checkLeaves checks that reclaim took no queue below its guarantee. Earmarks for pods of the queue count, because the
// queue will have these amounts.
func (c *chaosCycle) checkLeaves(name string) {
	if c.action != "reclaim" || c.Plugin == session.ProportionName {
		return
	}
	now := c.allocated()
	for queue, of := range now {
		for _, d := range c.dimensions() {
			of[d] += c.earmarked(queue, d)
		}
	}
	for queue, before := range c.before {
		if c.World.Queues[queue] == nil || c.Path(queue) == nil || !c.leaf(queue) {
			continue
		}
		for d, had := range before {
			if kept := min(had, c.ownGuarantee(queue, d)); now[queue][d] < kept-0.1 {
				violated(name, "queue %s keeps %g of %s, had %g, %g are guaranteed", queue, now[queue][d], d, had, c.ownGuarantee(queue, d))
			}
		}
	}
}

// earmarked returns how much is earmarked for the pods of a queue itself, including earmarks in doubt.
func (c *chaosCycle) earmarked(queue, dimension string) (sum float64) {
	for _, m := range c.marks {
		if job := c.jobOf(m.job); m.job.Spec.Queue == queue && job != nil && c.pending(m) {
			if task := job.Tasks[api.TaskID(m.pod.Object.UID)]; task.Status == api.Pending {
				sum += c.requestOn(m.job, m.pod, task, m.node)[dimension]
			}
		}
	}
	return sum
}

// earmarkedBelow returns how much is earmarked for the pods of a queue and of the queues below it.
func (c *chaosCycle) earmarkedBelow(queue, dimension string) (sum float64) {
	for name := range c.World.Queues {
		if slices.Contains(c.Path(name), queue) {
			sum += c.earmarked(name, dimension)
		}
	}
	return sum
}

// checkInner checks that reclaim takes no inner queue below its guarantee. A queue that the
// reclaimer is in gives to itself, so it may.
func (c *chaosCycle) checkInner(name string, p placement) {
	if c.action != "reclaim" || c.Plugin == session.ProportionName {
		return
	}
	to, _ := c.taskOf(c.own.Reclaim.Evictor())
	for _, queue := range p.path[1:] {
		if slices.Contains(c.Path(to.Spec.Queue), queue) {
			return
		}
		now := c.row(c.own.Index.Allocated(c.own.Index.Lookup(queue)))
		for _, d := range c.dimensions() {
			now[d] += c.earmarkedBelow(queue, d)
		}
		for d, amount := range c.request(p.job, p.pod, p.task) {
			if kept := min(now[d]+amount, c.guarantee(queue, d)); amount > 0 && now[d] < kept-0.1 {
				violated(name, "%s is evicted for %s: queue %s keeps %g of %s, %g are guaranteed", p.task.Name, c.own.Reclaim.Evictor().Name, queue, now[d], d, kept)
			}
		}
	}
}

// checkDeserved checks that a queue had more of a card than it deserves when reclaim
// took it. Volcano evicts the victims for one pod in its own order, so one of them may be
// below. Of a job that is evicted as a whole, one pod decides (checkBroken): whether a job loses all its pods is known
// after the action (checkWholeJobs).
func (c *chaosCycle) checkDeserved(name string, p placement) {
	if c.action != "reclaim" || !c.counted(p.job.Spec.Queue) || c.Plugin == session.ProportionName {
		return
	}
	if job := c.jobOf(p.job); job.ReadyTaskNum() < job.MinAvailable {
		return
	}
	if to, _ := c.taskOf(c.own.Reclaim.Evictor()); c.classOf(to) == "inference" && c.classOf(p.job) == "training" {
		return // only a guarantee protects training from inference
	}
	q := c.own.Index.Lookup(p.job.Spec.Queue)
	names := c.named(c.own.Index.Deserved.Row(q))
	over := func(d string) (had, deserved float64) {
		amount := c.request(p.job, p.pod, p.task)[d]
		for task, evictor := range c.own.Reclaim.Evicted() {
			if other, pod := c.taskOf(task); evictor == c.own.Reclaim.Evictor() && other.Spec.Queue == p.job.Spec.Queue {
				amount = max(amount, c.request(other, pod, task)[d])
			}
		}
		return c.row(c.own.Index.Allocated(q))[d] + c.earmarked(p.job.Spec.Queue, d) + amount, c.deserves(p.job.Spec.Queue, d)
	}
	for d := range c.request(p.job, p.pod, p.task) {
		if !isCard(d) || strings.HasPrefix(d, cardPrefix+card.GroupPrefix) {
			continue
		}
		had, deserved := over(d)
		within := had <= deserved
		for group := range c.groupsOf(d[len(cardPrefix):]) {
			if _, named := names[cardPrefix+group]; named {
				had, deserved := over(cardPrefix + group)
				within = within && had <= deserved
			}
		}
		if !within {
			continue
		}
		text := fmt.Sprintf("%s is evicted, queue %s had %g of %s and deserves %g", p.task.Name, p.job.Spec.Queue, had, d, deserved)
		if !c.takesWhole() {
			violated(name, "%s", text)
		}
		c.companions[p.job] = text
	}
}

// checkWholeJobs checks jobs that lost a pod to reclaim although their queue deserves it. These jobs have lost all
// their pods.
func (c *chaosCycle) checkWholeJobs(name string) {
	for j, text := range c.companions {
		for _, task := range c.jobOf(j).Tasks {
			if api.AllocatedStatus(task.Status) {
				violated(name, "%s, and %s runs on", text, task.Name)
			}
		}
	}
}

// unsaved returns the work that a pod loses, in seconds, as the oracle has it.
func (c *chaosCycle) unsaved(j *Job, pod *v1.Pod) int64 {
	var start *time.Time
	if at := pod.Status.StartTime; at != nil {
		start = &at.Time
	}
	return oracle.Unsaved(start, c.Clock(), pod.Annotations[policy.CheckpointKey], j.Group.Annotations[policy.CheckpointKey])
}

// checkWork checks that no pod runs on with less work to lose than one that reclaim evicted from the
// same node, where all else is equal.
func (c *chaosCycle) checkWork(name string) {
	if c.action != "reclaim" || !c.own.Settings.ByWork {
		return
	}
	for task := range c.own.Reclaim.Evicted() {
		evictee, victim := c.taskOf(task)
		if c.evictor[task.Name] != "reclaim" || task.Status != api.Releasing || c.graceOf(evictee, victim) > 0 || !c.runsAlike(evictee, victim) {
			continue
		}
		for _, j := range c.World.Jobs {
			if j.Spec.Queue != evictee.Spec.Queue || j.Spec.Priority != evictee.Spec.Priority {
				continue
			}
			for _, p := range j.Pods {
				if p.Object.Spec.NodeName == task.NodeName && !c.young(p, j.Spec.Queue, reclaimRuntime) && p.Spec.String() == victim.Spec.String() && c.runsAlike(j, p) &&
					c.jobOf(j).Tasks[api.TaskID(p.Object.UID)].Status == api.Running && c.unsaved(j, p.Object) < c.unsaved(evictee, victim.Object) {
					violated(name, "%s is evicted, which loses more work than %s", task.Name, p.Object.Name)
				}
			}
		}
	}
}

// runsAlike reports whether nothing but the start of a pod decides between it and others: gang
// spares no pod of its job, and its cards are certain.
func (c *chaosCycle) runsAlike(j *Job, p *Pod) bool {
	return j.Spec.MinMember == 0 && !hasClaims(p.Spec) && !p.Spec.Kept && !c.unsure(p) && p.Object.Status.StartTime != nil && !c.relabeled(p, p.Object.Spec.NodeName) && c.jobOf(j) != nil
}

// checkGain checks that a session in which reclaim evicts pods places others.
func (c *chaosCycle) checkGain(name string) { c.gains(name, "reclaim") }

// checkPreemption is checkGain for preempt.
func (c *chaosCycle) checkPreemption(name string) { c.gains(name, "preempt") }

func (c *chaosCycle) gains(name, action string) {
	if c.Plugin == session.ProportionName {
		return // the drop-in for proportion evicts as upstream, for pods without requests too
	}
	i := slices.IndexFunc(c.cache.Evicted, func(pod string) bool { return c.evictor[pod] == action && !c.forBestEffort(pod) })
	if i < 0 {
		return
	}
	for _, job := range c.Jobs {
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			if task.EvictionOccurred {
				return
			}
		}
	}
	violated(name, "%s is evicted, and no pod waits for its place", c.cache.Evicted[i])
}

// forBestEffort reports whether a pod is evicted for one that requests nothing. Volcano evicts
// for it on nodes without room for any pod, since gang counts it as placed while it is pending.
func (c *chaosCycle) forBestEffort(pod string) bool {
	for task, evictor := range c.own.Reclaim.Evicted() {
		if task.Name == pod {
			return evictor.BestEffort
		}
	}
	return false
}

// exchanges reports whether queues may take from one another without end. Upstream's
// reclaim does. Damping ends it, except where a queue deserves a pending pod and borrows with
// another, which its own jobs may put first.
func (w *chaos) exchanges() bool {
	if !slices.Contains(w.Actions, "reclaim") {
		return false
	}
	return !w.damped() || w.borrowsFirst > w.Cycle-w.mostQuiet()/3
}

// damped reports whether reclaimCompares is damped=N.
func (w *chaos) damped() bool {
	compares, _ := w.Arguments[arguments.ReclaimCompares].(string)
	return strings.HasPrefix(compares, "damped=")
}

// preemptsInVain reports whether preempt evicts pods, once for each pending pod, though the quota refuses
// that pod. Volcano's simulation does not ask whether the pod is allocatable without all victims.
func (w *chaos) preemptsInVain() bool {
	return w.Topology && slices.Contains(w.Actions, "preempt") && !w.counts()
}

// reclaimsInVain reports whether a gang without minResources, which is admitted although its queues have no room
// for it as a whole, has others evicted for one of its pods. Where cards count, the others stay.
func (w *chaos) reclaimsInVain() bool {
	return !w.counts() && slices.ContainsFunc(w.Jobs, func(j *Job) bool {
		placed := 0
		for _, p := range j.Pods {
			if p.Placed() {
				placed++
			}
		}
		return j.Spec.MinResources == nil && placed < j.Spec.MinMember &&
			slices.ContainsFunc(w.claims, func(c claimed) bool { return c.cycle > w.Cycle-w.mostQuiet()/3 && slices.Contains(j.Pods, c.pod) })
	})
}

// noteLosers records which queues lose pods to reclaim.
func (c *chaosCycle) noteLosers() {
	for _, j := range c.World.Jobs {
		if slices.ContainsFunc(j.Pods, func(p *Pod) bool {
			return c.evictor[p.Object.Name] == "reclaim" && slices.Contains(c.cache.Evicted, p.Object.Name)
		}) {
			c.loses[j.Spec.Queue] = c.Cycle
		}
	}
}

// noteBorrowers records that a queue that lost pods to reclaim has another pending pod that it deserves, and for which
// a node has room. It looks when the session that took the pods ends, and when sessions begin in which the pods come
// back.
func (c *chaosCycle) noteBorrowers() {
	has, _ := c.expected()
	for _, j := range c.World.Jobs {
		if lost, some := c.loses[j.Spec.Queue]; some && c.Cycle <= lost+1+c.Grace+1 && c.claimsFor(j, has[j.Spec.Queue]) {
			c.borrowsFirst = c.Cycle
		}
	}
}

// claimsFor reports whether a job has a pending pod that its queue deserves, on a node that
// has room.
func (c *chaosCycle) claimsFor(j *Job, has amounts) bool {
	job := c.jobOf(j)
	if job == nil || job.IsPending() {
		return false
	}
	return slices.ContainsFunc(j.Pods, func(p *Pod) bool {
		task := job.Tasks[api.TaskID(p.Object.UID)]
		if task.Status != api.Pending || task.SchGated || task.BestEffort {
			return false
		}
		return slices.ContainsFunc(c.NodeList, func(n *api.NodeInfo) bool {
			task.NodeName = n.Name
			request := c.request(j, p, task)
			task.NodeName = ""
			for d, amount := range request {
				if deserved := c.deserves(j.Spec.Queue, d); amount > 0 && deserved > 0 && has[d]+amount > deserved {
					return false
				}
			}
			return c.servesOn(p, n.Name) && task.InitResreq.LessEqual(n.FutureIdle(), api.Zero)
		})
	})
}

// patience is the number of cycles that a pod for which others were evicted may wait after they
// have ended.
const patience = 5

// checkEvictors checks that the pods for which others were evicted got a node. Pods of a gang that request nothing are
// an exception: only backfill places them. Where cards count nowhere, the place of a victim goes to the queue that
// comes first, as upstream.
func (w *chaos) checkEvictors() {
	if (w.exchanges() || w.preemptsInVain()) && !w.counts() {
		return
	}
	for _, claim := range w.claims {
		pod := claim.pod.Object
		if claim.cycle <= w.cycles || claim.cycle+w.Grace+patience > w.Cycle || unchecked(gain) || len(claim.pod.Spec.Requests) == 0 {
			continue
		}
		w.seen["claims after which nothing changed"]++
		if pod.Spec.NodeName == "" && (w.counts() || w.filled[claim.node] <= claim.cycle) {
			violated(gain, "others were evicted for %s in cycle %d, and it has no node in cycle %d", pod.Name, claim.cycle, w.Cycle)
		}
	}
}
