package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// tryToPlace calls the hooks of the action allocate for a job (actions/allocate: allocateResourcesForTasks), and undoes
// all allocations. It tries the job as if no other job were waiting. It returns the refusals by the quota of the
// pods that the job lacks to start: one for the pods of a role with the same cards.
func (e *explainer) tryToPlace(f *Finding, job *api.JobInfo) (refused []*report.Reason) {
	queue := e.Session.Queues[job.Queue]
	tasks := e.waiting(job)
	e.checkJob(f, job, queue, tasks)
	if f.Rule != "" {
		return nil
	}

	statement := framework.NewStatement(e.Session.Session)
	asked := map[[2]string]bool{} // by cards and role
	for i, task := range tasks {
		if e.place(f, statement, queue, task) {
			f.Pods.Fit++
			continue
		}

		kind := [2]string{card.NameOf(task.Pod.Annotations).String(), task.TaskRole}
		if i >= lacks(f) || asked[kind] {
			continue
		}
		asked[kind] = true
		if why := e.Quota.Allocate(task); why != nil && why.Rule == report.OverQuota {
			refused = append(refused, why)
		}
	}

	statement.Discard()
	for _, task := range tasks {
		task.Pod.Spec.NodeName = "" // Discard leaves the name
	}

	if fit := f.Pods.Placed + f.Pods.Fit; f.Rule != "" && f.Pods.Fit > 0 && fit < f.Pods.Minimum {
		f.Message = fmt.Sprintf("%d of the %d pods it needs to start have room; then: %s",
			fit, f.Pods.Minimum, f.Message)
	}
	return refused
}

// checkJob finds what keeps the action allocate from trying any pod of a job.
func (e *explainer) checkJob(f *Finding, job *api.JobInfo, queue *api.QueueInfo, tasks []*api.TaskInfo) {
	vr := e.JobValid(job)
	switch {
	case vr != nil && !vr.Pass:
		f.Stage = Gang
		f.Rule = NotEnoughPods
		f.Message = vr.Message
	case len(tasks) == 0:
		f.Stage = Gang
		f.Rule = Gated
		f.Message = fmt.Sprintf("All %d pods that wait have scheduling gates", f.Pods.Waiting)
	case e.Overused(queue):
		f.Stage = Allocate
		f.Rule = Overused
		f.Level = queue.Name
		f.Message = fmt.Sprintf("Queue <%s> has all that it deserves", queue.Name)
	}
}

// waiting returns the pending tasks that allocate tries, in task order. It leaves out the tasks with a scheduling gate
// that allocate does not remove.
func (e *explainer) waiting(job *api.JobInfo) []*api.TaskInfo {
	queue := util.NewPriorityQueue(e.TaskOrderFn)
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !e.Quota.Gated(task) {
			queue.Push(task)
		}
	}

	var tasks []*api.TaskInfo
	for !queue.Empty() {
		tasks = append(tasks, queue.Pop().(*api.TaskInfo))
	}
	return tasks
}

// place places a task. For the first task of a job that has no place, it records the reason.
func (e *explainer) place(f *Finding, statement *framework.Statement, queue *api.QueueInfo, task *api.TaskInfo) bool {
	isFirst := f.Rule == ""
	if !e.Allocatable(queue, task) {
		if isFirst {
			f.Stage = Allocate
			f.Pod = task.Name
			if why := e.Quota.Allocate(task); why != nil {
				e.refuse(f, why)
			} else {
				e.refuseOther(f, "place", "proportion", "capacity", "capacity-card")
			}
		}
		return false
	}

	// One task that no node fits is enough: the others nearly always equal it.
	if f.Stage == Node {
		return false
	}
	node, why := e.nodeFor(f, task)
	if node == nil {
		if isFirst {
			f.Stage = Node
			f.Pod = task.Name
			f.Nodes = why
			e.blameNodes(f, task)
		}
		return false
	}

	var err error
	if task.InitResreq.LessEqual(node.Idle, api.Zero) {
		err = release.Allocate(statement, task, node)
	} else {
		err = release.Pipeline(statement, task, node.Name, false)
	}
	if err != nil && isFirst {
		f.Stage = Node
		f.Pod = task.Name
		e.refuseOther(f, "place")
	}
	return err == nil
}

// nodeFor returns a node that a task fits on. If there is none, it returns the reasons of the nodes. All jobs find the
// same cluster for their first pod. So the reasons are kept for the first pods of other jobs, by the kind of the pod.
func (e *explainer) nodeFor(f *Finding, task *api.TaskInfo) (*api.NodeInfo, []Nodes) {
	kind := ""
	if f.Pods.Fit == 0 {
		kind = kindOf(f.Queue, task)
		if why, known := e.unfit[kind]; known {
			return nil, why
		}
	}

	if err := e.PrePredicateFn(task); err != nil {
		return nil, []Nodes{{Why: err.Error(), Count: len(e.NodeList)}}
	}

	// The search begins at the node that fitted last.
	names := map[string][]string{} // of nodes, by reason
	for i := range e.NodeList {
		at := (e.last + i) % len(e.NodeList)
		node := e.NodeList[at]
		why := e.unfitness(task, node)
		if why == "" {
			e.last = at
			return node, nil
		}
		names[why] = append(names[why], node.Name)
	}

	why := countNodes(names)
	if kind != "" {
		e.unfit[kind] = why
	}
	return nil, why
}

