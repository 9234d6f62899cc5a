package bench

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
)

// BenchmarkPolicies measures the operations that policies have a part in, with none set, with a
// family of them, and with all, on the same cluster of the shape L:
//
//	go test ./bench -run '^$' -bench Policies -count 6 | go tool benchstat -col /policies -
//
// The policies allow all that is asked, so all answers are the same.
func BenchmarkPolicies(b *testing.B) {
	for _, set := range policySets {
		b.Run("policies="+set.name, func(b *testing.B) {
			c, err := largeWith(set.annotations, set.ofJobs)
			if err != nil {
				b.Fatal(err)
			}
			build := func(framework.Arguments) framework.Plugin { return plugin.NewCapacity(set.arguments) }
			for _, op := range []struct {
				name string
				operation
			}{
				{"Allocatable", allocatable}, {"JobEnqueueable", jobEnqueueable}, {"Preemptive", preemptive},
				{"Reclaimable", reclaimable(100)}, {"Event", event}, {"SessionOpen", opening}, {"QueueOrder", comparing},
			} {
				if set.only != nil && !slices.Contains(set.only, op.name) {
					continue
				}
				b.Run("of="+op.name, func(b *testing.B) { measure(b, c, op.operation, implementation{"ours", build}) })
			}
		})
	}
}

// policySet is policies of the root, with values that allow all, and arguments.
type policySet struct {
	name        string
	annotations map[string]string
	arguments   framework.Arguments
	only        []string          // the operations that are measured, nil for all
	ofJobs      map[string]string // annotations of all PodGroups
}

// policySets are none, families, and all. The order of victims is left out: it asks all other plugins. Limits of
// holders apply to cards. So they are compared with cards alone, in the operations that give the same answers with and
// without cards.
var policySets = func() []policySet {
	families := []policySet{
		{"admission", map[string]string{
			policy.MaxJobsKey: "1000000", policy.OvercommitFactorKey: "1000000", policy.InqueueTimeoutKey: "1h", policy.OrderKey: "displace",
		}, nil, nil, nil},
		{"reclaim", map[string]string{
			policy.ReclaimFenceKey: "true", policy.MinRuntimeKey: "reclaim=1s,preempt=1s", policy.ReclaimDelayKey: "1s",
		}, framework.Arguments{"reclaimByServiceType": true,
			"podOwnerReferenceToServiceType": map[string]any{"ReplicaSet": "inference", "Job": "training"}}, nil, nil},
		{"namespaces", map[string]string{
			card.HolderKey: `{"namespace":{"*":{"cpu":"100M","memory":"1Ei","nvidia.com/gpu":"100M"}}}`,
		}, nil, nil, nil},
		{"usage", nil, framework.Arguments{"fairShareHalfLife": "24h", "stateStore": "none", "fairShare": map[string]any{"of": "cards,cpu,memory"}}, nil, nil},
	}
	all := policySet{"all", map[string]string{}, framework.Arguments{}, nil, nil}
	for _, family := range families {
		maps.Copy(all.annotations, family.annotations)
		maps.Copy(all.arguments, family.arguments)
	}
	families = append(families, policySet{"windows", map[string]string{policy.OverrideKey: `[{"from":"2000-01-01T00:00Z","until":"2999-01-01T00:00Z","max-jobs":1000000}]`},
		nil, nil, nil})
	only := []string{"Allocatable", "JobEnqueueable", "Event", "SessionOpen"}
	cards := policySet{"cards", map[string]string{card.QuotaKey: "{}"}, nil, only, nil}
	budgets := policySet{"budgets", map[string]string{card.QuotaKey: `{"A":1000000}`, card.BudgetKey: `{"A":"1000000000h/month"}`}, framework.Arguments{"stateStore": "none"}, only, nil}
	lengths := policySet{"lengths", budgets.annotations, budgets.arguments, []string{"JobEnqueueable", "SessionOpen"}, map[string]string{policy.ExpectedRuntimeKey: "4h"}}
	holders := policySet{"holders", map[string]string{card.QuotaKey: "{}",
		card.HolderKey: `{"namespace":{"*":{"A":1000000}},"user":{"*":{"A":1000000}},"group":{"*":{"A":1000000}}}`}, nil, only, nil}
	evictions := policySet{"evictions", map[string]string{policy.EvictionBudgetKey: "lose=10000/31d,take=10000/31d", policy.EnforceQuotaKey: "after=1h"},
		framework.Arguments{"stateStore": "none"}, []string{"Preemptive", "Reclaimable", "Event", "SessionOpen"}, nil}
	quota := policySet{"quota", map[string]string{card.QuotaKey: `{"A":1000000}`}, nil, only, nil}
	soft := policySet{"soft", map[string]string{card.QuotaKey: `{"A":1000000}`, policy.SoftQuotaKey: `{"A":1000000}`}, nil, only, nil}
	evicting := []string{"Preemptive", "Reclaimable", "Event", "SessionOpen"}
	grace := policySet{"grace", map[string]string{policy.EvictionGraceKey: "1h"}, framework.Arguments{"stateStore": "none"}, evicting, nil}
	work := policySet{"work", nil, framework.Arguments{"victimOrder": "leastWork"}, evicting, nil}
	checkpoints := policySet{"checkpoints", nil, work.arguments, evicting, map[string]string{policy.CheckpointKey: "2026-01-01T00:00:00Z"}}
	order := policySet{"order", map[string]string{policy.OrderKey: "fifo"}, nil, only, nil}
	return slices.Concat([]policySet{{name: "none"}}, families, []policySet{all, order, quota, soft, grace, work, checkpoints, cards, holders, budgets, lengths, evictions})
}()

// largeWith is the shape L with annotations of the root, and of all PodGroups. Jobs that run have no service class, so
// that the class does not change which pods they lose. All other jobs are of inference.
func largeWith(annotations, ofJobs map[string]string) (*content, error) {
	c := workload.L.Make(1)
	for i := range c.Queues {
		if c.Queues[i].Name == "root" {
			c.Queues[i].Annotations = annotations
		}
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		j.Annotations = map[string]string{policy.ServiceTypeKey: policy.Inference}
		if j.Phase == workload.Running {
			j.Annotations = map[string]string{"volcano.sh/other": "x"}
		}
		j.Annotations[policy.UserKey], j.Annotations[policy.GroupsKey] = fmt.Sprintf("user-%d", i%100), fmt.Sprintf("group-%d,group-%d", i%10, 10+i%7)
		maps.Copy(j.Annotations, ofJobs)
		for k := range j.Tasks {
			j.Tasks[k].Created, j.Tasks[k].Started = 1, 1
		}
	}
	t, err := newContent(c)
	if err != nil {
		return nil, fmt.Errorf("with policies: %w", err)
	}
	return t, nil
}

// comparing compares two leaves.
func comparing(b *testing.B, s *bed) func() bool {
	s.open(b)
	l, r := s.queue(s.waits), s.queue(s.stuck)
	want := s.QueueOrderFn(l, r)
	return func() bool { return s.QueueOrderFn(l, r) == want }
}
