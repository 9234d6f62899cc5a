package classes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// TestClassesOfOwners reads the class from the owners of pods, unless the PodGroup has one.
func TestClassesOfOwners(t *testing.T) {
	owned := func(kind string, controller bool) func(*api.ClusterInfo, *offline.Cache) {
		return func(info *api.ClusterInfo, _ *offline.Cache) {
			for _, task := range info.Jobs["default/claim"].Tasks {
				task.Pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Other"}, {Kind: kind, Controller: &controller}}
				if !controller {
					task.Pod.OwnerReferences = task.Pod.OwnerReferences[1:]
				}
			}
		}
	}
	a := testbed.ByClass(arguments.OwnerClasses, map[string]any{"ReplicaSet": "inference", "Job": "training"})
	for name, test := range map[string]struct {
		kind       string
		controller bool
		claimant   string
		want       int
	}{
		"a controller":         {"ReplicaSet", true, "", 2},
		"the first owner":      {"ReplicaSet", false, "", 2},
		"an unknown kind":      {"StatefulSet", true, "", 0},
		"the PodGroup decides": {"ReplicaSet", true, "training", 0},
		"of training":          {"Job", true, "", 0},
		"of training, but ...": {"Job", true, "inference", 2},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Len(t, testbed.Tide(a, `{"A":0}`, "training", test.claimant).Open(t, owned(test.kind, test.controller)).Run(t, session.NewReclaim()).Evicted(), test.want)
		})
	}
}

// TestTrainingReason names the rule by which a training job takes nothing.
func TestTrainingReason(t *testing.T) {
	f := testbed.Tide(testbed.ByClass(), `{"A":0}`, "", "training").Open(t)
	why := session.InspectionOf(f.Own).Claim(f.Job("claim")).Refused
	require.NotNil(t, why)
	assert.Equal(t, report.TrainingJob, why.Rule)
	assert.Equal(t, "Queue <day> takes nothing from other queues for the pod: its service class is training", why.String())
	f = testbed.Tide(testbed.ByClass(), `{"A":0}`, "", "inference").Open(t)
	assert.Nil(t, session.InspectionOf(f.Own).Claim(f.Job("claim")).Refused)
}

// TestWrongClass records one event for each wrong value.
func TestWrongClass(t *testing.T) {
	d := testbed.NewSequence(t, testbed.Tide(testbed.ByClass(), `{"A":0}`, "traning", "inference"))
	events := func() (n int) {
		for _, event := range d.Open(t).Cache.Events() {
			if event == `Warning BadPolicyAnnotation annotation volcano.sh/service.type: "traning" is not one of inference, training; the job has the class of its pods' owners` {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 1, events())
	assert.Equal(t, 0, events())
	d.Jobs[0].Annotations = map[string]string{policy.ServiceTypeKey: "training"}
	assert.Equal(t, 0, events())
	d.Jobs[0].Annotations = map[string]string{policy.ServiceTypeKey: "traning"}
	assert.Equal(t, 1, events())
}
