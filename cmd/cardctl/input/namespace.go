package input

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// forbidden is the error for a kind that every decision needs, and that the user may not list in all namespaces.
type forbidden struct{ kind, text string }

func (f *forbidden) Error() string { return f.text }

// Forbidden returns the kinds that every decision needs, and that the user may not list in all namespaces.
func Forbidden(err error) (kinds []string) {
	all := []error{err}
	if joined, is := err.(interface{ Unwrap() []error }); is {
		all = joined.Unwrap()
	}

	for _, each := range all {
		var f *forbidden
		if errors.As(each, &f) {
			kinds = append(kinds, f.kind)
		}
	}
	return kinds
}

// ViewerRole is the ClusterRole of deploy/cardctl, which has all rights of cardctl.
const ViewerRole = "capacity-card-viewer"

// Namespace has the objects of one namespace.
type Namespace struct {
	PodGroups []*scheduling.PodGroup
	Pods      []*v1.Pod
	Events    []*v1.Event // the newest first
	// Lacks are the kinds that cannot be listed there.
	Lacks []string
}

// mostEvents bounds the events of a namespace. The API server keeps them for an hour.
const mostEvents = 5000

// ReadNamespace lists the objects of a namespace of a live cluster, for users without rights on the cluster. It needs
// the PodGroups.
func ReadNamespace(ctx context.Context, config *rest.Config, name string) (*Namespace, error) {
	kube, volcano, err := clientsOf(config)
	if err != nil {
		return nil, err
	}

	all := &Namespace{}
	podGroups, err := volcano.SchedulingV1beta1().PodGroups(name).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("no permission to list podgroups.scheduling.volcano.sh in namespace %s of %s: "+
			"they have what the scheduler says of the jobs", name, config.Host)
	}
	if err != nil {
		return nil, list{kind: "podgroups.scheduling.volcano.sh"}.explain(err, config.Host)
	}
	for i := range podGroups.Items {
		all.PodGroups = append(all.PodGroups, &podGroups.Items[i])
	}

	pods, err := kube.CoreV1().Pods(name).List(ctx, metav1.ListOptions{})
	if err := all.lacks("pods", err, config.Host); err != nil {
		return nil, err
	}
	for i := range pods.Items {
		all.Pods = append(all.Pods, &pods.Items[i])
	}

	events, err := kube.CoreV1().Events(name).List(ctx, metav1.ListOptions{Limit: mostEvents})
	if err := all.lacks("events", err, config.Host); err != nil {
		return nil, err
	}
	for i := range events.Items {
		all.Events = append(all.Events, &events.Items[i])
	}
	slices.SortStableFunc(all.Events, func(x, y *v1.Event) int {
		return EventTime(y).Compare(EventTime(x).Time)
	})
	return all, nil
}

// lacks notes a kind that may not be listed, and returns any other error.
func (n *Namespace) lacks(kind string, err error, host string) error {
	if apierrors.IsForbidden(err) {
		n.Lacks = append(n.Lacks, kind)
		return nil
	}
	return list{kind: kind}.explain(err, host)
}

// EventTime returns the time of an event.
func EventTime(e *v1.Event) metav1.Time { return metav1.NewTime(timeOf(e)) }
