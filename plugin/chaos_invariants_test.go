package plugin

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// moment is when an invariant is checked.
type moment int

const (
	atOpen moment = iota
	afterEvent
	afterAction
	atClose
	atRest
)

// invariant is a property that no sequence of acts may break.
type invariant struct {
	name  string
	at    []moment
	check func(c *chaosCycle, name string)
	// placed is called after the allocation of a pending task.
	placed func(c *chaosCycle, name string, p placement)
	// evicted is called after an eviction.
	evicted func(c *chaosCycle, name string, p placement)
}

// placement is a task that an action placed or evicted.
type placement struct {
	job  *worldJob
	pod  *worldPod
	task *api.TaskInfo
	path []string
}

// The names of invariants that other code refers to.
const (
	noPanic       = "nothing panics"
	outlivesQueue = "a charge outlives its queue"
	unlisted      = "a job has elastic cards that its pods do not name"
	otherCards    = "an unused guarantee of one card does not protect pods with another"
	rootParent    = "a root queue with a parent stops nothing"
	goneQueue     = "the root is bounded as before when the queue of pods on a lost node exists again"
	gonePods      = "pods without requests leave no trace when their lost node is forgotten"
	innerKeep     = "reclaim leaves an inner queue its guarantee"
	notLent       = "no queue gets what is guaranteed to others"
	promisesBound = "a job is admitted that fits beside what others can still get"
	ownOnce       = "a job is admitted that fits beside what others have and were promised"
	gain          = "no eviction without gain"
	preemptGain   = "no preemption without gain"
	staleNodes    = "a pod is charged for the card of its node, whenever cards begin to count"
	comesToRest   = "evictions end"
	settles       = "the world comes to rest"
	owed          = "a queue gets what it deserves"
	starves       = "no pod waits where its queue has quota and a node has room"
	refused       = "no pod is refused that fits under all bounds"
	admitted      = "no job waits that fits as a whole beside what all have and were promised"
)

// invariants are checked in this order.
var invariants = []invariant{
	{name: "every queue is charged what its tasks have", at: []moment{atOpen, afterEvent, afterAction}, check: (*chaosCycle).checkAccounts},
	{name: "no allocation exceeds a quota", placed: (*chaosCycle).checkQuota},
	{name: notLent, placed: (*chaosCycle).checkLent},
	{name: "a pod runs on a card that it names", placed: (*chaosCycle).checkCard},
	{name: "reclaim leaves a queue its guarantee", at: []moment{afterAction}, check: (*chaosCycle).checkLeaves},
	{name: innerKeep, evicted: (*chaosCycle).checkInner},
	{name: "reclaim takes no card that its queue deserves", evicted: (*chaosCycle).checkDeserved},
	{name: "every refusal has a reason", at: []moment{atClose}, check: (*chaosCycle).checkReasons},
	{name: gain, at: []moment{atClose}, check: (*chaosCycle).checkGain},
	{name: preemptGain, at: []moment{atClose}, check: (*chaosCycle).checkPreemption},
	{name: "no session depends on earlier ones", at: []moment{atOpen}, check: (*chaosCycle).checkFresh},
	{name: owed, at: []moment{atRest}, check: (*chaosCycle).checkOwed},
	{name: starves, at: []moment{atRest}, check: (*chaosCycle).checkStarvation},
	{name: refused, at: []moment{atOpen, atRest}, check: (*chaosCycle).checkRefusals},
	{name: admitted, at: []moment{atOpen, atRest}, check: (*chaosCycle).checkAdmission},
	{name: ownOnce, at: []moment{atOpen, atRest}, check: (*chaosCycle).checkOwnAdmission},
	{name: promisesBound, at: []moment{atOpen, atRest}, check: (*chaosCycle).checkBoundedAdmission},
}

func (c *chaosCycle) checkAll(at moment) {
	for _, i := range invariants {
		if i.check != nil && !unchecked(i.name) && slices.Contains(i.at, at) {
			i.check(c, i.name)
		}
	}
}

