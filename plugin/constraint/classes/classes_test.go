package classes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// owned returns a pod with owners of some kinds. The kind with a star is the controller.
func owned(kinds ...string) *v1.Pod {
	pod := &v1.Pod{}
	for _, kind := range kinds {
		controller := kind[0] == '*'
		if controller {
			kind = kind[1:]
		}
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{Kind: kind, Controller: &controller})
	}
	return pod
}

var owners = map[string]quota.Class{"ReplicaSet": quota.Inference, "Job": quota.Training}

func TestStated(t *testing.T) {
	for name, test := range map[string]struct {
		class string // of the PodGroup
		pod   *v1.Pod
		want  string
	}{
		"of the PodGroup":                    {"training", owned("ReplicaSet"), policy.Training},
		"of the owner":                       {"", owned("Job"), policy.Training},
		"the controller before other owners": {"", owned("Job", "*ReplicaSet"), policy.Inference},
		"an unknown class is no class":       {"batch", owned("Job"), policy.Training},
		"no owner":                           {"", owned(), ""},
		"an owner without a class":           {"", owned("DaemonSet"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Stated(map[string]string{policy.ServiceTypeKey: test.class}, test.pod, owners))
		})
	}
}

// TestClassOfGang has the class for which a job takes from others as a whole.
func TestClassOfGang(t *testing.T) {
	for name, test := range map[string]struct {
		kinds []string // of the owners of the pending pods
		want  quota.Class
	}{
		"all are inference":          {[]string{"ReplicaSet", "ReplicaSet"}, quota.Inference},
		"one has no class":           {[]string{"ReplicaSet", "DaemonSet"}, quota.Unclassified},
		"one is training":            {[]string{"ReplicaSet", "Job"}, quota.Training},
		"training before no class":   {[]string{"DaemonSet", "Job"}, quota.Training},
		"a job without pending pods": {nil, quota.Unclassified},
	} {
		t.Run(name, func(t *testing.T) {
			job := &api.JobInfo{UID: "j", TaskStatusIndex: map[api.TaskStatus]api.TasksMap{api.Pending: {}}}
			for i, kind := range test.kinds {
				task := &api.TaskInfo{UID: api.TaskID(rune('a' + i)), Job: "j", Pod: owned(kind)}
				job.TaskStatusIndex[api.Pending][task.UID] = task
			}
			volcano := &framework.Session{Jobs: map[api.JobID]*api.JobInfo{"j": job}}
			c := &classes{session: &constraint.Session{Volcano: volcano}, owners: owners}

			assert.Equal(t, test.want, c.classOfGang(job))
		})
	}
	assert.Equal(t, quota.Unclassified, (&classes{}).classOfGang(nil))
}
