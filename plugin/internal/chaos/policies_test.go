package chaos

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// policyTexts are the values of policies in random worlds. Some are wrong.
var policyTexts = map[string][]string{
	card.HolderKey: append(slices.Clone(testbed.Limits), `{"user":{"*":{"A":1.5}}}`, `{"users":{}}`, `{"namespace":{"*":{"A":1}}}`,
		`{"namespace":{"*":{"A":3,"B":2,"cpu":"3"}}}`, `{"namespace":{"*":{"A":0,"C":4}},"user":{"*":{"A":2,"cpu":"2500m"}}}`,
		`{"namespace":{"*":{"cpu":"2500m","memory":"4Gi"}}}`, `{"namespace":{"*":{"nvidia.com/gpu":"2"}}}`, `{"namespace":{"*":{"A":1.5}}}`,
		`{"namespace":{"*":{"cpu":"-1"}}}`, "cpu"),

	card.BudgetKey: {`{"A":"0.2h/day"}`, `{"A":"1h/1h","B":"0.1h/week"}`, `{"A":"0.5h/1h sliding","@g":"0.5h/3h"}`, "{}", `{"A":"0h/day"}`, `{"A":"1e18h/day"}`},

	policy.FairShareKey: {"on", "off", "off,namespaces", "weight=0.5", "namespaces , weight=3", "namespaces=off", "no", "weight=0", "true"},

	policy.InqueueTimeoutKey: {"0s", "1m", "4m", "-1m", "soon"},
	policy.OrderKey: {"fifo", "priority-fifo,hold=4m", "hold=2m, fifo", "best-effort", "fifo,hold=0s", "lifo", "nodes=2m", "best-effort,nodes=5m",
		"fifo,nodes=0s", "fifo,nodes=-1m", "displace", "displace=off,fifo", "hold=1m,displace"},
	policy.SoftQuotaKey:        {`{"A":1}`, `{"A":4,"B":2}`, `{"A":2,"B":0}`, `{"@g":3}`, "{}", `{"A":-1}`},
	policy.OvercommitFactorKey: {"0.5", "1", "1.5", "2", "10", "-1", "1e3"},

	policy.MinRuntimeKey: {"reclaim=0s", "reclaim=1m", "reclaim=3m,preempt=0s", "preempt=1m", "reclaim=10m", "preempt=3m , reclaim=1m", "preempt=10m",
		"reclaim=-1m", "soon", "3m", "preempt=30"},
	policy.ReclaimDelayKey: {"0s", "1m", "2m", "5m", "later"},
	policy.ReclaimFenceKey: {"true", "true", "false", "perhaps"},

	policy.EvictionBudgetKey: {"lose=1/3m", "lose=2/10m,take=1/3m", "lose=5/1h", "take=2/10m", "take=5/1h, lose=1/3m", "lose=0/1h", "1e18/1h",
		"lose=1/3m,take=x/y", "take=-1/1h"},
	policy.EnforceQuotaKey: {"after=0s", "after=2m", "after=5m", "off", "soon"},
}

// The words of annotations, as keys of the model.
const (
	reclaimRuntime = policy.MinRuntimeKey + " reclaim"
	preemptRuntime = policy.MinRuntimeKey + " preempt"
	loseBudget     = policy.EvictionBudgetKey + " lose"
	takeBudget     = policy.EvictionBudgetKey + " take"
	nodesHold      = policy.OrderKey + " nodes"
	displaces      = policy.OrderKey + " displace"
)

// validWords report whether the value of a word is valid, by its key of the model. "" is a word without a value.
var validWords = map[string]func(value string) bool{
	reclaimRuntime: validTime, preemptRuntime: validTime, loseBudget: validRate, takeBudget: validRate, nodesHold: validTime,
	policy.OrderKey + " hold":          validTime,
	policy.OrderKey + " fifo":          func(text string) bool { return text == "" },
	policy.OrderKey + " priority-fifo": func(text string) bool { return text == "" },
	policy.OrderKey + " best-effort":   func(text string) bool { return text == "" },
	displaces:                          func(text string) bool { return text == "" || text == "off" },
}

// wordsOf returns the values of a list of words by the keys of the model, and whether the list is valid. The order of
// jobs is one value.
func wordsOf(annotation, text string) (values map[string]string, valid bool) {
	values = map[string]string{}
	order := ""
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		key := annotation + " " + name
		check := validWords[key]
		_, twice := values[key]
		if check == nil || !check(value) || twice {
			return nil, false
		}
		values[key] = value
		if strings.HasSuffix(name, "fifo") || name == "best-effort" {
			if order != "" {
				return nil, false
			}
			order = name
		}
	}
	hold, held := values[annotation+" hold"]
	if held && !strings.HasSuffix(order, "fifo") {
		return nil, false
	}
	if order != "" {
		values[annotation] = order
		if held {
			values[annotation] += ",hold=" + hold
		}
	}
	return values, true
}

