package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capacity-card/capacity-card/plugin/store"
)

// ErrNoUsage is about a ConfigMap that does not exist: the scheduler has saved nothing yet.
var ErrNoUsage = errors.New("does not exist")

// UsageIn reads the usage of queues from the ConfigMap of a name among the objects that were read. Sessions
// that begin with it are at the time at which the objects were.
func (o *Objects) UsageIn(name types.NamespacedName) (*store.Stored, error) {
	get := func(part string) (*v1.ConfigMap, error) {
		for _, c := range o.Usage {
			if c.Namespace == name.Namespace && c.Name == part {
				return c, nil
			}
		}
		return nil, fmt.Errorf("%s %w in the input", part, ErrNoUsage)
	}
	stored, err := readUsage(name, get)
	if err == nil {
		stored.Now = o.latest(stored.Saved)
	}
	return stored, err
}

// ReadUsage reads the usage of queues from the ConfigMap of a name, and its parts, in a live cluster.
func ReadUsage(ctx context.Context, config *rest.Config, name types.NamespacedName) (*store.Stored, error) {
	kube, _, err := clientsOf(config)
	if err != nil {
		return nil, err
	}
	return readUsage(name, configMapsOf(ctx, kube, config.Host, name.Namespace))
}

// configMapsOf gets ConfigMaps of a namespace by their names.
func configMapsOf(ctx context.Context, kube kubernetes.Interface, host, namespace string) func(string) (*v1.ConfigMap, error) {
	return func(name string) (*v1.ConfigMap, error) {
		c, err := kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			return c, nil
		case apierrors.IsNotFound(err):
			return nil, ErrNoUsage
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("no permission to get it in %s", host)
		}
		return nil, list{kind: "configmaps"}.explain(err, host)
	}
}

func readUsage(name types.NamespacedName, get func(string) (*v1.ConfigMap, error)) (*store.Stored, error) {
	first, err := get(name.Name)
	if err != nil {
		return nil, err
	}
	return store.Read(first, get)
}

// WriteUsage replaces the ConfigMaps of a usage in a live cluster, the first one last, if it was not changed since it
// was read. With dry, the API server checks it and writes nothing.
func WriteUsage(ctx context.Context, config *rest.Config, all []*v1.ConfigMap, dry bool) error {
	kube, _, err := clientsOf(config)
	if err != nil {
		return err
	}
	o := metav1.UpdateOptions{}
	if dry {
		o.DryRun = []string{metav1.DryRunAll}
	}
	for _, c := range slices.Backward(all) {
		_, err := kube.CoreV1().ConfigMaps(c.Namespace).Update(ctx, c, o)
		switch {
		case apierrors.IsNotFound(err) && c != all[0]: // the usage was smaller before
			_, err = kube.CoreV1().ConfigMaps(c.Namespace).Create(ctx, c, metav1.CreateOptions{DryRun: o.DryRun})
		case apierrors.IsForbidden(err):
			err = fmt.Errorf("no permission to update ConfigMap %s/%s of %s", c.Namespace, c.Name, config.Host)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// latest returns the latest time in the objects, for a dump the time at which it was taken. It is not before
// after, and not in the future.
func (o *Objects) latest(after time.Time) time.Time {
	latest, now := after, time.Now()
	note := func(times ...metav1.Time) {
		for _, t := range times {
			if t.After(latest) && !t.After(now) {
				latest = t.Time
			}
		}
	}
	for _, pod := range o.Pods {
		note(pod.CreationTimestamp)
		if pod.Status.StartTime != nil {
			note(*pod.Status.StartTime)
		}
		for _, c := range pod.Status.Conditions {
			note(c.LastTransitionTime)
		}
	}
	for _, g := range o.PodGroups {
		note(g.CreationTimestamp)
		for _, c := range g.Status.Conditions {
			note(c.LastTransitionTime)
		}
	}
	for _, node := range o.Nodes {
		for _, c := range node.Status.Conditions {
			note(c.LastHeartbeatTime, c.LastTransitionTime)
		}
	}
	return latest
}

// usageReading is the last reading of the usage of queues.
type usageReading struct {
	name   types.NamespacedName
	stored *store.Stored
}

// Usage reads the usage of queues from the ConfigMap of a name. While the API server does not answer, the
// usage of the time before counts.
func (l *Live) Usage(ctx context.Context, name types.NamespacedName) (*store.Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, configMapPatience)
	defer cancel()
	stored, err := readUsage(name, configMapsOf(ctx, l.kube, l.host, name.Namespace))
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, errAway) && l.usage.stored != nil && l.usage.name == name {
		return l.usage.stored, nil
	}
	l.usage = usageReading{name, stored}
	return stored, err
}
