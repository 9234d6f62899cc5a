package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// termination is the time that a deleted pod takes to end, if pods run commands. The time of the deletion is stored in
// whole seconds, so a pod may end up to a second earlier.
const termination = time.Second

// kubelet simulates the kubelets of all nodes. A bound pod runs, and a deleted pod disappears. A pod ends by itself
// only if pods run commands. Otherwise, see CompletePods.
type kubelet struct {
	kube     kubernetes.Interface
	pods     corelisters.PodLister
	nodes    corelisters.NodeLister
	commands bool
	work     workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// startKubelet watches the pods that are bound to a node.
func (cp *ControlPlane) startKubelet(ctx context.Context) error {
	bound := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(cp.Kube, 0, informers.WithTweakListOptions(bound))
	informer := factory.Core().V1().Pods()
	all := informers.NewSharedInformerFactory(cp.Kube, 0)
	nodes := all.Core().V1().Nodes()

	k := &kubelet{
		kube:     cp.Kube,
		pods:     informer.Lister(),
		nodes:    nodes.Lister(),
		commands: cp.commands,
		work:     workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	add := func(object any) { k.work.Add(cache.MetaObjectToName(object.(*corev1.Pod))) }
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	})
	if err != nil {
		return err
	}

	running, cancel := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	cp.atStop(func() {
		cancel()
		k.work.ShutDown()
		workers.Wait()
		factory.Shutdown()
		all.Shutdown()
	})

	synced := []cache.InformerSynced{informer.Informer().HasSynced, nodes.Informer().HasSynced}
	factory.Start(running.Done())
	all.Start(running.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("waiting for the pods and nodes: %w", ctx.Err())
	}

	for range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for k.next(running) {
			}
		}()
	}

	return nil
}

// next brings one pod up to date and reports whether there is more to do.
func (k *kubelet) next(ctx context.Context) bool {
	name, shutdown := k.work.Get()
	if shutdown {
		return false
	}

	defer k.work.Done(name)

	err := k.sync(ctx, name)
	if err != nil {
		k.work.AddRateLimited(name)
	} else {
		k.work.Forget(name)
	}

	return true
}

// sync brings a pod to its next state.
func (k *kubelet) sync(ctx context.Context, name cache.ObjectName) error {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}

	switch {
	case pod.DeletionTimestamp != nil:
		return k.terminate(ctx, name, pod)
	case k.commands && !k.hasNode(pod):
		return nil
	case pod.Status.Phase == corev1.PodPending:
		return k.start(ctx, pod)
	case k.commands && pod.Status.Phase == corev1.PodRunning && pod.Status.StartTime != nil:
		return k.follow(ctx, name, pod)
	}

	return nil
}

// terminate removes a deleted pod when its time is over.
func (k *kubelet) terminate(ctx context.Context, name cache.ObjectName, pod *corev1.Pod) error {
	left := k.terminating(pod)
	if left > 0 {
		k.work.AddAfter(name, left)
		return nil
	}

	err := k.kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone already, or a new pod has its name
	}

	return err
}

// start sets a bound pod Running.
func (k *kubelet) start(ctx context.Context, pod *corev1.Pod) error {
	started := metav1.Now()
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}

	return patchStatus(ctx, k.kube, pod, corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &started,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
		},
		ContainerStatuses: containers(pod, true, state),
	})
}

// hasNode reports whether the node of the pod exists. Otherwise no kubelet runs the pod.
func (k *kubelet) hasNode(pod *corev1.Pod) bool {
	_, err := k.nodes.Get(pod.Spec.NodeName)
	return err == nil
}

// terminating returns how long a deleted pod still takes to end.
func (k *kubelet) terminating(pod *corev1.Pod) time.Duration {
	if !k.commands || pod.Status.Phase != corev1.PodRunning || pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return time.Until(pod.DeletionTimestamp.Add(min(grace, termination) - grace))
}

// follow ends a running pod when its containers have ended. The start is stored in whole seconds, so each pod gets an
// additional second.
func (k *kubelet) follow(ctx context.Context, name cache.ObjectName, pod *corev1.Pod) error {
	r := runOfPod(pod)
	if r.forever {
		return nil
	}
	if left := time.Until(pod.Status.StartTime.Add(r.after + time.Second)); left > 0 {
		k.work.AddAfter(name, left)
		return nil
	}

	return complete(ctx, k.kube, pod, r.status)
}

// CompletePods ends the running pods that the label selector matches as their containers' success would end them, and
// returns how many there were.
func (cp *ControlPlane) CompletePods(ctx context.Context, namespace, selector string) (int, error) {
	pods, err := cp.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: selector,
		FieldSelector: fields.OneTermEqualSelector("status.phase", string(corev1.PodRunning)).String(),
	})
	if err != nil {
		return 0, fmt.Errorf("listing the pods to complete: %w", err)
	}

	for i := range pods.Items {
		pod := &pods.Items[i]
		err := complete(ctx, cp.Kube, pod, 0)
		if err != nil {
			return i, fmt.Errorf("completing pod %s/%s: %w", namespace, pod.Name, err)
		}
	}

	return len(pods.Items), nil
}

// complete ends a pod. All its containers exit with a status.
func complete(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod, status int32) error {
	finished := metav1.Now()
	phase, reason := corev1.PodSucceeded, "Completed"
	if status != 0 {
		phase, reason = corev1.PodFailed, "Error"
	}

	return patchStatus(ctx, kube, pod, corev1.PodStatus{
		Phase: phase,
		Conditions: []corev1.PodCondition{
			{
				Type:               corev1.PodReady,
				Status:             corev1.ConditionFalse,
				Reason:             "Pod" + reason,
				LastTransitionTime: finished,
			},
		},
		ContainerStatuses: containers(pod, false, corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: status, Reason: reason, FinishedAt: finished},
		}),
	})
}

// containers returns the statuses of a pod's containers, all in one state.
func containers(pod *corev1.Pod, ready bool, state corev1.ContainerState) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Spec.Containers {
		statuses = append(statuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Started: &ready, Ready: ready, State: state,
		})
	}

	return statuses
}

// patchStatus merges status into the pod's status. It ignores a pod that is gone.
func patchStatus(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   status,
	})
	if err != nil {
		return err
	}

	pods := kube.CoreV1().Pods(pod.Namespace)
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}

	return err
}
