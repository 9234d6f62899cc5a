package chaos

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// gangs turns jobs into gangs: their minimum is all their pods. Some have a launcher without cards. In half of these
// worlds, almost only quotas decide. There, gangs that want back borrowed resources come last.
func (d *draw) gangs() {
	if !d.chance(50) {
		return
	}
	delete(d.s.Arguments, arguments.ReclaimGangs)
	if d.chance(60) {
		d.s.Arguments[arguments.ReclaimGangs] = "whole"
	}
	for i, act := range d.s.Acts {
		if submit, is := act.Deed.(SubmitJob); is && submit.MinMember <= len(submit.Pods) && d.chance(60) {
			d.s.Acts[i].Deed = d.gang(submit.JobSpec)
		}
	}
	if d.plain || d.chance(50) {
		return
	}

	for _, key := range []string{
		arguments.ReclaimCompares, arguments.AncestorReclaimLevel, arguments.FairShareHalfLife, arguments.UntypedCards, arguments.ReclaimByClass,
	} {
		delete(d.s.Arguments, key)
	}
	if !slices.Contains(d.s.Actions, "reclaim") {
		d.s.Actions = append(d.s.Actions, "reclaim")
	}
	for i := range 1 + d.IntN(4) {
		j := JobSpec{Name: fmt.Sprintf("late%d", i), Queue: d.home(), MinMember: 1}
		p := PodSpec{Cards: pick(d, "A", "A", "B"), Requests: workload.Resources{"cpu": 100, "memory": 1 << 29, testbed.GPU: pick[int64](d, 1, 2)}}
		for range 1 + d.IntN(4) {
			j.Pods = append(j.Pods, p)
		}
		d.do(chaosCycles-d.IntN(20), d.gang(j))
	}
}

// gang returns a job with a minimum of all its pods.
func (d *draw) gang(j JobSpec) SubmitJob {
	if d.chance(25) {
		launcher := PodSpec{Requests: workload.Resources{"cpu": 100, "memory": 1 << 29}}
		j.Pods = slices.Insert(slices.Clone(j.Pods), 0, launcher)
	}
	j.MinMember = len(j.Pods)
	j.MinResources = workload.Resources{}
	for _, p := range j.Pods {
		for name, amount := range p.Requests {
			j.MinResources[name] += amount
		}
	}
	return SubmitJob{JobSpec: j}
}

// checkBroken checks that reclaim and preempt leave no gang with a part of its minimum: a job that they take below its
// minimum loses all its pods. Reclaim takes one only from a queue that had more than it deserves of some card of the
// job. What a job takes from itself is left to Volcano's preempt.
func (c *chaosCycle) checkBroken(name string) {
	if c.Plugin == session.ProportionName || !c.own.Reclaim.Plans() {
		return
	}
	lost := map[*Job][]*Pod{}
	for task, evictor := range c.own.Reclaim.Evicted() {
		if j, pod := c.taskOf(task); j != nil && c.action == c.evictor[task.Name] && evictor.Job != task.Job {
			lost[j] = append(lost[j], pod)
		}
	}
	for j, pods := range lost {
		job := c.jobOf(j)
		ready := job.ReadyTaskNum()
		if ready >= job.MinAvailable || ready+int32(len(pods)) < job.MinAvailable {
			continue
		}
		for _, task := range job.Tasks {
			if api.AllocatedStatus(task.Status) {
				violated(name, "job %s loses %d pods, and %s still runs with %d of %d", job.Name, len(pods), task.Name, ready, job.MinAvailable)
			}
		}
		if c.action == "reclaim" && c.deservedAll(j, pods) {
			violated(name, "job %s is evicted, and queue %s had no more than it deserves of its cards", job.Name, j.Spec.Queue)
		}
	}
}

