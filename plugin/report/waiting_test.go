package report

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/quota"
)

// pendingJob returns a job of research with a PodGroup that has these conditions.
func pendingJob(name string, conditions ...scheduling.PodGroupCondition) *api.JobInfo {
	j := job(name)
	j.MinAvailable = 1
	j.PodGroup = &api.PodGroup{}
	j.PodGroup.Status.Conditions = conditions
	return j
}

// TestRefusalIsACondition refuses a job, again for another reason, and admits it.
// The condition keeps the time at which the job began to wait.
func TestRefusalIsACondition(t *testing.T) {
	f, j, waiting := newFixture(t), NewJournal(), pendingJob("waiting", scheduling.PodGroupCondition{Type: scheduling.PodGroupScheduled})
	overQuota := quota.Verdict{Reason: quota.OverQuota, Queue: f.q}
	f.refuse(j, waiting, Refusal{Verdict: overQuota, Cards: f.request(h200, 2), Admission: true})
	require.Len(t, waiting.PodGroup.Status.Conditions, 2)
	got := &waiting.PodGroup.Status.Conditions[1]
	since := got.LastTransitionTime
	assert.False(t, since.IsZero())
	want := scheduling.PodGroupCondition{Type: "Unschedulable", Status: v1.ConditionTrue, Reason: "OverQuota",
		LastTransitionTime: since, Message: waiting.JobFitErrors}
	assert.Equal(t, want, *got)
	assert.Contains(t, got.Message, "Queue <research> has insufficient <NVIDIA-H200> quota: requested <2>")
	assert.JSONEq(t, `{"rule": "OverQuota", "queue": "research", "cards": "NVIDIA-H200", "requested": 2, "shortages": [
		{"queue": "research", "resource": "NVIDIA-H200", "requested": 2, "total": 4, "bound": 3, "against": "capability"}]}`,
		waiting.PodGroup.Annotations[card.ReasonKey])

	f.refuse(j, waiting, Refusal{Verdict: overQuota, Cards: f.request(h200, 9), Admission: true})
	want.Message = waiting.JobFitErrors
	assert.Contains(t, want.Message, "requested <9>")
	assert.Equal(t, want, *got)

	j.Admit(waiting)
	assert.Equal(t, []any{v1.ConditionFalse, "Admitted", ""}, []any{got.Status, got.Reason, got.Message})
	assert.Zero(t, j.Len())
	assert.NotContains(t, waiting.PodGroup.Annotations, card.ReasonKey)

	f.refuse(j, waiting, Refusal{Verdict: overQuota, Request: f.vector(2000, 0)})
	assert.Contains(t, waiting.PodGroup.Annotations, card.ReasonKey, "its pods wait")
	jobs := map[api.JobID]*api.JobInfo{waiting.UID: waiting}
	j.Close(jobs)
	assert.Contains(t, waiting.PodGroup.Annotations, card.ReasonKey)

	j.Open(jobs)
	j.Pass(waiting.UID)
	f.refuse(j, waiting, Refusal{Verdict: overQuota, Request: f.vector(2000, 0)})
	j.Close(jobs)
	assert.Contains(t, waiting.PodGroup.Annotations, card.ReasonKey, "another pod is refused")
	j.Open(jobs)
	j.Pass(waiting.UID)
	j.Close(jobs)
	assert.NotContains(t, waiting.PodGroup.Annotations, card.ReasonKey, "it waits for nodes")
	j.Open(jobs)
	f.refuse(j, waiting, Refusal{Verdict: overQuota, Request: f.vector(2000, 0)})
	assert.Contains(t, waiting.PodGroup.Annotations, card.ReasonKey, "the same reason again")

	waiting.TaskStatusIndex[api.Allocated] = api.TasksMap{"pod": {}}
	j.Close(jobs)
	assert.NotContains(t, waiting.PodGroup.Annotations, card.ReasonKey, "it has its minimum")
	delete(waiting.TaskStatusIndex, api.Allocated)
	assert.Equal(t, v1.ConditionFalse, got.Status, "the job is admitted, a pod of it is refused")

	never := pendingJob("never-refused")
	assert.Zero(t, j.Admit(never))
	assert.Empty(t, never.PodGroup.Status.Conditions)
	without := job("without-pod-group")
	assert.True(t, f.refuse(j, without, Refusal{Verdict: overQuota, Request: f.vector(2000, 0), Admission: true}))
	j.Admit(without)
}

