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

// classes knows the service classes of jobs.
type classes struct {
	session *constraint.Session
	owners  map[string]quota.Class // by the kind of a pod's owner
	// reclaimer and victim are the jobs that were asked about last: tasks of one job often follow one another
	// (BenchmarkPolicies).
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

// Open returns the hooks, nil where classes decide nothing.
func Open(s *constraint.Session, byClass bool, owners map[string]quota.Class) *constraint.Hooks {
	if !byClass {
		return nil
	}
	return (&classes{session: s, owners: owners}).hooks()
}

// hooks returns the hooks of service classes.
func (c *classes) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // classes decide only who takes from whom
		Hold:          nil, // for the same reason
		Fit:           nil, // for the same reason
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // for the same reason
		MayTake:       c.mayTake,
		Protection:    c.protection,
		Spares:        nil, // classes are about jobs of different queues
		Charge:        nil, // the victims of a simulation were chosen before
		Charged:       nil, // classes count nothing
		CompareQueues: nil, // where reclaim is damped, the order of queues asks MayTake
	}
}

// Of returns the service class of a task: the class of its PodGroup, or else of the kind of object that owns the pod.
func Of(s *constraint.Session, owners map[string]quota.Class, task *api.TaskInfo) quota.Class {
	return (&classes{session: s, owners: owners}).classOf(&jobClass{}, task)
}

// classOf returns the service class of a task. last is the job that was asked about last.
func (c *classes) classOf(last *jobClass, task *api.TaskInfo) quota.Class {
	if last.job != task.Job {
		*last = jobClass{job: task.Job}
		if job := c.session.Volcano.Jobs[task.Job]; job != nil && job.PodGroup != nil {
			last.class = arguments.Classes[job.PodGroup.Annotations[policy.ServiceTypeKey]]
		}
	}

	if last.class != quota.Unclassified || len(c.owners) == 0 {
		return last.class
	}
	return c.owners[ownerKind(task.Pod)]
}

// Stated returns the name of the service class of a pod, from the annotations of its PodGroup and from its owners, ""
// for none.
func Stated(annotations map[string]string, pod *v1.Pod, owners map[string]quota.Class) string {
	class, stated := arguments.Classes[annotations[policy.ServiceTypeKey]]
	if !stated {
		class = owners[ownerKind(pod)]
	}

	switch class {
	case quota.Inference:
		return policy.Inference
	case quota.Training:
		return policy.Training
	}
	return ""
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

// mayTake refuses training.
func (c *classes) mayTake(q index.Queue, task *api.TaskInfo) quota.Verdict {
	c.gang = nil
	if c.classOf(&c.reclaimer, task) == quota.Training {
		return quota.Verdict{Reason: quota.TrainingJob, Queue: q}
	}
	return constraint.Admitted(q)
}

func (c *classes) protection(r constraint.Reclaimer, _ index.Queue, task *api.TaskInfo) quota.Protection {
	if r.Task != nil {
		return quota.ProtectionOf(c.classOf(&c.reclaimer, r.Task), c.classOf(&c.victim, task))
	}

	if c.gang == nil || c.gang.job != r.Gang {
		c.gang = &gang{r.Gang, c.classOfGang(r.Gang)}
	}
	return quota.ProtectionOf(c.gang.class, c.classOf(&c.victim, task))
}

// classOfGang returns the service class for which a whole job takes from others: training if one of its pending tasks
// is training, and inference if all are inference.
func (c *classes) classOfGang(job *api.JobInfo) quota.Class {
	if job == nil {
		return quota.Unclassified
	}

	pending := job.TaskStatusIndex[api.Pending]
	inference := 0

	for _, task := range pending {
		switch c.classOf(&c.reclaimer, task) {
		case quota.Training:
			return quota.Training
		case quota.Inference:
			inference++
		}
	}

	if inference > 0 && inference == len(pending) {
		return quota.Inference
	}
	return quota.Unclassified
}