func (c *chaosCycle) checkEvent(task *api.TaskInfo, allocated bool) {
	c.checkAll(afterEvent)
	j, pod := c.taskOf(task)
	if j == nil || c.own.notCharged[task.UID] {
		return
	}
	p := placement{j, pod, task, c.path(j.spec.queue)}
	for _, i := range invariants {
		switch {
		case unchecked(i.name):
		case i.placed != nil && allocated && (task.Status == api.Allocated || task.Status == api.Pipelined):
			i.placed(c, i.name, p)
		case i.evicted != nil && !allocated && task.Status == api.Releasing && !pod.unsure():
			i.evicted(c, i.name, p)
		}
	}
}

// row returns the quantities of a vector by dimension, without those that are 0.
func (c *chaosCycle) row(x fastres.Vector) map[string]float64 {
	all, names := map[string]float64{}, &c.own.memory.names
	for d := range fastres.Dim(min(x.Len(), names.Len())) {
		if x.Get(d) == 0 {
			continue
		}
		if names.IsCard(d) {
			all[cardPrefix+names.Name(d)] = x.Get(d)
		} else {
			all[names.Name(d)] = x.Get(d)
		}
	}
	return all
}

func indexQueue(i int) index.Queue { return index.Queue(i) }

func isCard(dimension string) bool {
	return len(dimension) > len(cardPrefix) && dimension[:len(cardPrefix)] == cardPrefix
}

// checkAccounts compares what the engine has charged with the tasks.
func (c *chaosCycle) checkAccounts(name string) {
	want, unsure := c.expected()
	for queue, has := range c.allocated() {
		if queue != index.RootName && c.queues[queue] == nil || c.path(queue) == nil {
			continue
		}
		dimensions := maps.Clone(has)
		maps.Copy(dimensions, want[queue])
		for d := range dimensions {
			if !same(has[d], want[queue][d]) && !unsure[queue] {
				violated(name, "queue %s is charged %g of %s, its tasks have %g (%s)", queue, has[d], d, want[queue][d], c.action)
			}
		}
	}
}

// readAnnotations reads the card annotations of all queues as the scheduler does: a bad
// value leaves the last good one in force.
func (w *world) readAnnotations() {
	for _, name := range sortedKeys(w.queues) {
		q := w.queues[name]
		q.bad = false
		for _, key := range quotaKeys {
			text, ok := q.object.Annotations[key]
			before := q.good[key]
			if q.good[key] = nil; !ok {
				continue
			}
			q.good[key] = map[string]int64{}
			var entries map[string]json.RawMessage
			if json.Unmarshal([]byte(text), &entries) != nil {
				q.good[key], q.bad = before, true
				if before == nil {
					q.good[key] = map[string]int64{}
				}
				continue
			}
			for name, value := range entries {
				if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
					q.good[key][name] = n
				} else {
					q.bad = true
					if n, had := before[name]; had {
						q.good[key][name] = n
					}
				}
			}
		}
	}
}

// closed reports whether a leaf has none of a card that its quota does not name.
func (w *world) closed(queue string) bool {
	if w.plugin == Name {
		return true
	}
	return slices.ContainsFunc(w.path(queue), func(q string) bool {
		return w.annotated(q) && (q != index.RootName || !w.hierarchy)
	})
}

// cardQuota returns the quota of a card, in thousandths.
func (w *world) cardQuota(queue, name string) float64 {
	if q := w.queues[queue]; q != nil {
		if n, ok := q.good[card.QuotaKey][name]; ok {
			return 1000 * float64(n)
		}
	}
	if w.leaf(queue) && w.closed(queue) && !(w.hierarchy && queue == index.RootName) {
		return 0
	}
	return math.Inf(1)
}

// cardAmount returns deserved or guarantee of a card, in thousandths.
func (w *world) cardAmount(queue, key, name string) float64 {
	q, quota := w.queues[queue], w.cardQuota(queue, name)
	if q == nil {
		return 0
	}
	_, bounded := q.good[card.QuotaKey][name]
	n, ok := q.good[key][name]
	switch {
	case !bounded && (w.leaf(queue) || !ok):
		return 0
	case !ok:
		return quota
	case key == card.GuaranteeKey:
		return min(quota, 1000*float64(n))
	}
	return 1000 * float64(n)
}

