package input

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// failNegative reports numbers of pods that are less than 0, which the API server or Volcano's
// webhook refuses.
func (d *document) failNegative(kind string, object metav1.Object, at *position) (failed bool) {
	for _, n := range numbersOf(object) {
		if n.value < 0 {
			d.fail(at.line(n.field), Problem{Object: named(kind, object), Field: n.field, Message: fmt.Sprintf("%d is negative", n.value)})
			failed = true
		}
	}
	return failed
}

// number is a number of pods.
type number struct {
	field string
	value int32
}

// numbersOf returns the numbers of pods that a workload has.
func numbersOf(object metav1.Object) (all []number) {
	add := func(field string, value *int32) {
		if value != nil {
			all = append(all, number{field, *value})
		}
	}
	switch of := object.(type) {
	case *appsv1.Deployment:
		add("spec.replicas", of.Spec.Replicas)
	case *batch.Job:
		add("spec.minAvailable", &of.Spec.MinAvailable)
		add("spec.minSuccess", of.Spec.MinSuccess)
		for i, task := range of.Spec.Tasks {
			add(fmt.Sprintf("spec.tasks[%d].replicas", i), &task.Replicas)
			add(fmt.Sprintf("spec.tasks[%d].minAvailable", i), task.MinAvailable)
		}
	case *scheduling.PodGroup:
		add("spec.minMember", &of.Spec.MinMember)
		for _, name := range slices.Sorted(maps.Keys(of.Spec.MinTaskMember)) {
			minimum := of.Spec.MinTaskMember[name]
			add("spec.minTaskMember."+name, &minimum)
		}
		for i, policy := range of.Spec.SubGroupPolicy {
			add(fmt.Sprintf("spec.subGroupPolicy[%d].subGroupSize", i), policy.SubGroupSize)
			add(fmt.Sprintf("spec.subGroupPolicy[%d].minSubGroups", i), policy.MinSubGroups)
		}
	}
	return all
}
