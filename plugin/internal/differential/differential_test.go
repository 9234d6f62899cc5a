package differential_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	upstreamcapacity "volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	upstreamproportion "volcano.sh/volcano/pkg/scheduler/plugins/proportion"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// The intended differences, by the name under which they are excused and counted.
// The code marks each with DIVERGES.
const (
	staleShare      = "ancestors' share refreshed on every event"
	refusedAlone    = "a bad job, queue or subtree refused alone"
	inqueueUnit     = "inqueue = max(0, min − allocated) in one unit"
	inqueueDecided  = "inqueue charged in JobEnqueued"
	capabilityFirst = "Preemptive checks capability first"
	flatWithoutJobs = "flat mode knows queues without jobs"
	guaranteeUp     = "effective guarantee propagates up"
	saturates       = "saturating subtraction"
	ownArray        = "no shared backing array for ancestors"
	boundedInqueue  = "inqueue counts upwards as far as the queue has room"
	victimsSuffice  = "victims suffice at every level"
	innerGuarantee  = "an inner queue keeps its guarantee"
	ownPodsOnce     = "a job's own pods do not count twice"
	goneEverywhere  = "a victim counts as gone for all its ancestors"
	gatesUpwards    = "what is reserved for a pod without its gate counts at every level"
	gatesKept       = "no victims for a task if the reservations leave it no room"
	gatesSettle     = "pods with a reservation do not block one another"
	evictedReserve  = "an evicted pod reserves nothing"
	claimsExact     = "resource claims that ran before the session count once for each ancestor"
	devicesAlone    = "keys of device classes bound devices alone"
	nodesGone       = "what is gone does not count against the root's total"
	gangLevels      = "gang reclaim follows ancestorReclaimLevel"
)

// shows returns the first and the last release in which an intended difference shows.
func shows(name string) (since, until release.Release) {
	switch name {
	case capabilityFirst: // upstream does so from v1.15 on
		return release.V1141, release.V1144
	case inqueueDecided: // and so from v1.16 on
		return release.V1141, release.V115
	case goneEverywhere, gangLevels, // of the argument ancestorReclaimLevel
		claimsExact, devicesAlone, // of resource claims
		gatesUpwards, gatesKept, gatesSettle, evictedReserve: // of the feature gate SchedulingGatesQueueAdmission
		return release.V115, release.V116
	}
	return release.V1141, release.V116
}

// TestDifferential opens the drop-ins and upstream's plugins on the same random
// clusters. It compares every answer, at session open and after each of a few hundred
// random events.
func TestDifferential(t *testing.T) {
	for _, upstream := range []struct {
		name     string
		theirs   framework.PluginBuilder
		ours     framework.PluginBuilder
		found    []uint64 // seeds beyond the first that found a defect
		mustShow []string
	}{
		{session.CapacityName, upstreamcapacity.New, session.NewCapacity, []uint64{2725}, []string{staleShare, refusedAlone, inqueueUnit,
			inqueueDecided, capabilityFirst, flatWithoutJobs, guaranteeUp, saturates, ownArray,
			boundedInqueue, victimsSuffice, innerGuarantee, ownPodsOnce, nodesGone, goneEverywhere, gatesUpwards, gatesKept, gatesSettle, evictedReserve,
			claimsExact, devicesAlone, gangLevels}},
		{session.ProportionName, upstreamproportion.New, session.NewProportion, nil, []string{refusedAlone, inqueueUnit,
			inqueueDecided, flatWithoutJobs, saturates}},
	} {
		t.Run(upstream.name, func(t *testing.T) {
			testbed.RemoveQueueGates(t)
			excused := map[string]int{}
			answers := 0
			seeds := upstream.found
			for seed := *testbed.FirstSeed; seed < *testbed.FirstSeed+uint64(*testbed.Clusters); seed++ {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				d := &differential{
					arguments: drawArguments(seed), name: upstream.name, theirBuilder: upstream.theirs, ourBuilder: upstream.ours, excused: excused,
					rand: rand.New(rand.NewPCG(seed, 0xd1ff)), cluster: workload.Random(seed), seed: seed,
				}
				require.NoError(t, d.run(), "plugin %s, seed %d", upstream.name, seed)
				answers += d.answers
			}
			t.Logf("%d clusters, %d answers compared", len(seeds), answers)
			for _, name := range slices.Sorted(maps.Keys(excused)) {
				t.Logf("excused %7d × %s", excused[name], name)
			}
			if *testbed.Clusters >= 1000 {
				for _, name := range upstream.mustShow {
					if since, until := shows(name); release.Built() < since || release.Built() > until {
						continue
					}
					require.NotZero(t, excused[name], "%q never showed: the clusters no longer reach it", name)
				}
			}
		})
	}
}

// drawArguments returns the arguments of both plugins: those that upstream has, too.
func drawArguments(seed uint64) framework.Arguments {
	if release.Built() < release.V115 {
		return nil
	}
	return framework.Arguments{arguments.AncestorReclaimLevel: int(seed % 4), arguments.DeviceQuotas: seed%8 != 7, arguments.DeviceCapacities: seed%3 > 0}
}

// differential is one cluster with a session of each plugin.
type differential struct {
	name                     string
	arguments                framework.Arguments
	theirBuilder, ourBuilder framework.PluginBuilder
	rand                     *rand.Rand
	seed                     uint64 // distinguishes the objects of one run from another's
	excused                  map[string]int
	answers                  int

	cluster  workload.Cluster // as ours sees it
	theirs   *framework.Session
	ours     *framework.Session
	upstream upstreamPlugin
	own      *session.Session
	queues   []string // that both know

	devices          bool // quotas bound devices
	claims           testbed.PodClaims
	roles            map[string]int32 // of jobs: the minimum of their one role
	initialPipelined map[string]bool  // pods that were pipelined at open: they were not charged
}