// quantity returns a quantity of a list, in the unit of accounts.
func quantity(list workload.Resources, dimension string) (float64, bool) {
	n, ok := list[dimension]
	if dimension == "cpu" || dimension == "memory" {
		return float64(n), ok
	}
	return 1000 * float64(n), ok
}

// ownBound returns the bound that a queue itself sets.
func (w *world) ownBound(queue, dimension string) float64 {
	if isCard(dimension) {
		if !w.counted(queue) {
			return math.Inf(1)
		}
		return w.cardQuota(queue, dimension[len(cardPrefix):])
	}
	if queue == index.RootName && w.hierarchy {
		return math.Inf(1) // as in upstream: the capability of the root is only inherited
	}
	if q := w.queues[queue]; q != nil {
		if n, ok := quantity(q.spec.queue.Capability, dimension); ok {
			return n
		}
	}
	zero := w.arguments[unsetCapability] == "zero" || w.plugin == Name && w.arguments[unsetCapability] == nil
	if zero && w.leaf(queue) && (dimension == "cpu" || dimension == "memory") {
		return 0
	}
	return math.Inf(1)
}

// capability returns the bound that a queue sets or inherits.
func (w *world) capability(queue, dimension string) float64 {
	own := w.ownBound(queue, dimension)
	switch q := w.queues[queue]; {
	case !math.IsInf(own, 1) || isCard(dimension):
		return own
	case queue != index.RootName:
		return w.capability(w.path(queue)[1], dimension)
	case q != nil && len(q.spec.queue.Capability) > 0:
		if n, ok := quantity(q.spec.queue.Capability, dimension); ok || dimension == "cpu" || dimension == "memory" {
			return n // as in upstream: 0 of cpu or memory that a capability of the root does not name
		}
	}
	return own
}

// guarantee returns what is guaranteed to a queue and, in a tree, to those below it.
func (w *world) guarantee(queue, dimension string) float64 {
	own, below := w.ownGuarantee(queue, dimension), 0.0
	for _, child := range w.children(queue) {
		below += w.guarantee(child, dimension)
	}
	return max(own, below)
}

func (w *world) ownGuarantee(queue, dimension string) float64 {
	q := w.queues[queue]
	switch {
	case q == nil:
		return 0
	case isCard(dimension) && !w.counted(queue):
		return 0
	case isCard(dimension):
		return w.cardAmount(queue, card.GuaranteeKey, dimension[len(cardPrefix):])
	}
	n, _ := quantity(q.spec.queue.Guarantee, dimension)
	return n
}

// children returns the children of a queue, and for "" all queues that are flat.
func (w *world) children(queue string) (children []string) {
	for _, name := range sortedKeys(w.queues) {
		path := w.path(name)
		if queue == "" && !w.hierarchy || w.hierarchy && len(path) > 1 && path[1] == queue {
			children = append(children, name)
		}
	}
	return children
}

// stock returns what the cluster has.
func (w *world) stock(dimension string) (sum float64) {
	for _, n := range w.nodes {
		if n.lost {
			continue
		}
		if !isCard(dimension) {
			amount, _ := quantity(n.spec.Allocatable, dimension)
			sum += amount
			continue
		}
		for _, resource := range cardResources {
			if cardOf(n.spec, resource) == dimension[len(cardPrefix):] {
				sum += 1000 * float64(n.spec.Allocatable[resource])
			}
		}
	}
	return sum
}

// free returns what the guarantees of others leave of an amount for one of some queues.
func (w *world) free(queue string, among []string, of float64, dimension string) float64 {
	for _, other := range among {
		of -= w.guarantee(other, dimension)
	}
	return max(0, of) + w.guarantee(queue, dimension)
}

// limit returns realCapability, by its formula. The stock bounds no card at the root, only
// what is lent. What pods on lost nodes have raises the bound of the root.
func (c *chaosCycle) limit(queue, dimension string) float64 {
	switch {
	case !c.hierarchy:
		return min(c.ownBound(queue, dimension), c.free(queue, c.children(""), c.stock(dimension), dimension))
	case queue == index.RootName && (isCard(dimension) || c.arguments[rootCapability] == "unlimited"):
		return c.ownBound(queue, dimension)
	case queue == index.RootName:
		return c.stock(dimension) + c.lost[dimension]
	}
	parent := c.path(queue)[1]
	return min(c.capability(queue, dimension), c.free(queue, c.children(parent), c.limit(parent, dimension), dimension))
}

