package chaos

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/backfill"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
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
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
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
func play(s *Scenario, broken sabotage) (*chaos, *violation) {
	return playIn(newChaos(s.Config), s, broken)
}

// playIn runs it in an empty world.
func playIn(w *chaos, s *Scenario, broken sabotage) (_ *chaos, found *violation) {
	w.cycles = s.Cycles
	resetVolcano()
	for cycle := range s.Cycles {
		if found = w.guard(func() { w.next(s.Before(cycle+1), broken) }); found != nil {
			return w, found
		}
	}
	return w, w.guard(func() { w.settle(broken) })
}

// guard calls run, and returns the violation with which it ends, or its panic.
func (w *chaos) guard(run func()) (found *violation) {
	defer func() {
		if problem := recover(); problem != nil {
			var ok bool
			if found, ok = problem.(*violation); !ok {
				found = &violation{noPanic, fmt.Sprintf("%v\n%s", problem, debug.Stack())}
			}
			w.Note("VIOLATED %s", found)
		}
	}()
	run()
	return nil
}

// resetVolcano resets the state that Volcano keeps across sessions: the node at which it
// starts to look for one.
func resetVolcano() {
	node := api.NewNodeInfo(cluster.Node(workload.Node{Name: "only"}))
	task := api.NewTaskInfo(cluster.Pod("none", workload.Task{Name: "none"}))
	util.NewPredicateHelper().PredicateNodes(task, []*api.NodeInfo{node}, func(*api.TaskInfo, *api.NodeInfo) error { return nil }, false, nil)
}

// orderly is a plugin that decides two orders that Volcano leaves to chance. The order of victims is another one in
// each cycle. Nodes with the same score have the order of the session.
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
	*chaos
	*framework.Session
	cache  *offline.Cache
	own    *session.Session
	all    map[api.JobID]*api.JobInfo // the jobs of the session. Volcano's preempt sees a part of them
	broken sabotage
	action string // the one that runs
	// evictor is the action that evicted a task, by its name.
	evictor map[string]string
	// waitsBy has the action that gave a task its place to wait for.
	waitsBy map[api.TaskID]string
	// enforced are the tasks that were evicted when the session opened. They are charged until the next one.
	enforced map[api.TaskID]bool
	before   map[string]map[string]float64 // allocated before the action, by queue
	lost     amounts                       // amounts that pods have and no node gives any more: no action changes them
	// outside has the cards of pods on nodes that no queue is charged for. stockDiffers: some node gives queues more or
	// less than it has.
	outside      map[nodeCard]float64
	stockDiffers bool
	// outsideLeaves: some of these pods are being deleted, so the stock will change.
	outsideLeaves bool
	opened        map[string]amounts // the charges of queues when the session opened
	// companions are jobs that lost a pod that their queue deserves, each with a message.
	companions map[*Job]string
}

// next runs a cycle.
func (w *chaos) next(deeds []Deed, broken sabotage) *chaosCycle {
	w.begin(deeds...)
	if w.Away > 0 {
		return w.runWithout()
	}
	c := w.open(broken)
	conf.EnabledActionMap = map[string]bool{}
	for _, name := range w.Actions {
		conf.EnabledActionMap[name] = true
	}
	c.checkAll(atOpen)
	c.noteBorrowers()
	for _, name := range w.Actions {
		c.action, c.before = name, c.allocated()
		action := actionOf(name)
		action.Execute(c.Session)
		c.checkAll(afterAction)
	}
	c.checkAll(atClose)
	c.noteAdmitted()
	c.noteLosers()
	c.noteBorrowers()
	c.noteHeld()
	jobs := c.Jobs // closing drops them
	framework.CloseSession(c.Session)
	for _, j := range w.Jobs {
		switch {
		case jobs[j.ID()] != nil:
			w.met[j] = j.Group.Clone()
		case w.Queues[j.Spec.Queue] != nil:
			w.met[j] = nil
		}
	}
	w.follow(jobs)
	return c
}

// runWithout runs a cycle without the plugin, which admits no job and evicts no pod. The session is
// not closed: Volcano panics there where no plugin mends the queues.
func (w *chaos) runWithout() *chaosCycle {
	c := &chaosCycle{chaos: w}
	c.openWith(nil)
	conf.EnabledActionMap = map[string]bool{"enqueue": true}
	allocate.New().Execute(c.Session)
	w.follow(c.Jobs)
	w.Away--
	w.left, w.returns = true, true
	w.use.doubt = true // the pods that another scheduler places count from their start
	return c
}

func actionOf(name string) framework.Action {
	switch name {
	case "enqueue":
		return enqueue.New()
	case "allocate":
		return allocate.New()
	case "backfill":
		return backfill.New()
	}
	action, _ := framework.GetAction(name) // TestMain has registered those with plans
	return action
}

