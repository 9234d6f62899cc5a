package chaos

import (
	"fmt"
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// moment selects the time at which an invariant is checked.
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
	job  *Job
	pod  *Pod
	task *api.TaskInfo
	path []string
}

// The names of invariants that other code refers to.
const (
	noPanic       = "nothing panics"
	exactClaims   = "a claim gets no more than it was charged for before"
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
	jobsBound     = "no job is admitted beyond a count"
	returnsBound  = "what is promised beside what others keep is within the bounds, and within what a queue deserves where others give something back"
	factorBound   = "no job is admitted beyond what the overcommit factor allows"
	promiseTimes  = "a job is promised its minimum as long as its queue allows"
	holderSums    = "every namespace, user, group and label is charged what its tasks have"
	holderMost    = "no allocation exceeds the limit of a namespace, a user, a group or a label"
	budgetMost    = "no pod gets a card of which the budget is used up"
	budgetSums    = "no queue is charged more card-hours than its pods have used"
	inPlace       = "a job loses its promise to one of its queue with a higher priority alone"
	notTaken      = "what victims leave belongs to whom they were evicted for"
	inOrder       = "no job passes one that waits for quota and goes first"
	holdTimes     = "a job holds back others for no longer than its queue says"
	softly        = "no queue is above its soft quota while others want what is left"
	once          = "no pod is evicted for one that waits for others"
	oneAnswer     = "the inspection answers what the hooks answer"
	admitted      = "no job waits that fits as a whole beside what all have and were promised"
)

// invariants are checked in this order.
var invariants = []invariant{
	{name: "every queue is charged what its tasks have", at: []moment{atOpen, afterEvent, afterAction}, check: (*chaosCycle).checkAccounts},
	{name: "no allocation exceeds a quota", placed: (*chaosCycle).checkQuota},
	{name: "a pod waits only for what it may have", at: []moment{atClose}, check: (*chaosCycle).checkPipelined},
	{name: notTaken, placed: (*chaosCycle).checkMarks},
	{name: once, evicted: (*chaosCycle).checkOnce},
	{name: "nobody borrows a card that another job holds", placed: (*chaosCycle).checkHolds},
	{name: notLent, placed: (*chaosCycle).checkLent},
	{name: "a pod runs on a card that it names", placed: (*chaosCycle).checkCard},
	{name: "reclaim leaves a queue its guarantee", at: []moment{afterAction}, check: (*chaosCycle).checkLeaves},
	{name: innerKeep, evicted: (*chaosCycle).checkInner},
	{name: "reclaim takes no card that its queue deserves", evicted: (*chaosCycle).checkDeserved,
		at: []moment{afterAction}, check: (*chaosCycle).checkWholeJobs},
	{name: "reclaim evicts the pods whose eviction loses the least work", at: []moment{afterAction}, check: (*chaosCycle).checkWork},
	{name: "no pod is evicted that a policy spares", evicted: (*chaosCycle).checkPolicies},
	{name: "no pod is evicted before the end of its notice", evicted: (*chaosCycle).checkNotice},
	{name: "no pod is evicted above a bound before the end of its notice", at: []moment{atOpen}, check: (*chaosCycle).checkEnforcedNotice},
	{name: "nobody is kept for another pod for long after its notice", at: []moment{atOpen}, check: (*chaosCycle).checkLateness},
	{name: "no queue loses or takes more pods than its budgets allow", at: []moment{atClose}, check: (*chaosCycle).checkLosses},
	{name: "nobody is evicted above a bound who is not needed for it", at: []moment{atOpen}, check: (*chaosCycle).checkEnforced},
	{name: "what is above a bound for too long is evicted", at: []moment{atOpen}, check: (*chaosCycle).checkTolerated},
	{name: jobsBound, at: []moment{afterAction}, check: (*chaosCycle).checkCounts},
	{name: factorBound, at: []moment{afterAction}, check: (*chaosCycle).checkOvercommit},
	{name: returnsBound, at: []moment{afterAction}, check: (*chaosCycle).checkReturned},
	{name: inOrder, at: []moment{afterAction}, check: (*chaosCycle).checkJobOrder, placed: (*chaosCycle).checkPodOrder},
	{name: holdTimes, at: []moment{atOpen}, check: (*chaosCycle).checkHoldTimes},
	{name: softly, placed: (*chaosCycle).checkSoft},
	{name: promiseTimes, at: []moment{atOpen}, check: (*chaosCycle).checkPromises},
	{name: holderSums, at: []moment{atOpen, afterEvent, afterAction}, check: (*chaosCycle).checkHolders},
	{name: holderMost, placed: (*chaosCycle).checkHolderLimit},
	{name: budgetMost, placed: (*chaosCycle).checkBudgets},
	{name: budgetSums, at: []moment{atOpen}, check: (*chaosCycle).checkUse},
	{name: inPlace, at: []moment{afterAction}, check: (*chaosCycle).checkDisplaced},
	{name: "every refusal has a reason", at: []moment{atClose}, check: (*chaosCycle).checkReasons},
	{name: oneAnswer, at: []moment{atClose}, check: (*chaosCycle).checkInspection},
	{name: gain, at: []moment{atClose}, check: (*chaosCycle).checkGain},
	{name: preemptGain, at: []moment{atClose}, check: (*chaosCycle).checkPreemption},
	{name: "no session depends on earlier ones", at: []moment{atOpen}, check: (*chaosCycle).checkFresh},
	{name: "no gang is left with a part of its minimum", at: []moment{afterAction}, check: (*chaosCycle).checkBroken},
	{name: "every victim is needed", at: []moment{afterAction}, check: (*chaosCycle).checkNeeded},
	{name: owed, at: []moment{atRest}, check: (*chaosCycle).checkOwed},
	{name: "a gang gets what its queue deserves", at: []moment{atRest}, check: (*chaosCycle).checkOwedGangs},
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
	if j == nil || c.own.NotCharged[task.UID] {
		return
	}
	p := placement{j, pod, task, c.Path(j.Spec.Queue)}
	for _, i := range invariants {
		switch {
		case unchecked(i.name):
		case i.placed != nil && allocated && (task.Status == api.Allocated || task.Status == api.Pipelined):
			i.placed(c, i.name, p)
		case i.evicted != nil && !allocated && task.Status == api.Releasing && !c.unsure(pod):
			i.evicted(c, i.name, p)
		}
	}
}

