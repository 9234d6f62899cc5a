// Package input reads the objects for cardctl from files or from a live cluster. It skips objects that are irrelevant
// to quotas. It reports documents that it cannot decode, and reads the others.
package input

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/plugin/store"
)

// Source is the origin of an object: a file, and the first line of its document. The zero value is a live cluster.
type Source struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// String formats the source as compilers do.
func (s Source) String() string {
	if s.File == "" {
		return "cluster"
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Objects are the objects that were read.
type Objects struct {
	Nodes           []*v1.Node
	Queues          []*scheduling.Queue
	PodGroups       []*scheduling.PodGroup
	Jobs            []*batch.Job
	Pods            []*v1.Pod
	Deployments     []*appsv1.Deployment
	PriorityClasses []*schedulingv1.PriorityClass
	ResourceSlices  []*resourcev1.ResourceSlice
	DeviceClasses   []*resourcev1.DeviceClass
	ResourceClaims  []*resourcev1.ResourceClaim
	ConfigMaps      []*v1.ConfigMap // can have the scheduler's configuration
	Usage           []*v1.ConfigMap // store the usage of queues over time

	Problems []Problem // documents that cannot be decoded
	Unknown  []Problem // unknown and duplicate fields of manifests
	Invalid  []Problem // values of manifests that the API server refuses
	Newer    []Problem // unknown fields of queues of a cluster, which may run a newer release
	Repeated []Problem // objects that were read again; the last one counts
	Replaced []Problem // manifests that replace a workload with its PodGroup and pods
	Warnings []string  // missing objects, and the effect
	Unread   []string  // kinds that cannot be listed, such as podgroups.scheduling.volcano.sh

	complete bool // all objects of a cluster were read: a missing object does not exist

	skipped map[string]int // objects of other kinds, by kind
	sources map[metav1.Object]Source
	known   map[key]metav1.Object

	positions map[metav1.Object]*position // of manifests
}

// Problem is a problem of a document.
type Problem struct {
	Source
	Object  string // kind/name; "" if the document is no object
	Field   string
	Message string
}

// String describes the problem in one line.
func (p Problem) String() string {
	text := p.Source.String() + ": "
	for _, part := range []string{p.Object, p.Field} {
		if part != "" {
			text += part + ": "
		}
	}

	return text + p.Message
}

// key identifies an object.
type key struct {
	kind string
	types.NamespacedName
}

// New returns no objects.
func New() *Objects {
	return &Objects{
		skipped:   map[string]int{},
		sources:   map[metav1.Object]Source{},
		known:     map[key]metav1.Object{},
		positions: map[metav1.Object]*position{},
	}
}

// SourceOf returns where an object was read.
func (o *Objects) SourceOf(object metav1.Object) Source { return o.sources[object] }

// SourceOfField returns where a field of an object was read, such as spec.parent or
// metadata.annotations[volcano.sh/card.quota]. For a field that a manifest does not have, it is the line of the
// innermost object around the field. For an object of a cluster, it is the first line of the object.
func (o *Objects) SourceOfField(object metav1.Object, field string) Source {
	source := o.sources[object]
	if at := o.positions[object]; at != nil && field != "" {
		source.Line = at.line(field)
	}

	return source
}

// Has reports whether a manifest has a field. An object of a cluster has all fields of its kind.
func (o *Objects) Has(object metav1.Object, field string) bool {
	at := o.positions[object]
	if at == nil {
		return true
	}

	key, _, _ := child(at.root(), field)
	return key != nil
}

// Len returns the number of objects without ConfigMaps and skipped objects.
func (o *Objects) Len() int { return len(o.known) - len(o.ConfigMaps) - len(o.Usage) }

// Skipped describes the objects of other kinds, "" for none.
func (o *Objects) Skipped() string {
	var kinds []string
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(o.skipped)) {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, o.skipped[kind]))
		total += o.skipped[kind]
	}

	if total == 0 {
		return ""
	}
	return fmt.Sprintf("skipped %d objects of other kinds: %s", total, strings.Join(kinds, ", "))
}