// unused returns what is guaranteed to a queue, or to those below it, and not used.
func (w *world) unused(queue, dimension string, has map[string]amounts) float64 {
	below := 0.0
	for _, child := range w.children(queue) {
		below += w.unused(child, dimension, has)
	}
	return max(below, w.guarantee(queue, dimension)-has[queue][dimension], 0)
}

// lends reports where the charge of an amount takes what is guaranteed to others: the
// queue whose children are guaranteed the rest, and what is too much. A queue that uses
// its own guarantee takes nothing. has includes the charge; present is what pods have on
// nodes that are there, with the charge.
func (c *chaosCycle) lends(path []string, dimension string, amount float64, has map[string]amounts, present float64) (at string, excess float64) {
	before := maps.Clone(has)
	for _, queue := range path {
		before[queue] = amounts{dimension: has[queue][dimension] - amount}
	}
	for i, queue := range path {
		if c.unused(queue, dimension, before)-c.unused(queue, dimension, has) >= amount {
			return "", 0
		}
		parent := "" // of all flat queues
		if c.hierarchy {
			if i+1 == len(path) {
				return "", 0 // the root
			}
			parent = path[i+1]
		}
		unused := 0.0
		for _, child := range c.children(parent) {
			unused += c.unused(child, dimension, has)
		}
		excess := present - c.stock(dimension)
		switch parent {
		case "":
		case index.RootName: // its quota of cards bounds what is lent as well
			excess = max(excess, has[parent][dimension]-c.limit(parent, dimension))
		default:
			excess = has[parent][dimension] - c.limit(parent, dimension)
		}
		if excess += unused; unused > 0 && excess > 0.1 {
			return parent, excess
		}
	}
	return "", 0
}

// checkQuota checks the quotas of all queues that were charged for a task. Reclaim
// pipelines tasks without a look at the cpu, memory and scalars of ancestors, as
// upstream; the cycle that allocates them looks.
func (c *chaosCycle) checkQuota(name string, p placement) {
	for d, amount := range c.request(p.job, p.pod, p.task) {
		if amount == 0 || p.task.Status == api.Pipelined && !isCard(d) {
			continue
		}
		for _, queue := range p.path {
			q := c.own.ix.Lookup(queue)
			has, bound := c.row(c.own.ix.Allocated(q))[d], c.row(c.own.limit.Row(q))[d]
			if c.plugin != ProportionName {
				bound = min(bound, c.ownBound(queue, d))
			}
			if has > bound+0.1 {
				violated(name, "queue %s has %g of %s after %s is placed on %s by %s, its bound is %g",
					queue, has, d, p.task.Name, p.task.NodeName, c.action, bound)
			}
		}
	}
}

// checkLent checks that a queue gets nothing that is guaranteed to others: cards, and with
// keepGuarantees cpu, memory and scalars.
func (c *chaosCycle) checkLent(name string, p placement) {
	has, unsure := c.expected()
	if c.plugin == ProportionName || len(p.path) == 0 || c.anyUnsure(p.path, unsure) {
		return
	}
	for d, amount := range c.request(p.job, p.pod, p.task) {
		if amount == 0 || !isCard(d) && (c.arguments[keepGuarantees] != true || p.task.Status == api.Pipelined) {
			continue
		}
		if at, excess := c.lends(p.path, d, amount, has, c.present(d)); excess > 0 {
			violated(name, "%s is placed on %s by %s: of %s, %g is guaranteed to others below queue %q", p.task.Name, p.task.NodeName, c.action, d, excess, at)
		}
	}
}

// anyUnsure reports whether it is not certain what the queues are charged that share what
// guarantees leave: those below the root, or all flat queues.
func (c *chaosCycle) anyUnsure(path []string, unsure map[string]bool) bool {
	all := path[len(path)-1:]
	if !c.hierarchy {
		all = c.children("")
	}
	return slices.ContainsFunc(all, func(queue string) bool { return unsure[queue] })
}