// unfitness returns why a task does not fit on a node now, "" if it does.
func (e *explainer) unfitness(task *api.TaskInfo, node *api.NodeInfo) string {
	if why := e.Quota.Node(task, node.Name); why != nil {
		return why.In(format.Gi)
	}
	if small := tooSmall(task, node); small != "" {
		return small
	}

	if !task.InitResreq.LessEqual(node.Idle, api.Zero) {
		if ok, short := task.InitResreq.LessEqualWithResourcesName(node.FutureIdle(), api.Zero); !ok {
			slices.Sort(short)
			return "no room: not enough " + strings.Join(short, ", ")
		}
	}

	err := e.PredicateForAllocateAction(task, node)
	if err == nil {
		return ""
	}
	if fit := (*api.FitError)(nil); errors.As(err, &fit) {
		return strings.Join(fit.Reasons(), ", ")
	}
	return err.Error()
}

// tooSmall returns the resources that a task requests and that even an empty node does not have, "" for none.
func tooSmall(task *api.TaskInfo, node *api.NodeInfo) string {
	fits, short := task.InitResreq.LessEqualWithResourcesName(node.Allocatable, api.Zero)
	if fits {
		return ""
	}

	slices.Sort(short)
	var each []string
	for _, name := range short {
		each = append(each, fmt.Sprintf("it has %s %s, and the pod requests %s",
			quantityOf(node.Allocatable, name), name, quantityOf(task.InitResreq, name)))
	}
	return "too small: " + strings.Join(each, ", ")
}

// tooLarge reports whether a task requests more than every node has. It is false if there are no nodes.
func (e *explainer) tooLarge(task *api.TaskInfo) bool {
	isEnough := func(node *api.NodeInfo) bool { return tooSmall(task, node) == "" }
	return len(e.NodeList) > 0 && !slices.ContainsFunc(e.NodeList, isEnough)
}

// quantityOf formats the quantity of one resource.
func quantityOf(resources *api.Resource, name string) string {
	quantity := resources.Get(v1.ResourceName(name))
	if name != "memory" && name != "pods" {
		quantity /= 1000
	}
	return Amount(name, quantity)
}

// kindOf returns a key that is equal for pods that fit on the same nodes, by the hooks that this package calls.
func kindOf(queue string, task *api.TaskInfo) string {
	spec := &task.Pod.Spec
	return fmt.Sprint(queue, card.NameOf(task.Pod.Annotations), task.InitResreq, spec.NodeSelector,
		spec.Affinity, spec.Tolerations, spec.TopologySpreadConstraints, task.Pod.Labels, task.Namespace)
}

// countNodes counts the nodes of each reason, in descending order of their number.
func countNodes(names map[string][]string) (all []Nodes) {
	const few = 3
	for why, nodes := range names {
		slices.Sort(nodes)
		all = append(all, Nodes{Why: why, Count: len(nodes), Names: first(nodes, few)})
	}

	slices.SortFunc(all, func(a, b Nodes) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Why, b.Why))
	})
	return all
}

// nodeRules are the rules by which a node does not fit. The later ones are nearer to a place for the task.
var nodeRules = []report.Rule{
	report.ClaimUnknown, report.ClaimRefused, report.NoDevice, report.OtherDevice, report.UnnamedDevice,
	report.NoSuchCard, report.UnlabeledNode, NodesTooSmall, NodesUnfit, NodesFull, report.Earmarked, report.OverQuota,
}

// blameNodes sets the rule for a task that no node fits: the rule of the node that is nearest to placing the task.
func (e *explainer) blameNodes(f *Finding, task *api.TaskInfo) {
	best := -1
	for _, node := range e.NodeList {
		rule := NodesUnfit
		why := e.Quota.Node(task, node.Name)
		switch {
		case why != nil:
			rule = why.Rule
		case tooSmall(task, node) != "":
			rule = NodesTooSmall
		case !task.InitResreq.LessEqual(node.FutureIdle(), api.Zero):
			rule = NodesFull
		}

		if rule == report.UnlabeledNode {
			f.Unlabeled++
		}

		if at := slices.Index(nodeRules, rule); at > best {
			best = at
			f.Rule = rule
			f.Reason = why
		}
	}
	f.Rule = cmp.Or(f.Rule, NodesUnfit)
	if f.Reason != nil && len(f.Reason.Shortages) > 0 {
		f.Level = f.Reason.Shortages[0].Queue
	}

	if len(e.NodeList) == 0 {
		f.Message = "There are no nodes"
		return
	}
	var reasons []string
	for _, n := range f.Nodes {
		reasons = append(reasons, fmt.Sprintf("%d × %s", n.Count, n.Why))
	}
	f.Message = "No node fits: " + strings.Join(reasons, "; ")
}