// open opens the session of a cycle.
func (w *chaos) open(broken sabotage) *chaosCycle {
	c := &chaosCycle{chaos: w, broken: broken, evictor: map[string]string{}, waitsBy: map[api.TaskID]string{}, lost: amounts{},
		companions: map[*Job]string{}}
	c.openWith(w.builder)
	c.noteEnforced()
	c.noteTold()
	c.eachCharge(func(_ *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		given := c.given(p, task.NodeName, charge)
		for d, amount := range charge {
			c.lost[d] += amount - given[d]
		}
	})
	c.noteStock()
	for _, d := range c.dimensions() {
		c.lost[d] += c.beyond(d)
	}
	c.resolveShares()
	c.opened, _ = c.expected()
	c.noteUse()
	c.AddEventHandler(&framework.EventHandler{
		AllocateFunc:   func(e *framework.Event) { c.onEvent(e.Task, true) },
		DeallocateFunc: func(e *framework.Event) { c.onEvent(e.Task, false) },
	})
	return c
}

// openWith opens a session with the plugin of a builder, nil for none.
func (c *chaosCycle) openWith(b *session.Builder) {
	c.cache = offline.NewCache(c.Info())
	c.cache.Informers = c.World.Informers()
	c.cache.SetDevices(c.DeviceObjects())
	framework.RegisterPluginBuilder(orderlyName, func(framework.Arguments) framework.Plugin { return orderly{c.Cycle} })
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	var ours *session.Plugin
	framework.RegisterPluginBuilder(c.Plugin, func(framework.Arguments) framework.Plugin {
		ours = b.Build(testbed.Pinned(c.Plugin, c.Arguments)).(*session.Plugin)
		return ours
	})
	tiers := offline.Tiers(c.Tree, orderlyName, priority.PluginName, gang.PluginName, c.Plugin)
	gives := !c.GangGives
	tiers[0].Plugins[2].EnabledPreemptable, tiers[0].Plugins[2].EnabledReclaimable = &c.GangSpares, &gives
	gangVotes := c.Arguments[arguments.ReclaimBeyondMinimum] != true || c.Plugin == session.ProportionName
	tiers[0].Plugins[2].EnabledJobStarving = &gangVotes
	if b == nil {
		tiers[0].Plugins = tiers[0].Plugins[:3]
	}
	if !reflect.DeepEqual(c.tiers, tiers) { // Volcano keeps a configuration until it loads another one
		c.tiers = tiers
	}
	c.Session = offline.Open(c.cache, c.tiers)
	c.all = c.Session.Jobs
	if b == nil {
		return
	}
	c.Configurations = []conf.Configuration{{Name: "preempt", Arguments: map[string]any{preempt.EnableTopologyAwarePreemptionKey: c.Topology}}}
	c.own = ours.Session
}

// onEvent checks the session after an event.
func (c *chaosCycle) onEvent(task *api.TaskInfo, allocated bool) {
	if !allocated && task.Status == api.Releasing {
		c.evictor[task.Name] = c.action
	}
	if allocated && task.Status == api.Pipelined {
		c.waitsBy[task.UID] = c.action
	}
	if c.broken != nil {
		c.broken(c, task, allocated)
	}
	c.checkEvent(task, allocated)
}

// follow carries out the decisions of a session.
func (w *chaos) follow(jobs map[api.JobID]*api.JobInfo) {
	w.Follow(jobs)
	w.seen["pods evicted"] += w.Evictions[len(w.Evictions)-1]
	w.seen["cycles"]++
}

// charged returns the charge of a queue for the cards of a task, in thousandths.
func (c *chaosCycle) charged(j *Job, p *Pod, task *api.TaskInfo) map[string]float64 {
	if c.Plugin == session.ProportionName || !c.counted(j.Spec.Queue) {
		return nil
	}
	ignored := p.Spec.Cards == "" && c.Arguments[arguments.UntypedCards] == "ignore"
	charge := map[string]float64{}
	for resource, has := range c.has[c.on(p, task)] {
		if has.card != "" && (!ignored || strings.HasPrefix(resource, claimPrefix)) {
			charge[has.card] += has.milli
		}
	}
	return charge
}

// on returns a pod with the cards that it has on its node, or would have on the node that the session gives it.
func (c *chaosCycle) on(p *Pod, task *api.TaskInfo) *Pod {
	if p.Object.Spec.NodeName == "" {
		p = &Pod{Spec: p.Spec, Object: p.Object}
		c.hold(p, task.NodeName, true)
	}
	return p
}

// exempt reports whether a task counts for no cpu and memory.
func (c *chaosCycle) exempt(j *Job, p *Pod, node string) bool {
	if c.Arguments[arguments.CardUnlimitedCPUMemory] != true || c.Plugin == session.ProportionName || !c.counted(j.Spec.Queue) {
		return false
	}
	if hasClaims(p.Spec) && c.getsCards(j, p, node) {
		return true
	}
	if p.Spec.Cards == "" && c.Arguments[arguments.UntypedCards] == "ignore" {
		return false
	}
	return slices.ContainsFunc(cardResources, func(name string) bool { return p.Spec.Requests[name] > 0 })
}

