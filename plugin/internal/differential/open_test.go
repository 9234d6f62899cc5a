package differential_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/api/helpers"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// compareOpen compares the accounts of every queue, then corrects upstream's where the
// difference is intended.
func (d *differential) compareOpen() error {
	for _, name := range d.queues {
		if err := d.compareQueue(name); err != nil {
			return fmt.Errorf("queue %s: %w", name, err)
		}
		if err := d.mendInqueue(name); err != nil {
			return fmt.Errorf("queue %s: %w", name, err)
		}
	}
	return d.compareDevices(true)
}

func (d *differential) compareQueue(name string) error {
	q := d.own.Index.Lookup(name)
	accounts := map[string]fastres.Vector{
		"allocated": d.own.Index.Allocated(q), "request": d.own.Index.Request.Row(q),
		"elastic": d.own.Index.Elastic.Row(q), "guarantee": d.own.Index.Guarantee.Row(q),
		"realCapability": d.own.Index.RealCapability.Row(q), "deserved": d.own.Index.Deserved.Row(q),
	}
	if d.name != session.ProportionName {
		accounts["capability"] = d.own.Index.Capability.Row(q)
	}
	for _, account := range slices.Sorted(maps.Keys(accounts)) {
		d.answers++
		theirs, ours := d.withoutDevices(d.upstream.account(name, account)), d.withoutDevices(d.own.Intake.Dims.Resource(accounts[account]))
		presence := account != "elastic" // no rule depends on it there
		if account == "guarantee" && name == index.RootName {
			// Upstream replaces a root's guarantee that is empty or names pods only. No
			// rule uses it.
			theirs, ours, presence = withoutPods(theirs), withoutPods(ours), false
		}
		if !close(theirs, ours, presence) {
			return fmt.Errorf("%s is upstream <%v>, ours <%v>", account, theirs, ours)
		}
		if account == "deserved" && d.name == session.ProportionName {
			// The rounds add fractions in the order of a map; both sides use the engine's sums.
			d.upstream.setAccount(name, account, ours)
		}
	}
	if theirs, ours := d.upstream.share(name), d.own.Index.Share(index.Queue(q)); !testbed.Near(theirs, ours) {
		return fmt.Errorf("share is upstream %v, ours %v", theirs, ours)
	}
	d.upstream.setShare(name, d.own.Index.Share(index.Queue(q)))
	return nil
}

// mendInqueue compares inqueue with the formula, computed from the jobs, and sets
// upstream's account to it where the difference is intended.
func (d *differential) mendInqueue(name string) error {
	ours, ruled := d.inqueue(name), d.ruledInqueue(name)
	if !close(ours, ruled, false) {
		return fmt.Errorf("inqueue is <%v>, by the rule <%v>", ours, ruled)
	}
	if theirs := withoutPods(d.upstream.account(name, "inqueue")); !close(theirs, ours, false) {
		if len(d.own.Index.Children(d.own.Index.Lookup(name))) > 0 && !close(ours, d.promised(name, false), false) {
			d.excuse(boundedInqueue)
		} else {
			d.excuse(inqueueUnit)
		}
		d.upstream.setAccount(name, "inqueue", ours)
	}
	return nil
}

// inqueue returns the engine's account of a queue without pods, which no rule uses.
func (d *differential) inqueue(name string) *api.Resource {
	return withoutPods(d.own.Intake.Dims.Resource(d.own.Index.Inqueue.Row(d.own.Index.Lookup(name))))
}

func withoutPods(r *api.Resource) *api.Resource {
	r = r.Clone()
	delete(r.ScalarResources, v1.ResourcePods)
	return r
}

// ruledInqueue returns the sum of the reservations of the jobs of a queue and the promises of its children.
func (d *differential) ruledInqueue(name string) *api.Resource { return d.promised(name, true) }

