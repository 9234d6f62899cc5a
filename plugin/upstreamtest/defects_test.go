package upstreamtest

import (
	"fmt"
	"os"
	"regexp"
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

// defect is one of upstream's. docs/dev/UPSTREAM.md has a section for each name.
type defect struct {
	name         string
	since, until release.Release // the releases that have it
	theirs, ours framework.PluginBuilder
	setup
	shows func(t *testing.T, s *framework.Session) bool
	// sessions bounds the number of sessions that are opened until the defect shows, where the order of a map
	// decides; 0 means one.
	sessions int
	// control is the content without the defect, and what shows is then with both plugins: it tells a
	// defect from a scene in which nothing happens.
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

// outcome reports what shows with a plugin. A panic shows a defect.
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

// TestPageOfDefects compares the page with the list.
func TestPageOfDefects(t *testing.T) {
	page, err := os.ReadFile("../../docs/dev/UPSTREAM.md")
	require.NoError(t, err)
	var sections, names []string
	for _, match := range regexp.MustCompile("(?m)^### (.+)$").FindAllStringSubmatch(string(page), -1) {
		sections = append(sections, match[1])
	}
	for _, d := range defects() {
		names = append(names, d.name)
	}
	assert.Equal(t, names, sections)
}

const latest = release.V116

// defects are in the order of the page.
func defects() []defect {
	ours, theirs := plugin.NewCapacity, framework.PluginBuilder(capacity.New)
	return []defect{
		{
			name: "PrePredicate clones every queue", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: tree(append(wide(100), leaf("q", "root", 8))...).with(job("j", "q", workload.Inqueue, pods("j", 1, 1)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				task := taskOf(s, "j-0")
				return testing.AllocsPerRun(3, func() { require.NoError(t, s.PrePredicateFn(task)) }) > 1000
			},
		},
		{
			name: "PrePredicate of proportion clones every queue", until: latest, theirs: proportion.New, ours: plugin.NewProportion,
			setup: setup{cluster: flat(append(wide(100), leaf("q", "", 8))...).with(
				append(small(100), job("j", "q", workload.Inqueue, pods("j", 1, 1)))...)},
			shows: func(t *testing.T, s *framework.Session) bool {
				task := taskOf(s, "j-0")
				return testing.AllocsPerRun(3, func() { require.NoError(t, s.PrePredicateFn(task)) }) > 1000
			},
		},
		{
			name: "One job in an inner queue stops the tree", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: tree(inner("dept", "root"), leaf("team", "dept", 4), leaf("other", "root", 4)).with(
				job("wrong", "dept", workload.Pending, pods("wrong", 1, 1)), job("right", "other", workload.Pending, pods("right", 1, 1)))},
			shows: refuses("right"),
		},
		{
			name: "One unknown parent stops the tree", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: tree(leaf("lost", "nowhere", 4), leaf("other", "root", 4)).with(
				job("right", "other", workload.Pending, pods("right", 1, 1)))},
			shows: refuses("right"),
		},
		{
			name: "Queues without jobs have no account", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: flat(leaf("a", "", 4), leaf("b", "", 4)).with(job("j", "a", workload.Pending, pods("j", 1, 1)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				s.QueueOrderFn(s.Queues["a"], s.Queues["b"])
				return false
			},
		},
		{
			name: "Shares of ancestors are stale after events", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: tree(leaf("a", "root", 4), leaf("b", "root", 4), leaf("a1", "a", 4), leaf("b1", "b", 4)).with(
				job("j", "a1", workload.Inqueue, pods("j", 1, 2)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				require.NoError(t, release.Allocate(framework.NewStatement(s), taskOf(s, "j-0"), s.Nodes["n"]))
				return s.QueueOrderFn(s.Queues["a1"], s.Queues["b1"])
			},
		},
		{
			name: "A job's own pods count twice at admission", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: flat(leaf("q", "", 2)).with(job("j", "q", workload.Pending,
				append(running("j", 1, 1), pods("k", 1, 1)...)))},
			shows: refuses("j"),
		},
		{
			name: "An admitted job reserves its minimum beside its pods", until: release.V1144, theirs: theirs, ours: ours,
			setup: setup{cluster: flat(leaf("q", "", 3)).with(
				job("j", "q", workload.Inqueue, running("j", 2, 1)), job("k", "q", workload.Pending, pods("k", 1, 1)))},
			shows: refuses("k"),
		},
		{
			name: "A job that another plugin refuses reserves its minimum", until: release.V115, theirs: theirs, ours: ours,
			setup: setup{cluster: flat(leaf("q", "", 2)).with(
				job("j", "q", workload.Pending, pods("j", 2, 1)), job("k", "q", workload.Pending, pods("k", 2, 1)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				require.True(t, s.JobEnqueueable(s.Jobs["default/j"]))
				return !s.JobEnqueueable(s.Jobs["default/k"])
			},
		},
		{
			name: "A minimum that never fits blocks the siblings", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: tree(bounded("dept", "root", 4), bounded("a", "dept", 1), bounded("b", "dept", 4)).with(
				job("j", "a", workload.Inqueue, pods("j", 4, 1)), job("k", "b", workload.Pending, pods("k", 1, 1)))},
			shows: refuses("k"),
		},
		{
			name: "Ancestors share memory from depth 7 on", until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: deep(7)}, sessions: 50,
			shows: func(t *testing.T, s *framework.Session) bool {
				return s.Allocatable(s.Queues["a1"], taskOf(s, "a-0")) || !s.Allocatable(s.Queues["b1"], taskOf(s, "b-0"))
			},
		},
		{
			name: "Preemptive ignores the capability", until: release.V1144, theirs: theirs, ours: ours,
			setup: setup{cluster: tree(workload.Queue{Name: "q", Parent: "root", Capability: cpu(2), Deserved: cpu(4)}).with(
				job("j", "q", workload.Inqueue, pods("j", 1, 3)))},
			shows: func(t *testing.T, s *framework.Session) bool {
				return release.Preemptive(s)(s.Queues["q"], taskOf(s, "j-0"))
			},
		},
		{
			name: "Reclaim ignores guarantees of inner queues", until: latest, theirs: theirs, ours: ours,
			setup:   setup{cluster: lending(workload.Queue{Name: "team", Parent: "root", Guarantee: cpu(4)})},
			shows:   takes,
			control: &setup{cluster: lending(inner("team", "root"))}, without: true,
		},
		{
			name: "Victims are evicted for a pod that an ancestor's bound refuses", until: latest, theirs: theirs, ours: ours,
			setup:   setup{cluster: lending(inner("team", "root"), bounded("dept", "root", 2))},
			shows:   takes,
			control: &setup{cluster: lending(inner("team", "root"), bounded("dept", "root", 8))}, without: true,
		},
		{
			name: "Victims are subtracted from compared ancestors only", since: release.V115, until: latest, theirs: theirs, ours: ours,
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
			setup: setup{gates: true, cluster: flat(bounded("q", "", 2)).with(
				job("j", "q", workload.Running, queueGated(running("j", 1, 2))), job("k", "q", workload.Inqueue, pods("k", 1, 2)))},
			shows: withGates(func(t *testing.T, s *framework.Session) bool {
				require.NoError(t, release.Evict(framework.NewStatement(s), taskOf(s, "j-0"), "test"))
				return !s.Allocatable(s.Queues["q"], taskOf(s, "k-0"))
			}),
		},
		{
			name: "Pods with a reservation block one another", since: release.V115, until: latest, theirs: theirs, ours: ours,
			setup: setup{gates: true, cluster: flat(bounded("q", "", 2)).with(
				job("j", "q", workload.Inqueue, queueGated(pods("j", 2, 2))))},
			shows: withGates(func(t *testing.T, s *framework.Session) bool {
				return !s.Allocatable(s.Queues["q"], taskOf(s, "j-0")) && !s.Allocatable(s.Queues["q"], taskOf(s, "j-1"))
			}),
		},
		{
			name: "Keys of device classes are scalars that no pod requests", since: release.V115, until: latest, theirs: theirs, ours: ours,
			setup: setup{cluster: lending(inner("team", "root"), workload.Queue{Name: "x", Parent: "team", Deserved: cpu(1),
				Guarantee: workload.Resources{"deviceclass/gpu": 1}})},
			shows:   func(t *testing.T, s *framework.Session) bool { return !takes(t, s) },
			control: &setup{cluster: lending(inner("team", "root"))},
		},
		{
			name: "Overcommit counts the pods of Inqueue jobs twice", until: latest, theirs: overcommit.New,
			setup: setup{
				arguments: framework.Arguments{"overcommit-factor": "1.0"},
				cluster: flat(leaf("q", "", 16)).with(
					job("j", "q", workload.Inqueue, running("j", 8, 1)), job("k", "q", workload.Pending, pods("k", 4, 1))),
			},
			shows: refuses("k"),
		},
	}
}

// refuses reports whether a job is not admitted.
func refuses(job string) func(*testing.T, *framework.Session) bool {
	return func(t *testing.T, s *framework.Session) bool {
		require.Contains(t, s.Jobs, api.JobID("default/"+job))
		return !s.JobEnqueueable(s.Jobs[api.JobID("default/"+job)])
	}
}

// takes reports whether pods of the queue x are victims of one of the queue y.
func takes(t *testing.T, s *framework.Session) bool {
	var candidates []*api.TaskInfo
	for i := range 4 {
		candidates = append(candidates, taskOf(s, fmt.Sprintf("x-%d", i)))
	}
	return len(s.Reclaimable(taskOf(s, "y-0"), candidates)) > 0
}

// withGates turns the feature gate on while shows runs.
func withGates(shows func(*testing.T, *framework.Session) bool) func(*testing.T, *framework.Session) bool {
	return func(t *testing.T, s *framework.Session) bool {
		require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set("SchedulingGatesQueueAdmission=true"))
		defer func() {
			require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set("SchedulingGatesQueueAdmission=false"))
		}()
		return shows(t, s)
	}
}