// TestRunningJobIsNoLongerRefused refuses the admission of a job before and after its minimum of pods runs. Volcano
// sets its phase Running then, and does not ask about its admission any more.
func TestRunningJobIsNoLongerRefused(t *testing.T) {
	f, j, waiting := newFixture(t), NewJournal(), pendingJob("waiting")
	refusal := Refusal{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: f.q}, Cards: f.request(h200, 2), Admission: true}
	f.refuse(j, waiting, refusal)
	require.Equal(t, v1.ConditionTrue, waiting.PodGroup.Status.Conditions[0].Status)
	waiting.TaskStatusIndex[api.Running] = api.TasksMap{"pod": {}}
	f.refuse(j, waiting, refusal)
	require.Equal(t, v1.ConditionFalse, waiting.PodGroup.Status.Conditions[0].Status)
}

// TestAdmissionIsAReasonOfItsOwn refuses a pod of a job, and then the job, for the
// same request. The second is a new reason.
func TestAdmissionIsAReasonOfItsOwn(t *testing.T) {
	f, j, waiting := newFixture(t), NewJournal(), pendingJob("waiting")
	refusal := Refusal{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: f.q}, Cards: f.request(h200, 2)}
	assert.True(t, f.refuse(j, waiting, refusal))
	refusal.Admission = true
	assert.True(t, f.refuse(j, waiting, refusal))
}

// TestAdmissionWait measures from the first refusal to the admission. The condition of the PodGroup outlasts the
// scheduler. A condition that gang sets does not count.
func TestAdmissionWait(t *testing.T) {
	f := newFixture(t)
	refusal := Refusal{Verdict: quota.Verdict{Reason: quota.ClosedQueue, Queue: f.q}, Admission: true}
	since := metav1.NewTime(time.Now().Add(-time.Hour))
	condition := scheduling.PodGroupCondition{Type: scheduling.PodGroupUnschedulableType, Status: v1.ConditionTrue, LastTransitionTime: since, Reason: string(OverQuota)}
	hour := func(j *Journal, job *api.JobInfo) bool { return j.Admit(job) >= time.Hour }

	assert.True(t, hour(NewJournal(), pendingJob("admitted-at-once-after-a-restart", condition)))
	j, waiting := NewJournal(), pendingJob("refused-again-after-a-restart", condition)
	assert.True(t, f.refuse(j, waiting, refusal))
	assert.Equal(t, since, waiting.PodGroup.Status.Conditions[0].LastTransitionTime)
	assert.True(t, hour(j, waiting))
	assert.False(t, hour(j, waiting), "the wait is over")

	waiting = pendingJob("with-pods", condition)
	f.refuse(j, waiting, refusal)
	waiting.PodGroup.Status.Conditions[0].Reason = scheduling.NotEnoughResourcesReason
	refusal.Verdict.Reason = quota.InnerQueue
	f.refuse(j, waiting, refusal)
	assert.True(t, hour(j, waiting), "gang replaces the condition, and the reason changes")

	condition.Reason = scheduling.NotEnoughResourcesReason
	assert.False(t, hour(NewJournal(), pendingJob("nodes-were-full", condition)))
	condition.Reason, condition.Status = string(OverQuota), v1.ConditionFalse
	assert.False(t, hour(NewJournal(), pendingJob("evicted", condition)))
}

// waitingSeries returns the series of volcano_queue_waiting_jobs, by their labels
// queue_name, rule, level and resource.
func waitingSeries(t *testing.T) map[[4]string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(waitingVec)
	families, err := registry.Gather()
	require.NoError(t, err)
	series := map[[4]string]float64{}
	for _, family := range families {
		assert.Equal(t, "volcano_queue_waiting_jobs", family.GetName())
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, pair := range metric.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			series[[4]string{labels["queue_name"], labels["rule"], labels["level"], labels["resource"]}] = metric.GetGauge().GetValue()
		}
	}
	return series
}

