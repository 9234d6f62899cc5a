package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index/card"
)

func TestCardsString(t *testing.T) {
	require.Equal(t, "-", cards(nil).String())
	require.Equal(t, "-", cards{h200: 0}.String())
	require.Equal(t, "1 Ascend910B, 2 NVIDIA-H200", cards{h200: 2, ascend910: 1, h800: 0}.String())
}

// TestNodesHaveTheCards fails when the labels of the nodes do not make the names that the quotas and jobs use.
func TestNodesHaveTheCards(t *testing.T) {
	v := newView(snapshot{nodes: nodes()})
	require.Equal(t, "8 Ascend910B, 6 NVIDIA-H200, 14 NVIDIA-H200/mig-1g.18gb-mixed, "+
		"4 NVIDIA-H800, 8 NVIDIA-H800/mps-80g*1/4", v.idle.String())
	for _, name := range []string{h200, h800, h200Slice, h800Share, ascend910} {
		require.Contains(t, v.idle, name)
	}
}

// TestLastGoodValueStays is about the quota that the demo holds a queue to while an annotation of it is bad.
func TestLastGoodValueStays(t *testing.T) {
	quota := func(text string) map[string]string { return map[string]string{card.QuotaKey: text} }
	a := allotment{}.read(quota(`{"A": 1, "B": 2}`))
	require.Equal(t, cards{"A": 1, "B": 2}, a.quota)
	a = a.read(quota(`{"A": 3, "B": "two", "C": "new"}`))
	require.Equal(t, cards{"A": 3, "B": 2}, a.quota)
	a = a.read(quota(`{"A": 4`))
	require.Equal(t, cards{"A": 3, "B": 2}, a.quota)
	require.Empty(t, a.read(nil).quota)
}

// story is a snapshot in which llm of train has two cards of h200-1, a pod that waits and one that is done, and a pod
// of serving has a card that it does not name.
func story() snapshot {
	uid := func(job *batch.Job) *batch.Job {
		job.UID = types.UID(job.Name)
		return job
	}
	llm := uid(job{name: "llm", queue: "train", pods: 4, minimum: 1, count: 1, resource: gpu, card: h200}.object())
	untyped := uid(job{name: "untyped", queue: "serving", pods: 1, minimum: 1, count: 2, resource: gpu}.object())
	pod := func(job *batch.Job, node string, phase corev1.PodPhase) *corev1.Pod {
		pod := &corev1.Pod{Spec: *job.Spec.Tasks[0].Template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: phase}}
		pod.Labels = map[string]string{batch.JobNameKey: job.Name}
		pod.Annotations = map[string]string{scheduling.KubeGroupNameAnnotationKey: job.Name}
		pod.Spec.NodeName = node
		return pod
	}
	waits := pod(llm, "", corev1.PodPending)
	waits.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no quota",
	}}

	s := snapshot{
		nodes:      nodes(),
		queues:     queues(),
		jobs:       []*batch.Job{llm, untyped},
		allotments: map[types.UID]allotment{},
		podGroups: []*scheduling.PodGroup{{
			ObjectMeta: metav1.ObjectMeta{Name: "llm", OwnerReferences: []metav1.OwnerReference{{UID: "llm"}}},
			Spec:       scheduling.PodGroupSpec{Queue: "train"},
			Status:     scheduling.PodGroupStatus{Phase: scheduling.PodGroupRunning},
		}, {
			ObjectMeta: metav1.ObjectMeta{Name: "untyped", OwnerReferences: []metav1.OwnerReference{{UID: "untyped"}}},
			Spec:       scheduling.PodGroupSpec{Queue: "serving"},
			Status:     scheduling.PodGroupStatus{Phase: scheduling.PodGroupPending},
		}},
		pods: []*corev1.Pod{
			pod(llm, "h200-1", corev1.PodRunning), pod(llm, "h200-1", corev1.PodPending),
			pod(llm, "h200-1", corev1.PodSucceeded), waits,
			pod(untyped, "h800-1", corev1.PodRunning),
		},
	}
	for _, queue := range s.queues {
		queue.UID = types.UID(queue.Name)
		s.allotments[queue.UID] = allotment{}.read(queue.Annotations)
	}
	return s
}

// TestViewRollsUp checks the data of the demo's own verdict. The node of a job names the cards that the job occupies.
// They count for the queue of the job and for every queue above it. A pod without a node or at its end occupies
// nothing.
func TestViewRollsUp(t *testing.T) {
	v := newView(story())

	require.Equal(t, []jobRow{
		{
			name: "llm", queue: "train", stage: running, pods: 4, running: 1, unplaced: 1, succeeded: 1,
			cards: cards{h200: 2}, reason: "no quota",
		},
		{name: "untyped", queue: "serving", stage: waiting, pods: 1, running: 1, cards: cards{h800: 2}},
	}, v.jobs)
	allocated := map[string]string{}
	for _, queue := range v.queues {
		allocated[queue.name] = queue.allocated.String()
	}
	require.Equal(t, map[string]string{
		"climate": "-", "research": "2 NVIDIA-H200", "lab": "-", "train": "2 NVIDIA-H200", "serving": "2 NVIDIA-H800",
	}, allocated)
	require.EqualValues(t, 4, v.idle[h200])
	require.EqualValues(t, 2, v.idle[h800])
}

