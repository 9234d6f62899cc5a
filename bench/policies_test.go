package bench

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
)

// BenchmarkPolicies measures the operations that policies have a part in, with none set and with
// all of them, on the same cluster of the shape L:
//
//	go test ./bench -run '^$' -bench Policies -count 6 | go tool benchstat -col /policies -
//
// The policies allow all that is asked, so both answers are the same.
func BenchmarkPolicies(b *testing.B) {
	for _, op := range []struct {
		name string
		operation
	}{
		{"Allocatable", allocatable}, {"JobEnqueueable", jobEnqueueable}, {"Preemptive", preemptive},
		{"Reclaimable", reclaimable(100)}, {"Event", event}, {"SessionOpen", opening},
	} {
		b.Run("of="+op.name, func(b *testing.B) {
			for _, set := range []string{"none", "all"} {
				b.Run("policies="+set, func(b *testing.B) { measurePolicies(b, op.operation, set == "all") })
			}
		})
	}
}

// measurePolicies measures an operation with the plugin alone.
func measurePolicies(b *testing.B, prepare operation, all bool) {
	c, build := theLarge(b), plugin.NewCapacity
	if all {
		var err error
		if c, err = largeWithPolicies(); err != nil {
			b.Fatal(err)
		}
		build = func(framework.Arguments) framework.Plugin { return plugin.NewCapacity(policyArguments) }
	}
	measure(b, c, prepare, implementation{"ours", build})
}

// policyArguments are the arguments of all policies, but for the order of victims, which asks
// all other plugins.
var policyArguments = framework.Arguments{
	"displacePromises": true, "inqueueTimeout": "30m", "reclaimByServiceType": true,
	"podOwnerReferenceToServiceType": map[string]any{"ReplicaSet": "inference", "Job": "training"},
}

// policyAnnotations are all policies of queues, with values that allow all.
var policyAnnotations = map[string]string{
	policy.MaxJobsKey: "1000000", policy.OvercommitFactorKey: "1000000", policy.InqueueTimeoutKey: "1h",
	policy.NamespaceCapabilityKey: `{"cpu":"100M","memory":"1Ei","nvidia.com/gpu":"100M"}`, card.NamespaceKey: `{}`,
	policy.ReclaimFenceKey: "true", policy.MinRuntimeKey: "1s", policy.PreemptMinRuntimeKey: "1s", policy.ReclaimDelayKey: "1s",
}

// largeWithPolicies is the shape L where the root sets all policies of queues. Jobs that run have
// no service class, so that what they lose does not change, and all others are of inference.
// Made once.
var largeWithPolicies = sync.OnceValues(func() (*content, error) {
	c := workload.L.Make(1)
	for i := range c.Queues {
		if c.Queues[i].Name == "root" {
			c.Queues[i].Annotations = maps.Clone(policyAnnotations)
		}
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		j.Annotations = map[string]string{policy.ServiceTypeKey: policy.Inference}
		if j.Phase == workload.Running {
			j.Annotations = map[string]string{"volcano.sh/other": "x"}
		}
		for k := range j.Tasks {
			j.Tasks[k].Created, j.Tasks[k].Started = 1, 1
		}
	}
	t, err := newContent(c)
	if err != nil {
		return nil, fmt.Errorf("with policies: %w", err)
	}
	return t, nil
})
