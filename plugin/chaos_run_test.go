package plugin

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers all actions
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/backfill"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// violation is an invariant that does not hold.
type violation struct {
	invariant string
	text      string
}

func (v *violation) Error() string { return v.invariant + ": " + v.text }

// violated stops a run.
func violated(invariant, format string, args ...any) {
	panic(&violation{invariant, fmt.Sprintf(format, args...)})
}

// sabotage breaks the engine on purpose, to see that the runner finds it. It is called
// after each event.
type sabotage func(c *chaosCycle, task *api.TaskInfo, allocated bool)

// play runs a scenario, and returns the world at its end, and the first violation, nil if
// there is none.
func play(s *scenario, broken sabotage) (w *world, found *violation) {
	w = newWorld(s)
	resetVolcano()
	defer func() {
		if problem := recover(); problem != nil {
			var ok bool
			if found, ok = problem.(*violation); !ok {
				found = &violation{noPanic, fmt.Sprintf("%v\n%s", problem, debug.Stack())}
			}
			w.note("VIOLATED %s", found)
		}
	}()
	acts := s.sorted()
	for range s.cycles {
		w.next(acts, broken)
	}
	w.settle(broken)
	return w, nil
}

// resetVolcano resets the state that Volcano keeps across sessions: the node at which it
// starts to look for one.
func resetVolcano() {
	node := api.NewNodeInfo(cluster.Node(workload.Node{Name: "only"}))
	task := api.NewTaskInfo(cluster.Pod("none", workload.Task{Name: "none"}))
	util.NewPredicateHelper().PredicateNodes(task, []*api.NodeInfo{node}, func(*api.TaskInfo, *api.NodeInfo) error { return nil }, false, nil)
}

// orderly is a plugin that decides what Volcano leaves to chance: the order of victims, which is
// another one in each cycle, and that of nodes with the same score.
type orderly struct{ cycle int }

func (orderly) Name() string                          { return orderlyName }
func (orderly) OnSessionClose(ssn *framework.Session) {}
func (o orderly) OnSessionOpen(ssn *framework.Session) {
	rankOf := func(task *api.TaskInfo) uint64 {
		hash := fnv.New64a()
		fmt.Fprint(hash, o.cycle, task.UID)
		return hash.Sum64()
	}
	sorts := func(_ *api.TaskInfo, tasks []*api.TaskInfo) ([]*api.TaskInfo, int) {
		slices.SortFunc(tasks, func(x, y *api.TaskInfo) int { return cmp.Compare(rankOf(x), rankOf(y)) })
		return nil, 0
	}
	ssn.AddReclaimableFn(orderlyName, sorts)
	ssn.AddPreemptableFn(orderlyName, sorts)
	rank := map[string]int{}
	for i, n := range ssn.NodeList {
		rank[n.Name] = i
	}
	ssn.AddNodeOrderFn(orderlyName, func(_ *api.TaskInfo, n *api.NodeInfo) (float64, error) {
		return -float64(rank[n.Name]) / 1024, nil
	})
}

const orderlyName = "orderly"

// chaosCycle is a cycle of a world: one session.
type chaosCycle struct {
	*world
	*framework.Session
	cache  *offline.Cache
	own    *session
	broken sabotage
	action string // the one that runs
	// evictor is the action that evicted a task, by its name.
	evictor map[string]string
	before  map[string]map[string]float64 // allocated before the action, by queue
	lost    amounts                       // what pods have that no node gives any more: no action changes it
}

// next runs a cycle.
func (w *world) next(acts []act, broken sabotage) {
	w.changed = false
	w.begin(acts)
	if w.away > 0 {
		w.runWithout()
		return
	}
	c := w.open(broken)
	conf.EnabledActionMap = map[string]bool{}
	for _, name := range w.actions {
		conf.EnabledActionMap[name] = true
	}
	c.checkAll(atOpen)
	c.noteBorrowers()
	for _, name := range w.actions {
		c.action, c.before = name, c.allocated()
		action := actionOf(name)
		action.Execute(c.Session)
		c.checkAll(afterAction)
	}
	c.checkAll(atClose)
	c.noteAdmitted()
	c.noteLosers()
	c.noteBorrowers()
	jobs := c.Jobs // closing drops them
	framework.CloseSession(c.Session)
	w.follow(jobs, c)
}

