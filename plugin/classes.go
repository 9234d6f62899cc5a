package plugin

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// classes are the service classes by name.
var classes = map[string]quota.Class{policy.Inference: quota.Inference, policy.Training: quota.Training}

// jobClass is the service class that the PodGroup of a job states, Unclassified for none.
type jobClass struct {
	job   api.JobID
	class quota.Class
}

// classOf returns the service class of a task: that of its PodGroup, or else of the kind of
// object that owns the pod. It keeps the last job's, because tasks of one job often follow one
// another (BenchmarkPolicies). So it is for the goroutine that runs the session.
func (s *session) classOf(task *api.TaskInfo) quota.Class {
	if s.class.job != task.Job {
		s.class = jobClass{job: task.Job}
		if job := s.ssn.Jobs[task.Job]; job != nil && job.PodGroup != nil {
			s.class.class = classes[job.PodGroup.Annotations[policy.ServiceTypeKey]]
		}
	}
	if s.class.class != quota.Unclassified || len(s.settings.owners) == 0 {
		return s.class.class
	}
	if kind := ownerKind(task.Pod); kind != "" {
		return s.settings.owners[kind]
	}
	return quota.Unclassified
}

// ServiceTypes returns a function for the service class of a pod, from the annotations of its
// PodGroup and from its owners, "" for none. It is nil where the plugin of a name with these
// arguments has no classes.
func ServiceTypes(name string, arguments framework.Arguments) func(annotations map[string]string, pod *v1.Pod) string {
	for _, b := range []*builder{cardBuilder, capacityBuilder} {
		with, _ := parseArguments(b.variant, arguments)
		if b.variant.name != name || !with.byClass {
			continue
		}
		return func(annotations map[string]string, pod *v1.Pod) string {
			class, stated := classes[annotations[policy.ServiceTypeKey]]
			if !stated {
				class = with.owners[ownerKind(pod)]
			}
			return map[quota.Class]string{quota.Inference: policy.Inference, quota.Training: policy.Training}[class]
		}
	}
	return nil
}

// ownerKind returns the kind of a pod's controller, or else of its first owner, "" for none.
func ownerKind(pod *v1.Pod) string {
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		return controller.Kind
	}
	if len(pod.OwnerReferences) > 0 {
		return pod.OwnerReferences[0].Kind
	}
	return ""
}

// classOfGang returns the service class for which a whole job takes from others: training if
// one of its pending tasks is, and inference if all are.
func (s *session) classOfGang(job *api.JobInfo) quota.Class {
	if !s.settings.byClass || job == nil {
		return quota.Unclassified
	}
	class, tasks := quota.Unclassified, job.TaskStatusIndex[api.Pending]
	inference := 0
	for _, task := range tasks {
		switch s.classOf(task) {
		case quota.Training:
			return quota.Training
		case quota.Inference:
			inference++
		}
	}
	if inference > 0 && inference == len(tasks) {
		class = quota.Inference
	}
	return class
}

// warnClasses records an event on each PodGroup whose service class is not one, once for each
// value.
func (s *session) warnClasses() {
	if !s.settings.byClass {
		return
	}
	for id, job := range s.ssn.Jobs {
		if job.PodGroup == nil {
			continue
		}
		var problems []string
		if text, given := job.PodGroup.Annotations[policy.ServiceTypeKey]; given && !policy.IsServiceType(text) {
			problems = []string{fmt.Sprintf("annotation %s: %q is not one of %s, %s; the job has the class of its pods' owners",
				policy.ServiceTypeKey, index.Shorten(text, 100), policy.Inference, policy.Training)}
		}
		for _, problem := range s.memory.problems.New(report.Subject{Topic: ofClass, Name: string(id)}, problems...) {
			s.memory.recorder.RecordPodGroup(s.ssn, job.PodGroup, report.PodGroupEvent{Type: v1.EventTypeWarning,
				Reason: report.BadPolicyAnnotation, Message: problem})
		}
	}
}
