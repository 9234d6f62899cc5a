package input

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// failNegative reports negative numbers of pods. The API server or Volcano's webhook refuses them.
func (d *document) failNegative(kind string, object metav1.Object, at *position) (failed bool) {
	for _, n := range numbersOf(object) {
		if n.value < 0 {
			message := fmt.Sprintf("%d is negative", n.value)
			d.fail(at.line(n.field), Problem{Object: Named(kind, object), Field: n.field, Message: message})
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

// numbersOf returns the numbers of pods in a workload.
func numbersOf(object metav1.Object) (all []number) {
	add := func(field string, value *int32) {
		if value != nil {
			all = append(all, number{field, *value})
		}
	}

	switch o := object.(type) {
	case *appsv1.Deployment:
		add("spec.replicas", o.Spec.Replicas)
	case *batch.Job:
		add("spec.minAvailable", &o.Spec.MinAvailable)
		add("spec.minSuccess", o.Spec.MinSuccess)
		for i, task := range o.Spec.Tasks {
			add(fmt.Sprintf("spec.tasks[%d].replicas", i), &task.Replicas)
			add(fmt.Sprintf("spec.tasks[%d].minAvailable", i), task.MinAvailable)
		}
	case *scheduling.PodGroup:
		add("spec.minMember", &o.Spec.MinMember)
		for _, name := range slices.Sorted(maps.Keys(o.Spec.MinTaskMember)) {
			add("spec.minTaskMember."+name, ptr.To(o.Spec.MinTaskMember[name]))
		}
		for i, policy := range o.Spec.SubGroupPolicy {
			add(fmt.Sprintf("spec.subGroupPolicy[%d].subGroupSize", i), policy.SubGroupSize)
			add(fmt.Sprintf("spec.subGroupPolicy[%d].minSubGroups", i), policy.MinSubGroups)
		}
	}

	return all
}
