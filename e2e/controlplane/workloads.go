package controlplane

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
)

// namespaceResync is the resync period of deleted namespaces, as in kube-controller-manager.
const namespaceResync = 5 * time.Minute

// StartWorkloadControllers runs Kubernetes' own controllers of Deployments and ReplicaSets until ctx ends.
func (cp *ControlPlane) StartWorkloadControllers(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(cp.Kube, 0)
	apps := factory.Apps().V1()
	pods := factory.Core().V1().Pods()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), pods, cp.Kube)
	if err != nil {
		return fmt.Errorf("creating the controller of Deployments: %w", err)
	}

	replicaSets := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), pods, cp.Kube, replicaset.BurstReplicas)
	factory.Start(ctx.Done())
	go deployments.Run(ctx, 2)
	go replicaSets.Run(ctx, 2)
	return nil
}

// construct makes a controller of Kubernetes. The order of the arguments differs between releases of Kubernetes. Some
// have additional arguments: informers of alpha types, which are nil if their feature gate is off.
func construct[C any](constructor any, arguments ...any) (controller C, err error) {
	function := reflect.ValueOf(constructor)
	signature := function.Type()
	in := make([]reflect.Value, signature.NumIn())
	for i := range in {
		in[i] = reflect.Zero(signature.In(i))
		fits := func(a any) bool { return reflect.TypeOf(a).AssignableTo(signature.In(i)) }
		at := slices.IndexFunc(arguments, fits)
		if at >= 0 {
			in[i] = reflect.ValueOf(arguments[at])
			arguments = slices.Delete(arguments, at, at+1)
		}
	}
	if len(arguments) > 0 {
		return controller, fmt.Errorf("%s does not take %T", signature, arguments[0])
	}

	out := function.Call(in)
	err, failed := out[1].Interface().(error)
	if failed {
		return controller, err
	}

	return out[0].Interface().(C), nil
}

// StartClaimController runs Kubernetes' own controller of ResourceClaims until ctx ends. It creates claims from
// templates, and releases the devices of claims after their pods have ended.
func (cp *ControlPlane) StartClaimController(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(cp.Kube, 0)
	resources := factory.Resource().V1()
	claims, err := construct[*resourceclaim.Controller](resourceclaim.NewController, klog.FromContext(ctx),
		resourceclaim.Features{PrioritizedList: true}, cp.Kube, factory.Core().V1().Pods(),
		resources.ResourceClaims(), resources.ResourceClaimTemplates())
	if err != nil {
		return fmt.Errorf("creating the controller of ResourceClaims: %w", err)
	}

	factory.Start(ctx.Done())
	go claims.Run(ctx, 2)
	return nil
}

// StartJobControllers runs Kubernetes' own controllers of Jobs, ReplicationControllers and namespaces until ctx ends.
// The last one empties deleted namespaces.
func (cp *ControlPlane) StartJobControllers(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(cp.Kube, 0)
	pods := factory.Core().V1().Pods()
	jobs, err := construct[*job.Controller](job.NewController, ctx, pods, factory.Batch().V1().Jobs(), cp.Kube)
	if err != nil {
		return fmt.Errorf("creating the controller of Jobs: %w", err)
	}

	objects, err := metadata.NewForConfig(cp.RestConfig)
	if err != nil {
		return err
	}

	replicas := replication.NewReplicationManager(ctx, pods, factory.Core().V1().ReplicationControllers(), cp.Kube,
		replication.BurstReplicas)
	namespaces := namespace.NewNamespaceController(ctx, cp.Kube, objects,
		cp.Kube.Discovery().ServerPreferredNamespacedResources, factory.Core().V1().Namespaces(), namespaceResync,
		corev1.FinalizerKubernetes)
	factory.Start(ctx.Done())
	go jobs.Run(ctx, 2)
	go replicas.Run(ctx, 2)
	go namespaces.Run(ctx, 2)
	return nil
}

// StartPodCollector simulates the collector of pods until ctx ends: it deletes the pods of a node when the node is
// deleted. Kubernetes' own collector waits 40 seconds before it does.
func (cp *ControlPlane) StartPodCollector(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(cp.Kube, 0)
	collect := func(object any) {
		node, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
		if err == nil {
			err = cp.deletePodsOf(ctx, node)
		}
		if err != nil && ctx.Err() == nil {
			klog.Errorf("Deleting the pods of node %s: %v", node, err)
		}
	}

	nodes := factory.Core().V1().Nodes().Informer()
	_, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: collect})
	if err != nil {
		return err
	}

	factory.Start(ctx.Done())
	return nil
}

// deletePodsOf deletes the pods of a node at once.
func (cp *ControlPlane) deletePodsOf(ctx context.Context, node string) error {
	bound := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()}
	pods, err := cp.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, bound)
	if err != nil {
		return err
	}

	var errs []error
	for _, pod := range pods.Items {
		err := cp.Kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64),
			Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// StartDefaultScheduler simulates kube-scheduler until ctx ends. It binds pods with the default scheduler to one node,
// such as the pods of Volcano's own Deployments.
func (cp *ControlPlane) StartDefaultScheduler(ctx context.Context, node string) error {
	unbound := func(options *metav1.ListOptions) {
		waiting := fields.Set{"spec.schedulerName": corev1.DefaultSchedulerName, "spec.nodeName": ""}
		options.FieldSelector = waiting.AsSelector().String()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(cp.Kube, 0, informers.WithTweakListOptions(unbound))
	bind := func(object any) {
		pod := object.(*corev1.Pod)
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}
		err := cp.Kube.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
		if err != nil && ctx.Err() == nil {
			klog.Errorf("Binding pod %s/%s: %v", pod.Namespace, pod.Name, err)
		}
	}

	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: bind})
	if err != nil {
		return err
	}

	factory.Start(ctx.Done())
	return nil
}
