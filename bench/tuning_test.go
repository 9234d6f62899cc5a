package bench

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/tuning"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// BenchmarkTuning is a cycle in which 200 pods get nodes, of 5,000 on which others run, with settings of Volcano that
// are said to make it faster. It also reports where the pods got.
func BenchmarkTuning(b *testing.B) {
	framework.RegisterPluginBuilder(plugin.Name, plugin.New)
	plugin.RegisterActions()
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true, "reclaim": true, "backfill": true}
	content := workload.Pools{Nodes: 5000, Queues: 1000, Jobs: 40, Busy: true}.Make(1)
	info, err := cluster.Build(content, "/bench")
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range tuning.Settings {
		b.Run("setting="+s.Name, func(b *testing.B) {
			defer use(b, s)()
			b.ReportAllocs()
			var nodes map[string][]string
			for b.Loop() {
				b.StopTimer()
				cache := offline.NewCache(cloneCluster(info))
				cache.Informers = informed()
				actions, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(s.Configuration())
				if err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				b.StartTimer()
				ssn := framework.OpenSession(cache, tiers, nil)
				for _, action := range actions {
					action.Execute(ssn)
				}
				framework.CloseSession(ssn)
				b.StopTimer()
				nodes = map[string][]string{}
				for pod, node := range cache.Bound {
					job := pod[strings.Index(pod, "/")+1 : strings.LastIndex(pod, "-")]
					nodes[job] = append(nodes[job], node)
				}
				b.StartTimer()
			}
			p := content.Place(nodes)
			if p.Pods != 200 {
				b.Fatalf("%d pods have a node, want 200", p.Pods)
			}
			b.ReportMetric(float64(p.Opened), "opened")
			b.ReportMetric(100*float64(p.First)/float64(p.Listed), "first-%")
		})
	}
}

// use sets the flags of a setting. undo sets them back.
func use(b *testing.B, s tuning.Setting) (undo func()) {
	percentage := options.ServerOpts.PercentageOfNodesToFind
	options.ServerOpts.PercentageOfNodesToFind = int32(s.Percentage)
	var level klog.Level
	if err := level.Set(strconv.Itoa(s.Verbosity)); err != nil {
		b.Fatal(err)
	}
	gc := debug.SetGCPercent(cmp.Or(s.GC, 100))
	return func() {
		options.ServerOpts.PercentageOfNodesToFind = percentage
		_ = level.Set(*logs)
		debug.SetGCPercent(gc)
	}
}
