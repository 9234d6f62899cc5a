package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
)

// list is one kind of object of a live cluster.
type list struct {
	kind     string         // as in kubectl, such as jobs.batch.volcano.sh
	optional bool           // the result is complete without it
	purpose  string         // or the effect if an optional kind is missing
	object   runtime.Object // an empty object
	objects  runtime.Object // an empty list
	client   rest.Interface
}

// ReadCluster lists the objects of a live cluster. With configured, this includes the scheduler's Deployment and
// ConfigMap. ReadCluster writes nothing. The error joins one line for each kind that could not be listed.
func ReadCluster(ctx context.Context, config *rest.Config, configured bool, progress Progress) (*Objects, error) {
	kube, volcano, err := clientsOf(config)
	if err != nil {
		return nil, err
	}

	objects := newComplete()
	if err := objects.readLists(ctx, listsOf(kube, volcano, configured), config.Host, progress); err != nil {
		return nil, err
	}
	if configured {
		if err := objects.readConfigMaps(ctx, kube, config.Host); err != nil {
			return nil, err
		}
	}

	return objects, nil
}

// ReadKinds lists the objects of some kinds of a live cluster.
func ReadKinds(ctx context.Context, config *rest.Config, kinds ...Kind) (*Objects, error) {
	kube, volcano, err := clientsOf(config)
	if err != nil {
		return nil, err
	}

	lists := slices.DeleteFunc(listsOf(kube, volcano, false), func(l list) bool {
		return !slices.Contains(kinds, Kind(l.resource().Resource))
	})
	objects := newComplete()
	return objects, objects.readLists(ctx, lists, config.Host, nil)
}

// HasNamespace reports whether a live cluster may have a namespace. Without the permission to look, it may have it.
func HasNamespace(ctx context.Context, config *rest.Config, name string) (bool, error) {
	kube, _, err := clientsOf(config)
	if err != nil {
		return false, err
	}

	_, err = kube.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil, apierrors.IsForbidden(err):
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	}

	return false, list{kind: "namespaces"}.explain(err, config.Host)
}

// newComplete returns an empty set of objects for a cluster.
func newComplete() *Objects {
	objects := New()
	objects.complete = true
	return objects
}

func clientsOf(config *rest.Config) (kubernetes.Interface, vcclient.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = 50
	config.Burst = 100
	volcano, err := vcclient.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}

	// Volcano's CRDs have no protobuf.
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(config)
	return kube, volcano, err
}