// runWithout runs a cycle without the plugin, which admits no job and evicts no pod. The session is
// not closed: Volcano panics there where no plugin mends the queues.
func (w *world) runWithout() {
	c := &chaosCycle{world: w}
	c.openWith(nil)
	conf.EnabledActionMap = map[string]bool{"enqueue": true}
	allocate.New().Execute(c.Session)
	w.follow(c.Jobs, c)
	w.away--
}

func actionOf(name string) framework.Action {
	switch name {
	case "enqueue":
		return enqueue.New()
	case "allocate":
		return allocate.New()
	case "backfill":
		return backfill.New()
	case "preempt":
		return preempt.New()
	case "reclaim":
		return reclaim.New()
	}
	action, _ := framework.GetAction(name) // gang actions, from v1.15 on
	return action
}

// open opens the session of a cycle.
func (w *world) open(broken sabotage) *chaosCycle {
	c := &chaosCycle{world: w, broken: broken, evictor: map[string]string{}, lost: amounts{}}
	c.openWith(w.builder)
	c.eachCharge(func(_ *worldJob, _ *worldPod, task *api.TaskInfo, charge amounts) {
		n := c.nodes[task.NodeName]
		for d, amount := range charge {
			if n == nil || n.lost || !c.gives(n.spec, d) {
				c.lost[d] += amount
			}
		}
	})
	c.AddEventHandler(&framework.EventHandler{
		AllocateFunc:   func(e *framework.Event) { c.onEvent(e.Task, true) },
		DeallocateFunc: func(e *framework.Event) { c.onEvent(e.Task, false) },
	})
	return c
}

// openWith opens a session with the plugin of a builder, nil for none.
func (c *chaosCycle) openWith(b *builder) {
	c.cache = offline.NewCache(c.info())
	c.cache.Informers = c.informers
	framework.RegisterPluginBuilder(orderlyName, func(framework.Arguments) framework.Plugin { return orderly{c.cycle} })
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	var ours *quotaPlugin
	framework.RegisterPluginBuilder(c.plugin, func(framework.Arguments) framework.Plugin {
		ours = b.build(pinned(c.arguments)).(*quotaPlugin)
		return ours
	})
	tiers := offline.Tiers(c.hierarchy, orderlyName, priority.PluginName, gang.PluginName, c.plugin)
	tiers[0].Plugins[2].EnabledPreemptable = &c.gangSpares
	gangVotes := c.arguments[arguments.ReclaimBeyondMinimum] != true || c.plugin == ProportionName
	tiers[0].Plugins[2].EnabledJobStarving = &gangVotes
	if b == nil {
		tiers[0].Plugins = tiers[0].Plugins[:3]
		c.Session = offline.Open(c.cache, tiers)
		return
	}
	c.Session = offline.Open(c.cache, tiers)
	c.Configurations = []conf.Configuration{{Name: "preempt", Arguments: map[string]any{preempt.EnableTopologyAwarePreemptionKey: c.topology}}}
	c.own = ours.session
}

// onEvent checks the session after an event.
func (c *chaosCycle) onEvent(task *api.TaskInfo, allocated bool) {
	if !allocated && task.Status == api.Releasing {
		c.evictor[task.Name] = c.action
	}
	if c.broken != nil {
		c.broken(c, task, allocated)
	}
	c.checkEvent(task, allocated)
}