// present returns what queues are charged of a dimension for pods on nodes that are there
// and give it.
func (c *chaosCycle) present(dimension string) (sum float64) {
	c.eachCharge(func(_ *worldJob, _ *worldPod, task *api.TaskInfo, charge amounts) {
		if n := c.nodes[task.NodeName]; n != nil && !n.lost && c.gives(n.spec, dimension) {
			sum += charge[dimension]
		}
	})
	return sum
}

func (c *chaosCycle) gives(n workload.Node, dimension string) bool {
	return !isCard(dimension) || slices.ContainsFunc(cardResources, func(resource string) bool { return cardPrefix+cardOf(n, resource) == dimension })
}

// checkCard checks that a node has a card that the task names.
func (c *chaosCycle) checkCard(name string, p placement) {
	if c.plugin == ProportionName || !c.counted(p.job.spec.queue) || p.pod.spec.cards == "" {
		return
	}
	for _, resource := range cardResources {
		if p.pod.spec.requests[resource] > 0 && c.isCardResource(resource) {
			has := cardOf(c.nodes[p.task.NodeName].spec, resource)
			if !slices.Contains(card.ParseList(p.pod.spec.cards), has) {
				violated(name, "%s names %s and is placed on %s, which has %q", p.task.Name, p.pod.spec.cards, p.task.NodeName, has)
			}
		}
	}
}

// checkLeaves checks that reclaim took no queue below what is guaranteed to it.
func (c *chaosCycle) checkLeaves(name string) {
	if c.action != "reclaim" || c.plugin == ProportionName {
		return
	}
	now := c.allocated()
	for queue, before := range c.before {
		if c.queues[queue] == nil || c.path(queue) == nil || !c.leaf(queue) {
			continue
		}
		for d, had := range before {
			if kept := min(had, c.ownGuarantee(queue, d)); now[queue][d] < kept-0.1 {
				violated(name, "queue %s keeps %g of %s, had %g, %g are guaranteed", queue, now[queue][d], d, had, c.ownGuarantee(queue, d))
			}
		}
	}
}

// checkInner checks that reclaim takes no inner queue below its guarantee. A queue that the
// reclaimer is in gives to itself, so it may.
func (c *chaosCycle) checkInner(name string, p placement) {
	if c.action != "reclaim" || c.plugin == ProportionName {
		return
	}
	to, _ := c.taskOf(c.own.claimant)
	for _, queue := range p.path[1:] {
		if slices.Contains(c.path(to.spec.queue), queue) {
			return
		}
		now := c.row(c.own.ix.Allocated(c.own.ix.Lookup(queue)))
		for d, amount := range c.request(p.job, p.pod, p.task) {
			if kept := min(now[d]+amount, c.guarantee(queue, d)); amount > 0 && now[d] < kept-0.1 {
				violated(name, "%s is evicted for %s: queue %s keeps %g of %s, %g are guaranteed", p.task.Name, c.own.claimant.Name, queue, now[d], d, kept)
			}
		}
	}
}

// checkDeserved checks that a queue had more of a card than it deserves when reclaim
// took it. Volcano evicts the victims for one pod in its own order, so one of them may be
// below.
func (c *chaosCycle) checkDeserved(name string, p placement) {
	if c.action != "reclaim" || !c.counted(p.job.spec.queue) || c.plugin == ProportionName {
		return
	}
	q := c.own.ix.Lookup(p.job.spec.queue)
	for d, amount := range c.request(p.job, p.pod, p.task) {
		if !isCard(d) {
			continue
		}
		for _, e := range c.own.evicted {
			if other, pod := c.taskOf(e.task); e.claimant == c.own.claimant && other.spec.queue == p.job.spec.queue {
				amount = max(amount, c.request(other, pod, e.task)[d])
			}
		}
		if had, deserved := c.row(c.own.ix.Allocated(q))[d]+amount, c.deserves(p.job.spec.queue, d); had <= deserved {
			violated(name, "%s is evicted, queue %s had %g of %s and deserves %g", p.task.Name, p.job.spec.queue, had, d, deserved)
		}
	}
}