// TestWaitingJobsByCause counts a job once, by the first resource that it lacks and
// the queue that lacks it. Names that only users chose are one series.
func TestWaitingJobsByCause(t *testing.T) {
	f := newFixture(t)
	team := f.Index.Lookup("team")
	f.Total = fastres.NewVector(f.Names.Len())
	overQuota := quota.Verdict{Reason: quota.OverQuota, Queue: f.q}
	onlyInvented := fastres.NewVector(f.Names.Len())
	onlyInvented.Set(f.invented, 1)
	nic := fastres.NewVector(f.Names.Len())
	nic.Set(f.nic, 1000)
	nic.Set(f.invented, 1000)
	f.Total.Set(f.nic, 1000)
	f.Index.Capability.Row(f.q).Set(fastres.CPU, 1000)
	f.Index.Capability.Row(f.q).Set(fastres.Memory, 512<<20)
	for _, test := range []struct {
		name    string
		refusal Refusal
		want    [3]string // rule, level, resource
	}{
		{"two resources", Refusal{Verdict: overQuota, Request: f.vector(2000, 1<<30)}, [3]string{"OverQuota", "research", "cpu"}},
		{"a resource of a node", Refusal{Verdict: overQuota, Request: nic}, [3]string{"OverQuota", "research", "example.com/nic"}},
		{"a resource that nothing has", Refusal{Verdict: overQuota, Request: onlyInvented}, [3]string{"OverQuota", "research", "other"}},
		{"a resource without a dimension", Refusal{Verdict: overQuota, Request: f.vector(0, 0)}, [3]string{"OverQuota", "research", "other"}},
		{"a card", Refusal{Verdict: overQuota, Cards: f.request(h200, 2)}, [3]string{"OverQuota", "research", h200}},
		{"a card list", Refusal{Verdict: overQuota, Cards: f.request(h800+"|"+h200, 2)}, [3]string{"OverQuota", "research", h800}},
		{"a card list, taken together", Refusal{Verdict: overQuota, Cards: f.request(h200+"|"+h800, 2), Shared: true}, [3]string{"OverQuota", "research", h200}},
		{"a card that nothing has", Refusal{Verdict: overQuota, Cards: f.request("NVIDIA-Z", 2)}, [3]string{"OverQuota", "research", "other"}},
		{"a list with a card that nothing has", Refusal{Verdict: overQuota, Cards: f.request("NVIDIA-Z|"+h200, 2)}, [3]string{"OverQuota", "research", h200}},
		{"an untyped pod", Refusal{Verdict: overQuota, Cards: f.request("", 2)}, [3]string{"OverQuota", "research", gpuName}},
		{"a rule without a bound", Refusal{Verdict: quota.Verdict{Reason: quota.ClosedQueue, Queue: team}}, [3]string{"ClosedQueue", "team", ""}},
		{"an untyped pod that is rejected", Refusal{Verdict: quota.Verdict{Reason: quota.UntypedPod, Queue: f.q}, Cards: f.request("", 1)},
			[3]string{"UntypedPod", "research", ""}},
		{"deserved", Refusal{Verdict: quota.Verdict{Reason: quota.OverDeserved, Queue: f.q}, Cards: f.request(h200, 1)}, [3]string{"OverDeserved", "research", h200}},
	} {
		t.Run(test.name, func(t *testing.T) {
			resetSeries(t)
			j := NewJournal()
			j.Open(nil)
			f.refuse(j, pendingJob("waiting"), test.refusal)
			j.Close(nil)
			assert.Equal(t, map[[4]string]float64{{"research", test.want[0], test.want[1], test.want[2]}: 1}, waitingSeries(t))
		})
	}
	resetSeries(t)
	j, lost := NewJournal(), pendingJob("lost")
	j.Open(nil)
	f.Index.RealCapability.Row(team).Set(f.h200, 2000)
	f.Index.RealCapability.Row(f.q).Set(f.h200, 9000)
	f.refuse(j, pendingJob("waiting"), Refusal{Verdict: overQuota, Cards: f.request(h200, 2)})
	lost.Queue = "no-such-queue"
	f.refuse(j, lost, Refusal{Verdict: quota.Verdict{Reason: quota.UnknownQueue, Queue: index.None}})
	j.Close(nil)
	assert.Equal(t, map[[4]string]float64{{"research", "OverQuota", "team", h200}: 1, {"other", "UnknownQueue", "", ""}: 1}, waitingSeries(t),
		"an ancestor lacks the card, and a queue does not exist")
}