func taskOf(s *framework.Session, name string) *api.TaskInfo {
	for _, job := range s.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}
	panic("no task " + name)
}

// content is a cluster without jobs yet.
type content workload.Cluster

func (c content) with(jobs ...workload.Job) workload.Cluster {
	c.Jobs = jobs
	return workload.Cluster(c)
}

func flat(queues ...workload.Queue) content { return content{Queues: queues} }

func tree(queues ...workload.Queue) content {
	return content{Hierarchy: true, Queues: append([]workload.Queue{{Name: "root"}}, queues...)}
}

func cpu(cores int64) workload.Resources { return workload.Resources{"cpu": cores * 1000} }

func inner(name, parent string) workload.Queue { return workload.Queue{Name: name, Parent: parent} }

// leaf deserves cores and is bounded by as many.
func leaf(name, parent string, cores int64) workload.Queue {
	return workload.Queue{Name: name, Parent: parent, Deserved: cpu(cores), Capability: cpu(cores)}
}

func bounded(name, parent string, cores int64) workload.Queue {
	return workload.Queue{Name: name, Parent: parent, Capability: cpu(cores)}
}

// queue deserves milli thousandths of a core.
func queue(name, parent string, milli int64) workload.Queue {
	return workload.Queue{Name: name, Parent: parent, Deserved: workload.Resources{"cpu": milli}}
}

