package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// patience is how long a test waits for an expected state, which takes a second or two on two cores.
const patience = 30 * time.Second

// models has the cards of the nodes of examples/cards: by node, the card that a pod gets for a resource. It is written
// here and not read from the labels, so that the tests do not depend on the code under test.
var models = map[string]map[corev1.ResourceName]string{
	"h200-1": {
		"nvidia.com/gpu":         "NVIDIA-H200",
		"nvidia.com/mig-1g.18gb": "NVIDIA-H200/mig-1g.18gb-mixed",
		"nvidia.com/mig-3g.71gb": "NVIDIA-H200/mig-3g.71gb-mixed",
	},
	"h200-more":  {"nvidia.com/gpu": "NVIDIA-H200"}, // a copy of h200-1 that some tests add
	"h800-1":     {"nvidia.com/gpu": "NVIDIA-H800"},
	"h800-2":     {"nvidia.com/gpu.shared": "NVIDIA-H800/mps-80g*1/2"},
	"rtx4090-1":  {"nvidia.com/gpu": "NVIDIA-GeForce-RTX-4090"},
	"rtx4090d-1": {"nvidia.com/gpu": "NVIDIA-GeForce-RTX-4090-D"},
	"ascend-1":   {"huawei.com/Ascend910": "Ascend-910B"},
	"cpu-1":      {},
	"amd-1":      {"amd.com/gpu": mi300x},
	"l40s-1":     {"nvidia.com/gpu.shared": timeSlice},
	"mlu-1":      {"cambricon.com/mlu": mlu590},
}

// resourceOf is the resource that pods request to get a card.
func resourceOf(card string) corev1.ResourceName {
	for _, model := range models {
		for resource, name := range model {
			if name == card {
				return resource
			}
		}
	}
	return "nvidia.com/gpu"
}

// cardsOf counts the cards that a pod has on its node.
func cardsOf(pod *corev1.Pod) map[string]int {
	cards := map[string]int{}
	for _, container := range pod.Spec.Containers {
		for resource, quantity := range container.Resources.Limits {
			if card := models[pod.Spec.NodeName][resource]; card != "" {
				cards[card] += int(quantity.Value())
			}
		}
	}
	return cards
}

// mirror holds the objects of the API server. changed holds a token whenever something is new.
type mirror struct {
	*controlplane.Mirror
	changed chan struct{}

	mu sync.Mutex
	// quotas is the highest quota of each queue and card since the test began, and using the cards of the pods that are
	// bound, by their queue: no pod may ever be bound above the quota, not even for a moment.
	quotas     map[string]map[string]int
	using      map[types.UID]*corev1.Pod
	violations []string
}

// startMirror returns when the mirror is complete.
func startMirror(ctx context.Context, cp *controlplane.ControlPlane) (*mirror, error) {
	m := &mirror{
		changed: make(chan struct{}, 1),
		quotas:  map[string]map[string]int{},
		using:   map[types.UID]*corev1.Pod{},
	}
	var err error
	m.Mirror, err = cp.StartMirror(ctx, cache.ResourceEventHandlerFuncs{
		AddFunc:    m.take,
		UpdateFunc: func(_, object any) { m.take(object) },
		DeleteFunc: m.drop,
	})
	return m, err
}

func (m *mirror) take(object any) {
	if pod, ok := object.(*corev1.Pod); ok {
		m.takePod(pod)
	}
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

func (m *mirror) drop(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		m.mu.Lock()
		delete(m.using, pod.UID)
		m.mu.Unlock()
		object = nil
	}
	m.take(object)
}

// takePod holds a pod that was just bound against the quota of its queue.
func (m *mirror) takePod(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		delete(m.using, pod.UID)
		return
	}
	if m.using[pod.UID] != nil {
		return
	}
	m.using[pod.UID] = pod
	queue, has := queueOf(pod), map[string]int{}
	for _, other := range m.using {
		if queueOf(other) == queue {
			for card, n := range cardsOf(other) {
				has[card] += n
			}
		}
	}
	for card := range cardsOf(pod) {
		bound, named := m.quotas[queue][card]
		if !named && m.byGroups(queue) {
			continue // tests of groups look at their bounds
		}
		if has[card] > bound {
			m.violations = append(m.violations, fmt.Sprintf("pod %s was bound to %s: queue %s has %d of %s then, its quota is %d",
				pod.Name, pod.Spec.NodeName, queue, has[card], card, m.quotas[queue][card]))
		}
	}
}

