package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// gpu is the resource of whole cards.
const gpu = "nvidia.com/gpu"

// sightings has the times at which jobs were submitted and pods were first seen in each state.
type sightings struct {
	mu        sync.Mutex
	submitted map[string]time.Time // by job
	pods      map[types.UID]*sighting
	now       counts
}

// sighting has the times of a pod of a job. An event that was not seen has the zero time.
type sighting struct {
	job, node                      string
	cards                          int
	created, bound, running, ended time.Time
}

// counts are the numbers of pods that were bound and ran so far and that run now, and the number of cards of the bound
// pods that have not ended.
type counts struct{ bound, ran, running, cards int }

func newSightings() *sightings {
	return &sightings{submitted: map[string]time.Time{}, pods: map[types.UID]*sighting{}}
}

func (s *sightings) submit(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.submitted[job] = time.Now()
}

func (s *sightings) counts() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// jobs is the number of jobs that were submitted.
func (s *sightings) jobs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.submitted)
}

func (s *sightings) watch(ctx context.Context, cp *controlplane.ControlPlane) error {
	return watchPods(ctx, cp.Kube, s.see)
}

// watchPods calls see for each change of a pod, and returns when the pods that exist are known.
func watchPods(ctx context.Context, kube kubernetes.Interface, see func(pod *corev1.Pod, deleted bool)) error {
	factory := informers.NewSharedInformerFactory(kube, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { see(object.(*corev1.Pod), false) },
		UpdateFunc: func(_, object any) { see(object.(*corev1.Pod), false) },
		DeleteFunc: func(object any) {
			// The watch can miss a deletion.
			if unseen, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unseen.Obj
			}
			see(object.(*corev1.Pod), true)
		},
	})
	if err != nil {
		return err
	}

	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

// see records the state of a pod, and updates the counts.
func (s *sightings) see(pod *corev1.Pod, deleted bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()

	seen := s.pods[pod.UID]
	if seen == nil {
		seen = &sighting{job: pod.Labels[batch.JobNameKey], cards: cards(pod), created: now}
		s.pods[pod.UID] = seen
	}

	if seen.bound.IsZero() && pod.Spec.NodeName != "" {
		seen.bound = now
		seen.node = pod.Spec.NodeName
		s.now.bound++
		s.now.cards += seen.cards
	}
	if seen.running.IsZero() && pod.Status.Phase == corev1.PodRunning {
		seen.running = now
		s.now.ran++
		s.now.running++
	}

	over := deleted || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if !over || !seen.ended.IsZero() {
		return
	}

	seen.ended = now
	if !seen.bound.IsZero() {
		s.now.cards -= seen.cards
	}
	if !seen.running.IsZero() {
		s.now.running--
	}
}

// cards is the number of whole cards that a pod requests.
func cards(pod *corev1.Pod) (n int) {
	for _, container := range pod.Spec.Containers {
		requested := container.Resources.Requests[gpu]
		n += int(requested.Value())
	}
	return n
}