// wide are many queues, and small a job in each of them.
func wide(n int) (queues []workload.Queue) {
	for i := range n {
		queues = append(queues, workload.Queue{Name: fmt.Sprintf("q%d", i), Weight: 1, Deserved: cpu(1)})
	}
	return queues
}

func small(n int) (jobs []workload.Job) {
	for i := range n {
		name := fmt.Sprintf("q%d", i)
		jobs = append(jobs, job(name, name, workload.Inqueue, pods(name, 1, 1)))
	}
	return jobs
}

// lending has a queue x below team that borrows, and a queue y below dept that reclaims. Some of the
// queues are replaced.
func lending(changed ...workload.Queue) workload.Cluster {
	queues := []workload.Queue{inner("team", "root"), queue("x", "team", 1000), inner("dept", "root"), leaf("y", "dept", 8)}
	for i, q := range queues {
		for _, c := range changed {
			if c.Name == q.Name {
				queues[i] = c
			}
		}
	}
	return tree(queues...).with(job("x", "x", workload.Running, running("x", 4, 1)),
		job("own", "y", workload.Running, running("own", 2, 1)), job("y", "y", workload.Inqueue, pods("y", 1, 1)))
}

// deep has a chain of inner queues, and below it the inner queues a, which has one core, and b, each with a
// leaf and a pod of two cores.
func deep(depth int) workload.Cluster {
	var queues []workload.Queue
	parent := "root"
	for i := 1; i < depth-1; i++ {
		name := fmt.Sprintf("d%d", i)
		queues = append(queues, inner(name, parent))
		parent = name
	}
	queues = append(queues, bounded("a", parent, 1), inner("b", parent), leaf("a1", "a", 4), leaf("b1", "b", 4))
	return tree(queues...).with(job("a", "a1", workload.Inqueue, pods("a", 1, 2)), job("b", "b1", workload.Inqueue, pods("b", 1, 2)))
}

// job has a minimum of all its pods.
func job(name, queue string, phase workload.Phase, tasks []workload.Task) workload.Job {
	var milli int64
	for _, t := range tasks {
		milli += t.Request["cpu"]
	}
	return workload.Job{Name: name, Queue: queue, Phase: phase, MinMember: int32(len(tasks)),
		MinResources: workload.Resources{"cpu": milli}, Tasks: tasks}
}

func pods(job string, n int, cores int64) (tasks []workload.Task) {
	for i := range n {
		tasks = append(tasks, workload.Task{Name: fmt.Sprintf("%s-%d", job, i), Request: cpu(cores), Status: workload.TaskPending})
	}
	return tasks
}

func running(job string, n int, cores int64) []workload.Task {
	tasks := pods(job, n, cores)
	for i := range tasks {
		tasks[i].Status, tasks[i].Node = workload.TaskRunning, "n"
	}
	return tasks
}

// queueGated pods wait, or waited, for Volcano's queue allocation gate, which is removed.
func queueGated(tasks []workload.Task) []workload.Task {
	for i := range tasks {
		tasks[i].Annotations = map[string]string{cluster.QueueGate: "true"}
	}
	return tasks
}
