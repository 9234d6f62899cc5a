package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// examples is the directory with the manifests that users apply.
const examples = "../examples/cards"

// kinds are the kinds of objects that manifests may hold.
var kinds = map[string]func() runtime.Object{
	"v1/Node":                                func() runtime.Object { return &corev1.Node{} },
	"v1/Pod":                                 func() runtime.Object { return &corev1.Pod{} },
	"v1/ConfigMap":                           func() runtime.Object { return &corev1.ConfigMap{} },
	"apps/v1/Deployment":                     func() runtime.Object { return &apps.Deployment{} },
	"autoscaling/v2/HorizontalPodAutoscaler": func() runtime.Object { return &autoscaling.HorizontalPodAutoscaler{} },
	"batch.volcano.sh/v1alpha1/Job":          func() runtime.Object { return &batch.Job{} },
	"scheduling.volcano.sh/v1beta1/PodGroup": func() runtime.Object { return &scheduling.PodGroup{} },
	"scheduling.volcano.sh/v1beta1/Queue":    func() runtime.Object { return &scheduling.Queue{} },
}

// decode reads the objects of a manifest and fails on fields that they do not have.
func decode(manifest []byte) ([]runtime.Object, error) {
	var objects []runtime.Object
	for _, document := range bytes.Split(manifest, []byte("\n---\n")) {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return nil, err
		}
		kind := meta.APIVersion + "/" + meta.Kind
		build, ok := kinds[kind]
		if !ok {
			return nil, fmt.Errorf("an object of kind %s", kind)
		}
		object := build()
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// readExample reads the objects of an example.
func readExample(t *testing.T, file string) []runtime.Object {
	t.Helper()
	objects, err := decode(read(t, filepath.Join(examples, file)))
	require.NoError(t, err, file)
	return objects
}

// example reads the first object of an example, which is of kind T.
func example[T runtime.Object](t *testing.T, file string) T {
	t.Helper()
	object, ok := readExample(t, file)[0].(T)
	require.True(t, ok, file)
	return object
}

// apply creates the objects of examples.
func (c *cluster) apply(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		c.create(t, readExample(t, file)...)
	}
}

// create creates objects of the kinds that live in a cluster, and waits until Volcano has opened those that are queues.
func (c *cluster) create(t *testing.T, objects ...runtime.Object) {
	t.Helper()
	ctx, create := t.Context(), metav1.CreateOptions{}
	var opened []string
	for _, object := range objects {
		var err error
		switch o := object.(type) {
		case *corev1.Node:
			_, err = c.Kube.CoreV1().Nodes().Create(ctx, o, create)
		case *corev1.Pod:
			_, err = c.Kube.CoreV1().Pods(c.namespace).Create(ctx, o, create)
		case *apps.Deployment:
			_, err = c.Kube.AppsV1().Deployments(c.namespace).Create(ctx, o, create)
		case *apps.ReplicaSet:
			_, err = c.Kube.AppsV1().ReplicaSets(c.namespace).Create(ctx, o, create)
		case *autoscaling.HorizontalPodAutoscaler:
			_, err = c.Kube.AutoscalingV2().HorizontalPodAutoscalers(c.namespace).Create(ctx, o, create)
		case *batch.Job:
			_, err = c.Volcano.BatchV1alpha1().Jobs(c.namespace).Create(ctx, o, create)
		case *scheduling.PodGroup:
			_, err = c.Volcano.SchedulingV1beta1().PodGroups(c.namespace).Create(ctx, o, create)
		case *scheduling.Queue:
			c.expectQuota(o)
			_, err = c.Volcano.SchedulingV1beta1().Queues().Create(ctx, o, create)
			opened = append(opened, o.Name)
		default:
			t.Fatalf("no client creates a %T", object)
		}
		require.NoError(t, err, "creating a %T", object)
	}
	for _, name := range opened {
		c.until(t, func() string {
			queue, err := c.mirror.Volcano.Scheduling().V1beta1().Queues().Lister().Get(name)
			if err != nil || queue.Status.State != scheduling.QueueStateOpen {
				return "queue " + name + " is not open yet"
			}
			return ""
		})
	}
}
