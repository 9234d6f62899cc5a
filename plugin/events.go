package plugin

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
)

// The reasons of events about a queue's annotations.
const (
	badAnnotation = "BadCardAnnotation"
	badHierarchy  = "BadHierarchyAnnotation"
)

// events is a recorder of our own. Volcano's records on no queues, and it repeats
// its "tasks in gang unschedulable" in every cycle: the client then drops what is
// recorded on a PodGroup beyond 25 events and one per five minutes, a new reason
// as well.
type events struct {
	client      kubernetes.Interface
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// of returns a recorder that writes through client.
func (e *events) of(client kubernetes.Interface) record.EventRecorder {
	if e.client == client {
		return e.recorder
	}
	if e.broadcaster != nil {
		e.broadcaster.Shutdown()
	}
	e.client, e.broadcaster = client, record.NewBroadcaster()
	e.broadcaster.StartRecordingToSink(&corev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	e.recorder = e.broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "volcano"})
	return e.recorder
}

// warnQueue logs a warning about a queue and records it as an event on it.
func (o *session) warnQueue(queue *scheduling.Queue, reason, warning string) {
	klog.Warningf("[%s] queue %s: %s", o.name, queue.Name, warning)
	if client := o.ssn.KubeClient(); client != nil {
		o.events.of(client).Event(reference("Queue", &queue.ObjectMeta), v1.EventTypeWarning, reason, warning)
	}
}

// recordPodGroup records an event on a PodGroup.
func (o *session) recordPodGroup(podGroup *api.PodGroup, kind, reason, message string) {
	if client := o.ssn.KubeClient(); client != nil && podGroup != nil {
		o.events.of(client).Event(reference("PodGroup", &podGroup.ObjectMeta), kind, reason, message)
	} else {
		o.ssn.RecordPodGroupEvent(podGroup, kind, reason, message)
	}
}

func reference(kind string, of *metav1.ObjectMeta) *v1.ObjectReference {
	return &v1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: kind,
		Namespace: of.Namespace, Name: of.Name, UID: of.UID, ResourceVersion: of.ResourceVersion,
	}
}
