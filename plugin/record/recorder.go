// Package record writes events on queues, PodGroups and pods, and warnings in the log. It writes each problem once.
package record

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// EvictionNotice is the reason of events on pods that may be evicted from a time on.
const EvictionNotice = "EvictionNotice"

// NeverEvicted is the reason of events on PodGroups that no budget of evictions has room for.
const NeverEvicted = "NeverEvicted"

// The reasons of events on queues: about their configuration, and what is evicted because of it.
const (
	BadCardAnnotation      = "BadCardAnnotation"
	BadDeviceQuota         = "BadDeviceQuota"
	BadHierarchyAnnotation = "BadHierarchyAnnotation"
	BadPolicyAnnotation    = "BadPolicyAnnotation"
	QuotaEnforced          = "QuotaEnforced" // pods above the bounds of the queue are evicted after a delay
)

// Recorder records events. Volcano's own records none on queues, and it repeats
// "tasks in gang unschedulable" in every cycle: the client then drops events on a
// PodGroup beyond 25 and one per five minutes, a new reason included. The zero
// Recorder is ready.
type Recorder struct {
	client      kubernetes.Interface
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// of returns a recorder that writes through client.
func (r *Recorder) of(client kubernetes.Interface) record.EventRecorder {
	if r.client == client {
		return r.recorder
	}
	if r.broadcaster != nil {
		r.broadcaster.Shutdown()
	}
	r.client, r.broadcaster = client, record.NewBroadcaster()
	r.broadcaster.StartRecordingToSink(&corev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	r.recorder = r.broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "volcano"})
	return r.recorder
}

// The reasons of Normal events on a queue: one of its windows holds from now on, or does not any more.
const (
	WindowBegan = "WindowBegan"
	WindowEnded = "WindowEnded"
)

// WarnQueue logs a warning about a queue and records it as an event.
func (r *Recorder) WarnQueue(ssn *framework.Session, plugin string, queue *scheduling.Queue, reason, warning string) {
	klog.Warningf("[%s] queue %s: %s", plugin, queue.Name, warning)
	r.RecordQueue(ssn, queue, v1.EventTypeWarning, reason, warning)
}

// RecordQueue records an event on a Queue, or on the NamespaceQueue that it stands for (see release.QueueObject).
// Without an API server it records nothing.
func (r *Recorder) RecordQueue(ssn *framework.Session, queue *scheduling.Queue, kind, reason, message string) {
	if client := ssn.KubeClient(); client != nil {
		r.of(client).Event(queueReference(queue), kind, reason, message)
	}
}

// RecordPod records an event on a pod, nothing without an API server.
func (r *Recorder) RecordPod(ssn *framework.Session, pod *v1.Pod, kind, reason, message string) {
	if client := ssn.KubeClient(); client != nil {
		r.of(client).Event(pod, kind, reason, message)
	}
}

// RecordPodGroup records an event on a PodGroup, and on the workload that owns it.
func (r *Recorder) RecordPodGroup(ssn *framework.Session, podGroup *api.PodGroup, event PodGroupEvent) {
	client := ssn.KubeClient()
	if client == nil || podGroup == nil {
		ssn.RecordPodGroupEvent(podGroup, event.Type, event.Reason, event.Message)
		return
	}
	r.of(client).Event(reference("PodGroup", &podGroup.ObjectMeta), event.Type, event.Reason, event.Message)
	if owner := ownerOf(podGroup); owner != nil {
		r.of(client).Event(owner, event.Type, event.Reason, event.Message)
	}
}

// ownerOf returns the Job, ReplicaSet or other controller of a PodGroup, nil if it
// has none. The controller of a lone pod's PodGroup is the pod, on which Volcano
// records the reason.
func ownerOf(podGroup *api.PodGroup) *v1.ObjectReference {
	owner := metav1.GetControllerOfNoCopy(&podGroup.ObjectMeta)
	if owner == nil || owner.Kind == "Pod" {
		return nil
	}
	return &v1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: podGroup.Namespace, Name: owner.Name, UID: owner.UID}
}

// queueReference refers to a Queue, or to the NamespaceQueue that it stands for.
func queueReference(queue *scheduling.Queue) *v1.ObjectReference {
	if queue.Namespace == "" {
		return reference("Queue", &queue.ObjectMeta)
	}
	of := reference("NamespaceQueue", &queue.ObjectMeta)
	of.Name = strings.TrimPrefix(queue.Name, queue.Namespace+"/")
	return of
}

func reference(kind string, of *metav1.ObjectMeta) *v1.ObjectReference {
	return &v1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: kind,
		Namespace: of.Namespace, Name: of.Name, UID: of.UID, ResourceVersion: of.ResourceVersion,
	}
}

// PodGroupEvent is an event on the PodGroup of a job.
type PodGroupEvent struct{ Type, Reason, Message string }

// PromiseEvent is the event of a job whose minimum is not reserved any more.
func PromiseEvent(reason, message string) PodGroupEvent {
	return PodGroupEvent{v1.EventTypeWarning, reason, message}
}