// queueOf is the queue that a pod's annotations name.
func queueOf(pod *corev1.Pod) string {
	return cmp.Or(pod.Annotations[batch.QueueNameKey], pod.Annotations[scheduling.QueueNameAnnotationKey])
}

// byGroups reports whether the quota of a queue names groups of cards.
func (m *mirror) byGroups(queue string) bool {
	for name := range m.quotas[queue] {
		if strings.HasPrefix(name, "@") {
			return true
		}
	}
	return false
}

// expectQuota notes the cards that a queue may have from now on. Values that are not numbers of cards give nothing.
func (m *mirror) expectQuota(queue *scheduling.Queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quotas[queue.Name] == nil {
		m.quotas[queue.Name] = map[string]int{}
	}
	values := map[string]any{}
	_ = json.Unmarshal([]byte(queue.Annotations["volcano.sh/card.quota"]), &values)
	for card, value := range values {
		if number, ok := value.(float64); ok && number == float64(int(number)) {
			m.quotas[queue.Name][card] = max(m.quotas[queue.Name][card], int(number))
		}
	}
}

// until waits until differs has nothing to say any more.
func (m *mirror) until(t *testing.T, differs func() string) {
	t.Helper()
	timeout := time.After(patience)
	for {
		difference := differs()
		m.mu.Lock()
		for _, violation := range m.violations {
			t.Error(violation)
		}
		m.violations = nil
		m.mu.Unlock()
		if difference == "" {
			return
		}
		select {
		case <-m.changed:
		case <-timeout:
			t.Fatalf("after %s: %s\n%s", patience, difference, m)
		}
	}
}

// String returns the text to see when a test fails.
func (m *mirror) String() string {
	var s strings.Builder
	for _, pod := range m.pods("") {
		fmt.Fprintf(&s, "pod %s of queue %s: %s on %q: %s\n", pod.Name, queueOf(pod), pod.Status.Phase, pod.Spec.NodeName, scheduled(pod).Message)
	}
	groups, _ := m.Volcano.Scheduling().V1beta1().PodGroups().Lister().List(labels.Everything())
	for _, group := range groups {
		fmt.Fprintf(&s, "pod group %s of queue %s: %s\n", group.Name, group.Spec.Queue, group.Status.Phase)
		for _, event := range m.events(group.UID) {
			fmt.Fprintf(&s, "  %d times %s %s: %s\n", event.Count, event.Type, event.Reason, event.Message)
		}
	}
	return s.String()
}

// pods returns the pods of a Job or Deployment, or all.
func (m *mirror) pods(workload string) []*corev1.Pod {
	all, _ := m.Kube.Core().V1().Pods().Lister().List(labels.Everything())
	all = slices.DeleteFunc(all, func(pod *corev1.Pod) bool {
		return workload != "" && workload != cmp.Or(pod.Labels[batch.JobNameKey], pod.Labels["app"])
	})
	slices.SortFunc(all, func(x, y *corev1.Pod) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// waiting returns the pods of a workload that have no node.
func (m *mirror) waiting(workload string) []*corev1.Pod {
	return slices.DeleteFunc(m.pods(workload), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil
	})
}

// group returns the pod group of a Volcano job, or one of a user's own, nil if there is none yet.
func (m *mirror) group(job string) *scheduling.PodGroup {
	groups, _ := m.Volcano.Scheduling().V1beta1().PodGroups().Lister().List(labels.Everything())
	for _, group := range groups {
		if owner := metav1.GetControllerOf(group); group.Name == job || owner != nil && owner.Name == job {
			return group
		}
	}
	return nil
}

// events returns the events about an object.
func (m *mirror) events(object types.UID) []*corev1.Event {
	all, _ := m.Kube.Core().V1().Events().Lister().List(labels.Everything())
	all = slices.DeleteFunc(all, func(event *corev1.Event) bool { return event.InvolvedObject.UID != object })
	slices.SortFunc(all, func(x, y *corev1.Event) int {
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), strings.Compare(x.Name, y.Name))
	})
	return all
}

