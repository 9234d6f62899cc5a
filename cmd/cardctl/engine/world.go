// Package engine runs the scheduler on a cluster in memory. It converts objects to the types of Volcano's scheduler and
// opens sessions with the quota plugin. Between two cycles, it does the work of the controllers and the kubelet. The
// scheduler makes all decisions.
package engine

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// DefaultQueue is the queue of jobs that name no queue. Volcano's scheduler creates it.
const DefaultQueue = "default"

// schedulerName is the schedulerName of Volcano's pods.
const schedulerName = "volcano"

// World is a cluster in memory.
type World struct {
	Nodes  []*v1.Node
	Queues []*scheduling.Queue
	Groups []*Group // in the order of their names
	// Devices are the devices of ResourceSlices, and the resource claims of pods.
	Devices offline.DeviceObjects
	// Stray are the pods on nodes that are in no PodGroup.
	Stray []*v1.Pod
	// Orphans counts the pods of PodGroups that are not in the input. No queue is charged for them.
	Orphans int
	// LeftOut are the workloads without pods, because there would be too many pods.
	LeftOut []LeftOut

	classes         map[string]int32
	defaultPriority int32
	made            int // replacements of pods, for their UIDs
}

// Group is a PodGroup with its pods.
type Group struct {
	*api.PodGroup
	// Owner is the object that users create, such as Job/train.
	Owner string
	Pods  []*v1.Pod
	// Coming are the pods that the controller creates when the group is admitted.
	Coming []*v1.Pod
	// Ended is the last phase of the owner, such as Completed; "" if it has not ended.
	Ended string
}

// ID returns the key of the group in a session.
func (g *Group) ID() api.JobID { return api.JobID(g.Namespace + "/" + g.Name) }

// LabelSet returns the labels of the PodGroup and of its first pod. The PodGroup has the labels of its Volcano job.
func (g *Group) LabelSet() labels.Set {
	all := labels.Set(g.Labels)
	if pods := slices.Concat(g.Pods, g.Coming); len(pods) > 0 {
		all = labels.Merge(pods[0].Labels, all)
	}
	return all
}

// Over reports whether the owner of the group has ended and no pod is left to run. The controller deletes such a
// PodGroup, so it is not in sessions.
func (g *Group) Over() bool { return g.Ended != "" && !g.unfinished() }

// Build makes a world of objects. For manifests, it adds defaults, PodGroups and pods, as the API server, Volcano's
// webhook and its controllers do. The caller must not use the objects afterwards.
func Build(o *input.Objects) (*World, error) {
	w := &World{
		Nodes:   o.Nodes,
		Devices: offline.DeviceObjects{Slices: o.ResourceSlices, Classes: o.DeviceClasses, Claims: o.ResourceClaims},
		classes: map[string]int32{},
	}
	for _, class := range o.PriorityClasses {
		w.classes[class.Name] = class.Value
		if class.GlobalDefault {
			w.defaultPriority = class.Value
		}
	}
	for _, node := range w.Nodes {
		corev1.SetDefaults_NodeStatus(&node.Status)
		node.UID = cmp.Or(node.UID, types.UID(node.Name))
	}
	if err := w.addQueues(o.Queues); err != nil {
		return nil, err
	}
	if err := w.addWorkloads(o); err != nil {
		return nil, err
	}

	slices.SortFunc(w.Groups, func(x, y *Group) int { return cmp.Compare(x.ID(), y.ID()) })
	usesDefault := slices.ContainsFunc(w.Groups, func(g *Group) bool { return g.Spec.Queue == DefaultQueue })
	if usesDefault && w.Queue(DefaultQueue) == nil {
		w.Queues = append(w.Queues, newQueue(DefaultQueue))
	}

	return w, nil
}

// addWorkloads adds the groups and the pods of objects.
func (w *World) addWorkloads(o *input.Objects) error {
	b := workloads{
		World:   w,
		groups:  map[types.NamespacedName]*Group{},
		ownedBy: map[types.NamespacedName]*Group{},
		out:     map[metav1.Object]bool{},
	}
	for _, podGroup := range o.PodGroups {
		g, err := w.addGroup(podGroup)
		if err != nil {
			return err
		}
		b.index(g)
	}

	if o.Lacks(input.PodGroups) {
		if err := b.deriveGroups(o.Pods, o.Jobs); err != nil {
			return err
		}
	}
	if err := b.addPods(o.Pods); err != nil {
		return err
	}

	b.leaveOut(o.Deployments, o.Jobs)
	if err := b.addDeployments(o.Deployments); err != nil {
		return err
	}
	return b.addJobs(o.Jobs)
}

func newQueue(name string) *scheduling.Queue {
	return &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       scheduling.QueueSpec{Weight: 1},
		Status:     scheduling.QueueStatus{State: scheduling.QueueStateOpen},
	}
}

