// Package bench measures the engine against upstream's plugins, on the same
// input, in the same run. Every benchmark has the key impl, so that benchstat
// can pair its rows:
//
//	go test ./bench -run '^$' -bench . -count 6 | benchstat -col /impl -
package bench

import (
	"os"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/framework"
	upstream "volcano.sh/volcano/pkg/scheduler/plugins/capacity"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
)

func TestMain(m *testing.M) {
	cluster.Quiet()
	os.Exit(m.Run())
}

// implementations are what is compared.
var implementations = []struct {
	name string
	new  framework.PluginBuilder
}{
	{"upstream", upstream.New},
	{"ours", plugin.NewCapacity},
}

// openOnly opens a session of a shape without any plugin. Plugins are then
// opened on it by hand, so that only they are measured.
func openOnly(b testing.TB, s workload.Shape) *framework.Session {
	b.Helper()
	return open(b, s.Make(1), plugin.CapacityName)
}

func open(b testing.TB, c workload.Cluster, name string) *framework.Session {
	b.Helper()
	info, err := cluster.Build(c, "/bench")
	if err != nil {
		b.Fatal(err)
	}
	ssn := cluster.Open(cluster.NewCache(info), nil)
	ssn.Tiers = cluster.Tiers(true, name)
	return ssn
}

// BenchmarkSessionOpen is OnSessionOpen and OnSessionClose of the plugin alone,
// with the queues as they were in the session before.
func BenchmarkSessionOpen(b *testing.B) {
	for _, s := range []workload.Shape{workload.S, workload.L} {
		b.Run("shape="+s.Name, func(b *testing.B) { benchmarkOpen(b, s, func(*framework.Session) {}) })
	}
}

// BenchmarkSessionOpenCards is SessionOpen of capacity-card: on the same cluster
// with quotas of cards, and without. Upstream has no cards.
func BenchmarkSessionOpenCards(b *testing.B) {
	for _, s := range []workload.Shape{workload.S, workload.L} {
		for _, which := range []struct {
			name string
			c    workload.Cluster
			new  framework.PluginBuilder
		}{{"without", s.Make(1), plugin.NewCapacity}, {"with", s.MakeCards(1), plugin.New}} {
			b.Run("shape="+s.Name+"/cards="+which.name, func(b *testing.B) {
				ssn := open(b, which.c, which.new(nil).Name())
				b.ReportAllocs()
				for b.Loop() {
					p := which.new(nil)
					p.OnSessionOpen(ssn)
					p.OnSessionClose(ssn)
				}
			})
		}
	}
}

// BenchmarkSessionOpenChanged is BenchmarkSessionOpen with the specification of
// one queue changed since the session before.
func BenchmarkSessionOpenChanged(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) {
		benchmarkOpen(b, workload.L, func(ssn *framework.Session) {
			queue := ssn.Queues["root-0"]
			queue.Queue = queue.Queue.DeepCopy()
			queue.Queue.Generation++
		})
	})
}

func benchmarkOpen(b *testing.B, s workload.Shape, change func(*framework.Session)) {
	ssn := openOnly(b, s)
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				change(ssn)
				p := impl.new(nil)
				p.OnSessionOpen(ssn)
				p.OnSessionClose(ssn)
			}
		})
	}
}

// BenchmarkPrePredicate is the snapshot that every pending task gets. The cycle
// states are Volcano's and cost both the same.
func BenchmarkPrePredicate(b *testing.B) {
	for _, impl := range implementations {
		b.Run("shape=L/impl="+impl.name, func(b *testing.B) {
			ssn := openOnly(b, workload.L)
			p := impl.new(nil)
			p.OnSessionOpen(ssn)
			defer p.OnSessionClose(ssn)
			for _, job := range ssn.Jobs {
				for _, task := range job.Tasks {
					b.ReportAllocs()
					for b.Loop() {
						if err := ssn.PrePredicateFn(task); err != nil {
							b.Fatal(err)
						}
					}
					return
				}
			}
		})
	}
}
