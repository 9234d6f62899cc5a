package grace

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// TestNotice: a pod has the notice that it asks for, but no more than its queue grants. A notice that was given ends no
// later if less is granted now, and no later if more is.
func TestNotice(t *testing.T) {
	began := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		pod, group string
		granted    time.Duration
		given      time.Duration // 0 for no notice yet
		want       time.Duration // from now on, 0 for none
	}{
		"as the pod asks":             {"2m", "", 5 * time.Minute, 0, 2 * time.Minute},
		"as its group asks":           {"", "3m", 5 * time.Minute, 0, 3 * time.Minute},
		"the pod before its group":    {"2m", "3m", 5 * time.Minute, 0, 2 * time.Minute},
		"no more than is granted":     {"20m", "", 5 * time.Minute, 0, 5 * time.Minute},
		"nothing is granted":          {"2m", "", 0, 0, 0},
		"nobody asks":                 {"", "", 5 * time.Minute, 0, 0},
		"a wrong value is none":       {"soon", "", 5 * time.Minute, 0, 0},
		"a given notice stays":        {"20m", "", 10 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		"a given notice gets shorter": {"2m", "", 10 * time.Minute, 5 * time.Minute, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{policy.EvictionGraceKey: test.pod}}}
			job := &api.JobInfo{UID: "j", PodGroup: &api.PodGroup{}}
			job.PodGroup.Annotations = map[string]string{policy.EvictionGraceKey: test.group}
			volcano := &framework.Session{Jobs: map[api.JobID]*api.JobInfo{"j": job}}
			n := &Notices{
				session: &constraint.Session{Volcano: volcano, Now: began},
				memory:  &Memory{given: map[api.TaskID]notice{}},
				most:    []time.Duration{test.granted},
			}
			task := &api.TaskInfo{UID: "t", Job: "j", Pod: pod}
			if test.given > 0 {
				n.memory.given["t"] = notice{"j", began, began.Add(test.given)}
			}

			want := time.Time{}
			if test.want > 0 {
				want = began.Add(test.want)
			}
			assert.Equal(t, want, n.Notice(0, task))
			assert.True(t, n.Notice(index.None, task).IsZero())
		})
	}
}

// TestWriter writes annotations in the background, and tries failed writes again.
func TestWriter(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "1"}}
	client := fake.NewSimpleClientset(pod)
	fails := true
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails, nil, errors.New("no route")
	})
	var w writer

	w.add(pod, "text")
	w.flush(client)
	w.Wait()
	problems := w.Problems()
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "pod ns/p cannot be written: no route")
	assert.Empty(t, w.Problems())

	fails = false
	w.flush(client)
	w.Wait()
	assert.Empty(t, w.Problems())
	written, err := client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "text", written.Annotations[policy.EvictionNoticeKey])
	assert.Empty(t, w.due)

	w.add(pod, "of a session without an API server")
	w.flush(nil)
	assert.Empty(t, w.due)
}
