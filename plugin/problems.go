package plugin

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// The topics of problems.
const (
	ofTree     = "tree"
	ofPolicies = "policies"
	ofWindows  = "windows"
	ofKeys     = "keys"
	ofCards    = "cards"
	ofDevices  = "devices"
	// The topics of PodGroups; the others are of queues.
	ofClass      = "class"
	ofLength     = "length"
	ofMinimum    = "minimum"
	ofCheckpoint = "checkpoint"
	ofGrace      = "grace"
)

// ofJobs are the topics of PodGroups.
var ofJobs = []string{ofClass, ofLength, ofMinimum, ofCheckpoint, ofGrace}

// forgetProblems forgets the problems of objects that are gone, and those of cards while cards count
// nowhere.
func (s *session) forgetProblems() {
	s.memory.problems.Forget(func(of report.Subject) bool {
		if slices.Contains(ofJobs, of.Topic) {
			return s.Volcano.Jobs[api.JobID(of.Name)] == nil
		}
		queue := s.memory.queues.Get(of.Name)
		return queue == nil || queue.Object.UID != of.UID || of.Topic == ofCards && s.Cards == nil
	})
}

// warnQueue records an event on a queue for each problem that is new.
func (s *session) warnQueue(topic string, p objects.Problems, reason string) {
	for _, problem := range s.memory.problems.New(report.Subject{Topic: topic, Name: p.Queue.Name, UID: p.Queue.UID}, p.Texts...) {
		s.memory.recorder.WarnQueue(s.Volcano, s.variant.Name, p.Queue, reason, problem)
	}
}

// publishWindows records an event on each queue of which a window begins or ends, once, and writes how many hold. A scheduler that starts
// records none for those that hold already.
func (s *session) publishWindows() {
	m := s.memory
	for _, c := range m.queues.WindowChanges() {
		for _, text := range c.Began {
			m.recorder.RecordQueue(s.Volcano, c.Queue, v1.EventTypeNormal, report.WindowBegan, "The window holds from now on: "+text)
		}
		for _, text := range c.Ended {
			m.recorder.RecordQueue(s.Volcano, c.Queue, v1.EventTypeNormal, report.WindowEnded, "The window does not hold any more: "+text)
		}
		if c.Windowed {
			m.metrics.SetWindows(c.Queue.Name, c.InForce)
		} else {
			m.metrics.ForgetWindows(c.Queue.Name)
		}
	}
}

// warnKeys records events on queues with annotations that are unknown.
func (s *session) warnKeys() {
	for _, queue := range s.memory.queues.Changed() {
		var texts []string
		for _, p := range queue.UnknownKeys() {
			texts = append(texts, fmt.Sprintf("annotation %s %s", p.Key, p.Reason))
		}
		of := report.Subject{Topic: ofKeys, Name: queue.Object.Name, UID: queue.Object.UID}
		for _, text := range s.memory.problems.New(of, texts...) {
			reason := report.BadPolicyAnnotation
			switch {
			case strings.HasPrefix(text, "annotation "+index.PathKey):
				reason = report.BadHierarchyAnnotation
			case strings.HasPrefix(text, "annotation "+card.Prefix):
				reason = report.BadCardAnnotation
			}
			s.memory.recorder.WarnQueue(s.Volcano, s.variant.Name, queue.Object, reason, text)
		}
	}
}

// warnDevices records an event on each queue whose quotas of devices have no effect, again when
// they change. The name proportion has none, as upstream.
func (s *session) warnDevices() {
	if s.variant.Proportion {
		return
	}
	for _, queue := range s.Intake.Queues {
		if queue == nil {
			continue
		}
		p, spec := objects.Problems{Queue: queue.Queue}, &queue.Queue.Spec
		for _, problem := range s.settings.Bounds.Devices.Problems(spec.Capability, spec.Deserved, spec.Guarantee.Resource) {
			p.Texts = append(p.Texts, problem.String())
		}
		s.warnQueue(ofDevices, p, report.BadDeviceQuota)
	}
}

