package replay

import (
	"cmp"
	"hash/fnv"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"
	scheduler "volcano.sh/volcano/pkg/scheduler/util"
)

// Volcano leaves some choices to chance. It picks any of the nodes with the best score. Its action reclaim takes the
// first node that passes the predicates, which run in many goroutines. Candidates for an eviction come from a map.
// fresh.go is about the order of queues. Plans leave nothing to chance.
//
// Two plugins, one before and one after the plugins of the configuration, make these choices by the seed. They permit
// everything that the others permit.
const (
	firstName = "replay-first"
	lastName  = "replay-last"
)

// order decides between choices that are equal to Volcano.
type order struct {
	*framework.Session
	seed       uint64
	index      map[string]uint64 // of a node
	nodes      uint64
	content    *content
	decided    func() bool // reports whether the session has placed or evicted something
	reclaiming bool        // Volcano's action reclaim runs
	freshness  freshness
	placesOnly bool // no action evicts pods
	room       room

	reclaimer *api.TaskInfo // the task that node is chosen for, nil during the choice
	node      string        // "" for none
}

func newOrder(seed uint64, c *content, decided func() bool) *order {
	o := &order{
		seed:    seed,
		index:   map[string]uint64{},
		nodes:   uint64(len(c.order)),
		content: c,
		decided: decided,
	}
	for i, name := range c.order {
		o.index[name] = uint64(i)
	}

	framework.RegisterPluginBuilder(firstName, func(framework.Arguments) framework.Plugin { return first{o} })
	framework.RegisterPluginBuilder(lastName, func(framework.Arguments) framework.Plugin { return last{o} })
	return o
}

// around returns tiers with the plugins before and after all others.
func (o *order) around(tiers []conf.Tier) []conf.Tier {
	yes := true
	before := conf.PluginOption{
		Name:               firstName,
		EnabledNodeOrder:   &yes,
		EnabledReclaimable: &yes,
		EnabledPreemptable: &yes,
		EnabledOverused:    &yes,
		EnabledPredicate:   &yes,
		EnabledAllocatable: &yes,
	}
	after := conf.PluginOption{Name: lastName, EnabledPredicate: &yes}
	if len(tiers) == 0 {
		return []conf.Tier{{Plugins: []conf.PluginOption{before, after}}}
	}

	// The first tier stays the first: plugins look for themselves in it.
	all := slices.Clone(tiers)
	all[0].Plugins = slices.Insert(slices.Clone(all[0].Plugins), 0, before)
	return append(all, conf.Tier{Plugins: []conf.PluginOption{after}})
}

// rank returns the place of a node for a task. Each node has another place: the order of the nodes is rotated by a
// number of the task, and walked in steps that meet every node.
func (o *order) rank(task *api.TaskInfo, node string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(task.UID))
	number := hash.Sum64() ^ o.seed*0x9e3779b97f4a7c15

	step := 1 + number>>32%o.nodes
	for divisor(step, o.nodes) > 1 {
		step++
	}
	return (number%o.nodes + o.index[node]*step) % o.nodes
}

func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// least is so small that it counts only between equal scores.
const least = 1e-9

// first is the plugin before all others.
type first struct{ *order }

// Name is the name of the plugin.
func (first) Name() string { return firstName }

// OnSessionOpen registers the functions that break ties and sort candidates. The plugins of all tiers get the same list
// of candidates, so it is sorted in place.
func (p first) OnSessionOpen(ssn *framework.Session) {
	p.order.Session = ssn
	p.content.fill(ssn)
	ssn.AddNodeOrderFn(firstName, func(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
		return least * float64(p.rank(task, node.Name)), nil
	})
	sorted := func(_ *api.TaskInfo, candidates []*api.TaskInfo) ([]*api.TaskInfo, int) {
		sortTasks(candidates)
		return nil, util.Abstain
	}
	ssn.AddReclaimableFn(firstName, sorted)
	ssn.AddPreemptableFn(firstName, sorted)

	// The predicate comes before all others. reclaim goes to nodes that another predicate refuses for lack of room, and
	// then asks no later one.
	ssn.AddPredicateFn(firstName, func(task *api.TaskInfo, node *api.NodeInfo) error {
		if !p.reclaiming || p.reclaimer != task || node.Name == p.node {
			return nil
		}
		return api.NewFitErrWithStatus(task, node,
			&api.Status{Code: api.UnschedulableAndUnresolvable, Reason: "another node is chosen", Plugin: firstName})
	})

	ssn.AddOverusedFn(firstName, func(queue any) bool { return p.asks(queue.(*api.QueueInfo)) })
	p.room.stale = true
	if p.placesOnly {
		ssn.AddAllocatableFn(firstName, func(_ *api.QueueInfo, task *api.TaskInfo) bool { return p.hasRoom(task) })
	}
	moved := func(e *framework.Event) {
		p.content.touch(e.Task)
		p.freshness.moved = true
		p.room.stale = true
	}
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: moved, DeallocateFunc: moved})
}

// OnSessionClose does nothing.
func (first) OnSessionClose(*framework.Session) {}

func sortTasks(tasks []*api.TaskInfo) {
	slices.SortFunc(tasks, func(a, b *api.TaskInfo) int { return cmp.Compare(a.UID, b.UID) })
}

// last is the plugin after all others. For a reclaimer, it chooses the first node in the order of the seed that reclaim
// would take. All other plugins have then prepared for the predicates.
type last struct{ *order }

// Name is the name of the plugin.
func (last) Name() string { return lastName }

// OnSessionOpen registers the choice.
func (p last) OnSessionOpen(ssn *framework.Session) {
	ssn.AddPrePredicateFn(lastName, func(task *api.TaskInfo) error {
		// The predicate of the plugin first accepts every node during the choice.
		if p.reclaiming {
			p.reclaimer = nil
			p.node = p.choose(task)
			p.reclaimer = task
		}
		if p.placesOnly {
			p.nominate(task)
		}
		return nil
	})
}

// OnSessionClose does nothing.
func (last) OnSessionClose(*framework.Session) {}

// choose returns the node on which reclaim finds room for a task, "" for none. It asks the questions of the action, in
// its own order.
func (o *order) choose(task *api.TaskInfo) string {
	nodes := slices.Clone(o.FilterOutUnschedulableAndUnresolvableNodesForTask(task))
	ranks := make(map[string]uint64, len(nodes))
	for _, node := range nodes {
		ranks[node.Name] = o.rank(task, node.Name)
	}
	slices.SortFunc(nodes, func(a, b *api.NodeInfo) int { return cmp.Compare(ranks[a.Name], ranks[b.Name]) })

	// All predicates come before the first question about victims, as in the action.
	nodes = slices.DeleteFunc(nodes, func(node *api.NodeInfo) bool {
		return o.PredicateForPreemptAction(task, node) != nil
	})

	for _, node := range nodes {
		candidates := o.candidates(task, node)
		if len(candidates) == 0 {
			continue
		}
		if scheduler.ValidateVictims(task, node, o.Reclaimable(task, candidates)) == nil {
			return node.Name
		}
	}
	return ""
}

// candidates returns the tasks of a node that reclaim asks about.
func (o *order) candidates(task *api.TaskInfo, node *api.NodeInfo) (all []*api.TaskInfo) {
	own := o.Jobs[task.Job]
	for _, other := range node.Tasks {
		job := o.Jobs[other.Job]
		if job == nil || job.Queue == own.Queue || !o.Queues[job.Queue].Reclaimable() {
			continue
		}
		if other.Status == api.Running && other.Preemptable {
			all = append(all, other.Clone())
		}
	}
	return all
}
