package plugin

import (
	"fmt"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// The topics of problems.
const (
	ofTree     = "tree"
	ofPolicies = "policies"
	ofKeys     = "keys"
	ofCards    = "cards"
	ofDevices  = "devices"
	ofClass    = "class" // of a PodGroup; the others are of queues
)

// forgetProblems forgets the problems of objects that are gone, and those of cards while cards count
// nowhere.
func (s *session) forgetProblems() {
	s.memory.problems.Forget(func(of report.Subject) bool {
		if of.Topic == ofClass {
			return s.ssn.Jobs[api.JobID(of.Name)] == nil
		}
		queue := s.memory.queues.Get(of.Name)
		return queue == nil || queue.Object.UID != of.UID || of.Topic == ofCards && s.cards == nil
	})
}

// warnQueue records an event on a queue for each problem that is new.
func (s *session) warnQueue(topic string, p objects.Problems, reason string) {
	for _, problem := range s.memory.problems.New(report.Subject{Topic: topic, Name: p.Queue.Name, UID: p.Queue.UID}, p.Texts...) {
		s.memory.recorder.WarnQueue(s.ssn, s.variant.name, p.Queue, reason, problem)
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
			s.memory.recorder.WarnQueue(s.ssn, s.variant.name, queue.Object, reason, text)
		}
	}
}
