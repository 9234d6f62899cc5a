package reclaim

import (
	"errors"
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/quota/plan"
)

// byOtherPods has the reasons for which Kubernetes' plugins refuse a node because of the pods that run there or nearby.
// Volcano takes these refusals as it takes a lack of resources: an eviction may end them. But it ends them only if a
// victim is one of these pods.
var byOtherPods = []string{
	interpodaffinity.ErrReasonAntiAffinityRulesNotMatch,
	interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch,
	nodeports.ErrReason,
	podtopologyspread.ErrReasonConstraintsNotMatch,
}

// refusedForOthers reports whether a plugin refuses a node because of the pods that run there or nearby.
func refusedForOthers(err error) bool {
	var refusal *api.FitError
	if !errors.As(err, &refusal) {
		return false
	}
	return slices.ContainsFunc(refusal.Status, func(status *api.Status) bool {
		return slices.Contains(byOtherPods, status.Reason)
	})
}

// relatesToOthers reports whether a pod says with which others it shares a node or a zone.
func relatesToOthers(task *api.TaskInfo) bool {
	spec := &task.Pod.Spec
	if len(spec.TopologySpreadConstraints) > 0 || len(util.GetHostPorts(task.Pod)) > 0 {
		return true
	}
	return spec.Affinity != nil && (spec.Affinity.PodAffinity != nil || spec.Affinity.PodAntiAffinity != nil)
}

// concernsOthers reports whether other pods can keep the pods of a plan from their nodes.
func (s *Rules) concernsOthers(found *proposal) bool {
	for pod, task := range found.trial.claimant.tasks {
		if relatesToOthers(task) || refusedForOthers(s.Volcano.PredicateFn(task, found.nodeOf(pod))) {
			return true
		}
	}
	return false
}

// suits asks the other plugins whether a node suits a task. Evictions can free the resources that the task lacks there.
// For the last plan of a claimant, no node suits that is refused because of other pods.
func (s *Rules) suits(c *claimant, task *api.TaskInfo, node *api.NodeInfo) bool {
	if c.refusals >= mostAttempts-1 && refusedForOthers(s.Volcano.PredicateFn(task, node)) {
		return false
	}
	return s.Volcano.PredicateForPreemptAction(task, node) == nil
}

// refusalAfter returns why the other plugins refuse a node once the victims are gone and earlier pods of the claimant
// are there, nil if they do not.
func (s *Rules) refusalAfter(c *claimant, task *api.TaskInfo, node *api.NodeInfo) error {
	err := s.Volcano.PredicateFn(task, node)
	if refusedForOthers(err) || slices.ContainsFunc(c.tasks, relatesToOthers) {
		// PrePredicate has read which pods run before the evictions.
		c.prepared[task.UID] = unasked
		err = s.Volcano.PrePredicateFn(task)
		if err == nil {
			err = s.Volcano.PredicateFn(task, node)
		}
	}

	if err == nil || refusedForOthers(err) {
		return err
	}
	return s.Volcano.PredicateForPreemptAction(task, node)
}

// refuse notes that a pod cannot wait for its node in a plan. The node does not suit the kind of the pod any more. If
// an earlier pod of the claimant there is why, no two pods of these kinds share a node from then on.
func (c *claimant) refuse(found *proposal, pod int, err error) {
	kind := c.kindOf[pod]
	earlier := slices.Index(found.Nodes[:pod], found.Nodes[pod])
	if earlier >= 0 && refusedForOthers(err) {
		c.apart[kind] = true
		c.apart[c.kindOf[earlier]] = true
		return
	}

	c.suits[kind].Delete(found.nodeOf(pod).Name)
	if refusedForOthers(err) {
		c.refusals++
	}
}

// keepApart gives each node room for one pod of the kinds that share no node.
func (c *claimant) keepApart(problem *plan.Problem) {
	if len(c.apart) == 0 {
		return
	}

	problem.Nodes = slices.Clone(problem.Nodes)
	for i := range problem.Nodes {
		node := &problem.Nodes[i]
		node.Free = append(slices.Clip(node.Free), 1)
	}

	for i := range problem.Pods {
		pod := &problem.Pods[i]
		places := 0.0
		if c.apart[pod.Kind] {
			places = 1
		}
		pod.Requests = append(slices.Clip(pod.Requests), places)
	}
}
