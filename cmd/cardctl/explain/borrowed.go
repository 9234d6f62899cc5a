package explain

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// explainBorrowers finds what the queue of a job lacks of what it deserves, and which queues borrow
// it. Where a queue above is full, only the queues below it count.
func (e *explainer) explainBorrowers(f *Finding, task *api.TaskInfo) {
	for _, resource := range e.resourcesOf(task) {
		own, has := e.partOf(f.Queue, resource)
		if !has || own.Allocated >= own.Deserved {
			continue
		}
		var borrowers []Part
		for queue := range e.accounts {
			inside := f.Level == "" || slices.Contains(e.children[f.Level], queue)
			of, has := e.partOf(queue, resource)
			lost := e.accounts[queue].Broken != nil && of.Allocated > 0 // it is guaranteed nothing
			if has && inside && e.accounts[queue].Leaf && (lost || e.borrows(lent{queue, resource})) {
				borrowers = append(borrowers, of)
			}
		}
		if len(borrowers) > 0 {
			f.Lacks, f.Borrowers = append(f.Lacks, own), append(f.Borrowers, borrowers...)
		}
	}
	slices.SortFunc(f.Borrowers, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Allocated-b.Deserved, a.Allocated-a.Deserved), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Resource, b.Resource))
	})
	f.Borrowers = first(f.Borrowers, mostHolders)
}

// adviseBorrowers puts in front of the advice what the queue of a job lacks, who borrows it, and why
// nothing is taken back.
func (e *explainer) adviseBorrowers(f *Finding) {
	var lines []string
	for _, part := range slices.Concat(f.Lacks, f.Borrowers) {
		lines = append(lines, part.String())
	}
	if f.Untaken != "" {
		lines = append(lines, "nothing is taken back for it: "+f.Untaken)
	}
	f.Advice = append(lines, f.Advice...)
}

// untaken returns why the action reclaim takes nothing from the borrowers, "" if it does.
func (e *explainer) untaken(f *Finding, job *api.JobInfo, task *api.TaskInfo) string {
	switch {
	case !slices.ContainsFunc(e.Actions, func(a framework.Action) bool { return a.Name() == "reclaim" }):
		return "the scheduler's configuration has no action reclaim"
	case !slices.ContainsFunc(f.Borrowers, func(b Part) bool { return e.accounts[b.Queue].Broken == nil }):
		return "reclaim spares queues that do not reach the root; cardctl validate says what is wrong with their place"
	case !e.JobStarving(job) && e.beyondMinimum():
		return fmt.Sprintf("reclaim skips jobs that have their minimum, and it has %d of %d pods; set enableJobStarving: false of the plugin gang",
			f.Pods.Placed, f.Pods.Minimum)
	case !e.JobStarving(job):
		return fmt.Sprintf("reclaim skips jobs that have their minimum, and it has %d of %d pods; set the argument %s of the plugin %s, and "+
			"enableJobStarving: false of the plugin gang", f.Pods.Placed, f.Pods.Minimum, arguments.ReclaimBeyondMinimum, e.Plugin)
	case !e.anyVictim(f, task):
		return "the plugins spare all pods of these queues, such as those of reclaimable: false, with volcano.sh/preemptable: \"false\", " +
			"or that are the minimum of their job"
	}
	return ""
}

// beyondMinimum reports whether the argument reclaimBeyondMinimum is set. The plugin proportion does not have it.
func (e *explainer) beyondMinimum() bool {
	set := e.Plugin == plugin.ProportionName
	framework.Arguments(e.Arguments).GetBool(&set, arguments.ReclaimBeyondMinimum)
	return set
}

// anyVictim reports whether the hooks of reclaim let a task take a pod of the borrowers, on any
// node.
func (e *explainer) anyVictim(f *Finding, task *api.TaskInfo) bool {
	for _, node := range e.NodeList {
		var candidates []*api.TaskInfo
		for _, on := range node.Tasks {
			job := e.Session.Jobs[on.Job]
			if job == nil || on.Status != api.Running || !on.Preemptable || string(job.Queue) == f.Queue {
				continue
			}
			if queue := e.Session.Queues[job.Queue]; queue != nil && queue.Reclaimable() &&
				slices.ContainsFunc(f.Borrowers, func(b Part) bool { return b.Queue == queue.Name }) {
				candidates = append(candidates, on)
			}
		}
		if len(candidates) > 0 && len(e.Reclaimable(task, candidates)) > 0 {
			return true
		}
	}
	return false
}

// resourcesOf returns what a task requests, by the names of accounts: the cards that it names, or
// else the resources, and all cards of the nodes that have these.
func (e *explainer) resourcesOf(task *api.TaskInfo) []string {
	if names := card.NameOf(task.Pod.Annotations); len(names) > 0 {
		return names
	}
	var all []string
	for _, name := range task.InitResreq.ResourceNames() {
		if name != v1.ResourcePods {
			all = append(append(all, string(name)), e.models()[name]...)
		}
	}
	slices.Sort(all)
	return all
}

// models returns the cards of the nodes by their resource.
func (e *explainer) models() map[v1.ResourceName][]string {
	if e.cardsBy == nil {
		e.cardsBy = map[v1.ResourceName][]string{}
		labels := e.CardLabels()
		for _, node := range e.NodeList {
			for _, c := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable, labels).Cards {
				if !slices.Contains(e.cardsBy[c.Resource], c.Name) {
					e.cardsBy[c.Resource] = append(e.cardsBy[c.Resource], c.Name)
				}
			}
		}
	}
	return e.cardsBy
}

// partOf returns what a queue has and deserves of a resource, and whether it has an account of it.
func (e *explainer) partOf(queue, resource string) (Part, bool) {
	h, has := e.holding(queue, resource)
	return Part{Queue: queue, Resource: resource, Allocated: h.Allocated, Deserved: h.Deserved}, has
}

// holding returns the account of a queue in a resource.
func (e *explainer) holding(queue, resource string) (inspect.Holding, bool) {
	all := e.accounts[queue].Holdings
	if i := slices.IndexFunc(all, func(h inspect.Holding) bool { return h.Resource == resource }); i >= 0 {
		return all[i], true
	}
	return inspect.Holding{}, false
}

// unusedGuarantees returns the guarantees of resources that the queues below another one do not use:
// those with most left first. The queue that waits, without, is left out. parent is "" where
// queues are flat.
func (e *explainer) unusedGuarantees(parent, without string, resources []string) (all []Unused) {
	for _, resource := range resources {
		of, _ := e.unusedBelow(parent, without, resource)
		all = append(all, of...)
	}
	slices.SortFunc(all, func(a, b Unused) int {
		return cmp.Or(cmp.Compare(b.Guarantee-b.Allocated, a.Guarantee-a.Allocated), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Resource, b.Resource))
	})
	return first(all, mostHolders)
}

// unusedBelow returns the unused guarantees of one resource, with their sum. A queue counts itself
// or the queues below it, as in quota.Guarantees.
func (e *explainer) unusedBelow(parent, without, resource string) (all []Unused, sum float64) {
	for queue, a := range e.accounts {
		if a.Parent != parent || queue == without {
			continue
		}
		of, amount := e.unusedBelow(queue, without, resource)
		if h, _ := e.holding(queue, resource); h.Guarantee-h.Allocated > amount {
			of, amount = []Unused{{Queue: queue, Resource: resource, Allocated: h.Allocated, Guarantee: h.Guarantee}}, h.Guarantee-h.Allocated
		}
		all, sum = append(all, of...), sum+amount
	}
	return all, sum
}