// warnJobs records an event on each PodGroup with a service class, an announced length or a time of a checkpoint that is wrong, and on
// one that no budget of evictions ever has room for, once for each value. Classes count with reclaimByServiceType, lengths where a queue
// has a budget, checkpoints with victimOrder: leastWork and where a queue enforces its quota, and what pods ask for where a queue grants grace.
func (s *session) warnJobs() {
	budgets, evictions := s.memory.budgets.InForce() != nil, s.memory.evictions.InForce()
	checkpoints, grace := s.settings.ByWork || s.Enforces(), s.GivesNotice()
	if !s.settings.ByClass && !budgets && evictions == nil && !checkpoints && !grace {
		return
	}
	for id, job := range s.Volcano.Jobs {
		if job.PodGroup == nil {
			continue
		}
		if s.settings.ByClass {
			s.warnJob(ofClass, report.BadPolicyAnnotation, id, job, classProblems(job))
		}
		if budgets {
			s.warnJob(ofLength, report.BadPolicyAnnotation, id, job, lengthProblems(job))
		}
		if checkpoints {
			s.warnJob(ofCheckpoint, report.BadPolicyAnnotation, id, job, checkpointProblems(job))
		}
		if grace {
			s.warnJob(ofGrace, report.BadPolicyAnnotation, id, job, graceProblems(job))
		}
		if evictions != nil {
			s.warnJob(ofMinimum, report.NeverEvicted, id, job, s.gangProblems(evictions, job))
		}
	}
}

func (s *session) warnJob(topic, reason string, id api.JobID, job *api.JobInfo, problems []string) {
	for _, problem := range s.memory.problems.New(report.Subject{Topic: topic, Name: string(id)}, problems...) {
		s.memory.recorder.RecordPodGroup(s.Volcano, job.PodGroup, report.PodGroupEvent{Type: v1.EventTypeWarning,
			Reason: reason, Message: problem})
	}
}

// gangProblems returns why a job with pods on nodes is never evicted as a whole, none where it can be.
func (s *session) gangProblems(budgets *evictions.Budgets, job *api.JobInfo) []string {
	q := s.Index.Lookup(string(job.Queue))
	if q == index.None {
		return nil
	}
	if b := budgets.Below(q, int(job.MinAvailable)); b != nil && job.ReadyTaskNum() >= job.MinAvailable {
		return []string{fmt.Sprintf("the job needs <%d> pods at least, and %s of queue <%s> is <%s>: it is never evicted as a whole",
			job.MinAvailable, policy.Short(b.Key), s.Index.Name(b.Queue), b.Rate)}
	}
	return nil
}

// classProblems returns why the service class of a job is wrong, none for one that is not.
func classProblems(job *api.JobInfo) []string {
	text, given := job.PodGroup.Annotations[policy.ServiceTypeKey]
	if !given || policy.IsServiceType(text) {
		return nil
	}
	return []string{fmt.Sprintf("annotation %s: %q is not one of %s, %s; the job has the class of its pods' owners",
		policy.ServiceTypeKey, index.Shorten(text, 100), policy.Inference, policy.Training)}
}

// lengthProblems returns why announced lengths of a job are wrong: of its PodGroup and of its pods without a node.
func lengthProblems(job *api.JobInfo) []string {
	return wrongTexts(policy.ExpectedRuntimeKey, policy.RuntimeProblem, job, job.TaskStatusIndex[api.Pending])
}

// checkpointProblems returns why times of checkpoints of a job are wrong: of its PodGroup and of its pods that run.
func checkpointProblems(job *api.JobInfo) []string {
	return wrongTexts(policy.CheckpointKey, policy.CheckpointProblem, job, job.TaskStatusIndex[api.Running])
}

// graceProblems returns why the grace is wrong that a job asks for: its PodGroup, or its pods that run.
func graceProblems(job *api.JobInfo) []string {
	return wrongTexts(policy.EvictionGraceKey, policy.GraceProblem, job, job.TaskStatusIndex[api.Running])
}

// wrongTexts returns what is wrong with an annotation of a job and of some of its tasks, which counts as not set then.
func wrongTexts(key string, why func(text string) string, job *api.JobInfo, tasks map[api.TaskID]*api.TaskInfo) (problems []string) {
	check := func(of string, annotations map[string]string) {
		text, given := annotations[key]
		if !given {
			return
		}
		if why := why(text); why != "" {
			problem := fmt.Sprintf("annotation %s%s: %s; it counts as not set", key, of, why)
			if !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
		}
	}
	check("", job.PodGroup.Annotations)
	for _, task := range tasks {
		if task.Pod != nil {
			check(" of pods", task.Pod.Annotations)
		}
	}
	slices.Sort(problems)
	return problems
}