// excuse counts an intended difference.
func (d *differential) excuse(name string) { d.excused[name]++ }

// check compares one answer.
func (d *differential) check(what string, theirs, ours any) error {
	d.answers++
	if theirs != ours {
		return fmt.Errorf("%s: upstream answers %v, ours %v", what, theirs, ours)
	}
	return nil
}

func (d *differential) run() error {
	d.breakCluster()
	d.bringBackNodes()
	d.gatePods()
	d.roles = map[string]int32{}
	d.drawDevices()
	if stop, err := d.open(); stop || err != nil {
		return err
	}
	if err := d.compareOpen(); err != nil {
		return fmt.Errorf("at open: %w", err)
	}
	if err := d.compareAnswers(); err != nil {
		return fmt.Errorf("at open: %w", err)
	}
	for i := range 40 + d.rand.IntN(160) {
		what, err := d.event()
		if err == nil && i%8 == 0 {
			err = d.compareAnswers()
		}
		if err != nil {
			return fmt.Errorf("event %d, %s: %w", i, what, err)
		}
	}
	return nil
}

// open opens both sessions. It reports true where upstream cannot serve the cluster
// even without its invalid parts.
func (d *differential) open() (stop bool, err error) {
	their := d.forUpstream()
	generation := fmt.Sprintf("/%s/%d", d.name, d.seed)
	testbed.DropMetrics(their.Queues)
	if d.theirs, d.upstream, err = d.openUpstream(their, generation); err != nil {
		return true, err
	}
	for _, q := range their.Queues {
		if d.upstream.has(q.Name) {
			d.queues = append(d.queues, q.Name)
		} else {
			d.excuse(flatWithoutJobs)
		}
	}
	info, err := cluster.Build(d.cluster, generation)
	if err != nil {
		return true, err
	}
	d.giveClaims(info)
	published := slices.DeleteFunc(slices.Clone(d.queues), func(name string) bool {
		return d.queue(name) == nil // an added root has no series
	})
	theirMetrics := d.withoutDeviceSeries(testbed.Gather(published))
	testbed.DropMetrics(d.cluster.Queues)
	var ours *session.Plugin
	framework.RegisterPluginBuilder(d.name, func(a framework.Arguments) framework.Plugin {
		ours = d.ourBuilder(a).(*session.Plugin)
		return ours
	})
	d.ours = offline.Open(offline.NewCache(info), d.tiers(d.cluster.Hierarchy))
	d.own = ours.Session
	if d.name == session.CapacityName && d.cluster.Hierarchy && !d.trueAncestors() {
		d.excuse(ownArray)
		return true, nil
	}
	if err := compareMetrics(theirMetrics, d.withoutDeviceSeries(testbed.Gather(published))); err != nil {
		return true, fmt.Errorf("metrics at open: %w", err)
	}
	return false, nil
}

func (d *differential) openUpstream(c workload.Cluster, generation string) (*framework.Session, upstreamPlugin, error) {
	info, err := cluster.Build(c, generation)
	if err != nil {
		return nil, upstreamPlugin{}, err
	}
	d.giveClaims(info)
	var plugin framework.Plugin
	framework.RegisterPluginBuilder(d.name, func(a framework.Arguments) framework.Plugin {
		plugin = d.theirBuilder(a)
		return plugin
	})
	ssn := offline.Open(offline.NewCache(info), d.tiers(c.Hierarchy))
	return ssn, examine(plugin), nil
}

func (d *differential) tiers(hierarchy bool) []conf.Tier {
	tiers := offline.Tiers(hierarchy, d.name)
	tiers[0].Plugins[0].Arguments = d.arguments
	return tiers
}

// trueAncestors reports whether upstream's ancestors are right after open, and keeps
// its later calls from changing them.
func (d *differential) trueAncestors() bool {
	for _, name := range d.queues {
		theirs := d.upstream.ancestors(name)
		path := d.own.Index.Path(d.own.Index.Lookup(name))
		for i, ancestor := range path[1:] {
			if at := len(theirs) - 1 - i; at < 0 || string(theirs[at]) != d.own.Index.Name(ancestor) {
				return false
			}
		}
	}
	d.upstream.unshareAncestors()
	return true
}

// guard runs f, and reports whether an assertion of upstream panicked.
func guard(f func()) (stopped bool) {
	defer func() {
		if message, ok := recover().(string); ok {
			stopped = message != ""
		}
	}()
	f()
	return false
}

// tasks returns the tasks of both sessions in the same order.
func (d *differential) tasks(keep func(*api.TaskInfo) bool) (theirs, ours []*api.TaskInfo) {
	for _, id := range slices.Sorted(maps.Keys(d.theirs.Jobs)) {
		job, own := d.theirs.Jobs[id], d.ours.Jobs[id]
		for _, uid := range slices.Sorted(maps.Keys(job.Tasks)) {
			if keep(job.Tasks[uid]) {
				theirs = append(theirs, job.Tasks[uid])
				ours = append(ours, own.Tasks[uid])
			}
		}
	}
	return theirs, ours
}

// queue returns a queue of the cluster, nil for none.
func (d *differential) queue(name string) *workload.Queue {
	if i := slices.IndexFunc(d.cluster.Queues, func(q workload.Queue) bool { return q.Name == name }); i >= 0 {
		return &d.cluster.Queues[i]
	}
	return nil
}
