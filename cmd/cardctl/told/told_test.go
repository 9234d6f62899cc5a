package told

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// of returns the only job of a namespace with a PodGroup in a phase, and pods.
func of(t *testing.T, phase scheduling.PodGroupPhase, condition *scheduling.PodGroupCondition, pods ...*v1.Pod) *Job {
	t.Helper()
	g := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "mine", Name: "g"}, Spec: scheduling.PodGroupSpec{MinMember: 2}}
	g.Status.Phase = phase
	if condition != nil {
		g.Status.Conditions = []scheduling.PodGroupCondition{*condition}
	}
	all := Jobs(&input.Namespace{PodGroups: []*scheduling.PodGroup{g}, Pods: pods})
	require.Len(t, all, 1)
	return all[0]
}

func pod(node string, phase v1.PodPhase, message string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{scheduling.KubeGroupNameAnnotationKey: "g"}}}
	p.Spec.NodeName = node
	p.Status.Phase = phase
	if message != "" {
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message}}
	}
	return p
}

func TestJobs(t *testing.T) {
	unschedulable := func(reason, message string) *scheduling.PodGroupCondition {
		return &scheduling.PodGroupCondition{Type: scheduling.PodGroupUnschedulableType, Status: v1.ConditionTrue, Reason: reason, Message: message}
	}
	admitted := &scheduling.PodGroupCondition{Type: scheduling.PodGroupUnschedulableType, Status: v1.ConditionFalse, Reason: "Admitted", Message: "old"}
	runs, waits := pod("n", v1.PodRunning, ""), pod("", v1.PodPending, "of the pod")
	for name, test := range map[string]struct {
		job     *Job
		state   explain.State
		message string
		pods    Pods
	}{
		"not admitted":                {of(t, "", unschedulable("OverQuota", "of the job")), explain.Waiting, "of the job", Pods{0, 2, 0, 0}},
		"not admitted, and has a pod": {of(t, "Pending", unschedulable("OverQuota", "of the job"), waits), explain.Waiting, "of the job", Pods{1, 2, 0, 1}},
		"the pod says more":           {of(t, "Inqueue", unschedulable("NotEnoughResources", "a gang"), waits, runs), explain.Waiting, "of the pod", Pods{2, 2, 1, 1}},
		"only the job says it":        {of(t, "Inqueue", unschedulable("NotEnoughResources", "a gang"), pod("", v1.PodPending, "")), explain.Waiting, "a gang", Pods{1, 2, 0, 1}},
		"admitted":                    {of(t, "Inqueue", admitted), explain.Waiting, "", Pods{0, 2, 0, 0}},
		"it runs":                     {of(t, "Running", unschedulable("NotEnoughResources", "before"), runs, runs), explain.Running, "", Pods{2, 2, 2, 0}},
		"more pods wait":              {of(t, "Running", nil, runs, runs, waits), explain.Waiting, "of the pod", Pods{3, 2, 2, 1}},
		"pods have ended":             {of(t, "Running", nil, runs, runs, pod("n", v1.PodSucceeded, "")), explain.Running, "", Pods{2, 2, 2, 0}},
		"it has ended":                {of(t, "Completed", nil), explain.Finished, "", Pods{0, 2, 0, 0}},
	} {
		assert.Equal(t, test.state, test.job.State, name)
		assert.Equal(t, test.message, test.job.Message, name)
		assert.Equal(t, test.pods, test.job.Pods, name)
		assert.Equal(t, test.message == "", test.job.Told == nil, name)
		assert.Equal(t, "default", test.job.Queue, name)
	}
}

// TestReason reads the annotation of a job that waits.
func TestReason(t *testing.T) {
	for text, want := range map[string]*report.Reason{
		`{"rule": "OverQuota", "queue": "q"}`: {Rule: report.OverQuota, Queue: "q"},
		`{"queue": "q"}`:                      nil,
		`{`:                                   nil,
		"":                                    nil,
	} {
		group := func(phase scheduling.PodGroupPhase) *scheduling.PodGroup {
			annotations := map[string]string{card.ReasonKey: text}
			return &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Annotations: annotations}, Status: scheduling.PodGroupStatus{Phase: phase}}
		}
		jobs := Jobs(&input.Namespace{PodGroups: []*scheduling.PodGroup{group(scheduling.PodGroupPending), group(scheduling.PodGroupCompleted)}})
		assert.Equal(t, want, jobs[0].Reason, text)
		assert.Nil(t, jobs[1].Reason, "a job that has ended")
	}
}

// TestEventsOfAJob keeps the last events, and each message once.
func TestEventsOfAJob(t *testing.T) {
	all := &input.Namespace{PodGroups: []*scheduling.PodGroup{{ObjectMeta: metav1.ObjectMeta{Name: "g"}}}}
	event := func(kind, name, message string) {
		e := &v1.Event{Message: message, LastTimestamp: metav1.NewTime(time.Unix(int64(100-len(all.Events)), 0))}
		e.InvolvedObject.Kind, e.InvolvedObject.Name = kind, name
		all.Events = append(all.Events, e)
	}
	for _, message := range []string{"1", "2", "1", "3", "4", "5", "6"} {
		event("PodGroup", "g", message)
		event("PodGroup", "other", "of another job")
		event("Pod", "other", "of another pod")
	}
	var messages []string
	for _, e := range Jobs(all)[0].Events {
		messages = append(messages, e.Message)
	}
	assert.Equal(t, []string{"1", "2", "3", "4", "5"}, messages)
}
