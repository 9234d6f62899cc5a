package differential_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"
	upstreamproportion "volcano.sh/volcano/pkg/scheduler/plugins/proportion"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestWeightsAgreeWithProportion compares what queues deserve with upstream's
// proportion on random clusters where the two are meant to agree:
//
//   - every queue requests more than its bound in every dimension: proportion gives no
//     queue more than it requests, and nothing to queues without jobs;
//   - no queue has a guarantee: proportion adds guarantees to the total, so no other
//     queue gets less;
//   - up to rounding: quantities are whole units here, and the rounds of proportion stop
//     when the remainder is below a tolerance.
func TestWeightsAgreeWithProportion(t *testing.T) {
	compared, capped := 0, 0
	for seed := range uint64(300) {
		c := workload.Random(seed)
		c.Hierarchy, c.Jobs = false, nil
		for i := range c.Queues {
			q := &c.Queues[i]
			q.Guarantee, q.Parent = nil, ""
			if q.Name == index.RootName {
				q.Name = "flat"
			}
			all := workload.Resources{}
			for _, node := range c.Nodes {
				for name, amount := range node.Allocatable {
					all[name] += 2 * amount
				}
			}
			c.Jobs = append(c.Jobs, workload.Job{Name: q.Name, Queue: q.Name, Phase: workload.Inqueue, MinMember: 1,
				Tasks: []workload.Task{{Name: "asks-" + q.Name, Request: all, Status: workload.TaskPending}}})
		}
		info, err := cluster.Build(c, fmt.Sprint("/weights/", seed))
		require.NoError(t, err)
		var plugin framework.Plugin
		framework.RegisterPluginBuilder(session.ProportionName, func(a framework.Arguments) framework.Plugin {
			plugin = upstreamproportion.New(a)
			return plugin
		})
		offline.Open(offline.NewCache(info), offline.Tiers(false, session.ProportionName))
		theirs := examine(plugin)
		f := (&testbed.Scene{Cluster: c, Build: session.NewCapacity, Arguments: framework.Arguments{"deservedFrom": "weight"}}).Open(t)
		for q := range index.Queue(f.Own.Index.Len()) {
			name := f.Own.Index.Name(q)
			want, ours := theirs.account(name, "deserved"), f.Own.Intake.Dims.Resource(f.Own.Index.Deserved.Row(q))
			for d := range fastres.Dim(f.Own.Memory.Names.Len()) {
				resource := f.Own.Memory.Names.Name(d)
				if d == fastres.Pods {
					continue // a task requests one
				}
				got := f.Own.Index.Deserved.Row(q).Get(d)
				require.InDelta(t, want.Get(v1.ResourceName(resource)), got, float64(len(c.Queues)), "seed %d: %s of %s: %v, %v", seed, resource, name, want, ours)
				if compared++; got > 0 && got == f.Own.Index.RealCapability.Row(q).Get(d) {
					capped++
				}
			}
		}
	}
	t.Logf("%d numbers compared, %d of them at a bound", compared, capped)
	assert.Greater(t, capped, 300)
}