// eventsOf counts how often an event about an object was recorded.
func (m *mirror) eventsOf(object types.UID, kind, reason, message string) int {
	count := 0
	for _, event := range m.events(object) {
		if event.Type == kind && event.Reason == reason && event.Message == message {
			count += int(event.Count)
		}
	}
	return count
}

// scheduled is a pod's condition PodScheduled.
func scheduled(pod *corev1.Pod) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// runs waits until a workload runs on these cards, and so many of its pods wait. It counts the cards of the pods on
// their nodes. A pod without cards counts as "".
func (m *mirror) runs(t *testing.T, workload string, want map[string]int, waiting int) {
	t.Helper()
	m.until(t, func() string {
		got, waits := map[string]int{}, 0
		for _, pod := range m.pods(workload) {
			switch {
			case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded:
			case pod.Spec.NodeName == "":
				waits++
			case pod.Status.Phase == corev1.PodRunning:
				cards := cardsOf(pod)
				if len(cards) == 0 {
					cards[""] = 1
				}
				for card, n := range cards {
					got[card] += n
				}
			}
		}
		if fmt.Sprint(got) == fmt.Sprint(want) && waits == waiting {
			return ""
		}
		return fmt.Sprintf("%s should run on %v and %d pods wait, but it runs on %v and %d wait", workload, want, waiting, got, waits)
	})
}

// says waits until each waiting pod of a workload gives this reason, both in its condition and in an event on it.
func (m *mirror) says(t *testing.T, workload, words string) {
	t.Helper()
	m.until(t, func() string {
		pods := m.waiting(workload)
		for _, pod := range pods {
			condition := scheduled(pod)
			if condition.Status != corev1.ConditionFalse || condition.Reason != corev1.PodReasonUnschedulable || condition.Message != words {
				return fmt.Sprintf("the condition of pod %s should say %q, it says %q", pod.Name, words, condition.Message)
			}
			if m.eventsOf(pod.UID, corev1.EventTypeWarning, "FailedScheduling", words) == 0 {
				return fmt.Sprintf("pod %s has no event that says %q", pod.Name, words)
			}
		}
		if len(pods) == 0 {
			return "no pod of " + workload + " waits"
		}
		return ""
	})
}

// notAdmitted returns the message of a pod group's condition that its job is not admitted, "" if it has none.
func notAdmitted(group *scheduling.PodGroup) string {
	for _, condition := range group.Status.Conditions {
		if condition.Type == scheduling.PodGroupUnschedulableType && condition.Status == corev1.ConditionTrue && report.IsRefusal(condition.Reason) {
			return condition.Message
		}
	}
	return ""
}

// refused waits until a Volcano job is kept out of its queue with these words in the condition of its pod group, and in
// events on its pod group and on the job.
func (m *mirror) refused(t *testing.T, job, words string) {
	t.Helper()
	m.until(t, func() string {
		group := m.group(job)
		switch {
		case group == nil:
			return "job " + job + " has no pod group yet"
		case group.Status.Phase != scheduling.PodGroupPending:
			return fmt.Sprintf("the pod group of %s should be Pending, it is %s", job, group.Status.Phase)
		case m.eventsOf(group.UID, corev1.EventTypeWarning, "Unschedulable", words) == 0:
			return fmt.Sprintf("the pod group of %s has no event that says %q", job, words)
		case notAdmitted(group) != words:
			return fmt.Sprintf("the pod group of %s has no condition that says %q, but %v", job, words, group.Status.Conditions)
		}
		if owner := metav1.GetControllerOf(group); owner != nil && m.eventsOf(owner.UID, corev1.EventTypeWarning, "Unschedulable", words) == 0 {
			return fmt.Sprintf("%s %s has no event that says %q", owner.Kind, owner.Name, words)
		}
		return ""
	})
	require.Empty(t, m.pods(job), "a job that is refused has no pods")
}

// insufficient is the reason that a queue has no quota left.
func insufficient(queue, what string, requested, total, capability int) string {
	return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%d>, total would be <%d>, but capability is <%d>",
		queue, what, requested, total, capability)
}
