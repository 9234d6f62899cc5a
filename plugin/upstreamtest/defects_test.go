package upstreamtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	"volcano.sh/volcano/pkg/scheduler/plugins/overcommit"
	"volcano.sh/volcano/pkg/scheduler/plugins/proportion"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// defect is one of upstream's. docs/dev/UPSTREAM.md has a section for each.
type defect struct {
	name         string
	part         string // of the page
	where        string // file and lines in Volcano's master of 2026-08-20, ed72c7c81
	happens      string
	mend         string
	since, until release.Release // the releases that have it
	theirs, ours framework.PluginBuilder
	setup
	shows func(t *testing.T, s *framework.Session) bool
	// sessions bounds the number of sessions that are opened until the defect shows, where the order of a map
	// decides; 0 means one.
	sessions int
	// control is the content without the defect, and without is the result of shows with it, for both plugins.
	// control tells a defect from a scene in which nothing happens.
	control *setup
	without bool
}

// setup is a session with one plugin.
type setup struct {
	cluster   workload.Cluster
	arguments framework.Arguments
	gates     bool // the feature gate of queue allocation gates
}

// open opens the session with a plugin.
func (s setup) open(t *testing.T, build framework.PluginBuilder) *framework.Session {
	t.Helper()
	name := build(s.arguments).Name() // by which sessions find the hooks of a plugin
	if s.gates {
		set := func(on bool) {
			require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("SchedulingGatesQueueAdmission=%t", on)))
		}
		set(true)
		defer set(false)
	}
	s.cluster.Nodes = []workload.Node{{Name: "n", Allocatable: workload.Resources{"cpu": 16_000, "memory": 1 << 34, "pods": 100}}}
	info, err := cluster.Build(s.cluster, t.Name())
	require.NoError(t, err)
	framework.RegisterPluginBuilder(name, build)
	tiers := offline.Tiers(s.cluster.Hierarchy, name)
	tiers[0].Plugins[0].Arguments = s.arguments
	return offline.Open(offline.NewCache(info), []conf.Tier{tiers[0]})
}

// outcome reports whether the defect shows with a plugin. A panic shows a defect.
func (d defect) outcome(t *testing.T, s setup, build framework.PluginBuilder) (shows bool) {
	t.Helper()
	defer func() {
		if problem := recover(); problem != nil {
			t.Logf("panic: %v", problem)
			shows = true
		}
	}()
	for range max(1, d.sessions) {
		if d.shows(t, s.open(t, build)) {
			return true
		}
	}
	return false
}

// TestDefects shows each defect of upstream that these plugins mend: upstream's plugin has it in
// the releases that the list names, and these plugins have it in none. In a checkout, a defect may
// be mended: the test prints which are.
//
//	make upstream VOLCANO_SRC=../volcano
func TestDefects(t *testing.T) {
	_, _, checkout := moduleDirs(t)
	for _, d := range defects() {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			built := release.Built()
			if built < d.since {
				t.Skipf("needs Volcano %s", d.since)
			}
			present := d.outcome(t, d.setup, d.theirs)
			t.Logf("%s: %s", map[bool]string{true: "present", false: "mended"}[present], d.name)
			if !checkout {
				assert.Equal(t, built <= d.until, present, "with upstream's plugin")
			}
			if d.ours != nil {
				assert.False(t, d.outcome(t, d.setup, d.ours), "with the plugin of this module")
			}
			if d.control != nil {
				assert.Equal(t, d.without, d.outcome(t, *d.control, d.theirs), "upstream's plugin without the defect")
				assert.Equal(t, d.without, d.outcome(t, *d.control, d.ours), "the plugin of this module without the defect")
			}
		})
	}
}

const latest = release.V116

