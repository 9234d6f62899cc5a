package explain

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// explainBorrowers finds the resources for which the queue of a job has less than it deserves, and the queues that
// borrow them. Where a queue above is full, only the queues below it count.
func (e *explainer) explainBorrowers(f *Finding, task *api.TaskInfo) {
	for _, resource := range e.resourcesOf(task) {
		own, has := e.partOf(f.Queue, resource)
		if !has || own.Allocated >= own.Deserved {
			continue
		}
		if borrowers := e.borrowersOf(f, resource); len(borrowers) > 0 {
			f.Lacks = append(f.Lacks, own)
			f.Borrowers = append(f.Borrowers, borrowers...)
		}
	}

	slices.SortFunc(f.Borrowers, func(a, b Part) int {
		return cmp.Or(
			cmp.Compare(b.Allocated-b.Deserved, a.Allocated-a.Deserved),
			cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Resource, b.Resource))
	})
	f.Borrowers = first(f.Borrowers, mostHolders)
}

// borrowersOf returns the leaf queues that borrow a resource.
func (e *explainer) borrowersOf(f *Finding, resource string) (all []Part) {
	for queue, account := range e.accounts {
		if !account.Leaf || f.Level != "" && !slices.Contains(e.children[f.Level], queue) {
			continue
		}

		part, has := e.partOf(queue, resource)
		lost := account.Broken != nil && part.Allocated > 0 // such a queue is guaranteed nothing
		if has && (lost || e.borrows(queue, resource)) {
			all = append(all, part)
		}
	}
	return all
}

// beyondMinimum reports whether the argument reclaimBeyondMinimum is set. It is true for the plugin proportion, which
// does not have the argument.
func (e *explainer) beyondMinimum() bool {
	set := e.Plugin == plugin.ProportionName
	framework.Arguments(e.Arguments).GetBool(&set, arguments.ReclaimBeyondMinimum)
	return set
}

// resourcesOf returns the resources of a task by their names in accounts: the cards that the task names. If it names
// none, these are the requested resources and all cards that the nodes have of them.
func (e *explainer) resourcesOf(task *api.TaskInfo) []string {
	if names := card.NameOf(task.Pod.Annotations); len(names) > 0 {
		return names
	}

	var all []string
	for _, name := range task.InitResreq.ResourceNames() {
		if name != v1.ResourcePods {
			all = append(all, string(name))
			all = append(all, e.models()[name]...)
		}
	}

	slices.Sort(all)
	return all
}

// findModels returns the cards of the nodes by their resource.
func (e *explainer) findModels() map[v1.ResourceName][]string {
	all := map[v1.ResourceName][]string{}
	labels := e.Settings().Cards.Labels

	for _, node := range e.NodeList {
		for _, c := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable, labels).Cards {
			if !slices.Contains(all[c.Resource], c.Name) {
				all[c.Resource] = append(all[c.Resource], c.Name)
			}
		}
	}
	return all
}

// partOf returns the allocated and the deserved amount of a resource in a queue, and whether the queue has an account
// of it.
func (e *explainer) partOf(queue, resource string) (Part, bool) {
	h, has := e.holding(queue, resource)
	return Part{Queue: queue, Resource: resource, Allocated: h.Allocated, Deserved: h.Deserved}, has
}

// holding returns the account of a queue in a resource.
func (e *explainer) holding(queue, resource string) (inspect.Holding, bool) {
	for _, h := range e.accounts[queue].Holdings {
		if h.Resource == resource {
			return h, true
		}
	}
	return inspect.Holding{}, false
}

// adviseUnused records and describes the guarantees of resources that the queues below parent do not use, in descending
// order of the unused amount. It leaves out the waiting queue. parent is "" where queues are flat.
func (e *explainer) adviseUnused(f *Finding, parent, waiting string, resources ...string) (advice []string) {
	var unused []Unused
	for _, resource := range resources {
		all, _ := e.unusedBelow(parent, waiting, resource)
		unused = append(unused, all...)
	}

	slices.SortFunc(unused, func(a, b Unused) int {
		return cmp.Or(
			cmp.Compare(b.Guarantee-b.Allocated, a.Guarantee-a.Allocated),
			cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Resource, b.Resource))
	})
	unused = first(unused, mostHolders)

	f.Unused = append(f.Unused, unused...)
	for _, u := range unused {
		advice = append(advice, u.String())
	}
	return advice
}

// unusedBelow returns the unused guarantees of one resource below parent, and their sum. Either the queue counts or
// the queues below it, depending on which amount is larger, as in quota.Guarantees.
func (e *explainer) unusedBelow(parent, waiting, resource string) (all []Unused, sum float64) {
	for queue, a := range e.accounts {
		if a.Parent != parent || queue == waiting {
			continue
		}
		unused, amount := e.unusedBelow(queue, waiting, resource)
		if h, _ := e.holding(queue, resource); h.Guarantee-h.Allocated > amount {
			own := Unused{Queue: queue, Resource: resource, Allocated: h.Allocated, Guarantee: h.Guarantee}
			unused = []Unused{own}
			amount = h.Guarantee - h.Allocated
		}

		all = append(all, unused...)
		sum += amount
	}
	return all, sum
}

// borrows reports whether a queue has more of a card than it deserves and is guaranteed.
func (e *explainer) borrows(queue, card string) bool {
	h, _ := e.holding(queue, card)
	return h.Allocated > max(h.Deserved, h.Guarantee)
}
