package constraint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
)

// TestUnsaved has the time that is lost at 09:00 by a pod that began at 08:00: since the later one of both checkpoints,
// and at least 0.
func TestUnsaved(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	with := func(checkpoint string) map[string]string {
		if checkpoint == "" {
			return nil
		}
		return map[string]string{policy.CheckpointKey: checkpoint}
	}
	for _, test := range []struct {
		name, pod, group string
		want             time.Duration
	}{
		{"no checkpoint", "", "", time.Hour},
		{"of the pod", "2026-12-01T08:50:00Z", "", 10 * time.Minute},
		{"of the PodGroup", "", "2026-12-01T08:40:00Z", 20 * time.Minute},
		{"the later one counts", "2026-12-01T08:40:00Z", "2026-12-01T08:50:00Z", 10 * time.Minute},
		{"from before the start", "2026-12-01T07:00:00Z", "", time.Hour},
		{"a wrong one is none", "08:50", "", time.Hour},
		{"a time to come counts as now", "2026-12-01T10:00:00Z", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := metav1.NewTime(now.Add(-time.Hour))
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: with(test.pod)}, Status: v1.PodStatus{StartTime: &start}}
			job := &api.JobInfo{PodGroup: &api.PodGroup{}}
			job.PodGroup.Annotations = with(test.group)
			assert.Equal(t, test.want, Unsaved(&api.TaskInfo{Pod: pod}, job, now))
		})
	}
}
