package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestReasonEndsWithTheQuota raises the quota of a job that also lacks a node: the annotation for programs ends, also
// if another scheduler has written it.
func TestReasonEndsWithTheQuota(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 8).
				Queue("q", "", "quota", `{"A":1}`).Queue("other", "", "quota", `{"A":8}`).
				Pods("runs", "other", "A", 8, 1, testbed.On("a")).
				Pods("waits", "q", "A", 1, 2, testbed.InPhase(workload.Inqueue))
			run := testbed.NewSequence(t, s)
			var written map[string]string // annotations of the PodGroup
			cycle := func() map[string]string {
				run.Edit = func(info *api.ClusterInfo) {
					for _, job := range info.Jobs {
						if job.Name == "waits" {
							job.PodGroup.Annotations = written
						}
					}
				}
				f := run.Open(t).Run(t, allocate.New())
				job := f.Job("waits")
				f.Close()
				written = job.PodGroup.Annotations
				return written
			}
			assert.Contains(t, cycle(), card.ReasonKey)
			assert.Contains(t, cycle(), card.ReasonKey)

			s.Annotate("q", card.QuotaKey, `{"A":2}`)
			if restart {
				run = testbed.NewSequence(t, s)
			}
			assert.NotContains(t, cycle(), card.ReasonKey)
		})
	}
}

// TestConditionsOfPodGroups runs cycles of Volcano with gang, from the opening of a
// session to its close. A job that is not admitted has the reason in the condition of
// its PodGroup, whether it has pods or not. The condition ends when it is admitted.
func TestConditionsOfPodGroups(t *testing.T) {
	const text = "Queue <q> has insufficient <A> quota: requested <5>, total would be <5>, but capability is <3>"
	const two = "Queue <q> has insufficient <cpu> quota: requested <2>, total would be <2>, but capability is <1>"
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":3}`).Queue("free", "", "quota", `{"A":3}`).
		Pods("no-pods", "q", "", 0, 0, testbed.CardRequest(`{"A":5}`, workload.Pending)).
		Pods("pods", "q", "", 2, 0).Pods("fits", "free", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending))
	s.Queues[0].Capability = workload.Resources{"cpu": 1000, "memory": 1 << 40}
	for i, cpu := range []int64{100, 2000, 100} {
		s.Jobs[i].MinResources = workload.Resources{"cpu": cpu}
	}
	run := testbed.NewSequence(t, s)
	var before map[string][]scheduling.PodGroupCondition // by job, as the last cycle left it
	reasons := map[string]string{}                       // the same of the annotation for programs
	cycle := func() map[string][]scheduling.PodGroupCondition {
		run.Edit = func(info *api.ClusterInfo) {
			for _, job := range info.Jobs {
				job.PodGroup.Status.Conditions = before[job.Name]
				if reason := reasons[job.Name]; reason != "" {
					metav1.SetMetaDataAnnotation(&job.PodGroup.ObjectMeta, card.ReasonKey, reason)
				}
			}
		}
		f := run.Open(t)
		jobs := f.Jobs
		f.Run(t, enqueue.New(), allocate.New())
		f.Close()
		framework.CloseSession(f.Session)
		before = map[string][]scheduling.PodGroupCondition{}
		for _, job := range jobs {
			before[job.Name] = job.PodGroup.Status.Conditions
			reasons[job.Name] = job.PodGroup.Annotations[card.ReasonKey]
		}
		return before
	}
	got := cycle()
	require.Len(t, got["no-pods"], 1)
	since := got["no-pods"][0].LastTransitionTime
	notAdmitted := []scheduling.PodGroupCondition{{Type: "Unschedulable", Status: v1.ConditionTrue, Reason: "OverQuota",
		LastTransitionTime: since, Message: text}}
	assert.Equal(t, notAdmitted, got["no-pods"])
	assert.Empty(t, got["fits"])
	require.Len(t, got["pods"], 1)
	assert.Equal(t, "NotEnoughResources", got["pods"][0].Reason, "gang sets the condition of a job with pods")
	assert.Contains(t, got["pods"][0].Message, two)
	assert.JSONEq(t, `{"rule": "OverQuota", "queue": "q", "cards": "A", "requested": 5, "shortages": [
		{"queue": "q", "resource": "A", "requested": 5, "total": 5, "bound": 3, "against": "capability"}]}`, reasons["no-pods"])
	assert.JSONEq(t, `{"rule": "OverQuota", "queue": "q", "shortages": [
		{"queue": "q", "resource": "cpu", "requested": 2, "total": 2, "bound": 1, "against": "capability"}]}`, reasons["pods"])
	assert.Empty(t, reasons["fits"])

	assert.Equal(t, notAdmitted, cycle()["no-pods"], "nothing has changed, so Volcano writes nothing")

	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":8}`
	got = cycle()
	require.Len(t, got["no-pods"], 1)
	assert.Equal(t, []any{v1.ConditionFalse, "Admitted", ""}, []any{got["no-pods"][0].Status, got["no-pods"][0].Reason, got["no-pods"][0].Message})
	assert.Empty(t, reasons["no-pods"])
}

// TestEventsOnTheOwner records the reason also on the workload that owns the
// PodGroup, once for each reason.
func TestEventsOnTheOwner(t *testing.T) {
	s := testbed.NewScene().Node("h", "NVIDIA-H200", 8).Queue("q", "", "quota", `{"NVIDIA-H200":3}`).
		Pods("job", "q", "", 0, 0, testbed.CardRequest(`{"NVIDIA-H200":5}`, workload.Pending))
	yes := true
	run := testbed.NewSequence(t, s)
	client, events := testbed.RecordedEvents()
	run.Client = client
	run.Edit = func(info *api.ClusterInfo) {
		for _, job := range info.Jobs {
			job.PodGroup.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "train", UID: "7", Controller: &yes}}
		}
	}
	refuse := func() *offline.Cache {
		f := run.Open(t)
		assert.False(t, f.JobEnqueueable(f.Job("job")))
		return f.Cache
	}
	next := func() []string {
		event := <-events
		on := event.InvolvedObject
		return []string{on.APIVersion, on.Kind, on.Namespace, on.Name, event.Type, event.Reason, event.Message}
	}
	const three = "Queue <q> has insufficient <NVIDIA-H200> quota: requested <5>, total would be <5>, but capability is <3>"
	const four = "Queue <q> has insufficient <NVIDIA-H200> quota: requested <5>, total would be <5>, but capability is <4>"
	refuse()
	onPodGroup := []string{"scheduling.volcano.sh/v1beta1", "PodGroup", "default", "job", "Warning", "Unschedulable", three}
	onJob := []string{"batch.volcano.sh/v1alpha1", "Job", "default", "train", "Warning", "Unschedulable", three}
	assert.Equal(t, onPodGroup, next())
	assert.Equal(t, onJob, next())
	assert.Empty(t, refuse().Events())

	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"NVIDIA-H200":4}`
	refuse()
	onPodGroup[6], onJob[6] = four, four
	assert.Equal(t, onPodGroup, next(), "the same reason is recorded once")
	assert.Equal(t, onJob, next())
}