// row returns the quantities of a vector by dimension, without those that are 0.
func (c *chaosCycle) row(x fastres.Vector) map[string]float64 {
	all, names := map[string]float64{}, &c.own.Memory.Names
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

// checkAccounts compares the amounts that the engine has charged with the tasks.
func (c *chaosCycle) checkAccounts(name string) {
	want, unsure := c.expected()
	for queue, has := range c.allocated() {
		if len(c.claimed) > 0 {
			c.seen[fmt.Sprintf("accounts beside claims, certain: %t", !unsure[queue])]++
		}
		if queue != index.RootName && c.World.Queues[queue] == nil || c.Path(queue) == nil {
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

// checkRest checks a world in which nothing happens any more.
func (w *chaos) checkRest(settled bool, broken sabotage) {
	if !settled {
		late := 0
		for _, n := range w.Evictions[len(w.Evictions)-w.mostQuiet()/3:] {
			late += n
		}
		switch {
		case late > 0 && (w.exchanges() || w.preemptsInVain() || w.reclaimsInVain() || w.spreads() || w.refills()):
			return
		case late > 0 && !unchecked(comesToRest):
			violated(comesToRest, "%d pods are evicted in the last %d of %d quiet cycles", late, w.mostQuiet()/3, w.mostQuiet())
		case late == 0 && !unchecked(settles):
			violated(settles, "something changes in each of %d quiet cycles", w.mostQuiet())
		}
		return
	}
	w.checkEvictors()
	w.begin()
	c := w.open(broken)
	if !w.Changed { // by a window that begins just now, before the actions could act on it
		c.checkAll(atRest)
	}
	framework.CloseSession(c.Session)
}
