package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

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

// kubelet plays the kubelets of all nodes: a pod that is bound runs, a pod that is deleted is gone. A pod ends by itself
// never; see CompletePods.
type kubelet struct {
	kube kubernetes.Interface
	pods corelisters.PodLister
	work workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// startKubelet watches the pods that are bound to a node.
func (cp *ControlPlane) startKubelet(ctx context.Context) error {
	bound := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(cp.Kube, 0, informers.WithTweakListOptions(bound))
	informer := factory.Core().V1().Pods()
	k := &kubelet{
		kube: cp.Kube,
		pods: informer.Lister(),
		work: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
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
	cp.stops = append(cp.stops, func() error {
		cancel()
		k.work.ShutDown()
		workers.Wait()
		factory.Shutdown()
		return nil
	})
	factory.Start(running.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return fmt.Errorf("waiting for the pods: %w", ctx.Err())
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
	if err := k.sync(ctx, name); err != nil {
		k.work.AddRateLimited(name)
		return true
	}
	k.work.Forget(name)
	return true
}

func (k *kubelet) sync(ctx context.Context, name cache.ObjectName) error {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case pod.DeletionTimestamp != nil:
		now := int64(0)
		err := k.kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &now,
			Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // gone already, or a new pod has its name
		}
		return err
	case pod.Status.Phase == corev1.PodPending:
		started := metav1.Now()
		return patchStatus(ctx, k.kube, pod, corev1.PodStatus{
			Phase:     corev1.PodRunning,
			StartTime: &started,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
			},
			ContainerStatuses: containers(pod, true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}),
		})
	}
	return nil
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
		finished := metav1.Now()
		err := patchStatus(ctx, cp.Kube, pod, corev1.PodStatus{
			Phase: corev1.PodSucceeded,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: finished},
			},
			ContainerStatuses: containers(pod, false, corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: finished},
			}),
		})
		if err != nil {
			return i, fmt.Errorf("completing pod %s/%s: %w", namespace, pod.Name, err)
		}
	}
	return len(pods.Items), nil
}

// containers returns the status of a pod whose containers are all in one state.
func containers(pod *corev1.Pod, ready bool, state corev1.ContainerState) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Spec.Containers {
		statuses = append(statuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Started: &ready, Ready: ready, State: state,
		})
	}
	return statuses
}

// patchStatus merges status into the pod's; a pod that is gone needs none.
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
