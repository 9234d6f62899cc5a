package bench

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/record"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// BenchmarkOpening opens whole sessions, with the snapshot of Volcano's cache and the usual plugins. The figure of none
// is the time of an opening without a quota plugin. The figure of ours is the part of the plugin in an opening: the rest
// varies by more than this part.
func BenchmarkOpening(b *testing.B) {
	jobs := workload.Shape{Name: "jobs", Nodes: 1000, Fanout: workload.TwoLevels(1000), Jobs: 25000, TasksPerJob: 1}
	shapes := []workload.Shape{workload.S, workload.L, jobs}
	if *full {
		shapes = append(shapes, workload.XL)
	}

	for _, shape := range shapes {
		b.Run("shape="+shape.Name, func(b *testing.B) {
			info, err := cluster.Build(shape.Make(1), "/bench")
			if err != nil {
				b.Fatal(err)
			}
			served := newServed(info)

			b.Run("impl=none", func(b *testing.B) { served.measure(b, none) })
			b.Run("impl=ours", func(b *testing.B) { served.measure(b, implementation{"ours", newTimed}) })
		})
	}
}

// served is a cache with the snapshot of Volcano's own cache.
type served struct {
	*offline.Cache
	volcano *cache.SchedulerCache
}

func newServed(info *api.ClusterInfo) *served {
	s := &served{Cache: offline.NewCache(info)}
	s.Informers = informed()

	s.volcano = cache.NewCustomMockSchedulerCache("bench", nil, nil, nil, nil, &record.FakeRecorder{})
	s.volcano.Jobs = info.Jobs
	s.volcano.Nodes = info.Nodes
	s.volcano.NodeList = info.NodeList
	for _, queue := range info.Queues {
		s.volcano.Queues[queue.UID] = queue
	}
	return s
}

func (s *served) Snapshot() *api.ClusterInfo { return s.volcano.Snapshot() }

func (s *served) measure(b *testing.B, impl implementation) {
	tiers := tiersWith(impl)
	open := func() (*framework.Session, time.Duration) {
		timed = 0
		start := time.Now()
		ssn := framework.OpenSession(s, tiers, nil)
		return ssn, time.Since(start)
	}

	// Later sessions know the data that the first session of a process reads.
	ssn, _ := open()
	if len(ssn.Jobs) != len(s.volcano.Jobs) || len(ssn.Nodes) != len(s.volcano.Nodes) {
		b.Fatalf("the session has %d jobs and %d nodes", len(ssn.Jobs), len(ssn.Nodes))
	}
	framework.CloseSession(ssn)

	var spent time.Duration
	for b.Loop() {
		ssn, whole := open()
		if impl.name != none.name {
			whole = timed
		}
		spent += whole
		framework.CloseSession(ssn)
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/op")
}

// timed is the time that the plugin took for the last opening.
var timed time.Duration

// timedPlugin measures the opening of ours.
type timedPlugin struct{ framework.Plugin }

func newTimed(arguments framework.Arguments) framework.Plugin {
	return timedPlugin{plugin.NewCapacity(arguments)}
}

// OnSessionOpen opens the plugin.
func (p timedPlugin) OnSessionOpen(ssn *framework.Session) {
	start := time.Now()
	p.Plugin.OnSessionOpen(ssn)
	timed = time.Since(start)
}