// follow carries out what a session decided.
func (w *world) follow(jobs map[api.JobID]*api.JobInfo, c *chaosCycle) {
	evictions := 0
	for _, j := range w.jobs {
		job := jobs[api.JobID(cluster.Namespace+"/"+j.spec.name)]
		if job == nil {
			continue
		}
		was := j.group.Status.Phase
		j.group.Status = job.PodGroup.Status
		if is := j.group.Status.Phase; is != was {
			w.changed = true
			w.note("%s is %s, was %s", j.spec.name, is, was)
		}
		w.noteMarks(j, job)
		for i, p := range j.pods {
			task := job.Tasks[api.TaskID(p.object.UID)]
			switch {
			case task == nil:
			case slices.Contains(c.cache.Evicted, task.Name):
				w.note("%s is evicted from %s", task.Name, p.object.Spec.NodeName)
				j.evict(w, i)
				evictions++
				w.changed = true
			case p.object.Spec.NodeName == "" && task.Status == api.Binding:
				w.seen["pods placed"]++
				w.filled[task.NodeName] = w.cycle
				if w.away == 0 {
					w.hold(p, task.NodeName, w.counted(j.spec.queue))
				}
				p.update(func(pod *v1.Pod) { pod.Spec.NodeName = task.NodeName })
				w.note("%s runs on %s", task.Name, task.NodeName)
				w.changed = true
			case task.Status == api.Pipelined && task.EvictionOccurred:
				w.note("%s waits for %s, others were evicted for it", task.Name, task.NodeName)
				w.claims = append(w.claims, claimed{w.cycle, p, task.NodeName})
				if p.object.Status.NominatedNodeName != task.NodeName {
					p.update(func(pod *v1.Pod) { pod.Status.NominatedNodeName = task.NodeName })
				}
			}
		}
	}
	w.evictions = append(w.evictions, evictions)
	w.seen["pods evicted"] += evictions
	w.seen["cycles"]++
}

// charged returns what a queue is charged for the cards of a task.
func (c *chaosCycle) charged(j *worldJob, p *worldPod, task *api.TaskInfo) map[string]int64 {
	if c.plugin == ProportionName || !c.counted(j.spec.queue) || p.spec.cards == "" && c.arguments[arguments.UntypedCards] == "ignore" {
		return nil
	}
	charge := map[string]int64{}
	for resource, has := range c.on(p, task).has {
		if has.card != "" {
			charge[has.card] += p.spec.requests[resource]
		}
	}
	return charge
}

// on returns a pod with the cards that it has on its node, or would have on the one on
// which the session puts it.
func (c *chaosCycle) on(p *worldPod, task *api.TaskInfo) *worldPod {
	if p.object.Spec.NodeName == "" {
		p = &worldPod{spec: p.spec}
		c.hold(p, task.NodeName, true)
	}
	return p
}

// exempt reports whether a task counts for no cpu and memory.
func (c *chaosCycle) exempt(j *worldJob, p *worldPod) bool {
	if c.arguments[arguments.CardUnlimitedCPUMemory] != true || c.plugin == ProportionName || !c.counted(j.spec.queue) {
		return false
	}
	if p.spec.cards == "" && c.arguments[arguments.UntypedCards] == "ignore" {
		return false
	}
	return slices.ContainsFunc(cardResources, func(name string) bool { return p.spec.requests[name] > 0 })
}

// counted reports whether cards count in a queue.
func (w *world) counted(queue string) bool {
	return w.plugin == Name || slices.ContainsFunc(w.path(queue), w.annotated)
}

// annotated reports whether a queue has a card annotation.
func (w *world) annotated(queue string) bool {
	q := w.queues[queue]
	return q != nil && slices.ContainsFunc(quotaKeys, func(key string) bool { _, ok := q.object.Annotations[key]; return ok })
}

// amounts are quantities by dimension: cpu in milliCPU, memory in bytes, scalars in
// thousandths, cards, in thousandths too, with the prefix "card ".
type amounts map[string]float64

const cardPrefix = "card "

// request returns the quantities that the queue of a task is charged for it.
func (c *chaosCycle) request(j *worldJob, p *worldPod, task *api.TaskInfo) amounts {
	a := amounts{}
	if !c.exempt(j, p) {
		a["cpu"], a["memory"] = task.Resreq.MilliCPU, task.Resreq.Memory
	}
	if c.plugin != Name {
		for name, amount := range task.Resreq.ScalarResources {
			a[string(name)] = amount
		}
	}
	for name, n := range c.charged(j, p, task) {
		a[cardPrefix+name] += 1000 * float64(n)
	}
	return a
}