// counted reports whether cards count in a queue.
func (w *chaos) counted(queue string) bool {
	return w.Plugin == session.Name || slices.ContainsFunc(w.Path(queue), w.annotated)
}

// annotated reports whether a queue has a card annotation.
func (w *chaos) annotated(queue string) bool {
	q := w.Queues[queue]
	return q != nil && slices.ContainsFunc(quotaKeys, func(key string) bool { _, ok := w.readOf(q).texts[key]; return ok })
}

// amounts are quantities by dimension: cpu in milliCPU, memory in bytes, scalars in
// thousandths, cards, in thousandths too, with the prefix "card ".
type amounts map[string]float64

const cardPrefix = "card "

// request returns the quantities that the queue of a task is charged for it.
func (c *chaosCycle) request(j *Job, p *Pod, task *api.TaskInfo) amounts {
	a := amounts{}
	if !c.exempt(j, p, task.NodeName) {
		a["cpu"], a["memory"] = task.Resreq.MilliCPU, task.Resreq.Memory
	}
	if c.Plugin != session.Name {
		for name, amount := range task.Resreq.ScalarResources {
			a[string(name)] = amount
		}
	}
	for name, milli := range c.charged(j, p, task) {
		a[cardPrefix+name] += milli
	}
	return c.withGroups(a)
}

// eachCharge calls visit for each pod that its queue is charged for. A pod that is being
// deleted may hold its cards.
func (c *chaosCycle) eachCharge(visit func(j *Job, p *Pod, task *api.TaskInfo, charge amounts)) {
	c.eachChargeAt(false, visit)
}

// eachChargeAt visits the charges of the session or, if close, the charges until the next session. Pods that the
// session has evicted keep their cards until they are gone.
func (c *chaosCycle) eachChargeAt(close bool, visit func(j *Job, p *Pod, task *api.TaskInfo, charge amounts)) {
	for _, j := range slices.Concat(c.World.Jobs, c.World.Orphans) {
		job := c.jobOf(j)
		if job == nil || c.Path(j.Spec.Queue) == nil {
			continue
		}
		for _, p := range j.All() {
			task := job.Tasks[api.TaskID(p.Object.UID)]
			if task == nil {
				continue // an orphan on a lost node
			}
			holds := task.Status == api.Releasing && (close || p.Object.DeletionTimestamp != nil) && c.holds()
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined && !holds && !c.enforced[task.UID] || c.own.NotCharged[task.UID] {
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

// expected returns the charges of all queues, from the tasks alone. unsure are the queues with tasks that have
// uncertain cards.
func (c *chaosCycle) expected() (all map[string]amounts, unsure map[string]bool) {
	all, unsure = map[string]amounts{}, map[string]bool{}
	sharers := sharers{}
	c.eachCharge(func(j *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		for _, q := range c.Path(j.Spec.Queue) {
			if all[q] == nil {
				all[q] = amounts{}
			}
			for name, amount := range charge {
				all[q][name] += amount
			}
			unsure[q] = sharers.add(q, all[q], c.shares(j, p, task.NodeName)) || unsure[q] || c.unsure(c.on(p, task))
		}
	})
	return all, unsure
}

// holds reports whether a pod that is being deleted holds its cards.
func (w *chaos) holds() bool {
	how, set := w.Arguments[arguments.TerminatingCards]
	return how == "hold" || !set && w.Plugin == session.Name
}

// allocated returns the amounts that the engine has charged to all queues.
func (c *chaosCycle) allocated() map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for q := range c.own.Index.Len() {
		name := c.own.Index.Name(indexQueue(q))
		all[name] = c.row(c.own.Index.Allocated(indexQueue(q)))
	}
	return all
}

// taskOf returns the job and the pod of a task.
func (c *chaosCycle) taskOf(task *api.TaskInfo) (*Job, *Pod) {
	for _, j := range c.World.Jobs {
		for _, p := range j.All() {
			if p.Object.UID == task.Pod.UID {
				return j, p
			}
		}
	}
	return nil, nil
}

// claimed is a pod for which others were evicted.
type claimed struct {
	cycle int
	pod   *Pod
	node  string
}

// enoughQuiet is the number of cycles after which a world in which nothing changes is at rest:
// earmarks of pods that cannot start any more have ended.
const enoughQuiet = int(earmark.Patience/time.Minute) + 2

// mostQuiet is the number of cycles without acts after which a world must be at rest, where
// pods end at once.
const mostQuiet = 60

// mostQuiet is that number for pods that take their time.
func (w *chaos) mostQuiet() int { return mostQuiet + 4*w.Grace }

// settle runs cycles in which nothing happens from outside, until nothing changes.
func (w *chaos) settle(broken sabotage) {
	quiet := 0
	for range w.mostQuiet() {
		w.next(nil, broken)
		if w.Changed || w.Terminating() {
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func same(x, y float64) bool { return math.Abs(x-y) <= 0.1 }