// defects are in the order of the page.
func defects() []defect {
	ours, theirs := plugin.NewCapacity, framework.PluginBuilder(capacity.New)
	return []defect{
		{
			name: "PrePredicate clones every queue", until: latest, theirs: theirs, ours: ours,
			part: "Time", where: "pkg/scheduler/plugins/capacity/capacity.go 816–827 and 1791–1793",
			happens: "For each pending task, the hook clones all queues. A clone includes the queues below, so a queue at depth n is cloned n times. The copies stay until the session closes.",
			mend:    "Clone a queue, without its children, when a simulation first changes it.",
			setup:   setup{cluster: tree(append(wide(100), leaf("q", "root", 8))...).with(job("j", "q", workload.Inqueue, pods("j", 1, 1)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				task := taskOf(s, "j-0")
				return testing.AllocsPerRun(3, func() { require.NoError(t, s.PrePredicateFn(task)) }) > 1000
			},
		},
		{
			name: "PrePredicate of proportion clones every queue", until: latest, theirs: proportion.New, ours: plugin.NewProportion,
			part: "Time", where: "pkg/scheduler/plugins/proportion/proportion.go 390–402",
			happens: "As above, without the tree.",
			mend:    "The same.",
			setup: setup{cluster: flat(append(wide(100), leaf("q", "", 8))...).with(
				append(small(100), job("j", "q", workload.Inqueue, pods("j", 1, 1)))...)},
			shows: func(t *testing.T, s *framework.Session) bool {
				task := taskOf(s, "j-0")
				return testing.AllocsPerRun(3, func() { require.NoError(t, s.PrePredicateFn(task)) }) > 1000
			},
		},
		{
			name: "One job in an inner queue stops the tree", until: latest, theirs: theirs, ours: ours,
			part: "Progress", where: "pkg/scheduler/plugins/capacity/capacity.go 1241–1244",
			happens: "A job in a queue with children ends the construction of the tree. No job of the cluster is admitted, and no pod gets a node.",
			mend:    "Log the job and continue, as lines 1236–1240 do for a job with an unknown queue.",
			setup: setup{cluster: tree(inner("dept", "root"), leaf("team", "dept", 4), leaf("other", "root", 4)).with(
				job("wrong", "dept", workload.Pending, pods("wrong", 1, 1)), job("right", "other", workload.Pending, pods("right", 1, 1)))},
			shows: refuses("right"),
		},
		{
			name: "One unknown parent stops the tree", until: latest, theirs: theirs, ours: ours,
			part: "Progress", where: "pkg/scheduler/plugins/capacity/capacity.go 1227–1231 and 1468–1470",
			happens: "As above, for a queue with an unknown parent, or parents that form a cycle with a job.",
			mend:    "Leave out the queue and the queues below it, and refuse their jobs.",
			setup: setup{cluster: tree(leaf("lost", "nowhere", 4), leaf("other", "root", 4)).with(
				job("right", "other", workload.Pending, pods("right", 1, 1)))},
			shows: refuses("right"),
		},
		{
			name: "Queues without jobs have no account", until: latest, theirs: theirs, ours: ours,
			part: "Progress", where: "pkg/scheduler/plugins/capacity/capacity.go, buildQueueAttrs, and the function of AddQueueOrderFn",
			happens: "Without a tree, only queues with jobs have an account. The comparison of two queues reads both, and panics.",
			mend:    "Make the account of each queue of the session before the jobs are read.",
			setup:   setup{cluster: flat(leaf("a", "", 4), leaf("b", "", 4)).with(job("j", "a", workload.Pending, pods("j", 1, 1)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				s.QueueOrderFn(s.Queues["a"], s.Queues["b"])
				return false
			},
		},
		{
			name: "Shares of ancestors are stale after events", until: latest, theirs: theirs, ours: ours,
			part: "Accounts", where: "pkg/scheduler/plugins/capacity/capacity.go 945–954 and 983–992",
			happens: "An event changes the allocated of ancestors, and not their share. Queues of different subtrees keep the order of the start of the session.",
			mend:    "Call updateShare for each ancestor, too.",
			setup: setup{cluster: tree(leaf("a", "root", 4), leaf("b", "root", 4), leaf("a1", "a", 4), leaf("b1", "b", 4)).with(
				job("j", "a1", workload.Inqueue, pods("j", 1, 2)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				require.NoError(t, release.Allocate(framework.NewStatement(s), taskOf(s, "j-0"), s.Nodes["n"]))
				return s.QueueOrderFn(s.Queues["a1"], s.Queues["b1"])
			},
		},
		{
			name: "A job's own pods count twice at admission", until: latest, theirs: theirs, ours: ours,
			part: "Accounts", where: "pkg/scheduler/plugins/capacity/capacity.go 1697–1706",
			happens: "The minimum of a job is added to the allocated of its queue, which includes the pods of the job. A gang that loses a pod before it runs is not admitted again in a queue of exactly its size.",
			mend:    "Add max(0, min − allocated of the job).",
			setup: setup{cluster: flat(leaf("q", "", 2)).with(job("j", "q", workload.Pending,
				append(running("j", 1, 1), pods("k", 1, 1)...)))},
			shows: refuses("j"),
		},
		{
			name: "An admitted job reserves its minimum in addition to its pods", until: release.V1144, theirs: theirs, ours: ours,
			part: "Accounts", where: "v1.14.1 to v1.14.4, pkg/scheduler/plugins/capacity/capacity.go. v1.15 has the mend.",
			happens: "A job in phase Inqueue reserves all of its minimum, even where its pods have a node.",
			mend:    "Reserve max(0, min − allocated of the job), in the releases of v1.14, too.",
			setup: setup{cluster: flat(leaf("q", "", 3)).with(
				job("j", "q", workload.Inqueue, running("j", 2, 1)), job("k", "q", workload.Pending, pods("k", 1, 1)))},
			shows: refuses("k"),
		},
		{
			name: "A job that another plugin refuses reserves its minimum", until: release.V115, theirs: theirs, ours: ours,
			part: "Accounts", where: "up to v1.15, pkg/scheduler/plugins/capacity/capacity.go, the function of AddJobEnqueueableFn. Master has the mend.",
			happens: "The question charges inqueue. The charge stays if a later plugin refuses the job.",
			mend:    "Charge in AddJobEnqueuedFn, in the releases of v1.15, too.",
			setup: setup{cluster: flat(leaf("q", "", 2)).with(
				job("j", "q", workload.Pending, pods("j", 2, 1)), job("k", "q", workload.Pending, pods("k", 2, 1)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				require.True(t, s.JobEnqueueable(s.Jobs["default/j"]))
				return !s.JobEnqueueable(s.Jobs["default/k"])
			},
		},
		{
			name: "A minimum that never fits blocks the siblings", until: latest, theirs: theirs, ours: ours,
			part: "Accounts", where: "pkg/scheduler/plugins/capacity/capacity.go, where inqueue is added to ancestors",
			happens: "The quota of a queue is lowered below the minimum of an Inqueue job. The minimum stays reserved in all ancestors, and jobs of other queues wait for room that the job can never use.",
			mend:    "Add to an ancestor at most the room of the queue below it.",
			setup: setup{cluster: tree(bounded("dept", "root", 4), bounded("a", "dept", 1), bounded("b", "dept", 4)).with(
				job("j", "a", workload.Inqueue, pods("j", 4, 1)), job("k", "b", workload.Pending, pods("k", 1, 1)))},
			shows: refuses("k"),
		},
		{
			name: "Ancestors share memory from depth 7 on", until: latest, theirs: theirs, ours: ours,
			part: "Accounts", where: "pkg/scheduler/plugins/capacity/capacity.go 1483",
			happens: "append gives the ancestors of several queues one array. From depth 7 on, a queue overwrites the last ancestor of another one. Pods are then charged to a queue of another department.",
			mend:    "append(slices.Clip(parent.ancestors), parent)",
			setup:   setup{cluster: deep(7)}, sessions: 50,
			shows: func(t *testing.T, s *framework.Session) bool {
				return s.Allocatable(s.Queues["a1"], taskOf(s, "a-0")) || !s.Allocatable(s.Queues["b1"], taskOf(s, "b-0"))
			},
		},
		{
			name: "Preemptive ignores the capability", until: release.V1144, theirs: theirs, ours: ours,
			part: "Eviction", where: "v1.14.1 to v1.14.4, pkg/scheduler/plugins/capacity/capacity.go. v1.15 has the mend.",
			happens: "Pods are evicted for a pod that the capability of its own queue refuses.",
			mend:    "Check realCapability first, in the releases of v1.14, too.",
			setup: setup{cluster: tree(workload.Queue{Name: "q", Parent: "root", Capability: cpu(2), Deserved: cpu(4)}).with(
				job("j", "q", workload.Inqueue, pods("j", 1, 3)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				return release.Preemptive(s)(s.Queues["q"], taskOf(s, "j-0"))
			},
		},
		{
			name: "Reclaim ignores guarantees of inner queues", until: latest, theirs: theirs, ours: ours,
			part: "Eviction", where: "pkg/scheduler/plugins/capacity/capacity.go 516 and 630",
			happens: "Only the guarantee of the victim's own queue is kept. The guarantee of a department is taken from its queues.",
			mend:    "Compare each queue from the victim's queue up to the lowest common ancestor with the reclaimer, exclusive.",
			setup:   setup{cluster: lending(workload.Queue{Name: "team", Parent: "root", Guarantee: cpu(4)})},
			shows:   takes,
			control: &setup{cluster: lending(inner("team", "root"))}, without: true,
		},
		{
			name: "Victims are evicted for a pod that an ancestor's bound refuses", until: latest, theirs: theirs, ours: ours,
			part: "Eviction", where: "pkg/scheduler/plugins/capacity/capacity.go, the function of AddReclaimableFn",
			happens: "A department is at its bound. Pods of other departments are evicted for one of its pods, in each session.",
			mend:    "Return no victims unless the reclaimer fits in all its ancestors once all of them are gone.",
			setup:   setup{cluster: lending(inner("team", "root"), bounded("dept", "root", 2))},
			shows:   takes,
			control: &setup{cluster: lending(inner("team", "root"), bounded("dept", "root", 8))}, without: true,
		},
		{
			name: "Victims are subtracted from compared ancestors only", since: release.V115, until: latest, theirs: theirs, ours: ours,
			part: "Eviction", where: "pkg/scheduler/plugins/capacity/capacity.go 513 and 594–597, with ancestorReclaimLevel, from v1.15 on",
			happens: "A victim in a deeper leaf is not subtracted from the ancestor that a victim in a shallower leaf is compared with. The ancestor falls below its deserved.",
			mend:    "Subtract a victim from all ancestors in allocations.",
			setup: setup{
				arguments: framework.Arguments{"ancestorReclaimLevel": 1},
				cluster: tree(workload.Queue{Name: "d", Parent: "root", Deserved: cpu(3)}, queue("x1", "d", 500), queue("e", "d", 250), queue("x2", "e", 500),
					leaf("y", "root", 8)).with(job("x1", "x1", workload.Running, running("x1", 2, 1)), job("x2", "x2", workload.Running, running("x2", 2, 1)),
					job("j", "y", workload.Inqueue, pods("j", 1, 1))),
			},
			shows: func(t *testing.T, s *framework.Session) bool {
				return len(s.Reclaimable(taskOf(s, "j-0"), []*api.TaskInfo{taskOf(s, "x1-0"), taskOf(s, "x2-0")})) == 2
			},
		},
		{
			name: "An evicted pod reserves what it leaves", since: release.V115, until: latest, theirs: theirs, ours: ours,
			part: "Eviction", where: "pkg/scheduler/plugins/capacity/capacity.go 997–1001, with queue allocation gates, from v1.15 on",
			happens: "The deallocate event of an eviction gives the evicted pod a reservation. Its room is not free for the pod that it is evicted for.",
			mend:    "Reserve only for tasks that are pending again.",
			setup: setup{gates: true, cluster: flat(bounded("q", "", 2)).with(
				job("j", "q", workload.Running, queueGated(running("j", 1, 2))), job("k", "q", workload.Inqueue, pods("k", 1, 2)))},
			shows: withGates(func(t *testing.T, s *framework.Session) bool {
				require.NoError(t, release.Evict(framework.NewStatement(s), taskOf(s, "j-0"), "test"))
				return !s.Allocatable(s.Queues["q"], taskOf(s, "k-0"))
			}),
		},
		{
			name: "Pods with a reservation block one another", since: release.V115, until: latest, theirs: theirs, ours: ours,
			part: "Eviction", where: "pkg/scheduler/plugins/capacity/capacity.go 1656–1668, with queue allocation gates, from v1.15 on",
			happens: "A pod with a reservation must fit together with the reservations of all others. If a bound is lowered below the sum of the reservations, none of them gets a node again.",
			mend:    "Compare a pod with a reservation with allocated alone.",
			setup: setup{gates: true, cluster: flat(bounded("q", "", 2)).with(
				job("j", "q", workload.Inqueue, queueGated(pods("j", 2, 2))))},
			shows: withGates(func(t *testing.T, s *framework.Session) bool {
				return !s.Allocatable(s.Queues["q"], taskOf(s, "j-0")) && !s.Allocatable(s.Queues["q"], taskOf(s, "j-1"))
			}),
		},
		{
			name: "Keys of device classes are scalars that no pod requests", since: release.V115, until: latest, theirs: theirs, ours: ours,
			part: "Devices", where: "pkg/scheduler/plugins/capacity/capacity.go 1074–1093, 1429–1444 and 1864–1865, from v1.15 on",
			happens: "In a guarantee, deviceclass/gpu is a scalar of which the queue has nothing, so that none of its pods can be reclaimed. In deserved, it puts the queue first. A root that bounds only devices bounds cpu and memory to 0.",
			mend:    "Remove such keys from a list before api.NewResource reads it.",
			setup: setup{cluster: lending(inner("team", "root"), workload.Queue{Name: "x", Parent: "team", Deserved: cpu(1),
				Guarantee: workload.Resources{"deviceclass/gpu": 1}})},
			shows:   func(t *testing.T, s *framework.Session) bool { return !takes(t, s) },
			control: &setup{cluster: lending(inner("team", "root"))},
		},
		{
			name: "Overcommit counts the pods of Inqueue jobs twice", until: latest, theirs: overcommit.New,
			part: "Other plugins", where: "pkg/scheduler/plugins/overcommit/overcommit.go 87–100",
			happens: "The pods of an Inqueue job count as used on the nodes, and again as a part of its minimum.",
			mend:    "Subtract allocated from the minimum, as for running jobs below.",
			setup: setup{
				arguments: framework.Arguments{"overcommit-factor": "1.0"},
				cluster: flat(leaf("q", "", 16)).with(
					job("j", "q", workload.Inqueue, running("j", 8, 1)), job("k", "q", workload.Pending, pods("k", 4, 1))),
			},
			shows: refuses("k"),
		},
	}
}
