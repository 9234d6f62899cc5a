package volcano

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// The scheduler's configuration, as Volcano's CI installs it and as the suites change it.
const (
	schedulerConfigMap = "integration-scheduler-configmap"
	schedulerConfFile  = "volcano-scheduler-ci.conf"
)

// The machine of Volcano's CI. Each of kind's nodes shows all of it.
var (
	machine  = resources("4", "16Gi")
	kwokNode = resources("8", "8Gi")
	// network holds the resources that the network of kind requests on each node.
	network = resources("100m", "50Mi")
)

// workers is the number of nodes without the one of the control plane.
const workers = 4

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// furnish creates the nodes of Volcano's CI, the pods on them, and the scheduler's configuration.
func furnish(ctx context.Context, cp *controlplane.ControlPlane, s suite, conf string) error {
	for _, name := range []string{metav1.NamespaceSystem, controlplane.VolcanoNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := cp.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}

	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.VolcanoNamespace, Name: schedulerConfigMap},
		Data:       map[string]string{schedulerConfFile: conf},
	}
	_, err := cp.Kube.CoreV1().ConfigMaps(configMap.Namespace).Create(ctx, configMap, metav1.CreateOptions{})
	if err != nil {
		return err
	}

	nodes := cp.Kube.CoreV1().Nodes()
	for _, n := range kindNodes() {
		_, err := nodes.Create(ctx, n, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating node %s: %w", n.Name, err)
		}

		err = connect(ctx, cp, n.Name)
		if err != nil {
			return fmt.Errorf("creating the pod of the network on node %s: %w", n.Name, err)
		}
	}

	for i := range s.kwok {
		taint := corev1.Taint{Key: "kwok.x-k8s.io/node", Value: "fake", Effect: corev1.TaintEffectNoSchedule}
		_, err := nodes.Create(ctx, node(fmt.Sprintf("kwok-node-%d", i), kwokNode, taint), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating kwok's node %d: %w", i, err)
		}
	}

	return nil
}

// kindNodes returns the nodes of kind: the control plane and its workers.
func kindNodes() []*corev1.Node {
	controlPlane := corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
	nodes := []*corev1.Node{node("integration-control-plane", machine, controlPlane)}
	for i := range workers {
		name := "integration-worker"
		if i > 0 {
			name = fmt.Sprintf("%s%d", name, i+1)
		}
		nodes = append(nodes, node(name, machine))
	}

	return nodes
}

// node describes a ready node.
func node(name string, capacity corev1.ResourceList, taints ...corev1.Taint) *corev1.Node {
	capacity = capacity.DeepCopy()
	capacity[corev1.ResourcePods] = resource.MustParse("110")
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}

	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Spec: corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Conditions:  []corev1.NodeCondition{ready},
		},
	}
}

// connect creates the pod of kind's network on a node. The suites count its cpu as used.
func connect(ctx context.Context, cp *controlplane.ControlPlane, node string) error {
	container := corev1.Container{
		Name:      "kindnet-cni",
		Image:     "kindnetd",
		Resources: corev1.ResourceRequirements{Requests: network, Limits: network},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kindnet-" + node},
		Spec: corev1.PodSpec{
			NodeName:    node,
			Containers:  []corev1.Container{container},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}

	_, err := cp.Kube.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// startKubeScheduler runs kube-scheduler with its default profile until ctx ends.
func startKubeScheduler(ctx context.Context, cp *controlplane.ControlPlane) error {
	factory := scheduler.NewInformerFactory(cp.Kube, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: cp.Kube.EventsV1()})
	instance, err := scheduler.New(ctx, cp.Kube, factory, nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		return fmt.Errorf("creating kube-scheduler: %w", err)
	}

	broadcaster.StartRecordingToSink(ctx.Done())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	err = instance.WaitForHandlersSync(ctx)
	if err != nil {
		return fmt.Errorf("starting kube-scheduler: %w", err)
	}

	go instance.Run(ctx)
	return nil
}
