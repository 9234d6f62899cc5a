package plugin

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// badAnnotation is the reason of events about a queue's annotations.
const badAnnotation = "BadCardAnnotation"

// queueEvents records events on queues. Volcano's session records on PodGroups
// alone, so this is a recorder of our own.
type queueEvents struct {
	client      kubernetes.Interface
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// of returns a recorder that writes through client.
func (e *queueEvents) of(client kubernetes.Interface) record.EventRecorder {
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
func (o *session) warnQueue(queue *scheduling.Queue, warning string) {
	klog.Warningf("[%s] queue %s: %s", o.name, queue.Name, warning)
	client := o.ssn.KubeClient()
	if client == nil {
		return
	}
	o.events.of(client).Event(&v1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Queue",
		Name: queue.Name, UID: queue.UID, ResourceVersion: queue.ResourceVersion,
	}, v1.EventTypeWarning, badAnnotation, warning)
}
