package session

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// serving makes a job one of a service class.
func serving(class string) func(*workload.Job) {
	return func(j *workload.Job) { j.Annotations = map[string]string{policy.ServiceTypeKey: class} }
}

func byClass(more ...any) framework.Arguments {
	a := framework.Arguments{arguments.ReclaimByClass: true}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return a
}

// tide is a node with eight cards, all of which a training queue uses that deserves eight, and
// a pending pod of another queue, which deserves eight as well.
func tide(a framework.Arguments, guarantee, class, claimant string) *scene {
	s := newScene().node("a", "A", 8).lending("day", `{"A":8}`, `{"A":8}`, `{"A":0}`).lending("night", `{"A":8}`, `{"A":8}`, guarantee).
		pods("held", "night", "A", 8, 1, members(0), on("a"), serving(class)).
		pods("claim", "day", "A", 1, 2, inPhase(workload.Inqueue), serving(claimant))
	s.arguments = a
	return s
}

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
	a := byClass(arguments.OwnerClasses, map[string]any{"ReplicaSet": "inference", "Job": "training"})
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
			assert.Len(t, tide(a, `{"A":0}`, "training", test.claimant).open(t, owned(test.kind, test.controller)).run(t, NewReclaim()).evicted(), test.want)
		})
	}
}

// TestTrainingReason names the rule by which a training job takes nothing.
func TestTrainingReason(t *testing.T) {
	f := tide(byClass(), `{"A":0}`, "", "training").open(t)
	why := InspectionOf(f.own).Preempt(f.task("claim-0"))
	assert.Equal(t, report.TrainingJob, why.Rule)
	assert.Equal(t, "Queue <day> takes nothing from other queues for the pod: its service class is training", why.String())
	assert.Nil(t, InspectionOf(tide(byClass(), `{"A":0}`, "", "inference").open(t).own).Preempt(f.task("claim-0")))
}

// TestWrongClass records one event for each wrong value.
func TestWrongClass(t *testing.T) {
	d := newSequence(t, tide(byClass(), `{"A":0}`, "traning", "inference"))
	events := func() (n int) {
		for _, event := range d.open(t).cache.Events() {
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
