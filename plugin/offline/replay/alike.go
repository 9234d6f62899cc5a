package replay

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	scheduler "volcano.sh/volcano/pkg/scheduler/util"
)

// Most nodes of a cluster are alike: the same machine, with the same part in use. Volcano asks and scores each of them
// for each pod. All have the same score, except for the part that breaks ties. So the replay asks one of them, the one
// that ties prefer, and nominates the pod to the best node. Volcano then looks at this node only. BenchmarkReplay shows
// the gain.

// likeness identifies nodes that are alike for the pods of a trace, which have no affinities.
type likeness struct {
	machine          int
	cpu, memory, all float64 // free amounts; all is the sum of all other resources
	defaults         [2]int64
	pods             int
}

// machines numbers the nodes by their constant parts. Nodes with one number differ only in their names.
func machines(nodes map[string]*node) {
	numbers := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		object := n.object.DeepCopy()
		object.ObjectMeta = n.bare.ObjectMeta // without labels
		object.Name = ""
		labels := maps.Clone(n.object.Labels)
		delete(labels, v1.LabelHostname)

		text := fmt.Sprintf("%v %v %v %v", object.Spec, object.Status, labels, n.object.Annotations)
		if len(n.cards) > 1 {
			text = name // such a node is like no other
		}
		if _, known := numbers[text]; !known {
			numbers[text] = len(numbers)
		}
		n.machine = numbers[text]
	}
}

// nominate nominates a pod to the node that Volcano would choose for it. If there is none, Volcano asks all nodes.
func (o *order) nominate(task *api.TaskInfo) {
	p := o.content.tasks[task.UID]
	if p == nil || p.node != nil {
		return
	}

	task.Pod.Status.NominatedNodeName = ""
	best := map[likeness]*api.NodeInfo{}
	for _, n := range o.content.nodes {
		own := o.Nodes[n.object.Name]
		if p.Cards > 0 && freeOf(own, p.resource) < p.Cards {
			continue
		}
		l := o.likenessOf(n, own)
		if other := best[l]; other == nil || o.rank(task, own.Name) > o.rank(task, other.Name) {
			best[l] = own
		}
	}

	var nodes []*api.NodeInfo
	for _, node := range best {
		if task.InitResreq.LessEqual(node.FutureIdle(), api.Zero) && o.PredicateForAllocateAction(task, node) == nil {
			nodes = append(nodes, node)
		}
	}

	switch len(nodes) {
	case 0:
		return
	case 1:
		task.Pod.Status.NominatedNodeName = nodes[0].Name
		return
	}

	slices.SortFunc(nodes, func(a, b *api.NodeInfo) int { return int(o.index[a.Name]) - int(o.index[b.Name]) })
	scores := scheduler.PrioritizeNodes(task, nodes, o.BatchNodeOrderFn, o.NodeOrderMapFn, o.NodeOrderReduceFn)
	node := o.BestNodeFn(task, scores)
	if node == nil {
		node, _ = scheduler.SelectBestNodeAndScore(scores)
	}

	if node != nil {
		task.Pod.Status.NominatedNodeName = node.Name
	}
}

func (o *order) likenessOf(n *node, own *api.NodeInfo) likeness {
	defaults := n.entry.GetNonZeroRequested()
	l := likeness{
		machine:  n.machine,
		cpu:      own.Idle.MilliCPU,
		memory:   own.Idle.Memory,
		pods:     len(own.Tasks),
		defaults: [2]int64{defaults.GetMilliCPU(), defaults.GetMemory()},
	}

	for _, amount := range own.Idle.ScalarResources {
		l.all += amount
	}
	return l
}

// freeOf returns the number of free cards of a node.
func freeOf(own *api.NodeInfo, resource v1.ResourceName) int64 {
	milli := func(r *api.Resource) float64 { return r.ScalarResources[resource] }
	return int64((milli(own.Idle) + milli(own.Releasing) - milli(own.Pipelined)) / 1000)
}
