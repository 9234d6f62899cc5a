package budget

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
)

// jobOf returns a job with pending pods and a PodGroup that announces a length, "" for none.
func jobOf(length string, pods ...*v1.Pod) *api.JobInfo {
	group := &api.PodGroup{PodGroup: scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{policy.ExpectedRuntimeKey: length}}}}
	job := &api.JobInfo{PodGroup: group, TaskStatusIndex: map[api.TaskStatus]api.TasksMap{api.Pending: {}}}
	for i, pod := range pods {
		job.TaskStatusIndex[api.Pending][api.TaskID(rune('a'+i))] = &api.TaskInfo{Pod: pod}
	}
	return job
}

func podOf(length string, deadline int64) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{policy.ExpectedRuntimeKey: length}}}
	if deadline != 0 {
		pod.Spec.ActiveDeadlineSeconds = &deadline
	}
	return pod
}

func TestJobLength(t *testing.T) {
	for name, test := range map[string]struct {
		job  *api.JobInfo
		want time.Duration
	}{
		"nothing is announced":          {jobOf("", podOf("", 0)), 0},
		"by the group, without pods":    {jobOf("4h"), 4 * time.Hour},
		"by the group":                  {jobOf("4h", podOf("", 60)), 4 * time.Hour},
		"the pod comes before":          {jobOf("4h", podOf("1h", 60)), time.Hour},
		"the deadline comes last":       {jobOf("", podOf("", 60)), time.Minute},
		"a wrong value is none":         {jobOf("soon", podOf("-1h", 60)), time.Minute},
		"the longest of several":        {jobOf("", podOf("1h", 0), podOf("3h", 0), podOf("2h", 0)), 3 * time.Hour},
		"one of several announces none": {jobOf("", podOf("1h", 0), podOf("", 0)), 0},
		"a deadline below 0":            {jobOf("", podOf("", -5)), 0},
	} {
		assert.Equal(t, test.want, jobLength(test.job), name)
	}
}

func TestRest(t *testing.T) {
	now, pod := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), podOf("", 0)
	assert.Equal(t, time.Hour, rest(time.Hour, pod, now), "it has not started")
	for start, want := range map[time.Duration]time.Duration{-20 * time.Minute: 40 * time.Minute, -2 * time.Hour: 0, time.Minute: time.Hour} {
		pod.Status.StartTime = &metav1.Time{Time: now.Add(start)}
		assert.Equal(t, want, rest(time.Hour, pod, now))
	}
}
