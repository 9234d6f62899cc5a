package differential_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// gatePods gives pending pods of half of the clusters the annotation, the queue allocation
// gate, or both.
func (d *differential) gatePods() {
	r := rand.New(rand.NewPCG(d.seed, 0x6a7e))
	if release.Built() < release.V115 || r.IntN(2) == 0 {
		return
	}
	for _, job := range d.cluster.Jobs {
		for i := range job.Tasks {
			t := &job.Tasks[i]
			if r.IntN(2) == 0 {
				t.Annotations = map[string]string{reserve.QueueGate: []string{"true", "true", "true", "false"}[r.IntN(4)]}
			}
			t.QueueGated = t.Status == workload.TaskPending && r.IntN(2) == 0
		}
	}
}

// simulated returns the accounts of a what-if.
func (d *differential) simulated(state fwk.CycleState) quota.View {
	sim, err := d.own.SimulationOf(state)
	if err != nil {
		panic(err)
	}
	return sim.Queues
}

// compareAllocatable compares an answer of Allocatable on some accounts, and the reservations afterwards.
func (d *differential) compareAllocatable(what, queue string, task *api.TaskInfo, a quota.View, theirs, ours bool) error {
	reserved := d.upstream.reserved[api.QueueID(queue)]
	switch {
	case theirs && !ours && d.crowdedOut(queue, task, a):
		d.excuse(gatesUpwards)
		delete(reserved, task.UID)
	case !theirs && ours && reserved[task.UID] != nil:
		d.excuse(gatesSettle)
	default:
		if err := d.check(what, theirs, ours); err != nil {
			return err
		}
	}
	return d.compareReserved()
}

// crowdedOut reports whether some ancestor of a task's queue has no room for the task. The reservations of upstream in
// all queues below the ancestor take room there.
func (d *differential) crowdedOut(queue string, task *api.TaskInfo, a quota.View) bool {
	for _, name := range d.path(queue)[1:] {
		sum := d.own.Intake.Dims.Resource(a.Allocated(d.own.Index.Lookup(name))).Add(task.Resreq).Add(d.reservedForOthers(name, task))
		if ok, _ := sum.LessEqualWithDimensionAndResourcesName(d.upstream.account(name, "realCapability"), task.Resreq); !ok {
			return true
		}
	}
	return false
}

// reservedForOthers returns the sum that upstream has reserved for other tasks in a queue and below it.
func (d *differential) reservedForOthers(queue string, task *api.TaskInfo) *api.Resource {
	sum := api.EmptyResource()
	for below, tasks := range d.upstream.reserved {
		if !slices.Contains(d.path(string(below)), queue) {
			continue
		}
		for _, other := range tasks {
			if other.UID != task.UID {
				sum.Add(other.Resreq)
			}
		}
	}
	return sum
}

// compareReserved compares the pods with a reservation, and the sums with theirs.
func (d *differential) compareReserved() error {
	count := 0
	want := map[string]*api.Resource{}
	for queue, tasks := range d.upstream.reserved {
		for uid, task := range tasks {
			if !d.own.Gates.Has(uid) {
				return fmt.Errorf("upstream has a reservation for %s in queue %s, ours none", uid, queue)
			}
			count++
			for _, name := range d.path(string(queue)) {
				if want[name] == nil {
					want[name] = api.EmptyResource()
				}
				want[name].Add(task.Resreq)
			}
		}
	}
	if err := d.check("pods with a reservation", count, d.own.Gates.Len()); err != nil {
		return err
	}
	for name, sum := range want {
		if ours := d.own.Intake.Dims.Resource(d.own.Index.Reserved.Row(d.own.Index.Lookup(name))); !close(sum, ours, false) {
			return fmt.Errorf("reserved of %s is <%v> by upstream's pods, ours <%v>", name, sum, ours)
		}
	}
	return nil
}

// mendEvicted takes back the reservation of upstream for a pod that is evicted.
func (d *differential) mendEvicted(task *api.TaskInfo) {
	tasks := d.upstream.reserved[d.theirs.Jobs[task.Job].Queue]
	if task.Status == api.Releasing && tasks[task.UID] != nil {
		d.excuse(evictedReserve)
		delete(tasks, task.UID)
	}
}