// promised adds up the reservations of jobs in a queue and below it. If bounded, a queue below counts only as far as it
// has room.
func (d *differential) promised(name string, bounded bool) *api.Resource {
	sum := d.reserved(name)
	for _, child := range d.own.Index.Children(d.own.Index.Lookup(name)) {
		part := d.promised(d.own.Index.Name(child), bounded)
		if bounded && !d.own.Intake.Open(child) {
			continue
		}
		dims := &d.own.Intake.Dims
		room := dims.Resource(d.own.Index.RealCapability.Row(child)).Clone().Add(dims.Resource(d.own.Index.Elastic.Row(child)))
		room = api.ExceededPart(room, dims.Resource(d.own.Index.Allocated(child)))
		if bounded {
			part.MilliCPU, part.Memory = min(part.MilliCPU, room.MilliCPU), min(part.Memory, room.Memory)
			for name := range part.ScalarResources {
				part.ScalarResources[name] = min(part.ScalarResources[name], room.Get(name))
			}
		}
		sum.Add(part)
	}
	return sum
}

// reserved returns Σ max(0, min − allocated − gated) over the jobs of a queue that are in
// phase Inqueue, or run with their minimum of tasks.
func (d *differential) reserved(name string) *api.Resource {
	sum := api.EmptyResource()
	for _, job := range d.ours.Jobs {
		q := d.own.Index.Lookup(string(job.Queue))
		phase := job.PodGroup.Status.Phase
		running := phase == scheduling.PodGroupRunning && job.AllocatedTaskNum() >= job.PodGroup.Spec.MinMember
		if q == index.None || q != d.own.Index.Lookup(name) ||
			phase != scheduling.PodGroupInqueue && !running {
			continue
		}
		taken := job.Allocated.Clone().Add(job.GetSchGatedPodResources())
		sum.Add(withoutPods(api.ExceededPart(job.GetMinResources(), taken)))
	}
	return sum
}

// close compares two resources, with or without the presence of scalars.
func close(x, y *api.Resource, presence bool) bool {
	if !testbed.Near(x.MilliCPU, y.MilliCPU) || !testbed.Near(x.Memory, y.Memory) {
		return false
	}
	names := maps.Clone(x.ScalarResources)
	if names == nil {
		names = maps.Clone(y.ScalarResources)
	}
	maps.Copy(names, y.ScalarResources)
	for name := range names {
		_, inX := x.ScalarResources[name]
		_, inY := y.ScalarResources[name]
		if presence && inX != inY || !testbed.Near(x.ScalarResources[name], y.ScalarResources[name]) {
			return false
		}
	}
	return true
}

// mendShares sets the shares of ancestors, which upstream does not refresh.
func (d *differential) mendShares(leaf string) {
	for _, ancestor := range d.upstream.ancestors(leaf) {
		name := string(ancestor)
		share := shareOf(d.upstream.account(name, "allocated"), d.upstream.account(name, "deserved"))
		if d.upstream.share(name) != share {
			d.excuse(staleShare)
			d.upstream.setShare(name, share)
		}
	}
}

// compareMetrics compares series. From v1.16 on, upstream has series of 0 for scalars that only the minimum of a job
// names.
func compareMetrics(theirs, ours testbed.Series) error {
	for name, value := range theirs {
		got, ok := ours[name]
		if !ok && value == 0 && release.Built() >= release.V116 && strings.Contains(name, "_scalar_resources") {
			continue
		}
		if !ok || !testbed.Near(got, value) {
			return fmt.Errorf("%s is upstream %v, ours %v (there: %t)", name, value, got, ok)
		}
	}
	for name := range ours {
		if _, ok := theirs[name]; !ok {
			return fmt.Errorf("%s is not upstream's", name)
		}
	}
	return nil
}

// shareOf returns the share of a queue by upstream's rule.
func shareOf(allocated, deserved *api.Resource) (share float64) {
	if deserved.IsEmpty() {
		return 1
	}
	for _, resource := range deserved.ResourceNames() {
		share = max(share, helpers.Share(allocated.Get(resource), deserved.Get(resource)))
	}
	return share
}
