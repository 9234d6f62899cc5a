package plugin

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
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

// TestServiceClasses has one job of each class take from one of each class.
func TestServiceClasses(t *testing.T) {
	for name, test := range map[string]struct {
		arguments                  framework.Arguments
		guarantee, class, claimant string
		want                       int // evicted
		gang                       int // that gang reclaim may evict
	}{
		"inference takes from training that is within deserved": {byClass(), `{"A":0}`, "training", "inference", 2, 8},
		"not below what is guaranteed":                          {byClass(), `{"A":7}`, "training", "inference", 0, 0},
		"down to what is guaranteed":                            {byClass(), `{"A":6}`, "training", "inference", 2, 2},
		"not without the argument":                              {framework.Arguments{}, `{"A":0}`, "training", "inference", 0, 0},
		"damped":                                                {byClass(arguments.ReclaimDamping, 2), `{"A":0}`, "training", "inference", 2, 8},
		"with the deserved of ancestors":                        {byClass(arguments.AncestorReclaimLevel, 2), `{"A":0}`, "training", "inference", 2, 8},
		"by the least work":                                     {byClass(arguments.VictimOrder, "leastWork"), `{"A":0}`, "training", "inference", 2, 8},
		"no class takes what others deserve":                    {byClass(), `{"A":0}`, "training", "", 0, 0},
		"no class is within deserved":                           {byClass(), `{"A":0}`, "", "inference", 0, 0},
		"a wrong class is none":                                 {byClass(), `{"A":0}`, "traning", "inference", 0, 0},
		"inference keeps what it has":                           {byClass(), `{"A":0}`, "inference", "inference", 0, 0},
		"training takes nothing":                                {byClass(), `{"A":0}`, "training", "training", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, rules := range release.Names() {
				test.arguments[arguments.Semantics] = rules
				s := tide(test.arguments, test.guarantee, test.class, test.claimant)
				f := s.open(t)
				assert.Len(t, f.run(t, reclaim.New()).evicted(), test.want, "with the rules of %s", rules)
				f.close()
				g := s.open(t)
				gang, _ := g.own.reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: g.job("claim")}, slices.Collect(maps.Values(g.job("held").Tasks)))
				assert.Len(t, gang, test.gang, "gang reclaim with the rules of %s", rules)
			}
		})
	}
}

// TestClassesAboveDeserved has queues with more than they deserve: then deserved protects
// none, but the class does.
func TestClassesAboveDeserved(t *testing.T) {
	for name, test := range map[string]struct {
		class, claimant string
		want            int
	}{
		"no class from no class": {"", "", 2}, "inference from no class": {"", "inference", 2}, "no class from training": {"training", "", 2},
		"no class from inference": {"inference", "", 0}, "inference from inference": {"inference", "inference", 0},
		"training from no class": {"", "training", 0}, "training from training": {"training", "training", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := tide(byClass(), `{"A":0}`, test.class, test.claimant)
			s.Queues[1].Annotations["volcano.sh/card.deserved"] = `{"A":0}`
			assert.Len(t, s.open(t).run(t, reclaim.New()).evicted(), test.want)
		})
	}
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
			assert.Len(t, tide(a, `{"A":0}`, "training", test.claimant).open(t, owned(test.kind, test.controller)).run(t, reclaim.New()).evicted(), test.want)
		})
	}
}

// TestQueuesKeepTheirMeaning has a training queue that is not reclaimable.
func TestQueuesKeepTheirMeaning(t *testing.T) {
	f := tide(byClass(), `{"A":0}`, "training", "inference").open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
		info.Queues["night"].Queue.Spec.Reclaimable = new(bool)
	})
	assert.Empty(t, f.run(t, reclaim.New()).evicted())
}

// TestTideTurnsOnce lets an inference pod take cards from training that deserves them, with
// damping. Training does not get them back while the inference pod runs.
func TestTideTurnsOnce(t *testing.T) {
	for _, damping := range []int{1, 3} {
		d := newCycles(t, tide(byClass(arguments.ReclaimDamping, damping), `{"A":0}`, "training", "inference"))
		early, late := d.evictions(t, 20)
		assert.Equal(t, 2, early)
		assert.Zero(t, late)
		assert.Equal(t, 1, d.running("claim"))
		assert.Equal(t, 6, d.running("held"))
	}
}

// TestTrainingReason names the rule by which a training job takes nothing.
func TestTrainingReason(t *testing.T) {
	f := tide(byClass(), `{"A":0}`, "", "training").open(t)
	why := Inspection{f.own}.Preempt(f.task("claim-0"))
	assert.Equal(t, report.TrainingJob, why.Rule)
	assert.Equal(t, "Queue <day> takes nothing from other queues for the pod: its service class is training", why.String())
	assert.Nil(t, Inspection{tide(byClass(), `{"A":0}`, "", "inference").open(t).own}.Preempt(f.task("claim-0")))
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
