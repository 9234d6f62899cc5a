// Package problems records events on objects with wrong annotations or quotas: one event for each problem, and another
// one if the problem comes back.
package problems

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// The topics of problems of queues.
const (
	OfTree     = "tree"
	OfPolicies = "policies"
	OfWindows  = "windows"
	OfCards    = "cards"
	ofKeys     = "keys"
	ofDevices  = "devices"
)

// The topics of problems of PodGroups.
const (
	ofClass      = "class"
	ofLength     = "length"
	ofMinimum    = "minimum"
	ofCheckpoint = "checkpoint"
	ofGrace      = "grace"
)

var ofJobs = []string{ofClass, ofLength, ofMinimum, ofCheckpoint, ofGrace}

// Reporter records the problems of the objects of a session.
type Reporter struct {
	Session  *constraint.Session
	Objects  *objects.Queues
	Recorder *record.Recorder
	Log      *record.Log // problems that earlier sessions recorded
}

// Forget forgets the problems of objects that are gone. It also forgets problems of cards if cards count nowhere.
func (r *Reporter) Forget() {
	r.Log.Forget(func(subject record.Subject) bool {
		if slices.Contains(ofJobs, subject.Topic) {
			return r.Session.Volcano.Jobs[api.JobID(subject.Name)] == nil
		}

		queue := r.Objects.Get(subject.Name)
		gone := queue == nil || queue.Object.UID != subject.UID
		return gone || subject.Topic == OfCards && r.Session.Cards == nil
	})
}

// Queue records an event on a queue for each problem that is new.
func (r *Reporter) Queue(topic string, p objects.Problems, reason string) {
	subject := record.Subject{Topic: topic, Name: p.Queue.Name, UID: p.Queue.UID}
	for _, problem := range r.Log.New(subject, p.Texts...) {
		r.Recorder.WarnQueue(r.Session.Volcano, r.Session.Plugin, p.Queue, reason, problem)
	}
}

// Keys records events on queues for annotations that are unknown.
func (r *Reporter) Keys() {
	for _, queue := range r.Objects.Changed() {
		var texts []string
		for _, p := range queue.UnknownKeys() {
			texts = append(texts, fmt.Sprintf("annotation %s %s", p.Key, p.Reason))
		}

		subject := record.Subject{Topic: ofKeys, Name: queue.Object.Name, UID: queue.Object.UID}
		for _, text := range r.Log.New(subject, texts...) {
			r.Recorder.WarnQueue(r.Session.Volcano, r.Session.Plugin, queue.Object, reasonOf(text), text)
		}
	}
}

// reasonOf returns the reason of an event about an unknown annotation.
func reasonOf(text string) string {
	switch {
	case strings.HasPrefix(text, "annotation "+index.PathKey):
		return record.BadHierarchyAnnotation
	case strings.HasPrefix(text, "annotation "+card.Prefix):
		return record.BadCardAnnotation
	default:
		return record.BadPolicyAnnotation
	}
}

// Devices records an event on each queue with quotas of devices that have no effect, and another one when they change.
func (r *Reporter) Devices(rules intake.Devices) {
	for _, queue := range r.Session.Intake.Queues {
		if queue == nil {
			continue
		}

		spec := &queue.Queue.Spec
		p := objects.Problems{Queue: queue.Queue}
		for _, problem := range rules.Problems(spec.Capability, spec.Deserved, spec.Guarantee.Resource) {
			p.Texts = append(p.Texts, problem.String())
		}
		r.Queue(ofDevices, p, record.BadDeviceQuota)
	}
}

// Counting says which annotations of jobs and their pods count in a session.
type Counting struct {
	Classes, Lengths, Checkpoints, Grace bool
	Evictions                            *evictions.Budgets // nil if no budget bounds evictions
}

