package session

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/api/helpers"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// drawNamespaceQueues makes NamespaceQueues of some queues of every second cluster, where the release knows them: no
// top queue of a tree, and whatever is below another one.
func (d *differential) drawNamespaceQueues() {
	if !release.KnowsNamespaceQueues() || d.seed%2 == 0 {
		return
	}
	r, c := rand.New(rand.NewPCG(d.seed, 0x5590)), &d.cluster
	c.Queues, c.Jobs = slices.Clone(c.Queues), slices.Clone(c.Jobs)
	named := map[string]string{}
	for i := range c.Queues {
		q := &c.Queues[i]
		if !c.Hierarchy && q.Name != "default" {
			q.Parent = "default"
		}
		above := named[q.Parent]
		if above != "" {
			q.Parent = above
		}
		if above != "" || q.Parent != "" && q.Parent != index.RootName && r.IntN(2) == 0 {
			named[q.Name] = cluster.Namespace + "/" + q.Name
			q.Name = named[q.Name]
		}
	}
	for i := range c.Jobs {
		if name := named[c.Jobs[i].Queue]; name != "" {
			c.Jobs[i].Queue = name
		}
	}
}

// splitInactive takes out of a cluster the queues that the session does not schedule, and their jobs.
func (d *differential) splitInactive(c *workload.Cluster) (queues []workload.Queue, jobs []workload.Job) {
	if !release.KnowsNamespaceQueues() {
		return nil, nil
	}
	c.Queues = slices.DeleteFunc(c.Queues, func(q workload.Queue) bool {
		inactive := d.inactive(q.Name)
		if inactive {
			queues = append(queues, q)
		}
		return inactive
	})
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j workload.Job) bool {
		inactive := d.inactive(j.Queue)
		if inactive {
			jobs = append(jobs, j)
		}
		return inactive
	})
	return queues, jobs
}

// queue returns a queue of the cluster, nil for none.
func (d *differential) queue(name string) *workload.Queue {
	if i := slices.IndexFunc(d.cluster.Queues, func(q workload.Queue) bool { return q.Name == name }); i >= 0 {
		return &d.cluster.Queues[i]
	}
	return nil
}

// inactive reports whether a queue is a NamespaceQueue that is closed or below a closed queue.
func (d *differential) inactive(name string) bool {
	if !offline.IsNamespaceQueue(api.QueueID(name)) {
		return false
	}
	for q := d.queue(name); q != nil && q.Name != index.RootName; q = d.queue(q.Parent) {
		if q.Closed {
			return true
		}
	}
	return false
}

// chargeInactive charges upstream's queues for what runs in inactive queues below them, as the engine does. It returns
// the queues that it charged.
func (d *differential) chargeInactive() (charged []string) {
	if !d.cluster.Hierarchy || d.name == ProportionName {
		return nil
	}
	for id, job := range release.AccountingJobs(d.theirs) {
		if d.theirs.Jobs[id] != nil || job.AllocatedTaskNum() == 0 {
			continue
		}
		above := string(job.Queue)
		for d.inactive(above) {
			above = d.queue(above).Parent
		}
		d.excuse(inactiveCounts)
		for _, name := range d.upwards(above) {
			for _, account := range []string{"allocated", "request"} {
				d.upstream.account(name, account).Add(job.Allocated)
			}
			d.upstream.setShare(name, shareOf(d.upstream.account(name, "allocated"), d.upstream.account(name, "deserved")))
			charged = append(charged, name)
		}
	}
	return charged
}

// upwards returns a queue and all above it.
func (d *differential) upwards(name string) []string {
	path := []string{name}
	for name != index.RootName {
		name = cmp.Or(d.queue(name).Parent, index.RootName)
		path = append(path, name)
	}
	return path
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
