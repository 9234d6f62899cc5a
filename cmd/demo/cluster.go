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
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

const namespace = metav1.NamespaceDefault

// The resources that device plugins offer cards as.
const (
	gpu    corev1.ResourceName = "nvidia.com/gpu"         // a whole card
	mig    corev1.ResourceName = "nvidia.com/mig-1g.18gb" // a seventh of an H200
	mps    corev1.ResourceName = "nvidia.com/gpu.shared"  // a card shared by several pods
	ascend corev1.ResourceName = "huawei.com/Ascend910"
)

// The names of the cards, which the plugin makes of the nodes' labels and resources.
const (
	h200      = "NVIDIA-H200"
	h800      = "NVIDIA-H800"
	h200Slice = "NVIDIA-H200/mig-1g.18gb-mixed"
	h800Share = "NVIDIA-H800/mps-80g*1/4"
	ascend910 = "Ascend910B"
)

// nodes have the labels and the resources that the vendors' feature discovery and device plugins give them. Two of the
// eight cards of h200-1 are cut into MIG slices, and the two cards of h800-2 are shared by four pods each. Only one
// node has each card, so that every run of the demo puts pods on the same nodes. research has a quota of all whole
// H200: the reclaim action of Volcano v1.15 evicts nothing on a node that has room for the pod.
func nodes() []*corev1.Node {
	type labels = map[string]string
	return []*corev1.Node{
		newNode("h200-1", labels{
			"nvidia.com/gpu.product": "NVIDIA-H200",
		}, map[corev1.ResourceName]int64{gpu: 6, mig: 14}),
		newNode("h800-1", labels{"nvidia.com/gpu.product": "NVIDIA-H800"}, map[corev1.ResourceName]int64{gpu: 4}),
		newNode("h800-2", labels{
			"nvidia.com/gpu.product":  "NVIDIA-H800",
			"nvidia.com/gpu.memory":   "81559",
			"nvidia.com/gpu.replicas": "4",
		}, map[corev1.ResourceName]int64{mps: 8}),
		newNode("ascend-1", labels{
			"huawei.com/Ascend910.product": "Ascend910B",
		}, map[corev1.ResourceName]int64{ascend: 8}),
	}
}

func newNode(name string, labels map[string]string, devices map[corev1.ResourceName]int64) *corev1.Node {
	labels[corev1.LabelHostname] = name
	amount := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("512Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	for device, count := range devices {
		amount[device] = *resource.NewQuantity(count, resource.DecimalSI)
	}

	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity:    amount,
			Allocatable: amount,
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// queues is the tree below the root, parents first. lab and train may lend each other their idle cards: they deserve no
// more than their share, and have no guarantee.
func queues() []*scheduling.Queue {
	type annotations = map[string]string
	return []*scheduling.Queue{
		newQueue("research", index.RootName, annotations{card.QuotaKey: `{"NVIDIA-H200": 6}`}),
		newQueue("lab", "research", annotations{
			card.QuotaKey:     `{"NVIDIA-H200": 2, "NVIDIA-H800": 3}`,
			card.GuaranteeKey: `{"NVIDIA-H200": 0}`,
		}),
		newQueue("train", "research", annotations{
			card.QuotaKey:     `{"NVIDIA-H200": 6}`,
			card.DeservedKey:  `{"NVIDIA-H200": 4}`,
			card.GuaranteeKey: `{"NVIDIA-H200": 0}`,
		}),
		newQueue("serving", index.RootName, annotations{
			card.QuotaKey: `{"NVIDIA-H200/mig-1g.18gb-mixed": 2, "NVIDIA-H800/mps-80g*1/4": 4}`,
		}),
		newQueue("climate", index.RootName, annotations{card.QuotaKey: `{"Ascend910B": 6}`}),
	}
}

func newQueue(name, parent string, annotations map[string]string) *scheduling.Queue {
	reclaimable := true
	return &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       scheduling.QueueSpec{Parent: parent, Weight: 1, Reclaimable: &reclaimable},
	}
}

// job describes a Volcano job of the story. Its pods are equal: each requests count of a resource. They start when at
// least minimum of them can run. Other queues may reclaim their deserved from the pods beyond the minimum.
type job struct {
	name, queue   string
	pods, minimum int32
	count         int64
	resource      corev1.ResourceName
	// card is the annotation card.name of the pods. An untyped job has none.
	card string
}

// object builds the Volcano job. The annotation card.request states the cards of its minimum, which count until the
// job has pods.
func (j job) object() *batch.Job {
	limits := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("2"),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
		j.resource:            *resource.NewQuantity(j.count, resource.DecimalSI),
	}

	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name:      "main",
			Image:     "none", // no node runs it
			Resources: corev1.ResourceRequirements{Requests: limits, Limits: limits},
		}},
	}}

	annotations := map[string]string{scheduling.PodPreemptable: "true"}
	if j.card != "" {
		template.Annotations = map[string]string{card.NameKey: j.card}
		annotations[card.RequestKey] = fmt.Sprintf("{%q: %d}", j.card, int64(j.minimum)*j.count)
	}

	return &batch.Job{
		ObjectMeta: metav1.ObjectMeta{Name: j.name, Namespace: namespace, Annotations: annotations},
		Spec: batch.JobSpec{
			SchedulerName: "volcano",
			Queue:         j.queue,
			MinAvailable:  j.minimum,
			MaxRetry:      3,
			Tasks: []batch.TaskSpec{{
				Name:         "worker",
				Replicas:     j.pods,
				MinAvailable: &j.minimum,
				Template:     template,
			}},
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
