package replay

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
)

// session runs a session and carries out its decisions. It reports whether there were any.
func (r *run) session() (changed bool) {
	r.Sessions++
	r.writeCheckpoints()
	r.cache.begin(r.snapshot())

	ssn := framework.OpenSession(r.cache, r.tiers, r.Configurations)

	if r.now >= r.reread && r.now <= max(r.last, r.End) {
		r.deserve()
		r.reread = r.now + rereadEvery
	}

	for _, action := range r.Actions {
		r.order.freshness.begin()
		r.execute(ssn, action)
		if r.order.freshness.stale {
			break
		}
	}
	framework.CloseSession(ssn)

	for _, j := range r.live {
		was := j.group.Status.Phase
		j.group.Status = r.cached.Jobs[j.id].PodGroup.Status
		changed = changed || j.group.Status.Phase != was
	}

	r.follow()
	r.locks()
	return changed || len(r.cache.bound)+len(r.cache.evicted) > 0
}

// execute runs an action. Volcano's preempt takes the queues in the order of a map, and looks at one queue at a time.
// Here they come in the order of their names.
func (r *run) execute(ssn *framework.Session, action framework.Action) {
	action.Initialize()
	defer action.UnInitialize()

	r.order.reclaiming = action.Name() == "reclaim" && !plugin.Plans(ssn)

	if action.Name() != "preempt" {
		action.Execute(ssn)
		return
	}

	all := ssn.Jobs
	queues := map[api.QueueID]map[api.JobID]*api.JobInfo{}
	for id, job := range all {
		if queues[job.Queue] == nil {
			queues[job.Queue] = map[api.JobID]*api.JobInfo{}
		}
		queues[job.Queue][id] = job
	}

	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		ssn.Jobs = queues[queue]
		action.Execute(ssn)
	}
	ssn.Jobs = all
}

// rereadEvery is the time between two looks at the deserved of the queues, which can depend on their requests.
const rereadEvery = time.Hour

// follow starts the pods that a session has placed, and stops the pods that it has evicted.
func (r *run) follow() {
	for _, task := range r.cache.bound {
		if p := r.tasks[task.UID]; p != nil {
			r.start(p, r.nodes[task.NodeName])
		}
	}

	var hit []*job
	for _, task := range r.cache.evicted {
		p := r.tasks[task.UID]
		if p == nil || p.node == nil {
			continue
		}

		r.book.Evict(p.Cards, r.lost(p))
		r.stop(p)
		if !slices.Contains(hit, p.job) {
			hit = append(hit, p.job)
		}
	}

	for _, j := range hit {
		if j.running+j.ended < j.Minimum {
			r.restart(j)
		}
	}
}

// restart stops the other pods of a job that has lost its minimum.
func (r *run) restart(j *job) {
	r.book.Restarted++
	for _, p := range j.pods {
		if p.node != nil {
			r.book.Break(p.Cards, r.lost(p))
			r.stop(p)
		}
	}
	j.group.Status.Phase = scheduling.PodGroupPending
}

// start runs a pod on a node.
func (r *run) start(p *pod, n *node) {
	p.life++
	p.node = n
	p.since = r.now
	n.dirty = true
	p.dirty = true
	n.pods = append(n.pods, p)
	p.change(func(object *v1.Pod) {
		object.Spec.NodeName = n.object.Name
		object.Status.Phase = v1.PodRunning
		object.Status.StartTime = &metav1.Time{Time: epoch.Add(r.now)}
	})

	p.running++
	r.waiting--
	r.ends.push(end{r.now + p.Runtime - p.done, p, p.life})
	r.account(p, n, 1)

	if !p.begun && p.running+p.ended >= p.Minimum {
		p.begun = true
		r.started(p.job, r.now-p.Submit)
	}
}

// leave takes a pod off its node.
func (r *run) leave(p *pod) {
	n := p.node
	r.account(p, n, -1)
	n.pods = slices.DeleteFunc(n.pods, func(other *pod) bool { return other == p })
	n.dirty = true
	p.dirty = true
	p.node = nil
	p.running--
}

// stop takes a pod off its node and lets it wait again, as a new pod.
func (r *run) stop(p *pod) {
	r.leave(p)
	delete(r.tasks, p.task.UID)

	p.life++
	p.change(func(object *v1.Pod) {
		object.UID = p.uid()
		object.Spec.NodeName = ""
		if p.written > 0 {
			object.Annotations = annotated(object, "")
			p.written = 0
		}
		object.Status = v1.PodStatus{Phase: v1.PodPending}
	})

	r.tasks[p.task.UID] = p
	r.waiting++
}

// account charges the queue of a pod for its cards on a node (sign 1), or gives them back (-1). The pod does not wait
// for cards that it has.
func (r *run) account(p *pod, n *node, sign float64) {
	if p.Cards == 0 {
		return
	}
	cards := sign * float64(p.Cards)
	r.book.Allocate(r.now, p.Queue, n.cards[r.stock[p.list[0]].Resource], cards)
	r.book.Want(r.now, p.Queue, p.list[0], -cards)
}

// locks notes which queues are locked out: they have a waiting job that their deserved has room for.
func (r *run) locks() {
	locked := map[string]bool{}
	for _, j := range r.live {
		if locked[j.Queue] || !j.waits() {
			continue
		}
		locked[j.Queue] = slices.ContainsFunc(j.list, func(card string) bool {
			return r.book.Room(j.Queue, card) >= j.lacks()
		})
	}

	for _, q := range r.queues {
		r.book.Lock(r.now, q.Name, locked[q.Name])
	}
}