// checkReasons checks that what waits has a reason.
func (c *chaosCycle) checkReasons(name string) {
	if len(c.NodeList) == 0 {
		return // allocate asks about no pod
	}
	for _, j := range c.jobs {
		job := c.jobOf(j)
		switch {
		case job == nil || job.JobFitErrors != "":
		case job.IsPending():
			if j.spec.minResources != nil && slices.Contains(c.actions, "enqueue") {
				violated(name, "job %s is not admitted and has no reason", j.spec.name)
			}
		case c.plugin != ProportionName && c.waits(job) && len(job.NodesFitErrors) == 0:
			violated(name, "job %s has pending pods and no reason", j.spec.name)
		}
	}
}

// waits reports whether a valid job, which can have its minimum, has pods that allocate
// considers and that have no node.
func (c *chaosCycle) waits(job *api.JobInfo) bool {
	if valid := c.JobValid(job); valid != nil && !valid.Pass {
		return false
	}
	waiting := int32(0)
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated && !task.Resreq.IsEmpty() {
			waiting++
		}
	}
	return waiting > 0 && waiting+job.ReadyTaskNum()+job.WaitingTaskNum()+job.PendingBestEffortTaskNum() >= job.MinAvailable
}

// checkGain checks that a session in which reclaim evicts pods places others.
func (c *chaosCycle) checkGain(name string) { c.gains(name, "reclaim") }

// checkPreemption is checkGain for preempt.
func (c *chaosCycle) checkPreemption(name string) { c.gains(name, "preempt") }

