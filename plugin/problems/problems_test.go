package problems

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// jobWith returns a job with annotations on its PodGroup, and one task of a status for each text of an annotation.
func jobWith(annotations map[string]string, status api.TaskStatus, key string, texts ...string) *api.JobInfo {
	job := api.NewJobInfo("job")
	job.PodGroup = &api.PodGroup{PodGroup: scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}}
	tasks := map[api.TaskID]*api.TaskInfo{"no pod": {}}
	for _, text := range texts {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: text}}}
		tasks[api.TaskID(text)] = &api.TaskInfo{Pod: pod}
	}
	job.TaskStatusIndex[status] = tasks
	return job
}

func TestClassProblems(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		want        []string
	}{
		"none":    {nil, nil},
		"a class": {map[string]string{policy.ServiceTypeKey: policy.Training}, nil},
		"another word": {map[string]string{policy.ServiceTypeKey: "train"}, []string{"annotation " + policy.ServiceTypeKey +
			`: "train" is not one of inference, training; the job has the class of its pods' owners`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, classProblems(jobWith(test.annotations, api.Pending, "")))
		})
	}
}

// TestLengthProblems reads announced lengths of PodGroups and of pods without a node.
func TestLengthProblems(t *testing.T) {
	const key = policy.ExpectedRuntimeKey
	ofGroup := "annotation " + key + ": " + policy.RuntimeProblem("long") + "; it counts as not set"
	ofPods := "annotation " + key + " of pods: " + policy.RuntimeProblem("long") + "; it counts as not set"
	wrong := map[string]string{key: "long"}

	assert.Empty(t, lengthProblems(jobWith(map[string]string{key: "1h"}, api.Pending, key, "2h")))
	assert.Equal(t, []string{ofPods, ofGroup}, lengthProblems(jobWith(wrong, api.Pending, key, "long", "1h")))
	assert.Equal(t, []string{ofGroup}, lengthProblems(jobWith(wrong, api.Running, key, "long")), "pods that run")
}

// TestProblemsOfRunningPods reads annotations that count on pods that run, and finds equal texts once.
func TestProblemsOfRunningPods(t *testing.T) {
	assert.Len(t, checkpointProblems(jobWith(nil, api.Running, policy.CheckpointKey, "today", "now")), 2)
	assert.Empty(t, checkpointProblems(jobWith(nil, api.Pending, policy.CheckpointKey, "today")))
	assert.Len(t, graceProblems(jobWith(nil, api.Running, policy.EvictionGraceKey, "long")), 1)

	job := jobWith(nil, api.Running, policy.EvictionGraceKey, "long")
	job.TaskStatusIndex[api.Running]["another"] = job.TaskStatusIndex[api.Running]["long"]
	assert.Len(t, graceProblems(job), 1)
}

func TestReasonOf(t *testing.T) {
	assert.Equal(t, record.BadCardAnnotation, reasonOf("annotation "+card.Prefix+"quotas is unknown"))
	assert.Equal(t, record.BadPolicyAnnotation, reasonOf("annotation volcano.sh/min-runtimes is unknown"))
}
