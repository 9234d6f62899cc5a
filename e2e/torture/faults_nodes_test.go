package torture

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pick draws a node of the cluster.
func (r *round) pick() *corev1.Node {
	return r.world.nodes[r.faultDraw.IntN(len(r.world.nodes))].DeepCopy()
}

// patchNode changes a node, and changes it back after a while.
func (r *round) patchNode(ctx context.Context, change, back func(*corev1.Node)) error {
	name := r.pick().Name
	err := r.updateNode(name, change)
	if err != nil {
		return err
	}

	pause(ctx, 3*time.Second)

	return r.updateNode(name, back)
}

// updateNode changes a node and its status.
func (r *round) updateNode(name string, change func(*corev1.Node)) error {
	return retry(func(ctx context.Context) error {
		nodes := r.plane.Kube.CoreV1().Nodes()
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}

		change(node)
		status := node.Status
		node, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		if err != nil {
			return err
		}

		node.Status = status
		_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})

		return err
	})
}

func (r *round) flapNode(ctx context.Context) error {
	ready := func(status corev1.ConditionStatus) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		}
	}

	return r.patchNode(ctx, ready(corev1.ConditionFalse), ready(corev1.ConditionTrue))
}

// relabelNode removes the label of a node's cards, or changes it.
func (r *round) relabelNode(ctx context.Context) error {
	r.relabeled = true
	was := ""
	other := []string{"", h200, h800}[r.faultDraw.IntN(3)]
	change := func(node *corev1.Node) {
		if was == "" {
			was = node.Labels[product]
		}
		delete(node.Labels, product)
		if other != "" {
			node.Labels[product] = other
		}
	}

	return r.patchNode(ctx, change, func(node *corev1.Node) { node.Labels[product] = was })
}

// shrinkNode reduces the cards of a node for a while.
func (r *round) shrinkNode(ctx context.Context) error {
	var was corev1.ResourceList
	change := func(node *corev1.Node) {
		if was == nil {
			was = node.Status.Allocatable.DeepCopy()
		}
		node.Status.Allocatable[gpu] = quantity(1)
	}

	return r.patchNode(ctx, change, func(node *corev1.Node) { node.Status.Allocatable = was })
}

// partitionNode drains a node, and divides its cards into slices for a while.
func (r *round) partitionNode(ctx context.Context) error {
	name := r.pick().Name
	var was corev1.ResourceList
	err := r.changeDrained(ctx, name, func(node *corev1.Node) {
		if was == nil {
			was = node.Status.Allocatable.DeepCopy()
		}
		cards := node.Status.Allocatable[gpu]
		delete(node.Status.Allocatable, gpu)
		node.Status.Allocatable[slice] = quantity(2 * cards.Value())
	})
	if err != nil {
		return err
	}

	pause(ctx, 4*time.Second)

	return r.changeDrained(ctx, name, func(node *corev1.Node) { node.Status.Allocatable = was })
}

// changeDrained changes a node while it has no pods.
func (r *round) changeDrained(ctx context.Context, name string, change func(*corev1.Node)) error {
	err := r.updateNode(name, func(node *corev1.Node) { node.Spec.Unschedulable = true })
	if err != nil {
		return err
	}

	pause(ctx, time.Second) // until present bindings are complete
	err = r.collectPods(name)
	if err != nil {
		return err
	}

	return r.updateNode(name, func(node *corev1.Node) {
		change(node)
		node.Spec.Unschedulable = false
	})
}

// renewNode deletes a node, and creates it again under the same name. Its pods are deleted or stay.
func (r *round) renewNode(ctx context.Context) error {
	node := r.pick()
	collect := r.faultDraw.IntN(2) == 0
	nodes := r.plane.Kube.CoreV1().Nodes()
	err := retry(func(ctx context.Context) error { return nodes.Delete(ctx, node.Name, metav1.DeleteOptions{}) })
	if err != nil {
		return err
	}

	pause(ctx, time.Second)
	if collect {
		err := r.collectPods(node.Name)
		if err != nil {
			return err
		}
	}

	return retry(func(ctx context.Context) error {
		_, err := nodes.Create(ctx, node, metav1.CreateOptions{})
		return ignore(apierrors.IsAlreadyExists, err)
	})
}

// collectPods deletes the pods of a node, as Kubernetes does when the node is gone.
func (r *round) collectPods(node string) error {
	return retry(func(ctx context.Context) error {
		onNode := metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}
		pods, err := r.plane.Kube.CoreV1().Pods("").List(ctx, onNode)
		if err != nil {
			return err
		}

		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
		for _, pod := range pods.Items {
			err := r.plane.Kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}

		return nil
	})
}

// retry asks the API server until it answers.
func retry(ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || ctx.Err() != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// ignore returns nil for an expected error, and any other error.
func ignore(expected func(error) bool, err error) error {
	if expected(err) {
		return nil
	}
	return err
}

// edit changes annotations and the spec of a queue. A webhook may refuse that.
func (r *round) edit(queue string, annotations, spec map[string]any) error {
	change := map[string]any{}
	if annotations != nil {
		change["metadata"] = map[string]any{"annotations": annotations}
	}
	if spec != nil {
		change["spec"] = spec
	}

	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}

	return retry(func(ctx context.Context) error {
		queues := r.plane.Volcano.SchedulingV1beta1().Queues()
		_, err := queues.Patch(ctx, queue, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && strings.Contains(err.Error(), "denied the request") {
			r.refused.Add(1)
			return nil
		}

		return err
	})
}
