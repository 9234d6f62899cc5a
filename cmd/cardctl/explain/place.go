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

// tryToPlace calls the hooks that the action allocate calls for a job
// (actions/allocate: allocateResourcesForTasks), and undoes all allocations. The job is
// tried alone, as if no other job were waiting. It returns why the quota refuses pods that the job
// lacks to start: one reason for the pods of a role with the same cards.
func (e *explainer) tryToPlace(f *Finding, job *api.JobInfo) (refused []*report.Reason) {
	queue := e.Session.Queues[job.Queue]
	if vr := e.JobValid(job); vr != nil && !vr.Pass {
		f.Stage = Gang
		f.Rule = NotEnoughPods
		f.Message = vr.Message
		return nil
	}
	tasks := e.waiting(job)
	if len(tasks) == 0 {
		f.Stage = Gang
		f.Rule = Gated
		f.Message = fmt.Sprintf("All %d pods that wait have scheduling gates", f.Pods.Waiting)
		return nil
	}
	if e.Overused(queue) {
		f.Stage = Allocate
		f.Rule = Overused
		f.Level = queue.Name
		f.Message = fmt.Sprintf("Queue <%s> has all that it deserves", queue.Name)
		return nil
	}
	statement := framework.NewStatement(e.Session.Session)
	asked := map[[2]string]bool{} // by cards and role
	for i, task := range tasks {
		if e.place(f, statement, queue, job, task) {
			f.Pods.Fit++
			continue
		}
		kind := [2]string{card.NameOf(task.Pod.Annotations).String(), task.TaskRole}
		if i < lacks(f) && !asked[kind] {
			asked[kind] = true
			if why := e.Quota.Allocate(task); why != nil && why.Rule == report.OverQuota {
				refused = append(refused, why)
			}
		}
	}
	statement.Discard()
	for _, task := range tasks {
		task.Pod.Spec.NodeName = "" // which Discard leaves
	}
	if f.Rule != "" && f.Pods.Fit > 0 && f.Pods.Placed+f.Pods.Fit < f.Pods.Minimum {
		f.Message = fmt.Sprintf("%d of the %d pods it needs to start have room; then: %s", f.Pods.Placed+f.Pods.Fit, f.Pods.Minimum, f.Message)
	}
	return refused
}

// waiting returns the pending tasks that allocate tries, in task order: those without a
// scheduling gate, and those whose gate it removes.
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

// place places a task. For the first task that cannot be placed it records the reason.
func (e *explainer) place(f *Finding, statement *framework.Statement, queue *api.QueueInfo, job *api.JobInfo, task *api.TaskInfo) bool {
	if !e.Allocatable(queue, task) {
		if f.Rule == "" {
			f.Stage, f.Pod = Allocate, task.Name
			if why := e.Quota.Allocate(task); why != nil {
				e.refuse(f, why)
			} else {
				e.refuseOther(f, "place", "proportion", "capacity", "capacity-card")
			}
		}
		return false
	}
	if f.Stage == Node { // one task that no node fits is enough: nearly always the others equal it
		return false
	}
	node, why := e.nodeFor(f, task)
	if node == nil {
		if f.Rule == "" {
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
	if err != nil && f.Rule == "" {
		f.Stage, f.Pod = Node, task.Name
		e.refuseOther(f, "place")
	}
	return err == nil
}

// nodeFor returns a node that a task fits on, or why each node does not fit.
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
	problems := map[string]*Nodes{}
	for i := range e.NodeList {
		at := (e.last + i) % len(e.NodeList)
		node := e.NodeList[at]
		why := e.unfitness(task, node)
		if why == "" {
			e.last = at
			return node, nil
		}
		p := problems[why]
		if p == nil {
			p = &Nodes{Why: why}
			problems[why] = p
		}
		p.Count++
		p.Names = append(p.Names, node.Name)
	}
	why := sorted(problems)
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

// tooSmall returns which resources of a node, empty, do not suffice for a task, "" if all do.
func tooSmall(task *api.TaskInfo, node *api.NodeInfo) string {
	fits, short := task.InitResreq.LessEqualWithResourcesName(node.Allocatable, api.Zero)
	if fits {
		return ""
	}
	slices.Sort(short)
	var each []string
	for _, name := range short {
		each = append(each, fmt.Sprintf("it has %s %s, and the pod requests %s", quantityOf(node.Allocatable, name), name,
			quantityOf(task.InitResreq, name)))
	}
	return "too small: " + strings.Join(each, ", ")
}

// tooLarge reports whether there are nodes and none of them, empty, suffices for a task.
func (e *explainer) tooLarge(task *api.TaskInfo) bool {
	return len(e.NodeList) > 0 && !slices.ContainsFunc(e.NodeList, func(node *api.NodeInfo) bool { return tooSmall(task, node) == "" })
}

// quantityOf formats what a list of resources has of one of them.
func quantityOf(of *api.Resource, name string) string {
	quantity := of.Get(v1.ResourceName(name))
	if name != "memory" && name != "pods" {
		quantity /= 1000
	}
	return Amount(name, quantity)
}

// kindOf is equal for pods that fit on the same nodes, by the hooks that this package
// calls.
func kindOf(queue string, task *api.TaskInfo) string {
	spec := &task.Pod.Spec
	return fmt.Sprint(queue, card.NameOf(task.Pod.Annotations), task.InitResreq, spec.NodeSelector,
		spec.Affinity, spec.Tolerations, spec.TopologySpreadConstraints, task.Pod.Labels, task.Namespace)
}

func sorted(problems map[string]*Nodes) []Nodes {
	const few = 3
	var all []Nodes
	for _, p := range problems {
		slices.Sort(p.Names)
		p.Names = p.Names[:min(few, len(p.Names))]
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Nodes) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Why, b.Why)) })
	return all
}

// blameNodes sets the rule for a task that no node fits: among the rules of the nodes,
// the one that is nearest to placing the task.
func (e *explainer) blameNodes(f *Finding, task *api.TaskInfo) {
	rank := []report.Rule{report.ClaimUnknown, report.ClaimRefused, report.NoDevice, report.OtherDevice, report.UnnamedDevice, report.NoSuchCard, report.UnlabeledNode, NodesTooSmall, NodesUnfit, NodesFull, report.Earmarked, report.OverQuota}
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
		if at := slices.Index(rank, rule); at > best {
			best = at
			f.Rule = rule
			if why != nil {
				f.Reason = why
			} else {
				f.Reason = nil
			}
		}
	}
	if f.Rule == "" {
		f.Rule = NodesUnfit
	}
	if f.Reason != nil && len(f.Reason.Shortages) > 0 {
		f.Level = f.Reason.Shortages[0].Queue
	}
	f.Message = "No node fits"
	for i, n := range f.Nodes {
		separator := ": "
		if i > 0 {
			separator = "; "
		}
		f.Message += fmt.Sprintf("%s%d × %s", separator, n.Count, n.Why)
	}
	if len(e.NodeList) == 0 {
		f.Message = "There are no nodes"
	}
}
