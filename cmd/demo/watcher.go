package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// watcher mirrors the objects that the demo shows. It never polls: changed holds a token whenever something is new.
type watcher struct {
	*controlplane.Mirror
	changed chan struct{}

	mu sync.Mutex
	// refusals has the scheduler's latest reason for which a queue does not admit a pod group, by the UID of the group.
	refusals map[types.UID]string
	// warnings are the warnings about queues, in order.
	warnings []warning
	// allotments has the values of the annotations of queues, by their UIDs.
	allotments map[types.UID]allotment
	// evicted are all pods that the scheduler has evicted so far, in order.
	evicted []eviction
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
		changed:    make(chan struct{}, 1),
		refusals:   map[types.UID]string{},
		allotments: map[types.UID]allotment{},
		marked:     map[types.UID]bool{},
	}

	var err error
	w.Mirror, err = cp.StartMirror(ctx, cache.ResourceEventHandlerFuncs{
		AddFunc:    w.take,
		UpdateFunc: func(_, object any) { w.take(object) },
		DeleteFunc: func(any) { w.notify() },
	})
	return w, err
}

func (w *watcher) take(object any) {
	switch object := object.(type) {
	case *corev1.Pod:
		w.takePod(object)
	case *corev1.Event:
		w.takeEvent(object)
	case *scheduling.Queue:
		w.takeQueue(object)
	default:
		w.notify()
	}
}

func (w *watcher) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// takeEvent notes why a queue refuses a pod group, and the warnings about a queue. The gang plugin reports in every
// cycle that pods are missing, whatever the cause, so its events are ignored: the quota plugin names the cause.
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

// takePod notes an eviction. The scheduler marks a pod before it deletes it, and the mark arrives here before the pod
// is gone from the mirror.
func (w *watcher) takePod(pod *corev1.Pod) {
	defer w.notify()

	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Reason == corev1.PodReasonPreemptionByScheduler {
			w.mu.Lock()
			defer w.mu.Unlock()

			if !w.marked[pod.UID] {
				w.marked[pod.UID] = true
				w.evicted = append(w.evicted, eviction{pod.Name, evictedBy(pod)})
			}
		}
	}
}

// eviction is an evicted pod, and what has evicted it.
type eviction struct{ pod, by string }

// evictedBy returns what has evicted a pod: the action of the scheduler, or the setting that the plugin enforces.
func evictedBy(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		_, by, found := strings.Cut(condition.Message, "because of ")
		if condition.Type == corev1.PodReady && found {
			return by
		}
	}
	return "the scheduler"
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
	evicted    []eviction
}

// snapshot takes the pods before the queues: a pod that a raised quota admits is never seen under the old one.
func (w *watcher) snapshot() (snapshot, error) {
	var s snapshot
	var errs [5]error
	everything := labels.Everything()
	s.nodes, errs[0] = w.Kube.Core().V1().Nodes().Lister().List(everything)
	s.pods, errs[1] = w.Kube.Core().V1().Pods().Lister().List(everything)
	s.podGroups, errs[2] = w.Volcano.Scheduling().V1beta1().PodGroups().Lister().List(everything)
	s.jobs, errs[3] = w.Volcano.Batch().V1alpha1().Jobs().Lister().List(everything)
	s.queues, errs[4] = w.Volcano.Scheduling().V1beta1().Queues().Lister().List(everything)
	err := errors.Join(errs[:]...)
	if err != nil {
		return s, err
	}

	// The lock covers the fields that the handlers of events write.
	w.mu.Lock()
	defer w.mu.Unlock()
	s.allotments = maps.Clone(w.allotments)
	s.refusals = maps.Clone(w.refusals)
	s.warnings = slices.Clone(w.warnings)
	s.evicted = slices.Clone(w.evicted)
	return s, nil
}
