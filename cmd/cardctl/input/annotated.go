package input

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotated are the annotations of an object, or of a template of pods in it.
type Annotated struct {
	Object      metav1.Object
	Kind        string
	Field       string // the path of the template, "" for the object itself
	Annotations map[string]string
}

// Annotated returns the annotations of all queues, jobs, Deployments, PodGroups and pods.
func (o *Objects) Annotated() (all []Annotated) {
	add := func(object metav1.Object, kind string) {
		all = append(all, Annotated{Object: object, Kind: kind, Annotations: object.GetAnnotations()})
	}

	for _, q := range o.Queues {
		add(q, "Queue")
	}
	for _, job := range o.Jobs {
		add(job, "Job")
		for i := range job.Spec.Tasks {
			field := fmt.Sprintf("spec.tasks[%d].template.", i)
			all = append(all, Annotated{job, "Job", field, job.Spec.Tasks[i].Template.Annotations})
		}
	}
	for _, d := range o.Deployments {
		add(d, "Deployment")
		all = append(all, Annotated{d, "Deployment", "spec.template.", d.Spec.Template.Annotations})
	}

	for _, podGroup := range o.PodGroups {
		add(podGroup, "PodGroup")
	}
	for _, pod := range o.Pods {
		add(pod, "Pod")
	}
	return all
}