// validPolicies report whether a text is a value.
var validPolicies = map[string]func(text string) bool{
	card.HolderKey: limitsByHolder,
	policy.InqueueTimeoutKey: func(text string) bool {
		d, err := time.ParseDuration(text)
		return err == nil && d >= 0
	},
	policy.OvercommitFactorKey: func(text string) bool {
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && n > 0 && !strings.Contains(text, "e")
	},
	policy.SoftQuotaKey: func(text string) bool { return !strings.Contains(text, ":-") },

	card.BudgetKey: validBudgets,

	policy.ReclaimDelayKey:  validTime,
	policy.EnforceQuotaKey:  func(text string) bool { return text == "off" || strings.HasPrefix(text, "after=") },
	policy.EvictionGraceKey: validTime,
	policy.ReclaimFenceKey:  func(text string) bool { return text == "true" || text == "false" },
}

// The oracle has the bounds of the number of jobs. Worlds draw wrong texts as well.
func init() {
	for key, texts := range oracle.CountTexts {
		policyTexts[key] = slices.Concat(texts, oracle.WrongCounts)
		validPolicies[key] = oracle.IsCount
	}
}

func validRate(text string) bool { return rateOf(text).most > 0 }

func validTime(text string) bool { d, err := time.ParseDuration(text); return err == nil && d >= 0 }

// policies adds policies to the annotations of a queue.
func (d *draw) policies(annotations map[string]string) map[string]string {
	all := maps.Clone(annotations)
	for _, key := range sortedKeys(policyTexts) {
		if !d.chance(30) {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = pick(d, policyTexts[key]...)
	}
	return all
}

// annotateQueue sets an annotation of the queue that an act creates or edits.
func (d *draw) annotateQueue(act int, key, value string) {
	set := d.s.Acts[act].Deed.(SetQueue)
	if set.Annotations = maps.Clone(set.Annotations); set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[key] = value
	d.s.Acts[act].Deed = set
}

// force gives most queues a policy, of those that worlds draw, such as soft-quota.
func (d *draw) force(name string) {
	key := policy.Prefix + name
	if policyTexts[key] == nil || d.s.Plugin == session.ProportionName {
		return
	}
	for i, act := range d.s.Acts {
		set, is := act.Deed.(SetQueue)
		if !is || set.Hollow || !d.chance(70) {
			continue
		}
		d.annotateQueue(i, key, pick(d, policyTexts[key]...))
	}
}

// readPolicies reads the policies of a queue as the scheduler does: a wrong value leaves the
// last good one in force.
func (q *annotations) readPolicies(texts map[string]string) {
	before := q.policies
	q.policies = map[string]string{}
	for _, annotation := range []string{policy.OrderKey, policy.MinRuntimeKey, policy.EvictionBudgetKey} {
		text, given := texts[annotation]
		if !given {
			continue
		}
		values, valid := wordsOf(annotation, text)
		if !valid {
			q.bad = true
			values = before
		}
		for key, value := range values {
			if key == annotation || strings.HasPrefix(key, annotation+" ") {
				q.policies[key] = value
			}
		}
	}
	for key, valid := range validPolicies {
		text, given := texts[key]
		switch {
		case !given:
		case valid(text):
			q.policies[key] = text
		default:
			q.bad = true
			if last, had := before[key]; had {
				q.policies[key] = last
			}
		}
	}
}

// ownPolicy returns the value that a queue itself sets, "" for none.
func (w *chaos) ownPolicy(queue, key string) string {
	if q := w.Queues[queue]; q != nil {
		return w.readOf(q).policies[key]
	}
	return ""
}

// policy returns the value that holds in a queue: its own, or the value of the nearest ancestor. Without a tree, the
// queue inherits from the root.
func (w *chaos) policy(queue, key string) string {
	for _, q := range append(slices.Clone(w.Path(queue)), index.RootName) {
		if text := w.ownPolicy(q, key); text != "" {
			return text
		}
	}
	return ""
}

// jobsBelow returns the number of jobs that are admitted in a queue and below, and have not ended. Volcano does not ask
// about jobs without minResources; jobs without it that the session admitted do not count.
func (c *chaosCycle) jobsBelow(queue string) (all int) {
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || !slices.Contains(c.Path(j.Spec.Queue), queue) {
			continue
		}
		if isAdmitted(job) && (!wasPending(j) || j.Spec.MinResources != nil) {
			all++
		}
	}
	return all
}

// newlyAdmitted reports whether Volcano asked about a job in the session, and admitted it.
func (c *chaosCycle) newlyAdmitted(j *Job) bool {
	job := c.jobOf(j)
	return job != nil && isAdmitted(job) && wasPending(j) && j.Spec.MinResources != nil
}