// TestDeploymentsCount expects the pods of a Deployment to count for the queue of their group.
func TestDeploymentsCount(t *testing.T) {
	s := story()
	served := s.pods[0].DeepCopy()
	served.Labels, served.Annotations = nil, map[string]string{scheduling.KubeGroupNameAnnotationKey: "podgroup-1"}
	s.pods = append(s.pods, served)
	s.podGroups = append(s.podGroups, &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "podgroup-1"}, Spec: scheduling.PodGroupSpec{Queue: "lab"},
	})
	v := newView(s)
	require.EqualValues(t, 3, v.idle[h200])
	for _, queue := range v.queues {
		if queue.name == "lab" {
			require.Equal(t, "1 NVIDIA-H200", queue.allocated.String())
		}
	}
}

// TestExcess checks the quotas that the demo watches. A leaf may have only the cards that its quota names. An inner
// queue may have any card that its quota does not name, and its quota bounds all queues below it together.
func TestExcess(t *testing.T) {
	excess := func(s snapshot) (found []string) {
		for _, queue := range newView(s).queues {
			found = append(found, queue.excess()...)
		}
		return found
	}
	serving := "queue serving had 2 NVIDIA-H800, and its quota is 0"
	s := story()
	require.Equal(t, []string{serving}, excess(s))
	s.allotments["research"] = allotment{quota: cards{h200: 1, h800: 0}}
	require.Equal(t, []string{"queue research had 2 NVIDIA-H200, and its quota is 1", serving}, excess(s))
	s.allotments["research"] = allotment{}
	require.Equal(t, []string{serving}, excess(s))
	s.allotments["train"] = allotment{quota: cards{h200: 1}}
	require.Equal(t, []string{"queue train had 2 NVIDIA-H200, and its quota is 1", serving}, excess(s))
}

// TestOutcomeDiffers checks that each thing an act expects can fail it.
func TestOutcomeDiffers(t *testing.T) {
	before := newView(story())
	after := before
	after.evicted = []eviction{{"llm-worker-0", "reclaim"}}
	after.warnings = []warning{{"serving", "BadCardAnnotation", "not a number"}}
	llm := jobOutcome{name: "llm", stage: running, running: 1, cards: "2 NVIDIA-H200", reason: "no quota"}
	right := outcome{
		jobs:      []jobOutcome{llm},
		allocated: map[string]string{"research": "2 NVIDIA-H200"},
		evictions: 1,
		warnings:  []string{"BadCardAnnotation: not a"},
	}
	require.Empty(t, right.differences(before, after))

	for name, change := range map[string]func(*outcome){
		"stage":     func(o *outcome) { o.jobs[0].stage = inqueue },
		"pods":      func(o *outcome) { o.jobs[0].running = 2 },
		"cards":     func(o *outcome) { o.jobs[0].cards = "2 NVIDIA-H800" },
		"reason":    func(o *outcome) { o.jobs[0].reason = "no nodes" },
		"no reason": func(o *outcome) { o.jobs[0].reason = "" },
		"queue":     func(o *outcome) { o.allocated = map[string]string{"research": "-"} },
		"evictions": func(o *outcome) { o.evictions = 2 },
		"warning":   func(o *outcome) { o.warnings = []string{"another"} },
		"warnings":  func(o *outcome) { o.warnings = nil },
	} {
		wrong := right
		wrong.jobs = []jobOutcome{llm}
		change(&wrong)
		require.Len(t, wrong.differences(before, after), 1, name)
	}
	require.Len(t, right.differences(after, after), 2, "what happened before an act does not count for it")
}

// TestReasonsAreToldOnce: each reason to wait is printed once, at once only if nothing was printed and nothing runs.
func TestReasonsAreToldOnce(t *testing.T) {
	v := newView(story())
	printed := map[string]string{}
	require.Empty(t, waits(v, printed, false))
	told := []line{{"train", "llm", "1 pod waits; the condition of the pod:", "no quota"}}
	require.Equal(t, told, waits(v, printed, true))
	require.Empty(t, waits(v, printed, true))
	v.jobs[0].reason = ""
	require.Empty(t, waits(v, printed, true))
	v.jobs[0].reason, v.jobs[0].cards = "no quota", nil
	require.Len(t, waits(v, printed, false), 1)
	v.jobs[0].reason = "no node"
	require.Empty(t, waits(v, printed, false))
	require.Len(t, waits(v, printed, true), 1)
}

// TestFitsTheTerminal: no line is wider than a terminal.
func TestFitsTheTerminal(t *testing.T) {
	v := newView(story())
	v.jobs[0].reason = strings.Repeat("word ", 100)
	texts := []string{
		introduction, nodeTable(nodes()), queueTable(v), jobTable(v), wrapped(strings.Fields(v.jobs[0].reason), 32),
	}
	for _, act := range acts {
		texts = append(texts, act.title, act.text, act.deeds())
	}
	for _, text := range texts {
		for _, line := range strings.Split(text, "\n") {
			require.LessOrEqual(t, len(line), width, line)
		}
	}
}

// TestEvictionsSayWhy tells the pods that reclaim evicts from those above a quota.
func TestEvictionsSayWhy(t *testing.T) {
	evicted := func(message string) *corev1.Pod {
		ready := corev1.PodCondition{Type: corev1.PodReady, Message: message}
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{ready}}}
	}
	require.Equal(t, "reclaim", evictedBy(evicted("Pod is evicted, because of reclaim")))
	require.Equal(t, "the scheduler", evictedBy(evicted("")))

	all := []eviction{{"llm-worker-0", "reclaim"}, {"llm-worker-1", "enforce-quota"}, {"llm-worker-2", "reclaim"}, {"tune-worker-0", "reclaim"}}
	require.Equal(t, []string{"EVICTED by enforce-quota: llm-worker-1", "EVICTED by reclaim: llm-worker-0, llm-worker-2"}, evictionsOf("llm", all))
	require.Empty(t, evictionsOf("ring", all))
}