// deservedAll reports whether a queue surely had no more than it deserves of all cards of some pods. Where groups or
// service classes decide, that is not sure.
func (c *chaosCycle) deservedAll(j *Job, pods []*Pod) bool {
	sum := amounts{}
	for _, p := range pods {
		if n := c.World.Nodes[p.Object.Spec.NodeName]; c.unsure(p) || n == nil || n.Lost {
			return false
		}
		for d, amount := range c.request(j, p, c.jobOf(j).Tasks[api.TaskID(p.Object.UID)]) {
			sum[d] += amount
		}
	}
	q := j.Spec.Queue
	now := c.row(c.own.Index.Allocated(c.own.Index.Lookup(q)))
	some := false
	for d, amount := range sum {
		if !isCard(d) || amount == 0 {
			continue
		}
		some = true
		if max(c.before[q][d], now[d]+amount)+c.earmarked(q, d) > c.deserves(q, d) {
			return false
		}
	}
	return some && len(c.groupNames()) == 0 && c.Arguments[arguments.ReclaimByClass] != true
}

// unitOf is a victim, or a job that is evicted as a whole.
type unitOf struct {
	job  *Job
	pods []*Pod
}

// checkNeeded checks that each victim of a plan is needed: without it, the pods of the claimant have no room, or only
// room that another victim may not be evicted for. It looks at actions that evict for one job, and only where nodes and
// bounds alone decide.
func (c *chaosCycle) checkNeeded(name string) {
	if c.Plugin == session.ProportionName || !c.own.Reclaim.Plans() || c.sharing() || c.keepsForOthers() {
		return
	}
	units, claimant := c.unitsNow()
	if claimant == nil || c.policiesDecide(claimant) {
		return
	}
	_, unsure := c.expected()
	if slices.Contains(slices.Collect(maps.Values(unsure)), true) {
		return
	}
	var waiting []*Pod
	job := c.jobOf(claimant)
	for _, p := range claimant.Pods {
		task := job.Tasks[api.TaskID(p.Object.UID)]
		if task.Status == api.Pipelined && c.waitsBy[task.UID] == c.action {
			waiting = append(waiting, p)
		}
		if hasClaims(p.Spec) || slices.ContainsFunc(c.marks, func(m mark) bool { return m.pod == p && c.pending(m) }) {
			return // it has a place from an earlier session
		}
	}
	if len(waiting) == 0 || len(waiting) > 5 {
		return
	}
	if len(waiting) > 1 && int(job.ReadyTaskNum())+len(waiting) > int(job.MinAvailable) {
		return // pods beyond the minimum have a plan each
	}
	for i, u := range units {
		c.seen["victims that are looked at"]++
		nodes := c.newTrial(claimant, waiting, u).place(waiting)
		if nodes != nil && c.justifies(claimant, waiting, nodes, units, i) {
			violated(name, "%s of job %s is evicted for job %s, and its pods fit on %v without", u.pods[0].Object.Name, u.job.Spec.Name, claimant.Spec.Name, nodes)
		}
	}
}

// justifies reports whether all units but one may be evicted for some pods on these nodes: a pod with cards is not
// evicted for cpu or memory. If no node lacks anything without a unit, the bounds decide about it.
func (c *chaosCycle) justifies(claimant *Job, waiting []*Pod, nodes []string, units []unitOf, but int) bool {
	for i, u := range units {
		if i == but {
			continue
		}

		t := c.newTrial(claimant, waiting, units[but])
		t.giveBack(u)
		lacking, helps := false, false
		for j, p := range waiting {
			task := c.jobOf(claimant).Tasks[api.TaskID(p.Object.UID)]
			for _, r := range task.InitResreq.ResourceNames() {
				if task.InitResreq.Get(r) <= t.free[nodes[j]].Get(r) {
					continue
				}
				lacking = true
				helps = helps || c.mayFree(u, nodes[j], r)
			}
			t.take(nodes[j], task)
		}

		if lacking && !helps {
			return false
		}
	}
	return true
}

// mayFree reports whether a pod of a unit may be evicted for a resource of a node.
func (c *chaosCycle) mayFree(u unitOf, node string, r v1.ResourceName) bool {
	return slices.ContainsFunc(u.pods, func(p *Pod) bool {
		task := c.jobOf(u.job).Tasks[api.TaskID(p.Object.UID)]
		forCards := !hasCards(p.Spec) || slices.Contains(cardResources, string(r))
		return task.NodeName == node && task.Resreq.Get(r) > 0 && forCards
	})
}