// Jobs records an event on each PodGroup with a wrong annotation that counts, and on each one that no budget of
// evictions ever has room for.
func (r *Reporter) Jobs(c Counting) {
	if c == (Counting{}) { // as in most sessions, which then allocate nothing here
		return
	}

	// A closure over r would allocate the Reporter in every session.
	ix, budgets := r.Session.Index, c.Evictions
	never := func(job *api.JobInfo) []string { return neverEvicted(ix, budgets, job) }
	checks := slices.DeleteFunc([]check{
		{c.Classes, ofClass, record.BadPolicyAnnotation, classProblems},
		{c.Lengths, ofLength, record.BadPolicyAnnotation, lengthProblems},
		{c.Checkpoints, ofCheckpoint, record.BadPolicyAnnotation, checkpointProblems},
		{c.Grace, ofGrace, record.BadPolicyAnnotation, graceProblems},
		{c.Evictions != nil, ofMinimum, record.NeverEvicted, never},
	}, func(c check) bool { return !c.on })

	for id, job := range r.Session.Volcano.Jobs {
		if job.PodGroup == nil {
			continue
		}
		for _, c := range checks {
			subject := record.Subject{Topic: c.topic, Name: string(id)}
			for _, problem := range r.Log.New(subject, c.problems(job)...) {
				event := record.PodGroupEvent{Type: v1.EventTypeWarning, Reason: c.reason, Message: problem}
				r.Recorder.RecordPodGroup(r.Session.Volcano, job.PodGroup, event)
			}
		}
	}
}

// check finds problems of a job about one topic.
type check struct {
	on       bool
	topic    string
	reason   string // of the event
	problems func(*api.JobInfo) []string
}

// neverEvicted returns why a job with pods on nodes is never evicted as a whole, none if it can be.
func neverEvicted(ix *index.Index, budgets *evictions.Budgets, job *api.JobInfo) []string {
	q := ix.Lookup(string(job.Queue))
	if q == index.None {
		return nil
	}

	b := budgets.Below(q, int(job.MinAvailable))
	if b == nil || job.ReadyTaskNum() < job.MinAvailable {
		return nil
	}
	return []string{fmt.Sprintf("the job needs <%d> pods at least, and %s of queue <%s> is <lose=%s>: it is never "+
		"evicted as a whole", job.MinAvailable, policy.Short(policy.EvictionBudgetKey), ix.Name(b.Queue), b.Rate)}
}

// classProblems returns why the service class of a job is wrong, none if it is right.
func classProblems(job *api.JobInfo) []string {
	text, given := job.PodGroup.Annotations[policy.ServiceTypeKey]
	if !given || policy.IsServiceType(text) {
		return nil
	}
	return []string{fmt.Sprintf("annotation %s: %q is not one of %s, %s; the job has the class of its pods' owners",
		policy.ServiceTypeKey, index.Shorten(text, 100), policy.Inference, policy.Training)}
}

// lengthProblems returns why the announced lengths of a PodGroup and of its pods without a node are wrong.
func lengthProblems(job *api.JobInfo) []string {
	return wrongTexts(policy.ExpectedRuntimeKey, policy.RuntimeProblem, job, job.TaskStatusIndex[api.Pending])
}

// checkpointProblems returns why the times of checkpoints of a PodGroup and of its running pods are wrong.
func checkpointProblems(job *api.JobInfo) []string {
	return wrongTexts(policy.CheckpointKey, policy.CheckpointProblem, job, job.TaskStatusIndex[api.Running])
}

// graceProblems returns why the grace that a PodGroup or its running pods ask for is wrong.
func graceProblems(job *api.JobInfo) []string {
	return wrongTexts(policy.EvictionGraceKey, policy.GraceProblem, job, job.TaskStatusIndex[api.Running])
}

// wrongTexts returns the problems of an annotation of a job and of some of its tasks, each one once. why returns the
// problem of a text, "" for none. A wrong text counts as not set.
func wrongTexts(
	key string, why func(text string) string, job *api.JobInfo, tasks map[api.TaskID]*api.TaskInfo,
) (problems []string) {
	check := func(place string, annotations map[string]string) {
		text, given := annotations[key]
		if !given {
			return
		}
		if reason := why(text); reason != "" {
			problems = append(problems, fmt.Sprintf("annotation %s%s: %s; it counts as not set", key, place, reason))
		}
	}

	check("", job.PodGroup.Annotations)
	for _, task := range tasks {
		if task.Pod != nil {
			check(" of pods", task.Pod.Annotations)
		}
	}

	slices.Sort(problems)
	return slices.Compact(problems)
}