func isAdmitted(job *api.JobInfo) bool {
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue, scheduling.PodGroupRunning, scheduling.PodGroupUnknown:
		return true
	}
	return false
}

// wasPending reports whether a job was not admitted when the session opened.
func wasPending(j *Job) bool {
	return j.Group.Status.Phase == "" || j.Group.Status.Phase == scheduling.PodGroupPending
}

// jobBounds returns the bounds of the number of jobs that a queue itself sets.
func (w *chaos) jobBounds(queue string) oracle.Counts {
	if q := w.Queues[queue]; q != nil {
		return oracle.CountsOf(w.readOf(q).policies)
	}
	return oracle.Counts{}
}

// boundsJobs reports whether a queue itself bounds the number of its jobs.
func (w *chaos) boundsJobs(queue string) bool { return w.jobBounds(queue) != oracle.Counts{} }

// refusedByCount reports whether the bound of jobs refuses a job that is not admitted yet.
func (c *chaosCycle) refusedByCount(j *Job) bool {
	return oracle.RefuseIn(c.Path(j.Spec.Queue), c.jobBounds, c.jobsBelow) != oracle.CountRefusal{}
}

// checkCounts checks that each job that a session admits was within the bounds of its queues, with all others that the
// session admitted. Without the action enqueue nothing is asked.
func (c *chaosCycle) checkCounts(name string) {
	if !slices.Contains(c.Actions, "enqueue") {
		return
	}
	for _, j := range c.World.Jobs {
		if !c.newlyAdmitted(j) {
			continue
		}
		refusal := oracle.RefuseIn(c.Path(j.Spec.Queue), c.jobBounds, func(queue string) int {
			return c.jobsBelow(queue) - 1 // without the job
		})
		if refusal != (oracle.CountRefusal{}) {
			violated(name, "queue %s has job %s, which it does not admit: %s", refusal.Queue, j.Spec.Name, refusal.Reason)
		}
	}
	for _, queue := range sortedKeys(c.World.Queues) {
		if c.boundsJobs(queue) {
			c.seen["queues with a count"]++
		}
	}
}

// admissionLimit returns the bound of a queue for the admission of jobs.
func (c *chaosCycle) admissionLimit(queue, dimension string) float64 {
	factor, err := strconv.ParseFloat(c.policy(queue, policy.OvercommitFactorKey), 64)
	deserved, named := c.named(c.own.Index.Deserved.Row(c.own.Index.Lookup(queue)))[dimension]
	if err != nil || !named || !isCard(dimension) && deserved < 0.1 && (dimension == "cpu" || dimension == "memory") {
		return c.limit(queue, dimension)
	}
	return min(c.limit(queue, dimension), max(deserved, c.guarantee(queue, dimension))*factor)
}

// named returns the quantities of a vector by dimension, including quantities of 0.
func (c *chaosCycle) named(x fastres.Vector) map[string]float64 {
	all := c.row(x)
	for d := range x.Present() {
		if names := &c.own.Memory.Names; int(d) < names.Len() && x.Get(d) == 0 {
			if names.IsCard(d) {
				all[cardPrefix+names.Name(d)] = 0
			} else {
				all[names.Name(d)] = 0
			}
		}
	}
	return all
}

// checkOvercommit checks that the jobs that a session admits keep within the bounds of admission. It compares the
// dimensions of their minimum that they do not have yet. Lists of cards are not compared.
func (c *chaosCycle) checkOvercommit(name string) {
	if c.action != "enqueue" {
		return
	}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || j.Group.Status.Phase == scheduling.PodGroupInqueue || job.PodGroup.Status.Phase != scheduling.PodGroupInqueue {
			continue
		}
		for d := range j.Spec.MinResources {
			if most, _ := quantity(j.Spec.MinResources, d); job.Allocated.Get(v1.ResourceName(d)) >= most {
				continue
			}
			if c.Plugin == session.Name && d != "cpu" && d != "memory" || c.Arguments[arguments.CardUnlimitedCPUMemory] == true {
				continue
			}
			for _, queue := range c.Path(j.Spec.Queue) {
				ix, q := c.own.Index, c.own.Index.Lookup(queue)
				net := c.row(ix.Allocated(q))[d] + c.row(ix.Inqueue.Row(q))[d] - c.row(ix.Elastic.Row(q))[d]
				limit := c.lifted(j.Spec.Queue, c.admissionLimit)
				if most := limit(queue, d) + c.givenBack(queue, d, c.admittedNow()); c.policy(queue, policy.OvercommitFactorKey) != "" && net > most+0.2 {
					violated(name, "job %s is admitted, queue %s has %g of %s, and jobs are admitted up to %g", j.Spec.Name, queue, net, d, most)
				}
				c.seen["admissions with a factor"]++
			}
		}
	}
}

