package ours

import (
	"strings"
	"testing"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/peers/question"
	"github.com/capacity-card/capacity-card/bench/tuning"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// quotas chooses nodes by their free resources and cards alone.
const quotas = `
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
    enablePreemptable: false
  - name: capacity-card
    enableHierarchy: true
`

// nodes adds the plugins that Volcano's users run next to ours, with the arguments of docs/tuning.md.
const nodes = quotas + `
- plugins:
  - name: predicates
  - name: nodeorder
    arguments:
      leastrequested.weight: 0
      balancedresource.weight: 0
  - name: binpack
`

func BenchmarkSchedulers(b *testing.B) {
	framework.RegisterPluginBuilder(plugin.Name, plugin.New)
	options.ServerOpts.PercentageOfNodesToFind = int32(tuning.Tuned.Percentage) // as docs/tuning.md recommends it
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true}
	question.Decide(b, "ours", cycle(quotas))
	question.Decide(b, "ours-nodes", cycle(nodes))
}

// cycle is one cycle of Volcano's scheduler. Its first action admits jobs, and its second action gives them nodes.
func cycle(configuration string) question.Scheduler {
	return func(w *question.World) (func(mark func()) []question.Placement, error) {
		content := describe(w)
		for i := range content.Jobs {
			if content.Jobs[i].Phase == workload.Inqueue {
				content.Jobs[i].Phase = workload.Pending
			}
		}
		info, err := cluster.Build(content, "/schedule")
		if err != nil {
			return nil, err
		}
		cache := offline.NewCache(info)
		cache.Informers = offline.NoInformers()
		actions, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(configuration)
		if err != nil {
			return nil, err
		}
		return func(mark func()) (placements []question.Placement) {
			ssn := framework.OpenSession(cache, tiers, nil)
			for _, action := range actions {
				action.Execute(ssn)
			}
			framework.CloseSession(ssn)
			mark()
			for pod, node := range cache.Bound {
				placements = append(placements, question.Placement{Job: strings.TrimSuffix(pod, "-0"), Node: node})
			}
			return placements
		}, nil
	}
}