// TestWaitingJobsFollowSessions counts the jobs that the last session refused. A job with a running minimum does not
// wait, and a series without jobs is deleted.
func TestWaitingJobsFollowSessions(t *testing.T) {
	resetSeries(t)
	f, j := newFixture(t), NewJournal()
	forCard, forQueue := [4]string{"research", "OverQuota", "research", h200}, [4]string{"research", "ClosedQueue", "research", ""}
	overQuota := Refusal{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: f.q}, Cards: f.request(h200, 2), Admission: true}
	closed := Refusal{Verdict: quota.Verdict{Reason: quota.ClosedQueue, Queue: f.q}, Admission: true}
	jobs := map[api.JobID]*api.JobInfo{}
	for _, name := range []string{"one", "two", "three"} {
		job := pendingJob(name)
		jobs[job.UID] = job
	}
	session := func(refusals map[string]Refusal) map[[4]string]float64 {
		j.Open(jobs)
		for name, r := range refusals {
			f.refuse(j, jobs[api.JobID("default/"+name)], r)
			f.refuse(j, jobs[api.JobID("default/"+name)], r)
		}
		j.Close(nil)
		return waitingSeries(t)
	}
	assert.Equal(t, map[[4]string]float64{forCard: 2, forQueue: 1}, session(map[string]Refusal{"one": overQuota, "two": overQuota, "three": closed}))
	assert.Equal(t, map[[4]string]float64{forCard: 1, forQueue: 1}, session(map[string]Refusal{"one": overQuota, "three": closed}), "two is not refused")
	assert.Empty(t, session(nil))
	assert.Equal(t, map[[4]string]float64{forCard: 1}, session(map[string]Refusal{"one": overQuota}), "the reason is the same as before")
	assert.Equal(t, map[[4]string]float64{forQueue: 1}, session(map[string]Refusal{"one": closed}))

	ofAPod := overQuota
	ofAPod.Admission = false
	assert.Equal(t, map[[4]string]float64{forCard: 1}, session(map[string]Refusal{"one": ofAPod}))
	jobs["default/one"].MinAvailable = 0
	assert.Empty(t, session(map[string]Refusal{"one": ofAPod}), "its minimum runs")
}

// TestObserveAdmission has a histogram of each queue that jobs are admitted to, until
// the queue is gone.
func TestObserveAdmission(t *testing.T) {
	resetSeries(t)
	f, m := newFixture(t), NewMetrics()
	openMetrics(f, m)
	histogram := func() *dto.Histogram {
		var metric dto.Metric
		require.NoError(t, admissionVec.WithLabelValues("research").(prometheus.Histogram).Write(&metric))
		return metric.Histogram
	}
	series := func() int {
		metrics := make(chan prometheus.Metric, 100)
		admissionVec.Collect(metrics)
		return len(metrics)
	}
	assert.Zero(t, series(), "no job is admitted yet")
	m.ObserveAdmission(f.q, 90*time.Second)
	m.ObserveAdmission(f.q, 0)
	m.ObserveAdmission(f.Index.Lookup("root"), 0)
	assert.Equal(t, 1, series())
	assert.Equal(t, []float64{2, 90}, []float64{float64(histogram().GetSampleCount()), histogram().GetSampleSum()})
	m.ForgetQueues(index.BuildTree([]index.Node{{Name: "root"}, {Name: "team"}}, index.RootName))
	assert.Zero(t, series())
}