func (c *chaosCycle) gains(name, action string) {
	if c.plugin == ProportionName {
		return // the drop-in for proportion evicts as upstream, for pods without requests too
	}
	i := slices.IndexFunc(c.cache.Evicted, func(pod string) bool { return c.evictor[pod] == action })
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

// checkRest checks a world in which nothing happens any more.
func (w *world) checkRest(settled bool, broken sabotage) {
	if !settled {
		late := 0
		for _, n := range w.evictions[len(w.evictions)-mostQuiet/3:] {
			late += n
		}
		switch {
		case late > 0 && w.exchanges():
			return
		case late > 0 && !unchecked(comesToRest):
			violated(comesToRest, "%d pods are evicted in the last %d of %d quiet cycles", late, mostQuiet/3, mostQuiet)
		case late == 0 && !unchecked(settles):
			violated(settles, "something changes in each of %d quiet cycles", mostQuiet)
		}
		return
	}
	w.checkClaims()
	w.changed = false
	w.begin(nil)
	c := w.open(broken)
	c.checkAll(atRest)
	framework.CloseSession(c.Session)
}

// exchanges reports whether queues may take from one another without end: upstream's
// reclaim does, and damping ends it.
func (w *world) exchanges() bool {
	return w.arguments[reclaimDamping] == nil && slices.Contains(w.actions, "reclaim")
}

// patience is the number of cycles that a pod for which others were evicted may wait after they
// have ended.
const patience = 5

// checkClaims checks that the pods for which others were evicted got a node.
func (w *world) checkClaims() {
	if w.exchanges() {
		return // the place of a victim goes to the queue that comes first
	}
	for _, claim := range w.claims {
		pod := claim.pod.object
		if claim.cycle <= w.scenario.cycles || claim.cycle+w.grace+patience > w.cycle || unchecked(gain) {
			continue
		}
		if pod.Spec.NodeName == "" && w.filled[claim.node] <= claim.cycle {
			violated(gain, "others were evicted for %s in cycle %d, and it has no node in cycle %d", pod.Name, claim.cycle, w.cycle)
		}
	}
}

// eligible reports whether a queue takes jobs.
func (w *world) takesJobs(queue string) bool {
	q := w.queues[queue]
	return q != nil && w.path(queue) != nil && w.leaf(queue) && !q.spec.queue.Closed
}

// checkStarvation places pending pods as the engine permits. It must not be possible,
// since allocate had the chance.
func (c *chaosCycle) checkStarvation(name string) {
	for _, j := range c.jobs {
		job := c.jobOf(j)
		if job == nil || job.IsPending() || !c.takesJobs(j.spec.queue) || !c.waits(job) || c.plugin == ProportionName {
			continue
		}
		statement := framework.NewStatement(c.Session)
		var nodes []string
		for _, p := range j.pods {
			task := job.Tasks[api.TaskID(p.object.UID)]
			if task.Status != api.Pending || task.SchGated || task.BestEffort || !c.Allocatable(c.Queues[job.Queue], task) {
				continue
			}
			for _, node := range c.NodeList {
				if task.InitResreq.LessEqual(node.Idle, api.Zero) && c.PredicateFn(task, node) == nil && statement.Allocate(task, node) == nil {
					nodes = append(nodes, node.Name)
					break
				}
			}
		}
		ready := len(nodes) > 0 && c.JobReady(job)
		statement.Discard()
		if ready {
			violated(name, "job %s waits, and nodes %v have room for its pods", j.spec.name, nodes)
		}
	}
}

// fits reports whether amounts fit under the limits of a queue and its ancestors.
func (c *chaosCycle) fitsBeside(path []string, has map[string]amounts, more amounts) bool {
	for _, queue := range path {
		for d, amount := range more {
			if amount > 0 && has[queue][d]+amount > c.limit(queue, d)-0.2 {
				return false
			}
		}
	}
	return true
}

// checkRefusals checks that the engine refuses no pod that fits under all bounds.
func (c *chaosCycle) checkRefusals(name string) {
	if c.cycle%3 != 0 && c.cycle < c.scenario.cycles {
		return
	}
	has, unsure := c.expected()
	for _, j := range c.jobs {
		job := c.jobOf(j)
		if job == nil || !c.takesJobs(j.spec.queue) || c.plugin == ProportionName {
			continue
		}
		for _, p := range j.pods {
			task := job.Tasks[api.TaskID(p.object.UID)]
			if task.Status != api.Pending || p.spec.cards == "" && c.arguments[untypedCards] == "reject" {
				continue
			}
			for _, node := range c.NodeList {
				task.NodeName = node.Name
				request := c.request(j, p, task)
				task.NodeName = ""
				if !c.servesOn(p, node.Name) || unsure[j.spec.queue] || c.anyUnsure(c.path(j.spec.queue), unsure) || !c.fitsBeside(c.path(j.spec.queue), has, request) || !c.fitsLent(c.path(j.spec.queue), has, request) {
					continue
				}
				if !c.Allocatable(c.Queues[job.Queue], task) {
					violated(name, "%s may not be allocated (%s)", task.Name, job.JobFitErrors)
				}
				if err := c.PredicateFn(task, node); err != nil {
					violated(name, "%s may not be placed on %s: %v", task.Name, node.Name, err)
				}
			}
		}
	}
}

// fitsLent is fitsBeside for what is guaranteed to others.
func (c *chaosCycle) fitsLent(path []string, has map[string]amounts, more amounts) bool {
	after := map[string]amounts{}
	for queue, of := range has {
		after[queue] = maps.Clone(of)
	}
	for _, queue := range path {
		if after[queue] == nil {
			after[queue] = amounts{}
		}
		for d, amount := range more {
			after[queue][d] += amount
		}
	}
	for d, amount := range more {
		if _, excess := c.lends(path, d, amount, after, c.present(d)+amount); amount > 0 && excess > 0 && (isCard(d) || c.arguments[keepGuarantees] == true) {
			return false
		}
	}
	return true
}

// servesOn reports whether a node has the cards that a pod names.
func (c *chaosCycle) servesOn(p *worldPod, node string) bool {
	for _, resource := range cardResources {
		if p.spec.requests[resource] == 0 {
			continue
		}
		has := cardOf(c.nodes[node].spec, resource)
		if has == "" || p.spec.cards != "" && !slices.Contains(card.ParseList(p.spec.cards), has) {
			return false
		}
	}
	return true
}

// checkAdmission checks that no job waits that fits beside all that others have and were
// promised.
func (c *chaosCycle) checkAdmission(name string) { c.admission(name, false, false) }

// checkBoundedAdmission is checkAdmission where a queue is promised no more than it can
// get.
func (c *chaosCycle) checkBoundedAdmission(name string) { c.admission(name, true, false) }

// checkOwnAdmission is checkAdmission for jobs that have a part of their minimum.
func (c *chaosCycle) checkOwnAdmission(name string) { c.admission(name, false, true) }

func (c *chaosCycle) admission(name string, bounded, own bool) {
	if c.plugin == ProportionName || c.cycle%3 != 0 && c.cycle < c.scenario.cycles {
		return
	}
	has, unsure := c.expected()
	for queue, more := range c.promised(has, bounded) {
		if has[queue] == nil {
			has[queue] = amounts{}
		}
		for d, amount := range more {
			has[queue][d] += amount
		}
	}
	for _, j := range c.jobs {
		job := c.jobOf(j)
		minimum, certain := c.minimum(j)
		if job == nil || !job.IsPending() || !certain || j.spec.minResources == nil || !c.takesJobs(j.spec.queue) || unsure[j.spec.queue] || unsure[index.RootName] {
			continue
		}
		if own {
			c.lessAllocated(minimum, j, job)
		}
		if c.fitsBeside(c.path(j.spec.queue), has, minimum) && !c.JobEnqueueable(job) {
			violated(name, "job %s is not admitted: %s", j.spec.name, job.JobFitErrors)
		}
	}
}

// minimum returns what a job needs to be admitted. Where a pod leaves the choice between
// cards, it needs all of them, and the result is not certain.
func (c *chaosCycle) minimum(j *worldJob) (a amounts, certain bool) {
	a, certain = amounts{}, true
	for name := range j.spec.minResources {
		if n, _ := quantity(j.spec.minResources, name); c.plugin != Name || name == "cpu" || name == "memory" {
			a[name] = n
		}
	}
	if !c.counted(j.spec.queue) {
		return a, true
	}
	if len(j.pods) == 0 {
		return a, certain && j.spec.cardRequest == ""
	}
	for i, p := range j.pods {
		for _, resource := range cardResources {
			amount := 1000 * float64(p.spec.requests[resource])
			names := card.ParseList(p.spec.cards)
			if amount > 0 && len(names) == 0 {
				names = cardNames
			}
			for _, name := range names {
				a[cardPrefix+name] += amount
			}
			certain = certain && (amount == 0 || len(names) == 1 && resourceOf(names[0]) == resource && c.isCardResource(resource) && i < j.spec.minMember)
		}
	}
	return a, certain
}

// lessAllocated subtracts what a job has from its minimum.
func (c *chaosCycle) lessAllocated(minimum amounts, j *worldJob, job *api.JobInfo) {
	for _, p := range j.pods {
		if task := job.Tasks[api.TaskID(p.object.UID)]; api.AllocatedStatus(task.Status) {
			for d, amount := range c.request(j, p, task) {
				minimum[d] = max(0, minimum[d]-amount)
			}
		}
	}
}

// promised returns what is reserved for admitted jobs, at most, by queue.
func (c *chaosCycle) promised(has map[string]amounts, bounded bool) map[string]amounts {
	own := map[string]amounts{}
	for _, j := range c.jobs {
		job := c.jobOf(j)
		if job == nil || job.IsPending() || job.PodGroup.Status.Phase == scheduling.PodGroupCompleted {
			continue
		}
		minimum, _ := c.minimum(j)
		c.lessAllocated(minimum, j, job)
		if own[j.spec.queue] == nil {
			own[j.spec.queue] = amounts{}
		}
		for d, amount := range minimum {
			own[j.spec.queue][d] += amount
		}
	}
	return c.rollUp(own, has, bounded)
}

// rollUp adds the promises of queues to their ancestors.
func (c *chaosCycle) rollUp(own, has map[string]amounts, bounded bool) map[string]amounts {
	all := map[string]amounts{}
	var visit func(queue string) amounts
	visit = func(queue string) amounts {
		sum := amounts{}
		maps.Copy(sum, own[queue])
		if c.hierarchy {
			for _, child := range c.children(queue) {
				for d, amount := range visit(child) {
					sum[d] += amount
				}
			}
		}
		all[queue] = maps.Clone(sum)
		for d := range sum {
			if q := c.queues[queue]; bounded && q != nil && q.spec.queue.Closed {
				sum[d] = 0
			} else if bounded {
				sum[d] = min(sum[d], max(0, c.limit(queue, d)-has[queue][d]))
			}
		}
		return sum
	}
	if c.hierarchy {
		visit(index.RootName)
		return all
	}
	for queue := range own {
		visit(queue)
	}
	return all
}
