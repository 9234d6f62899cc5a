package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// lendingTree returns the tree of company with running pods in dev and biz. prod is
// not reclaimable. Each pod requests two cores.
func lendingTree(t *testing.T, arguments framework.Arguments, annotated bool) cycles {
	t.Helper()
	s := &testbed.Scene{Build: session.NewCapacity, Arguments: arguments, Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200), Queues: company()}}
	if annotated {
		again := annotatedScene()
		again.Arguments["reclaimCompares"] = arguments["reclaimCompares"]
		s.Queues, s.Arguments = again.Queues, again.Arguments
		for i, name := range []string{"prod", "dev", "marketing", "sales"} {
			s.Queues[2+i].Name = name
		}
	}
	s.Pods("dev", "dev", "", 25, 0, batch(0, 2, 1)).Pods("marketing", "marketing", "", 30, 0, batch(0, 2, 1)).Pods("sales", "sales", "", 10, 0, batch(0, 2, 1))
	d := newCycles(t, s)
	d.Edit = func(info *api.ClusterInfo) {
		reclaimable := false
		info.Queues["prod"].Queue.Spec.Reclaimable = &reclaimable
	}
	for range 3 {
		assert.Empty(t, d.next(t), "the cluster has room for all pods")
	}
	return d
}

// TestLentCPUIsReclaimed lends the idle cpu of prod to dev. When prod has pods, it reclaims the cpu that it deserves
// and no more, only from its own department.
func TestLentCPUIsReclaimed(t *testing.T) {
	for _, compares := range []string{"queue", "damped=2"} {
		for _, annotated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, annotated %t", compares, annotated), func(t *testing.T) {
				d := lendingTree(t, framework.Arguments{"deservedFrom": "weight", "reclaimCompares": compares}, annotated)
				assert.Equal(t, 50, 2*d.running("dev"), "26 of them are borrowed")

				d.Pods("prod", "prod", "", 48, 0, batch(0, 2, 1))
				d.Jobs[len(d.Jobs)-1].MinMember = 48 // all or nothing
				evicted := 0
				for range 40 {
					for _, pod := range d.next(t) {
						assert.Contains(t, pod, "dev", "a pod of another department is evicted")
						evicted++
					}
				}
				assert.Equal(t, []int{96, 24, 60, 20}, []int{2 * d.running("prod"), 2 * d.running("dev"), 2 * d.running("marketing"), 2 * d.running("sales")})
				assert.Equal(t, 13, evicted)
			})
		}
	}
}

// TestNotReclaimable lends cpu of dev to prod. dev reclaims it only where prod is
// reclaimable.
func TestNotReclaimable(t *testing.T) {
	for _, compares := range []string{"queue", "damped=2"} {
		for reclaimable, want := range map[bool]int{true: 2, false: 0} {
			s := &testbed.Scene{Build: session.NewCapacity, Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200), Queues: company()},
				Arguments: framework.Arguments{"deservedFrom": "weight", "reclaimCompares": compares}}
			s.Pods("prod", "prod", "", 50, 0, batch(50, 2, 1)).Pods("dev", "dev", "", 10, 0, batch(10, 2, 1)).Pods("claim", "dev", "", 2, 0, batch(0, 2, 1)).
				Pods("marketing", "marketing", "", 30, 0, batch(30, 2, 1)).Pods("sales", "sales", "", 10, 0, batch(10, 2, 1))
			s.Jobs[2].MinMember = 2
			d := newCycles(t, s)
			d.Edit = func(info *api.ClusterInfo) { info.Queues["prod"].Queue.Spec.Reclaimable = &reclaimable }
			evicted, _ := d.evictions(t, 10)
			assert.Equal(t, want, evicted, "%s, reclaimable: %t", compares, reclaimable)
			assert.Equal(t, want, d.running("claim"), "%s, reclaimable: %t", compares, reclaimable)
		}
	}
}

// TestNearestQueueIsReclaimedFirst has borrowing queues in two departments. Pods of the borrower in the reclaimer's own
// department are evicted first, until the borrower is down to its deserved amount. Each pod of prod requests the two
// cores of one victim.
func TestNearestQueueIsReclaimedFirst(t *testing.T) {
	s := &testbed.Scene{Build: session.NewCapacity, Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200), Queues: company()},
		Arguments: framework.Arguments{"deservedFrom": "weight", "reclaimCompares": "damped=2"}}
	s.Pods("dev", "dev", "", 14, 0, batch(14, 2, 1)).Pods("sales", "sales", "", 56, 0, batch(56, 2, 1)).Pods("prod", "prod", "", 30, 0, batch(30, 2, 1))
	for i := range 4 {
		s.Pods(fmt.Sprint("claim-", i), "prod", "", 1, 0, batch(0, 2, 1))
	}
	s.Queues[3].Guarantee = nil
	var order []string
	d := newCycles(t, s)
	for range 30 {
		for _, pod := range d.next(t) {
			order = append(order, pod[:3])
		}
	}
	assert.Equal(t, []string{"dev", "dev", "sal", "sal"}, order)
}
