// Package classes lets service classes of jobs decide who takes from whom (quota.ProtectionOf).
package classes

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Policy knows the service classes of jobs.
type Policy struct {
	session *constraint.Session
	owners  map[string]quota.Class // by the kind of a pod's owner
	// reclaimer and victim are the jobs that were asked about last: tasks of one job often follow
	// one another (BenchmarkPolicies).
	reclaimer, victim jobClass
	gang              *gang // of the last question; nil before the first
}

// gang is a whole job that takes from others, and its class.
type gang struct {
	job   *api.JobInfo
	class quota.Class
}

// jobClass is the service class that the PodGroup of a job states, Unclassified for none.
type jobClass struct {
	job   api.JobID
	class quota.Class
}

var _ constraint.TakePolicy = &Policy{}

// Open returns the policy, nil where classes decide nothing.
func Open(s *constraint.Session, byClass bool, owners map[string]quota.Class) any {
	if !byClass {
		return nil
	}
	return &Policy{session: s, owners: owners}
}

// Of returns the service class of a task: that of its PodGroup, or else of the kind of object
// that owns the pod.
func Of(s *constraint.Session, owners map[string]quota.Class, task *api.TaskInfo) quota.Class {
	return (&Policy{session: s, owners: owners}).of(&jobClass{}, task)
}

// of returns the service class of a task, with that of the job that was asked about last.
func (p *Policy) of(last *jobClass, task *api.TaskInfo) quota.Class {
	if last.job != task.Job {
		*last = jobClass{job: task.Job}
		if job := p.session.Volcano.Jobs[task.Job]; job != nil && job.PodGroup != nil {
			last.class = arguments.Classes[job.PodGroup.Annotations[policy.ServiceTypeKey]]
		}
	}
	if last.class != quota.Unclassified || len(p.owners) == 0 {
		return last.class
	}
	return p.owners[ownerKind(task.Pod)]
}

// Stated returns the name of the service class of a pod, from the annotations of its PodGroup and
// from its owners, "" for none.
func Stated(annotations map[string]string, pod *v1.Pod, owners map[string]quota.Class) string {
	class, stated := arguments.Classes[annotations[policy.ServiceTypeKey]]
	if !stated {
		class = owners[ownerKind(pod)]
	}
	return map[quota.Class]string{quota.Inference: policy.Inference, quota.Training: policy.Training}[class]
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

// MayTake refuses training.
func (p *Policy) MayTake(q index.Queue, task *api.TaskInfo) quota.Verdict {
	p.gang = nil
	if p.of(&p.reclaimer, task) == quota.Training {
		return quota.Verdict{Reason: quota.TrainingJob, Queue: q}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

func (p *Policy) Protection(r constraint.Reclaimer, _ index.Queue, task *api.TaskInfo) quota.Protection {
	if r.Task != nil {
		return quota.ProtectionOf(p.of(&p.reclaimer, r.Task), p.of(&p.victim, task))
	}
	if p.gang == nil || p.gang.job != r.Gang {
		p.gang = &gang{r.Gang, p.ofGang(r.Gang)}
	}
	return quota.ProtectionOf(p.gang.class, p.of(&p.victim, task))
}

// ofGang returns the service class for which a whole job takes from others: training if one of its
// pending tasks is, and inference if all are.
func (p *Policy) ofGang(job *api.JobInfo) quota.Class {
	if job == nil {
		return quota.Unclassified
	}
	tasks, inference := job.TaskStatusIndex[api.Pending], 0
	for _, task := range tasks {
		switch p.of(&p.reclaimer, task) {
		case quota.Training:
			return quota.Training
		case quota.Inference:
			inference++
		}
	}
	if inference > 0 && inference == len(tasks) {
		return quota.Inference
	}
	return quota.Unclassified
}

// Spares spares none: classes say nothing about jobs of one queue.
func (p *Policy) Spares(index.Queue, *api.TaskInfo) bool { return false }