// timeout returns how long a job of a queue may be Inqueue without its minimum, 0 for any time.
func (w *chaos) timeout(queue string) time.Duration {
	text := w.policy(queue, policy.InqueueTimeoutKey)
	d, _ := time.ParseDuration(text)
	return d
}

// watchPromises notes which jobs are Inqueue for too long, before a session opens.
func (w *chaos) watchPromises() {
	for _, j := range w.Jobs {
		switch {
		case w.Path(j.Spec.Queue) == nil || w.Queues[j.Spec.Queue] == nil:
			w.promise(j).unsure = true // a queue without object, or one that does not reach the root: its policies are not modeled
			continue
		case j.Group.Status.Phase != scheduling.PodGroupInqueue:
			continue
		}
		timeout, placed := w.timeout(j.Spec.Queue), 0
		for _, p := range j.Pods {
			if p.Placed() && p.Object.DeletionTimestamp == nil {
				placed++
			}
		}
		if timeout == 0 || placed >= j.Spec.MinMember || w.promise(j).over {
			continue
		}
		if !w.promise(j).known {
			w.promise(j).known, w.promise(j).since = true, w.Clock()
		} else if w.Clock().Sub(w.promise(j).since) > timeout {
			w.promise(j).over = true
			w.seen["promises that are over"]++
		}
	}
}

// promiseTime has the time at which a job was admitted, as far as that matters. over: the missing part of the job's
// minimum is no longer reserved for it.
type promiseTime struct {
	known, over, unsure bool
	since               time.Time
}

// admitted notes that a session admitted the job.
func (w *chaos) admitted(j *Job) {
	if p := w.promise(j); w.timeout(j.Spec.Queue) > 0 || p.known {
		*p = promiseTime{known: true, since: w.Clock(), unsure: p.unsure}
	}
}

// noteAdmitted notes the jobs that a session admitted.
func (c *chaosCycle) noteAdmitted() {
	if !slices.Contains(c.Actions, "enqueue") {
		return
	}
	for _, j := range c.World.Jobs {
		if job := c.jobOf(j); job != nil && j.Group.Status.Phase != scheduling.PodGroupInqueue && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
			c.admitted(j)
		}
	}
}

// promises reports whether the missing part of an admitted job's minimum may be reserved for it.
func (w *chaos) promises(j *Job, job *api.JobInfo) bool {
	return job.PodGroup.Status.Phase != scheduling.PodGroupInqueue || w.promise(j).unsure || !w.promise(j).over || w.timeout(j.Spec.Queue) == 0 ||
		int(job.AllocatedTaskNum()) >= j.Spec.MinMember
}

// checkPromises compares the condition Inqueue of each job with the promise that the world has recorded.
func (c *chaosCycle) checkPromises(name string) {
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || c.promise(j).unsure || job.PodGroup.Status.Phase != scheduling.PodGroupInqueue {
			continue
		}
		has := reserve.PromiseOf(job)
		if has.Known != c.promise(j).known || has.Over != c.promise(j).over || has.Known && !has.Over && !has.Since.Equal(c.promise(j).since) {
			violated(name, "job %s has the condition %v, by its course %v", j.Spec.Name, has, c.promise(j))
		}
	}
}

// displaces reports whether jobs of a queue displace others. A word without a value is "".
func (w *chaos) displaces(queue string) bool {
	for _, q := range append(slices.Clone(w.Path(queue)), index.RootName) {
		if object := w.Queues[q]; object != nil {
			if value, given := w.readOf(object).policies[displaces]; given {
				return value == ""
			}
		}
	}
	return false
}

// checkDisplaced checks the jobs that are not admitted any more.
func (c *chaosCycle) checkDisplaced(name string) {
	if c.action != "enqueue" {
		return
	}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || j.Group.Status.Phase != scheduling.PodGroupInqueue || job.PodGroup.Status.Phase != scheduling.PodGroupPending {
			continue
		}
		c.seen["promises that are displaced"]++
		inPlace := slices.ContainsFunc(c.World.Jobs, func(other *Job) bool {
			admitted := c.jobOf(other)
			return admitted != nil && other.Spec.Queue == j.Spec.Queue && other.Spec.Priority > j.Spec.Priority &&
				other.Group.Status.Phase != scheduling.PodGroupInqueue && admitted.PodGroup.Status.Phase == scheduling.PodGroupInqueue
		})
		placed := slices.ContainsFunc(j.Pods, func(p *Pod) bool { return p.Placed() })
		if !c.displaces(j.Spec.Queue) || placed || !inPlace {
			violated(name, "job %s of queue %s is not admitted any more; pods on nodes: %t, in place of it: %t", j.Spec.Name, j.Spec.Queue, placed, inPlace)
		}
	}
}