// policiesDecide reports whether more than nodes, quotas and guarantees decide about the pods of a job.
func (c *chaosCycle) policiesDecide(j *Job) bool {
	q := j.Spec.Queue
	return c.limitsHolders(q) || c.hasBudgets(q) || c.mayBeHeldBack(j) || c.hasSoftQuota(q) || c.Arguments[arguments.FairShareHalfLife] != nil
}

// unitsNow returns the units that the action evicts, and the job that they are evicted for, nil if there is not exactly
// one.
func (c *chaosCycle) unitsNow() (units []unitOf, claimant *Job) {
	byJob := map[*Job][]*Pod{}
	for task, evictor := range c.own.Reclaim.Evicted() {
		if c.evictor[task.Name] != c.action {
			continue
		}
		to, _ := c.taskOf(evictor)
		from, pod := c.taskOf(task)
		if to == nil || from == nil || to == from || claimant != nil && to != claimant {
			return nil, nil
		}
		claimant = to
		byJob[from] = append(byJob[from], pod)
	}
	for _, j := range c.World.Jobs {
		pods := byJob[j]
		job := c.jobOf(j)
		switch {
		case len(pods) == 0:
		case job.ReadyTaskNum() < job.MinAvailable && job.ReadyTaskNum()+int32(len(pods)) >= job.MinAvailable:
			units = append(units, unitOf{j, pods})
		default:
			for _, p := range pods {
				units = append(units, unitOf{j, []*Pod{p}})
			}
		}
	}
	return units, claimant
}

// trial is the cluster as it will be, without some pods of a claimant.
type trial struct {
	*chaosCycle
	job     *Job
	will    map[string]amounts
	present amounts
	free    map[string]*api.Resource
}

// newTrial takes the pods of a claimant from where they wait, and gives a unit its nodes again.
func (c *chaosCycle) newTrial(j *Job, waiting []*Pod, back unitOf) *trial {
	has, _ := c.expected()
	t := &trial{chaosCycle: c, job: j, will: c.future(has, j, c.pending), present: amounts{}, free: map[string]*api.Resource{}}
	for _, d := range c.dimensions() {
		t.present[d] = c.present(d) - c.leavesOf(d)
	}
	for _, node := range c.NodeList {
		t.free[node.Name] = node.FutureIdle()
	}
	for _, m := range c.marks {
		if m.job == j || !c.pending(m) {
			continue
		}
		task := c.jobOf(m.job).Tasks[api.TaskID(m.pod.Object.UID)]
		if task.Status == api.Pending {
			t.take(m.node, task)
			for d, amount := range c.requestOn(m.job, m.pod, task, m.node) {
				t.present[d] += amount
			}
		}
	}
	job := c.jobOf(j)
	for _, p := range waiting {
		task := job.Tasks[api.TaskID(p.Object.UID)]
		t.charge(j, p, task, task.NodeName, -1)
		t.free[task.NodeName].Add(task.Resreq)
	}
	for _, p := range back.pods {
		task := c.jobOf(back.job).Tasks[api.TaskID(p.Object.UID)]
		t.charge(back.job, p, task, task.NodeName, 1)
		t.take(task.NodeName, task)
	}
	return t
}

// take subtracts a task from the free resources of a node, which may become negative.
func (t *trial) take(node string, task *api.TaskInfo) {
	free := t.free[node]
	if free == nil {
		return
	}
	free.MilliCPU -= task.Resreq.MilliCPU
	free.Memory -= task.Resreq.Memory
	for name, amount := range task.Resreq.ScalarResources {
		free.AddScalar(name, -amount)
	}
}

// charge adds the request of a pod on a node to the accounts, multiplied by sign.
func (t *trial) charge(j *Job, p *Pod, task *api.TaskInfo, node string, sign float64) {
	for d, amount := range t.requestOn(j, p, task, node) {
		t.present[d] += sign * amount
		for _, queue := range t.Path(j.Spec.Queue) {
			if t.will[queue] == nil {
				t.will[queue] = amounts{}
			}
			t.will[queue][d] += sign * amount
		}
	}
}