// readLists reads all lists at once.
func (o *Objects) readLists(ctx context.Context, lists []list, host string, progress Progress) error {
	results := make([]runtime.Object, len(lists))
	errs := make([]error, len(lists))
	inParallel("kinds", len(lists), 1, len(lists), progress, func(i int) {
		// Version 0 reads the cache of the API server. It is quick, and as new as the cache of the scheduler.
		results[i], errs[i] = lists[i].get(ctx, metav1.ListOptions{ResourceVersion: "0"})
	})

	for i, l := range lists {
		if l.optional && apierrors.IsForbidden(errs[i]) {
			o.Warnings = append(o.Warnings, fmt.Sprintf("no permission to list %s of %s: %s", l.kind, host, l.purpose))
			errs[i] = nil
		}
		errs[i] = l.explain(errs[i], host)
	}
	if err := joinOnce(errs); err != nil {
		return err
	}

	for _, result := range results {
		err := meta.EachListItem(result, func(each runtime.Object) error {
			if !isOther(each) {
				o.add(each.(metav1.Object), Source{})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// readConfigMaps reads the ConfigMaps that the scheduler's Deployments mount. Without such a Deployment, it reads the
// ConfigMap of Volcano's chart.
func (o *Objects) readConfigMaps(ctx context.Context, kube kubernetes.Interface, host string) error {
	names := map[types.NamespacedName]bool{}
	for _, m := range mounts(o.Deployments) {
		if m.configMap != "" {
			names[types.NamespacedName{Namespace: m.deployment.Namespace, Name: m.configMap}] = true
		}
	}
	if len(o.Deployments) == 0 {
		names[types.NamespacedName{Namespace: chartNamespace, Name: chartConfigMap}] = true
	}

	var errs, forbidden []error
	for name := range names {
		configMap, err := kube.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			o.add(configMap, Source{})
		case apierrors.IsNotFound(err): // Configuration reports it
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, fmt.Errorf("no permission to get the ConfigMap %s of %s, "+
				"which has the scheduler's configuration (%s)", name, host, otherwise))
		default:
			errs = append(errs, list{kind: "configmaps"}.explain(err, host))
		}
	}

	// Whoever may create a Deployment in a namespace must not stop cardctl.
	own := func(c *v1.ConfigMap) bool { return c.Namespace == chartNamespace }
	if !slices.ContainsFunc(o.ConfigMaps, own) {
		return joinOnce(append(errs, forbidden...))
	}
	for _, err := range forbidden {
		o.warn("%v", err)
	}
	return joinOnce(errs)
}

// otherwise is the advice for a configuration of the scheduler that cannot be read.
const otherwise = "name it with --scheduler-conf or --plugin"

// isOther reports whether an object is a Deployment that does not run Volcano's scheduler.
func isOther(object any) bool {
	d, ok := object.(*appsv1.Deployment)
	return ok && len(mounts([]*appsv1.Deployment{d})) == 0
}

// resource returns the resource of a kind, with its API group.
func (l list) resource() schema.GroupResource { return schema.ParseGroupResource(l.kind) }

// request returns a request for the objects of all namespaces.
func (l list) request(o metav1.ListOptions) *rest.Request {
	return l.client.Get().Resource(l.resource().Resource).VersionedParams(&o, metav1.ParameterCodec)
}

func (l list) get(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	result := l.objects.DeepCopyObject()
	return result, l.request(o).Do(ctx).Into(result)
}

func (l list) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return l.request(o).Watch(ctx)
}

// listsOf returns the kinds of a cluster. With configured, this includes the Deployments, which name the scheduler's
// configuration.
func listsOf(kube kubernetes.Interface, volcano vcclient.Interface, configured bool) []list {
	all := []list{
		{kind: "nodes", object: &v1.Node{}, objects: &v1.NodeList{}},
		{kind: "pods", object: &v1.Pod{}, objects: &v1.PodList{}},
		{kind: "queues.scheduling.volcano.sh", object: &scheduling.Queue{}, objects: &scheduling.QueueList{}},
		{kind: "podgroups.scheduling.volcano.sh", object: &scheduling.PodGroup{}, objects: &scheduling.PodGroupList{}},
		{kind: "jobs.batch.volcano.sh", object: &batch.Job{}, objects: &batch.JobList{}},
		{
			kind:     "priorityclasses.scheduling.k8s.io",
			object:   &schedulingv1.PriorityClass{},
			objects:  &schedulingv1.PriorityClassList{},
			optional: true,
			purpose:  "every job has the priority 0",
		},
	}
	for _, dra := range []list{
		{kind: "resourceslices", object: &resourcev1.ResourceSlice{}, objects: &resourcev1.ResourceSliceList{}},
		{kind: "deviceclasses", object: &resourcev1.DeviceClass{}, objects: &resourcev1.DeviceClassList{}},
		{kind: "resourceclaims", object: &resourcev1.ResourceClaim{}, objects: &resourcev1.ResourceClaimList{}},
	} {
		dra.kind += ".resource.k8s.io"
		dra.optional = true
		dra.purpose = "cards of resource claims are not counted"
		all = append(all, dra)
	}
	if configured {
		all = append(all, list{
			kind:    "deployments.apps",
			object:  &appsv1.Deployment{},
			objects: &appsv1.DeploymentList{},
			purpose: "the scheduler's Deployment names its configuration (" + otherwise + ")",
		})
	}

	clients := map[string]rest.Interface{
		"":                      kube.CoreV1().RESTClient(),
		"apps":                  kube.AppsV1().RESTClient(),
		"scheduling.k8s.io":     kube.SchedulingV1().RESTClient(),
		"resource.k8s.io":       kube.ResourceV1().RESTClient(),
		"scheduling.volcano.sh": volcano.SchedulingV1beta1().RESTClient(),
		"batch.volcano.sh":      volcano.BatchV1alpha1().RESTClient(),
	}
	for i := range all {
		all[i].client = clients[all[i].resource().Group]
	}

	return all
}

// errAway is the error of an API server that does not answer.
var errAway = errors.New("cannot be reached")

// explain returns an error of one line that names the cause and the remedy.
func (l list) explain(err error, host string) error {
	switch {
	case err == nil:
		return nil
	case l.optional && apierrors.IsNotFound(err): // the cluster does not know the kind
		return nil
	case apierrors.IsForbidden(err):
		verb := "list"
		// The status of the API server has the verb only in its text.
		if strings.Contains(err.Error(), "cannot watch") {
			verb = "watch"
		}
		text := fmt.Sprintf("no permission to %s %s in all namespaces of %s: ", verb, l.kind, host)
		if l.purpose != "" {
			return errors.New(text + l.purpose)
		}
		return &forbidden{l.kind, text + "quotas are counted across the cluster"}
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster %s does not accept these credentials", host)
	case strings.HasSuffix(l.kind, ".volcano.sh") && apierrors.IsNotFound(err):
		return fmt.Errorf("the cluster %s has no %s: is Volcano installed?", host, l.kind)
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return fmt.Errorf("the cluster %s %w: %s (-f reads files instead)", host, errAway, lastPart(err))
	}

	return fmt.Errorf("listing %s: %w", l.kind, err)
}

// lastPart returns the innermost wrapped error of a network error.
func lastPart(err error) string {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}

	return strings.Join(strings.Fields(err.Error()), " ")
}

// joinOnce joins errors without repetitions.
func joinOnce(errs []error) error {
	var all []error
	for _, err := range errs {
		isSame := func(other error) bool { return err.Error() == other.Error() }
		if err != nil && !slices.ContainsFunc(all, isSame) {
			all = append(all, err)
		}
	}

	return errors.Join(all...)
}
