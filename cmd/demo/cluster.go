package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

const (
	// gpu is the resource of the GPUs, and the key of the taint that keeps pods without GPUs off their nodes.
	gpu       = "nvidia.com/gpu"
	namespace = metav1.NamespaceDefault
	// root is the queue at the top of the tree; Volcano's scheduler creates it.
	root = "root"
)

// resources builds a resource list from cores, GiB and whole GPUs.
func resources(cores, gib, gpus int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(gib<<30, resource.BinarySI),
		gpu:                   *resource.NewQuantity(gpus, resource.DecimalSI),
	}
}

// nodes are two nodes with 4 GPUs each and two without; 16 cores and 64 GiB all of them.
func nodes() []*corev1.Node {
	var all []*corev1.Node
	for _, name := range []string{"gpu-1", "gpu-2"} {
		node := newNode(name, resources(16, 64, 4))
		node.Spec.Taints = []corev1.Taint{{Key: gpu, Effect: corev1.TaintEffectNoSchedule}}
		all = append(all, node)
	}
	return append(all, newNode("cpu-1", resources(16, 64, 0)), newNode("cpu-2", resources(16, 64, 0)))
}

func newNode(name string, amount corev1.ResourceList) *corev1.Node {
	amount[corev1.ResourcePods] = resource.MustParse("110")
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity:    amount,
			Allocatable: amount,
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// queues is the tree below the root, parents first.
func queues() []*scheduling.Queue {
	return []*scheduling.Queue{
		newQueue("eng", root, resources(40, 160, 8), resources(4, 16, 1), resources(48, 192, 8)),
		newQueue("training", "eng", resources(16, 64, 4), nil, resources(32, 128, 8)),
		newQueue("inference", "eng", resources(16, 64, 4), resources(4, 16, 1), resources(24, 96, 6)),
		newQueue("biz", root, resources(16, 64, 0), nil, resources(24, 96, 0)),
	}
}

func newQueue(name, parent string, deserved, guarantee, capability corev1.ResourceList) *scheduling.Queue {
	reclaimable := true
	return &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: scheduling.QueueSpec{
			Parent:      parent,
			Weight:      1,
			Reclaimable: &reclaimable,
			Deserved:    deserved,
			Guarantee:   scheduling.Guarantee{Resource: guarantee},
			Capability:  capability,
		},
	}
}

// newJob builds a Volcano job of equal pods that starts when at least minimum of them can run. Its other pods may be
// reclaimed by queues below their deserved share.
func newJob(name, queue string, pods, minimum int32, each corev1.ResourceList) *batch.Job {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name:      "main",
			Image:     "none", // no node runs it
			Resources: corev1.ResourceRequirements{Requests: each, Limits: each},
		}},
		Tolerations: []corev1.Toleration{{Key: gpu, Operator: corev1.TolerationOpExists}},
	}}
	if quantity := each[gpu]; quantity.IsZero() {
		delete(each, gpu)
		template.Spec.Tolerations = nil
	}
	return &batch.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   namespace,
			Annotations: map[string]string{scheduling.PodPreemptable: "true"},
		},
		Spec: batch.JobSpec{
			SchedulerName: "volcano",
			Queue:         queue,
			MinAvailable:  minimum,
			MaxRetry:      3,
			Tasks:         []batch.TaskSpec{{Name: "worker", Replicas: pods, MinAvailable: &minimum, Template: template}},
		},
	}
}

// createCluster creates the nodes and queues.
func createCluster(ctx context.Context, cp *controlplane.ControlPlane) error {
	for _, node := range nodes() {
		if _, err := cp.Kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}
	for _, queue := range queues() {
		if _, err := cp.Volcano.SchedulingV1beta1().Queues().Create(ctx, queue, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating queue %s: %w", queue.Name, err)
		}
	}
	return nil
}