// addQueues adds queues. A queue without a state is open, because Volcano's controller opens new queues.
func (w *World) addQueues(queues []*v1beta1.Queue) error {
	for _, given := range queues {
		queue := &scheduling.Queue{}
		if err := scheme.Scheme.Convert(given, queue, nil); err != nil {
			return fmt.Errorf("queue %s: %w", given.Name, err)
		}

		queue.UID = cmp.Or(queue.UID, types.UID(queue.Name))
		queue.Spec.Weight = max(1, queue.Spec.Weight)
		queue.Status.State = cmp.Or(queue.Status.State, scheduling.QueueStateOpen)
		w.Queues = append(w.Queues, queue)
	}

	return nil
}

// Queue returns the queue of a name, nil for none.
func (w *World) Queue(name string) *scheduling.Queue {
	i := slices.IndexFunc(w.Queues, func(q *scheduling.Queue) bool { return q.Name == name })
	if i < 0 {
		return nil
	}
	return w.Queues[i]
}

// Tree returns the tree of the queues. The configuration selects the tree of their annotations, the tree of their
// parents, or flat queues. places is nil without the tree of annotations.
func (w *World) Tree(c *Configuration) (tree *index.Tree, places *index.Places) {
	var nodes []index.Node
	for _, q := range w.Queues {
		nodes = append(nodes, index.Node{Name: q.Name, Parent: q.Spec.Parent})
	}

	if c.Annotated {
		annotations := func(q *scheduling.Queue) map[string]string { return q.Annotations }
		places = intake.Places(slices.Clone(w.Queues), annotations)
		nodes = places.Nodes
	}

	root := index.RootName
	if !c.Hierarchy {
		root = ""
	}
	return index.BuildTree(nodes, root), places
}

// QueueNames returns the names of all queues.
func (w *World) QueueNames() (all []string) {
	for _, q := range w.Queues {
		all = append(all, q.Name)
	}
	return all
}

// NodeNames returns the names of all nodes.
func (w *World) NodeNames() (all []string) {
	for _, n := range w.Nodes {
		all = append(all, n.Name)
	}
	return all
}

// Cards returns the entries of a card annotation in whole cards, without bad entries.
func Cards(annotation string) map[string]float64 {
	all := map[string]float64{}
	entries, _ := card.ParseQuota(annotation)
	for _, e := range entries {
		all[e.Name] = float64(e.Cards)
	}

	return all
}

// addGroup adds a PodGroup with defaults.
func (w *World) addGroup(given *v1beta1.PodGroup) (*Group, error) {
	podGroup := &api.PodGroup{Version: api.PodGroupVersionV1Beta1}
	if err := scheme.Scheme.Convert(given, &podGroup.PodGroup, nil); err != nil {
		return nil, fmt.Errorf("podgroup %s/%s: %w", given.Namespace, given.Name, err)
	}

	if podGroup.Annotations == nil {
		podGroup.Annotations = map[string]string{}
	}
	podGroup.UID = cmp.Or(podGroup.UID, types.UID(podGroup.Namespace+"/"+podGroup.Name))
	podGroup.Spec.Queue = cmp.Or(podGroup.Spec.Queue, DefaultQueue)
	podGroup.Status.Phase = cmp.Or(podGroup.Status.Phase, scheduling.PodGroupPending)

	g := &Group{PodGroup: podGroup, Owner: "PodGroup/" + podGroup.Name}
	if len(given.OwnerReferences) > 0 {
		g.Owner = given.OwnerReferences[0].Kind + "/" + given.OwnerReferences[0].Name
	}
	w.Groups = append(w.Groups, g)

	return g, nil
}

// priority returns the value of a priority class. Admission writes it into pods.
func (w *World) priority(class string) int32 {
	if value, ok := w.classes[class]; ok {
		return value
	}
	return w.defaultPriority
}

// admit completes a pod as the API server does.
func (w *World) admit(pod *v1.Pod) {
	corev1.SetDefaults_Pod(pod)
	pod.Namespace = cmp.Or(pod.Namespace, metav1.NamespaceDefault)
	pod.UID = cmp.Or(pod.UID, types.UID(pod.Namespace+"/"+pod.Name))
	pod.Status.Phase = cmp.Or(pod.Status.Phase, v1.PodPending)
	if pod.Spec.Priority == nil && len(w.classes) > 0 {
		pod.Spec.Priority = ptr.To(w.priority(pod.Spec.PriorityClassName))
	}

	// Quotas do not depend on volumes, and their claims are not in the input.
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}

// info returns the input of a session. It copies everything that a session changes.
func (w *World) info() *api.ClusterInfo {
	info := offline.NewInfo()
	for _, node := range w.Nodes {
		offline.AddNode(info, node)
	}
	for _, queue := range w.Queues {
		info.Queues[api.QueueID(queue.Name)] = api.NewQueueInfo(queue)
	}
	for _, g := range w.Groups {
		if !g.Over() {
			offline.AddJob(info, g.ID(), g.PodGroup, w.priority(g.Spec.PriorityClassName), g.Pods)
		}
	}
	for _, pod := range w.Stray {
		offline.Occupy(info, offline.NewTask(pod))
	}

	return info
}
