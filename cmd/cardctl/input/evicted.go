package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index/card"
)

// Evicted is a pod that the scheduler evicted.
type Evicted struct {
	Time      time.Time `json:"time"`
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	PodGroup  string    `json:"podGroup,omitempty"`
	Node      string    `json:"node,omitempty"`
	Card      string    `json:"card,omitempty"` // the card, or list of cards, of the pod
	Why       string    `json:"why"`
	// FromEvent: the eviction was before Follow and is known from an event. An event has no PodGroup and no card, and
	// not always the node.
	FromEvent bool `json:"fromEvent,omitempty"`

	uid types.UID // of the pod
}

// mostEvicted bounds the kept evictions.
const mostEvicted = 200

// evict is the reason of the condition and of the event of an eviction. Volcano writes them before it evicts the pod.
const evict = "Evict"

// noteEvicted keeps a pod with the condition of an eviction.
func (l *Live) noteEvicted(object any) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}

	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady && c.Reason == evict {
			l.keep(Evicted{
				Time:      c.LastTransitionTime.Time,
				Namespace: pod.Namespace,
				Pod:       pod.Name,
				PodGroup:  pod.Annotations[scheduling.KubeGroupNameAnnotationKey],
				Node:      pod.Spec.NodeName,
				Card:      card.NameOf(pod.Annotations).String(),
				Why:       c.Message,
				uid:       pod.UID,
			})
			return
		}
	}
}

// keep keeps evictions, each pod once. The condition of the pod replaces an event.
func (l *Live) keep(all ...Evicted) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, e := range all {
		i := slices.IndexFunc(l.evicted, func(other Evicted) bool {
			return e.uid == other.uid && e.Namespace == other.Namespace && e.Pod == other.Pod
		})
		if i < 0 {
			l.evicted = append(l.evicted, e)
		} else if !e.FromEvent {
			l.evicted[i] = e
		}
	}

	slices.SortStableFunc(l.evicted, func(a, b Evicted) int { return a.Time.Compare(b.Time) })
	l.evicted = l.evicted[max(0, len(l.evicted)-mostEvicted):]
}

// Evicted returns the pods that the scheduler evicted since Follow, and the pods that ReadPast found, the last ones
// first. lacks is why earlier pods are missing, "" if they are not missing.
func (l *Live) Evicted() (all []Evicted, lacks string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	all = slices.Clone(l.evicted)
	slices.Reverse(all)

	return all, l.pastLacks
}

// The times between two attempts to read events, and the bounds of one answer.
const (
	pastStep       = 5 * time.Second
	mostPastEvents = 2000
	mostPlacements = 5000
)

// ReadPast reads the evictions before Follow from the events of the API server. It tries until the API server answers
// or ctx is done.
func (l *Live) ReadPast(ctx context.Context) {
	// The only error is the error of ctx.
	_ = wait.PollUntilContextCancel(ctx, pastStep, true, func(context.Context) (bool, error) {
		past, err := l.readPast(ctx)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}

		l.lackPast(err)
		if errors.Is(err, errAway) {
			return false, nil
		}

		l.keep(past...)
		l.signal()
		return true, nil
	})
}

// lackPast notes why earlier evictions are missing.
func (l *Live) lackPast(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.pastLacks = ""
	if err != nil {
		l.pastLacks = "evictions from before the start of this server are not known: " + err.Error()
	}
}

// readPast lists the events of evictions. The events of placements have their nodes.
func (l *Live) readPast(ctx context.Context) (past []Evicted, err error) {
	evictions, err := l.events(ctx, v1.NamespaceAll, evict, mostPastEvents)
	if err != nil {
		return nil, err
	}

	namespaces := map[string]bool{}
	for _, e := range evictions {
		namespaces[e.InvolvedObject.Namespace] = true
	}

	nodes := map[types.UID]string{}
	for namespace := range namespaces {
		placements, err := l.events(ctx, namespace, "Scheduled", mostPlacements)
		if err != nil {
			return nil, err
		}
		for _, e := range placements {
			if i := strings.LastIndex(e.Message, " to "); i >= 0 {
				nodes[e.InvolvedObject.UID] = e.Message[i+len(" to "):]
			}
		}
	}

	for _, e := range evictions {
		past = append(past, Evicted{
			Time:      timeOf(&e),
			Namespace: e.InvolvedObject.Namespace,
			Pod:       e.InvolvedObject.Name,
			Node:      nodes[e.InvolvedObject.UID],
			Why:       e.Message,
			FromEvent: true,
			uid:       e.InvolvedObject.UID,
		})
	}

	return past, nil
}

// events lists events of pods with a reason.
func (l *Live) events(ctx context.Context, namespace, reason string, most int64) ([]v1.Event, error) {
	answer, err := l.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"reason": reason, "involvedObject.kind": "Pod"}.String(),
		Limit:         most,
	})

	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("no permission to list events in all namespaces of %s", l.host)
	case err != nil:
		return nil, list{kind: "events"}.explain(err, l.host)
	}

	return answer.Items, nil
}

// timeOf returns the last time of an event.
func timeOf(e *v1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}

	return e.CreationTimestamp.Time
}
