package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// watcher mirrors what the demo shows of the cluster. It never polls: changed holds a token whenever something is new.
type watcher struct {
	kube    informers.SharedInformerFactory
	volcano vcinformers.SharedInformerFactory
	changed chan struct{}

	mu sync.Mutex
	// refusals is, by the UID of a pod group, why its queue does not admit it, in the scheduler's latest words.
	refusals map[types.UID]string
	// warnings are those about queues, in order.
	warnings []warning
	// allotments are, by the UID of a queue, what its annotations say.
	allotments map[types.UID]allotment
	// evicted are the names of all pods that the scheduler has evicted so far, in order.
	evicted []string
	// marked are the same pods by UID, as a pod is updated again after its eviction.
	marked map[types.UID]bool
}

// warning is a Warning event on a queue.
type warning struct {
	queue, reason, message string
}

// startWatcher returns when the mirror is complete.
func startWatcher(ctx context.Context, cp *controlplane.ControlPlane) (*watcher, error) {
	w := &watcher{
		kube:       informers.NewSharedInformerFactory(cp.Kube, 0),
		volcano:    vcinformers.NewSharedInformerFactory(cp.Volcano, 0),
		changed:    make(chan struct{}, 1),
		refusals:   map[types.UID]string{},
		allotments: map[types.UID]allotment{},
		marked:     map[types.UID]bool{},
	}
	notify := func(any) { w.notify() }
	plain := cache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, object any) { notify(object) }, DeleteFunc: notify,
	}
	pods := cache.ResourceEventHandlerFuncs{
		AddFunc:    notify,
		UpdateFunc: func(_, object any) { w.takePod(object.(*corev1.Pod)) },
		DeleteFunc: notify,
	}
	events := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.takeEvent(object.(*corev1.Event)) },
		UpdateFunc: func(_, object any) { w.takeEvent(object.(*corev1.Event)) },
	}
	queues := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.takeQueue(object.(*scheduling.Queue)) },
		UpdateFunc: func(_, object any) { w.takeQueue(object.(*scheduling.Queue)) },
		DeleteFunc: notify,
	}
	watched := []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{w.kube.Core().V1().Nodes().Informer(), plain},
		{w.kube.Core().V1().Pods().Informer(), pods},
		{w.kube.Core().V1().Events().Informer(), events},
		{w.volcano.Scheduling().V1beta1().Queues().Informer(), queues},
		{w.volcano.Scheduling().V1beta1().PodGroups().Informer(), plain},
		{w.volcano.Batch().V1alpha1().Jobs().Informer(), plain},
	}
	var synced []cache.InformerSynced
	for _, each := range watched {
		registration, err := each.informer.AddEventHandler(each.handler)
		if err != nil {
			return nil, fmt.Errorf("watching the cluster: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	w.kube.Start(ctx.Done())
	w.volcano.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("watching the cluster: %w", ctx.Err())
	}
	return w, nil
}

func (w *watcher) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// takeEvent notes why a queue refuses a pod group, and what is wrong with a queue. The gang plugin reports in every cycle
// that pods are missing, whatever the cause, so its events are passed over: the quota plugin names the cause.
func (w *watcher) takeEvent(event *corev1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	object := event.InvolvedObject
	switch {
	case object.Kind == "PodGroup" && event.Reason == string(scheduling.PodGroupUnschedulableType) &&
		!strings.Contains(event.Message, "tasks in gang unschedulable"):
		if w.refusals[object.UID] != event.Message {
			w.refusals[object.UID] = event.Message
			w.notify()
		}
	case object.Kind == "Queue" && event.Type == corev1.EventTypeWarning:
		found := warning{queue: object.Name, reason: event.Reason, message: event.Message}
		if !slices.Contains(w.warnings, found) {
			w.warnings = append(w.warnings, found)
			w.notify()
		}
	}
}

// takeQueue reads the annotations of a queue.
func (w *watcher) takeQueue(queue *scheduling.Queue) {
	defer w.notify()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allotments[queue.UID] = w.allotments[queue.UID].read(queue.Annotations)
}

// takePod notes an eviction. The scheduler marks a pod before it deletes it, and the mark arrives here before the pod is
// gone from the mirror.
func (w *watcher) takePod(pod *corev1.Pod) {
	defer w.notify()
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Reason == corev1.PodReasonPreemptionByScheduler {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.marked[pod.UID] {
				w.marked[pod.UID] = true
				w.evicted = append(w.evicted, pod.Name)
			}
		}
	}
}

// snapshot is the cluster at one moment, as far as the demo shows it.
type snapshot struct {
	nodes      []*corev1.Node
	queues     []*scheduling.Queue
	jobs       []*batch.Job
	podGroups  []*scheduling.PodGroup
	pods       []*corev1.Pod
	allotments map[types.UID]allotment
	refusals   map[types.UID]string
	warnings   []warning
	evicted    []string
}

// snapshot takes the pods before the queues: a pod that a raised quota let in is never seen under the old one.
func (w *watcher) snapshot() (snapshot, error) {
	var s snapshot
	var err error
	everything := labels.Everything()
	if s.nodes, err = w.kube.Core().V1().Nodes().Lister().List(everything); err != nil {
		return s, err
	}
	if s.pods, err = w.kube.Core().V1().Pods().Lister().List(everything); err != nil {
		return s, err
	}
	if s.podGroups, err = w.volcano.Scheduling().V1beta1().PodGroups().Lister().List(everything); err != nil {
		return s, err
	}
	if s.jobs, err = w.volcano.Batch().V1alpha1().Jobs().Lister().List(everything); err != nil {
		return s, err
	}
	if s.queues, err = w.volcano.Scheduling().V1beta1().Queues().Lister().List(everything); err != nil {
		return s, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.allotments = maps.Clone(w.allotments)
	s.refusals = maps.Clone(w.refusals)
	s.warnings = slices.Clone(w.warnings)
	s.evicted = slices.Clone(w.evicted)
	return s, nil
}
