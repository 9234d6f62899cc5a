package input

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
)

// The ConfigMap of the scheduler's configuration in Volcano's chart.
const (
	configurationNamespace = "volcano-system"
	configurationName      = "volcano-scheduler-configmap"
)

// list is one kind of object of a live cluster.
type list struct {
	kind     string // as users write it
	volcano  bool
	optional bool // the result is complete without it
	get      func(context.Context, metav1.ListOptions) (runtime.Object, error)
}

// ReadCluster lists the objects of a live cluster; it writes nothing. The error
// joins one line for each kind that could not be listed.
func ReadCluster(ctx context.Context, config *rest.Config, progress Progress) (*Objects, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100
	volcano, err := vcclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lists := listsOf(kube, volcano)
	results, errs := make([]runtime.Object, len(lists)), make([]error, len(lists))
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i, l := range lists {
		all.Add(1)
		go func() {
			defer all.Done()
			// Version 0 reads the API server's cache: quick, and no older than
			// what the scheduler itself sees.
			results[i], errs[i] = l.get(ctx, metav1.ListOptions{ResourceVersion: "0"})
			errs[i] = l.explain(errs[i], config.Host)
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress("kinds", done, len(lists))
			}
		}()
	}
	all.Wait()
	if err := joinOnce(errs); err != nil {
		return nil, err
	}
	objects := New()
	for _, result := range results {
		if result == nil {
			continue
		}
		err := meta.EachListItem(result, func(each runtime.Object) error {
			objects.add(each.(metav1.Object), Source{})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	configuration, err := kube.CoreV1().ConfigMaps(configurationNamespace).Get(ctx, configurationName, metav1.GetOptions{})
	if err == nil { // otherwise the caller takes the usual configuration
		objects.add(configuration, Source{})
	}
	return objects, nil
}

func listsOf(kube kubernetes.Interface, volcano vcclient.Interface) []list {
	return []list{
		{kind: "nodes", get: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return kube.CoreV1().Nodes().List(ctx, o)
		}},
		{kind: "pods", get: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return kube.CoreV1().Pods(v1.NamespaceAll).List(ctx, o)
		}},
		{kind: "queues.scheduling.volcano.sh", volcano: true, get: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return volcano.SchedulingV1beta1().Queues().List(ctx, o)
		}},
		{kind: "podgroups.scheduling.volcano.sh", volcano: true, get: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return volcano.SchedulingV1beta1().PodGroups(v1.NamespaceAll).List(ctx, o)
		}},
		{kind: "jobs.batch.volcano.sh", volcano: true, get: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return volcano.BatchV1alpha1().Jobs(v1.NamespaceAll).List(ctx, o)
		}},
		{kind: "priorityclasses.scheduling.k8s.io", optional: true, get: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return kube.SchedulingV1().PriorityClasses().List(ctx, o)
		}},
	}
}

// explain returns an error of one line that names the cause and what to do about it.
func (l list) explain(err error, host string) error {
	switch {
	case err == nil, l.optional && apierrors.IsForbidden(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("no permission to list %s in all namespaces of %s: quotas are counted across the cluster", l.kind, host)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster %s does not accept these credentials", host)
	case l.volcano && apierrors.IsNotFound(err):
		return fmt.Errorf("the cluster %s has no %s: is Volcano installed?", host, l.kind)
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return fmt.Errorf("the cluster %s cannot be reached: %s (-f reads files instead)", host, lastPart(err))
	}
	return fmt.Errorf("listing %s: %w", l.kind, err)
}

// lastPart is the innermost of the wrapped errors of a network error.
func lastPart(err error) string {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// joinOnce joins errors that differ.
func joinOnce(errs []error) error {
	seen := map[string]bool{}
	var all []error
	for _, err := range errs {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
