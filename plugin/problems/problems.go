// Package problems records events on objects whose annotations or quotas are wrong, once for each problem, and again if
// it comes back.
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
	Log      *record.Log // what was recorded in earlier sessions
}

// Forget forgets the problems of objects that are gone, and those of cards while cards count nowhere.
func (r *Reporter) Forget() {
	r.Log.Forget(func(of record.Subject) bool {
		if slices.Contains(ofJobs, of.Topic) {
			return r.Session.Volcano.Jobs[api.JobID(of.Name)] == nil
		}
		queue := r.Objects.Get(of.Name)
		return queue == nil || queue.Object.UID != of.UID || of.Topic == OfCards && r.Session.Cards == nil
	})
}

// Queue records an event on a queue for each problem that is new.
func (r *Reporter) Queue(topic string, p objects.Problems, reason string) {
	for _, problem := range r.Log.New(record.Subject{Topic: topic, Name: p.Queue.Name, UID: p.Queue.UID}, p.Texts...) {
		r.Recorder.WarnQueue(r.Session.Volcano, r.Session.Plugin, p.Queue, reason, problem)
	}
}

// Keys records events on queues with annotations that are unknown.
func (r *Reporter) Keys() {
	for _, queue := range r.Objects.Changed() {
		var texts []string
		for _, p := range queue.UnknownKeys() {
			texts = append(texts, fmt.Sprintf("annotation %s %s", p.Key, p.Reason))
		}
		of := record.Subject{Topic: ofKeys, Name: queue.Object.Name, UID: queue.Object.UID}
		for _, text := range r.Log.New(of, texts...) {
			reason := record.BadPolicyAnnotation
			switch {
			case strings.HasPrefix(text, "annotation "+index.PathKey):
				reason = record.BadHierarchyAnnotation
			case strings.HasPrefix(text, "annotation "+card.Prefix):
				reason = record.BadCardAnnotation
			}
			r.Recorder.WarnQueue(r.Session.Volcano, r.Session.Plugin, queue.Object, reason, text)
		}
	}
}

// Devices records an event on each queue whose quotas of devices have no effect, again when they change.
func (r *Reporter) Devices(rules intake.Devices) {
	for _, queue := range r.Session.Intake.Queues {
		if queue == nil {
			continue
		}
		p, spec := objects.Problems{Queue: queue.Queue}, &queue.Queue.Spec
		for _, problem := range rules.Problems(spec.Capability, spec.Deserved, spec.Guarantee.Resource) {
			p.Texts = append(p.Texts, problem.String())
		}
		r.Queue(ofDevices, p, record.BadDeviceQuota)
	}
}

// Counting says what counts in a session of what jobs and their pods say about themselves.
type Counting struct {
	Classes, Lengths, Checkpoints, Grace bool
	Evictions                            *evictions.Budgets // nil where none bounds them
}

// Jobs records an event on each PodGroup with an annotation that counts and is wrong, and on one that no budget of
// evictions ever has room for.
func (r *Reporter) Jobs(c Counting) {
	if c == (Counting{}) { // as in most sessions, which then allocate nothing here
		return
	}
	ix, budgets := r.Session.Index, c.Evictions // not r, which would then be allocated in every session
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
			for _, problem := range r.Log.New(record.Subject{Topic: c.topic, Name: string(id)}, c.problems(job)...) {
				r.Recorder.RecordPodGroup(r.Session.Volcano, job.PodGroup, record.PodGroupEvent{Type: v1.EventTypeWarning,
					Reason: c.reason, Message: problem})
			}
		}
	}
}

// check finds problems of a job about one topic.
type check struct {
	on            bool
	topic, reason string // reason is that of the event
	problems      func(*api.JobInfo) []string
}

// neverEvicted returns why a job with pods on nodes is never evicted as a whole, none where it can be.
func neverEvicted(ix *index.Index, budgets *evictions.Budgets, job *api.JobInfo) []string {
	q := ix.Lookup(string(job.Queue))
	if q == index.None {
		return nil
	}
	if b := budgets.Below(q, int(job.MinAvailable)); b != nil && job.ReadyTaskNum() >= job.MinAvailable {
		return []string{fmt.Sprintf("the job needs <%d> pods at least, and %s of queue <%s> is <%s>: it is never evicted as a whole",
			job.MinAvailable, policy.Short(b.Key), ix.Name(b.Queue), b.Rate)}
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