// place tries all nodes for each pod. It returns nodes on which all pods have room, nil if there are none.
func (t *trial) place(pods []*Pod) (nodes []string) {
	if len(pods) == 0 {
		return []string{}
	}
	p, path := pods[0], t.Path(t.job.Spec.Queue)
	task := t.jobOf(t.job).Tasks[api.TaskID(p.Object.UID)]
	for _, node := range t.NodeList {
		request := t.requestOn(t.job, p, task, node.Name)
		has := func(d string) float64 { return t.present[d] }
		if !task.InitResreq.LessEqual(t.free[node.Name], api.Zero) || !t.servesOn(p, node.Name) || !t.fitsBeside(path, t.will, request) ||
			!t.fitsLent(path, t.will, request, has) {
			continue
		}
		t.charge(t.job, p, task, node.Name, 1)
		t.take(node.Name, task)
		rest := t.place(pods[1:])
		t.charge(t.job, p, task, node.Name, -1)
		t.free[node.Name].Add(task.Resreq)
		if rest != nil {
			return append([]string{node.Name}, rest...)
		}
	}
	return nil
}

// checkOwedGangs looks for a job that lacks pods to its minimum, that its queue deserves as a whole, and for which
// plans could evict pods above the minimum of other jobs, or whole jobs. At rest there is none.
func (c *chaosCycle) checkOwedGangs(name string) {
	has, unsure := c.expected()
	if !slices.Contains(c.Actions, "reclaim") || c.Plugin == session.ProportionName || !c.own.Reclaim.Plans() || c.sharing() ||
		c.damped() || slices.Contains(slices.Collect(maps.Values(unsure)), true) || c.keepsForOthers() {
		return
	}
	for _, j := range c.World.Jobs {
		pods := c.lacking(j)
		if pods == nil || c.policiesDecide(j) || slices.Contains(c.Actions, "preempt") && c.anotherWaits(j) || !c.deservesAll(j, pods, has) {
			continue
		}
		c.seen["gangs that wait for what they deserve"]++
		t := c.newTrial(j, nil, unitOf{})
		var units []unitOf
		for _, u := range c.unitsFor(j) {
			if t.evict(j, pods, u, true) {
				units = append(units, u)
			}
		}
		nodes := t.place(pods)
		if nodes == nil {
			continue
		}
		for i := len(units) - 1; i >= 0; i-- {
			t.giveBack(units[i])
			if again := t.place(pods); again != nil {
				units, nodes = slices.Delete(units, i, i+1), again
				continue
			}
			t.evict(j, pods, units[i], false)
		}
		if len(units) > 0 {
			violated(name, "job %s waits for %d pods that its queue %s deserves, and with %v evicted they fit on %v", j.Spec.Name, len(pods),
				j.Spec.Queue, c.namesOf(units), nodes)
		}
	}
}

// lacking returns the pods that a job lacks to its minimum, nil if it lacks none or others could do as well.
func (c *chaosCycle) lacking(j *Job) (pods []*Pod) {
	job := c.jobOf(j)
	if job == nil || job.IsPending() || !c.takesJobs(j.Spec.Queue) || !c.waits(job) {
		return nil
	}
	for _, p := range j.Pods {
		task := job.Tasks[api.TaskID(p.Object.UID)]
		switch {
		case task.Status == api.Succeeded || api.AllocatedStatus(task.Status):
		case task.Status != api.Pending || task.SchGated || task.BestEffort || hasClaims(p.Spec) || p.Spec.Cards == "" && hasCards(p.Spec) ||
			len(card.ParseList(p.Spec.Cards)) > 1:
			return nil
		default:
			pods = append(pods, p)
		}
	}
	if len(pods) != int(job.MinAvailable-job.ReadyTaskNum()) || len(pods) > 4 {
		return nil
	}
	return pods
}

// deservesAll reports whether a queue deserves some pods together.
func (c *chaosCycle) deservesAll(j *Job, pods []*Pod, has map[string]amounts) bool {
	sum := maps.Clone(has[j.Spec.Queue])
	if sum == nil {
		sum = amounts{}
	}
	for _, p := range pods {
		task := c.jobOf(j).Tasks[api.TaskID(p.Object.UID)]
		n := slices.IndexFunc(c.NodeList, func(n *api.NodeInfo) bool { return c.servesOn(p, n.Name) })
		if n < 0 {
			return false
		}
		for d, amount := range c.requestOn(j, p, task, c.NodeList[n].Name) {
			sum[d] += amount
			most := c.deserves(j.Spec.Queue, d)
			comesWithCards := !isCard(d) && most == 0 && hasCards(p.Spec)
			if amount > 0 && sum[d] > most && !comesWithCards {
				return false
			}
		}
	}
	return true
}

