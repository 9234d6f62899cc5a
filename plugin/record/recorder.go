// Package record writes events on queues, PodGroups and pods, and warnings in the log. It writes each problem once.
package record

import (
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

// The reasons of events on queues: problems of their configuration, and evictions because of it.
const (
	BadCardAnnotation      = "BadCardAnnotation"
	BadDeviceQuota         = "BadDeviceQuota"
	BadHierarchyAnnotation = "BadHierarchyAnnotation"
	BadPolicyAnnotation    = "BadPolicyAnnotation"
	QuotaEnforced          = "QuotaEnforced" // pods above the bounds of the queue are evicted after a delay
)

// Recorder records events. The zero Recorder is ready.
//
// The recorder of Volcano records no events on queues. It also repeats "tasks in gang unschedulable" in every cycle.
// The client then drops all events on a PodGroup beyond 25 and one per five minutes, even one with a new reason.
type Recorder struct {
	client      kubernetes.Interface
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// writeTo returns a recorder that writes through a client. It is made once for each client.
func (r *Recorder) writeTo(client kubernetes.Interface) record.EventRecorder {
	if r.client == client {
		return r.recorder
	}

	if r.broadcaster != nil {
		r.broadcaster.Shutdown()
	}

	r.client = client
	r.broadcaster = record.NewBroadcaster()
	r.broadcaster.StartRecordingToSink(&corev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	r.recorder = r.broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "volcano"})
	return r.recorder
}

// The reasons of Normal events on a queue: a window of it begins or ends.
const (
	WindowBegan = "WindowBegan"
	WindowEnded = "WindowEnded"
)

// WarnQueue logs a warning about a queue and records it as an event.
func (r *Recorder) WarnQueue(ssn *framework.Session, plugin string, queue *scheduling.Queue, reason, warning string) {
	klog.Warningf("[%s] queue %s: %s", plugin, queue.Name, warning)
	r.RecordQueue(ssn, queue, v1.EventTypeWarning, reason, warning)
}

// RecordQueue records an event on a Queue. Without an API server it records nothing.
func (r *Recorder) RecordQueue(ssn *framework.Session, queue *scheduling.Queue, kind, reason, message string) {
	if client := ssn.KubeClient(); client != nil {
		r.writeTo(client).Event(reference("Queue", &queue.ObjectMeta), kind, reason, message)
	}
}

// RecordPod records an event on a pod. Without an API server it records nothing.
func (r *Recorder) RecordPod(ssn *framework.Session, pod *v1.Pod, kind, reason, message string) {
	if client := ssn.KubeClient(); client != nil {
		r.writeTo(client).Event(pod, kind, reason, message)
	}
}

// RecordPodGroup records an event on a PodGroup, and on the workload that owns it.
func (r *Recorder) RecordPodGroup(ssn *framework.Session, podGroup *api.PodGroup, event PodGroupEvent) {
	client := ssn.KubeClient()
	if client == nil || podGroup == nil {
		// Volcano's own recorder serves sessions without an API server.
		ssn.RecordPodGroupEvent(podGroup, event.Type, event.Reason, event.Message)
		return
	}

	recorder := r.writeTo(client)
	recorder.Event(reference("PodGroup", &podGroup.ObjectMeta), event.Type, event.Reason, event.Message)
	if owner := ownerOf(podGroup); owner != nil {
		recorder.Event(owner, event.Type, event.Reason, event.Message)
	}
}

// ownerOf returns the Job, ReplicaSet or other controller of a PodGroup, nil if it has none. It also returns nil for
// the PodGroup of a single pod: the pod is the controller, and Volcano records the reason on it.
func ownerOf(podGroup *api.PodGroup) *v1.ObjectReference {
	owner := metav1.GetControllerOfNoCopy(&podGroup.ObjectMeta)
	if owner == nil || owner.Kind == "Pod" {
		return nil
	}

	return &v1.ObjectReference{
		APIVersion: owner.APIVersion,
		Kind:       owner.Kind,
		Namespace:  podGroup.Namespace,
		Name:       owner.Name,
		UID:        owner.UID,
	}
}

// reference refers to an object of Volcano.
func reference(kind string, object *metav1.ObjectMeta) *v1.ObjectReference {
	return &v1.ObjectReference{
		APIVersion:      v1beta1.SchemeGroupVersion.String(),
		Kind:            kind,
		Namespace:       object.Namespace,
		Name:            object.Name,
		UID:             object.UID,
		ResourceVersion: object.ResourceVersion,
	}
}

// PodGroupEvent is an event on the PodGroup of a job.
type PodGroupEvent struct{ Type, Reason, Message string }

// PromiseEvent returns the event for a job that loses the reservation of its minimum.
func PromiseEvent(reason, message string) PodGroupEvent {
	return PodGroupEvent{v1.EventTypeWarning, reason, message}
}
