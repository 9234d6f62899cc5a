package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
)

// The cards of stories.
const (
	h200 = "NVIDIA-H200"
	h800 = "NVIDIA-H800"
)

// story is a history that a test makes up. A change takes a revision and 10 ms.
type story struct {
	t        *testing.T
	records  []history.Record
	revision int64
	now      time.Time
	nodes    map[string]*corev1.Node
	queues   map[string]*scheduling.Queue
	jobs     map[string]*scheduling.PodGroup
	pods     map[string]*corev1.Pod
}

func tell(t *testing.T) *story {
	s := &story{
		t: t, revision: 100, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		nodes: map[string]*corev1.Node{}, queues: map[string]*scheduling.Queue{}, jobs: map[string]*scheduling.PodGroup{}, pods: map[string]*corev1.Pod{},
	}
	s.mark(Configured, "", `{"plugin": "capacity-card"}`)
	return s
}

func (s *story) write(kind history.Type, of string, object any) {
	s.t.Helper()
	s.revision++
	s.now = s.now.Add(10 * time.Millisecond)
	text, err := json.Marshal(object)
	require.NoError(s.t, err)
	s.records = append(s.records, history.Record{Revision: s.revision, Time: s.now, Type: kind, Kind: of, Object: text})
}

func (s *story) mark(what, name, text string) {
	s.records = append(s.records, history.Record{
		Revision: s.revision, Time: s.now, Type: history.Marked, Mark: &history.Mark{What: what, Name: name, Text: text},
	})
}

// pass lets time pass, so that the scheduler knows all that was.
func (s *story) pass() { s.now = s.now.Add(2 * Lag) }

func kindOf(new bool) history.Type {
	if new {
		return history.Added
	}
	return history.Modified
}

// node has a node with so many cards of a model.
func (s *story) node(name, model string, cards int64) {
	s.t.Helper()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": model}}}
	object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	object.Status.Allocatable = corev1.ResourceList{
		"nvidia.com/gpu": *resource.NewQuantity(cards, resource.DecimalSI), corev1.ResourcePods: resource.MustParse("100"),
	}
	s.write(kindOf(s.nodes[name] == nil), "Node", object)
	s.nodes[name] = object
}

// recreateNode deletes a node and creates it again.
func (s *story) recreateNode(name string) {
	s.t.Helper()
	s.write(history.Deleted, "Node", s.nodes[name])
	s.write(history.Added, "Node", s.nodes[name])
	s.pass()
}

// queue has a queue with these annotations: quota=…, deserved=…, guarantee=…, quota.by=…, parent=…, or a
// capability=… of GPUs.
func (s *story) queue(name string, annotations ...string) {
	s.t.Helper()
	object := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	object.Status.State = scheduling.QueueStateOpen
	for _, each := range annotations {
		key, value, _ := strings.Cut(each, "=")
		switch key {
		case "parent":
			object.Spec.Parent = value
		case "capability":
			object.Spec.Capability = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(value)}
		default:
			object.Annotations["volcano.sh/card."+key] = value
		}
	}
	s.write(kindOf(s.queues[name] == nil), "Queue", object)
	s.queues[name] = object
}

func (s *story) job(name, queue string, minimum int32, phase scheduling.PodGroupPhase, conditions ...scheduling.PodGroupCondition) {
	s.t.Helper()
	object := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	object.Spec.Queue, object.Spec.MinMember = queue, minimum
	object.Status.Phase, object.Status.Conditions = phase, conditions
	s.write(kindOf(s.jobs[name] == nil), "PodGroup", object)
	s.jobs[name] = object
}

// submit has a pod of a job wait for cards.
func (s *story) submit(name, job, list string, cards int64) {
	s.t.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Annotations: map[string]string{
		"volcano.sh/card.name": list, scheduling.KubeGroupNameAnnotationKey: job,
	}}}
	requests := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(cards, resource.DecimalSI)}
	object.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: requests, Requests: requests}}}
	object.Status.Phase = corev1.PodPending
	s.pods[name] = object
	s.write(history.Added, "Pod", object)
}

// change changes a pod.
func (s *story) change(name string, how func(*corev1.Pod)) {
	s.t.Helper()
	how(s.pods[name])
	s.write(history.Modified, "Pod", s.pods[name])
}

func (s *story) bind(name, node string) {
	s.t.Helper()
	s.change(name, func(p *corev1.Pod) { p.Spec.NodeName = node })
}

// place submits a pod and binds it.
func (s *story) place(name, job, node string, cards int64) {
	s.t.Helper()
	s.submit(name, job, h200, cards)
	s.bind(name, node)
}

func (s *story) end(name string) {
	s.t.Helper()
	s.change(name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
}

func (s *story) nominate(name, node string) {
	s.t.Helper()
	s.change(name, func(p *corev1.Pod) { p.Status.NominatedNodeName = node })
}

// mark a pod as evicted, as Volcano does before it deletes it.
func (s *story) condemn(name, action string) {
	s.t.Helper()
	s.change(name, func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "Evict", Message: "Pod is evicted, because of " + action},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler},
		}
	})
}

func (s *story) terminate(name string) {
	s.t.Helper()
	s.change(name, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: s.now} })
}

func (s *story) drop(name string) {
	s.t.Helper()
	s.write(history.Deleted, "Pod", s.pods[name])
}

func (s *story) evict(name string) {
	s.t.Helper()
	s.condemn(name, "reclaim")
	s.terminate(name)
}

// says gives a pod the reason that it waits for.
func (s *story) says(name, queue string, requests, total, capability int) {
	s.t.Helper()
	s.saysOf(h200, name, queue, requests, total, capability)
}

// saysOf is says of another card, or of several together.
func (s *story) saysOf(cards, name, queue string, requests, total, capability int) {
	s.t.Helper()
	s.change(name, func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: fmt.Sprintf(
			"Queue <%s> has insufficient <%s> quota: requested <%d>, total would be <%d>, but capability is <%d>", queue, cards, requests, total, capability)}}
	})
}

func (s *story) warn(queue string) {
	s.t.Helper()
	s.write(history.Added, "Event", &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: queue}, Reason: "BadCardAnnotation",
		InvolvedObject: corev1.ObjectReference{Kind: "Queue", Name: queue},
	})
}

func (s *story) metrics(lines ...string) {
	var text strings.Builder
	for _, line := range lines {
		queue, value, _ := strings.Cut(line, "=")
		fmt.Fprintf(&text, "volcano_queue_allocated_scalar_resources{queue_name=%q,resource=%q} %s\n", queue, h200, value)
	}
	s.mark(Metrics, "", text.String())
}

// found has the rules of the findings, in order.
func (s *story) check() *Report {
	s.t.Helper()
	report, err := Run(history.Sorted(s.records))
	require.NoError(s.t, err)
	return report
}