// eachCharge calls visit for each pod that its queue is charged for. A pod that is being
// deleted may hold its cards.
func (c *chaosCycle) eachCharge(visit func(j *worldJob, p *worldPod, task *api.TaskInfo, charge amounts)) {
	for _, j := range c.jobs {
		job := c.jobOf(j)
		if job == nil || c.path(j.spec.queue) == nil {
			continue
		}
		for _, p := range j.all() {
			task := job.Tasks[api.TaskID(p.object.UID)]
			holds := task.Status == api.Releasing && p.object.DeletionTimestamp != nil && c.holds()
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined && !holds || c.own.notCharged[task.UID] {
				continue
			}
			charge := c.request(j, p, task)
			if holds {
				maps.DeleteFunc(charge, func(d string, _ float64) bool { return !isCard(d) })
			}
			visit(j, p, task, charge)
		}
	}
}

// expected returns what all queues are charged, from the tasks alone. unsure are the
// queues with tasks whose cards are not certain.
func (c *chaosCycle) expected() (all map[string]amounts, unsure map[string]bool) {
	all, unsure = map[string]amounts{}, map[string]bool{}
	c.eachCharge(func(j *worldJob, p *worldPod, task *api.TaskInfo, charge amounts) {
		for _, q := range c.path(j.spec.queue) {
			if all[q] == nil {
				all[q] = amounts{}
			}
			for name, amount := range charge {
				all[q][name] += amount
			}
			unsure[q] = unsure[q] || c.on(p, task).unsure()
		}
	})
	return all, unsure
}

// holds reports whether a pod that is being deleted holds its cards.
func (w *world) holds() bool {
	how, set := w.arguments[arguments.TerminatingCards]
	return how == "hold" || !set && w.plugin == Name
}

// allocated returns what the engine has charged to all queues.
func (c *chaosCycle) allocated() map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for q := range c.own.Index.Len() {
		name := c.own.Index.Name(indexQueue(q))
		all[name] = c.row(c.own.Index.Allocated(indexQueue(q)))
	}
	return all
}

// taskOf returns the job and the pod of a task.
func (c *chaosCycle) taskOf(task *api.TaskInfo) (*worldJob, *worldPod) {
	for _, j := range c.jobs {
		for _, p := range j.all() {
			if p.object.UID == task.Pod.UID {
				return j, p
			}
		}
	}
	return nil, nil
}

// claimed is a pod for which others were evicted.
type claimed struct {
	cycle int
	pod   *worldPod
	node  string
}

// enoughQuiet is the number of cycles after which a world in which nothing changes is at rest:
// earmarks of pods that cannot start any more have ended.
const enoughQuiet = int(earmark.Patience/time.Minute) + 2

// mostQuiet is the number of cycles without acts after which a world must be at rest, where
// pods end at once.
const mostQuiet = 60

// mostQuiet is that number for pods that take their time.
func (w *world) mostQuiet() int { return mostQuiet + 4*w.grace }

// settle runs cycles in which nothing happens from outside, until nothing changes.
func (w *world) settle(broken sabotage) {
	quiet := 0
	for range w.mostQuiet() {
		w.next(nil, broken)
		if w.changed || w.terminating() {
			quiet = 0
		} else if quiet++; quiet == enoughQuiet {
			break
		}
	}
	if quiet < enoughQuiet {
		w.seen["worlds without rest"]++
	}
	w.checkRest(quiet == enoughQuiet, broken)
}

func (w *world) terminating() bool {
	for _, j := range w.jobs {
		for _, p := range j.all() {
			if p.object.DeletionTimestamp != nil && !p.finished() {
				return true
			}
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func same(x, y float64) bool { return math.Abs(x-y) <= 0.1 }
