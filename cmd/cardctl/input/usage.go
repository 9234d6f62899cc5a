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
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/plugin/store"
)

// ErrNoUsage is the error of a ConfigMap that does not exist. The scheduler has saved nothing yet.
var ErrNoUsage = errors.New("does not exist")

// UsageIn reads the usage of queues from a ConfigMap among the objects. Sessions with it are at the time of the
// objects.
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

// ReadUsage reads the usage of queues from a ConfigMap and its parts in a live cluster.
func ReadUsage(ctx context.Context, config *rest.Config, name types.NamespacedName) (*store.Stored, error) {
	kube, _, err := clientsOf(config)
	if err != nil {
		return nil, err
	}
	return readUsage(name, configMapsOf(ctx, kube, config.Host, name.Namespace))
}

// configMapsOf returns a function that gets ConfigMaps of a namespace by their names.
func configMapsOf(
	ctx context.Context, kube kubernetes.Interface, host, namespace string,
) func(string) (*v1.ConfigMap, error) {
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

// WriteUsage replaces the ConfigMaps of a usage in a live cluster, the first one last. It fails if they were changed in
// the meantime. With dry, the API server checks them and writes nothing.
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
		configMaps := kube.CoreV1().ConfigMaps(c.Namespace)
		_, err := configMaps.Update(ctx, c, o)
		switch {
		case apierrors.IsNotFound(err) && c != all[0]: // the usage had fewer parts
			_, err = configMaps.Create(ctx, c, metav1.CreateOptions{DryRun: o.DryRun})
		case apierrors.IsForbidden(err):
			err = fmt.Errorf("no permission to update ConfigMap %s/%s of %s", c.Namespace, c.Name, config.Host)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// latest returns the latest time in the objects that is not in the future, at least after. It is about the time of a
// dump.
func (o *Objects) latest(after time.Time) time.Time {
	latest := after
	now := time.Now()
	note := func(times ...metav1.Time) {
		for _, t := range times {
			if t.After(latest) && !t.After(now) {
				latest = t.Time
			}
		}
	}

	for _, pod := range o.Pods {
		note(pod.CreationTimestamp, ptr.Deref(pod.Status.StartTime, metav1.Time{}))
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

// Usage reads the usage of queues from a ConfigMap. While the API server does not answer, the last reading counts.
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