// unitsFor returns the units that plans may evict for a job, single pods first.
func (c *chaosCycle) unitsFor(j *Job) (units []unitOf) {
	var whole []unitOf
	for _, other := range c.World.Jobs {
		job, q := c.jobOf(other), other.Spec.Queue
		if job == nil || q == j.Spec.Queue || c.World.Queues[q].Spec.Unreclaimable || c.Path(q) == nil || c.hasBudgets(q) {
			continue
		}
		var pods []*Pod
		fixed := false
		for _, p := range other.Pods {
			task := job.Tasks[api.TaskID(p.Object.UID)]
			if !api.AllocatedStatus(task.Status) {
				continue
			}
			if task.Status != api.Running || c.Nodes[task.NodeName] == nil || p.Spec.Kept || c.graceOf(other, p) > 0 || c.relabeled(p, task.NodeName) || hasClaims(p.Spec) {
				fixed = true
				continue
			}
			pods = append(pods, p)
		}
		spare := int(job.ReadyTaskNum() - job.MinAvailable)
		for _, p := range pods[:min(len(pods), max(spare, 0))] {
			units = append(units, unitOf{other, []*Pod{p}})
		}
		if c.takesWhole() && spare == 0 && !fixed && len(pods) > 0 {
			whole = append(whole, unitOf{other, pods})
		}
	}
	return append(units, whole...)
}

// takesWhole reports whether reclaim takes whole jobs.
func (c *chaosCycle) takesWhole() bool {
	return c.Arguments[arguments.ReclaimGangs] == "whole" || c.GangGives
}

// evict takes a unit from its nodes and queues. Where asked, it does so only if the rules of reclaim surely allow it:
// the first pod is borrowed, all queues keep their guarantees, and each pod frees cards that the claimant lacks.
func (t *trial) evict(j *Job, claim []*Pod, u unitOf, asked bool) bool {
	for i, p := range u.pods {
		task := t.jobOf(u.job).Tasks[api.TaskID(p.Object.UID)]
		request := t.requestOn(u.job, p, task, task.NodeName)
		useful := func(wants *Pod) bool {
			return hasCards(wants.Spec) && frees(wants.Spec, p.Spec, t.free[task.NodeName]) &&
				sharesDimension(request, t.requestOn(j, wants, t.jobOf(j).Tasks[api.TaskID(wants.Object.UID)], task.NodeName))
		}
		may := func() bool {
			return slices.ContainsFunc(claim, useful) && t.forbids(j, claim[0], u.job, p) == "" && t.keepsGuarantees(u.job, request) &&
				(i > 0 || t.borrowed(u.job, p, task, t.will))
		}
		if asked && !may() {
			t.giveBack(unitOf{u.job, u.pods[:i]})
			return false
		}
		t.charge(u.job, p, task, task.NodeName, -1)
		t.free[task.NodeName].Add(task.Resreq)
	}
	return true
}

// giveBack gives a unit its nodes again.
func (t *trial) giveBack(u unitOf) {
	for _, p := range u.pods {
		task := t.jobOf(u.job).Tasks[api.TaskID(p.Object.UID)]
		t.charge(u.job, p, task, task.NodeName, 1)
		t.take(task.NodeName, task)
	}
}

// keepsGuarantees reports whether all queues of a job keep their guarantees without a request of the job.
func (t *trial) keepsGuarantees(j *Job, request amounts) bool {
	for d, amount := range request {
		for _, queue := range t.Path(j.Spec.Queue) {
			if amount > 0 && t.will[queue][d]-amount < t.guarantee(queue, d) {
				return false
			}
		}
	}
	return true
}

// namesOf returns the names of the pods of some units.
func (c *chaosCycle) namesOf(units []unitOf) (names []string) {
	for _, u := range units {
		for _, p := range u.pods {
			names = append(names, p.Object.Name)
		}
	}
	return names
}