// add adds an object. It replaces an object of the same name, as kubectl apply does.
func (o *Objects) add(object metav1.Object, source Source) {
	switch x := object.(type) {
	case *v1.Node:
		o.Nodes = put(o, o.Nodes, "Node", x, source)
	case *scheduling.Queue:
		o.Queues = put(o, o.Queues, "Queue", x, source)
	case *scheduling.PodGroup:
		o.PodGroups = put(o, o.PodGroups, "PodGroup", x, source)
	case *batch.Job:
		o.Jobs = put(o, o.Jobs, "Job", x, source)
	case *v1.Pod:
		o.Pods = put(o, o.Pods, "Pod", x, source)
	case *appsv1.Deployment:
		o.Deployments = put(o, o.Deployments, "Deployment", x, source)
	case *schedulingv1.PriorityClass:
		o.PriorityClasses = put(o, o.PriorityClasses, "PriorityClass", x, source)
	case *resourcev1.ResourceSlice:
		o.ResourceSlices = put(o, o.ResourceSlices, "ResourceSlice", x, source)
	case *resourcev1.DeviceClass:
		o.DeviceClasses = put(o, o.DeviceClasses, "DeviceClass", x, source)
	case *resourcev1.ResourceClaim:
		o.ResourceClaims = put(o, o.ResourceClaims, "ResourceClaim", x, source)
	case *v1.ConfigMap:
		same := func(other *v1.ConfigMap) bool { return other.Namespace == x.Namespace && other.Name == x.Name }
		switch {
		case mayConfigure(x):
			o.Usage = slices.DeleteFunc(o.Usage, same)
			o.ConfigMaps = put(o, o.ConfigMaps, "ConfigMap", x, source)
		case store.IsStored(x):
			o.ConfigMaps = slices.DeleteFunc(o.ConfigMaps, same)
			o.Usage = put(o, o.Usage, "ConfigMap", x, source)
		default:
			o.skipped["ConfigMap"]++
		}
	}
}

// clusterKinds are the kinds without a namespace.
var clusterKinds = []string{"Node", "Queue", "PriorityClass", "ResourceSlice", "DeviceClass"}

// put adds an object to the list of its kind.
func put[T interface {
	comparable
	metav1.Object
}](o *Objects, all []T, kind string, object T, source Source) []T {
	if object.GetNamespace() == "" && !slices.Contains(clusterKinds, kind) {
		object.SetNamespace(metav1.NamespaceDefault)
	}

	o.sources[object] = source
	k := key{kind, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
	was, repeated := o.known[k]
	o.known[k] = object
	if !repeated {
		return append(all, object)
	}

	o.Repeated = append(o.Repeated, Problem{source, Named(kind, object), "",
		fmt.Sprintf("was read at %s already; this one counts", o.sources[was])})

	// A ConfigMap can be read first as usage and then as a configuration: then it stands in the other list.
	at := slices.Index(all, was.(T))
	if at < 0 {
		return append(all, object)
	}
	all[at] = object

	return all
}

// Merge adds the objects of others. They replace objects of the same name. A workload also replaces its PodGroup and
// its pods.
func (o *Objects) Merge(others *Objects) {
	for _, object := range others.all() {
		o.add(object, others.sources[object])
	}
	o.replaceWorkloads()

	o.Problems = append(o.Problems, others.Problems...)
	o.Unknown = append(o.Unknown, others.Unknown...)
	o.Invalid = append(o.Invalid, others.Invalid...)
	for kind, n := range others.skipped {
		o.skipped[kind] += n
	}
}

// Shares reports whether there is an object with the kind, namespace and name of an object of others.
func (o *Objects) Shares(others *Objects) bool {
	for k := range others.known {
		if o.known[k] != nil {
			return true
		}
	}

	return false
}

// all returns all objects.
func (o *Objects) all() []metav1.Object {
	return slices.Concat(
		metaOf(o.Nodes), metaOf(o.Queues), metaOf(o.PodGroups), metaOf(o.Jobs), metaOf(o.Pods), metaOf(o.Deployments),
		metaOf(o.PriorityClasses), metaOf(o.ResourceSlices), metaOf(o.DeviceClasses), metaOf(o.ResourceClaims),
		metaOf(o.ConfigMaps), metaOf(o.Usage),
	)
}

func metaOf[T metav1.Object](list []T) (all []metav1.Object) {
	for _, object := range list {
		all = append(all, object)
	}
	return all
}

// Clone returns a deep copy.
func (o *Objects) Clone() *Objects {
	c := New()
	c.complete = o.complete
	for _, object := range o.all() {
		copied := object.(runtime.Object).DeepCopyObject().(metav1.Object)
		c.add(copied, o.sources[object])
		if at := o.positions[object]; at != nil {
			c.positions[copied] = at
		}
	}

	c.Problems = slices.Clone(o.Problems)
	c.Unknown = slices.Clone(o.Unknown)
	c.Newer = slices.Clone(o.Newer)
	c.Invalid = slices.Clone(o.Invalid)
	c.Repeated = slices.Clone(o.Repeated)
	c.Replaced = slices.Clone(o.Replaced)
	c.Warnings = slices.Clone(o.Warnings)
	c.Unread = slices.Clone(o.Unread)
	maps.Copy(c.skipped, o.skipped)

	return c
}
