package record

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Log remembers which problems were reported, so that each is reported once for an object, and again
// if it comes back. The zero Log is ready.
type Log struct{ reported map[Subject][]string }

// Subject is an object and a topic that problems are about.
type Subject struct {
	Topic string // what is wrong: an object can have problems of several topics
	Name  string
	UID   types.UID // an object of the same name is another one
}

// New returns those problems of an object that it did not have when New was called before. problems
// are all that it has of the topic, none if they are mended.
func (l *Log) New(of Subject, problems ...string) (added []string) {
	before := l.reported[of]
	if len(problems) == 0 {
		if before != nil {
			delete(l.reported, of)
		}
		return nil
	}
	for _, problem := range problems {
		if !slices.Contains(before, problem) {
			added = append(added, problem)
		}
	}
	if l.reported == nil {
		l.reported = map[Subject][]string{}
	}
	l.reported[of] = problems
	return added
}

// Forget forgets the problems of objects that are gone.
func (l *Log) Forget(gone func(Subject) bool) {
	for of := range l.reported {
		if gone(of) {
			delete(l.reported, of)
		}
	}
}

// maxWarnings bounds the warnings that are remembered. Warnings name queues and tasks,
// which come and go, so the memory must be bounded.
const maxWarnings = 4096

// Len is the number of subjects with problems.
func (l *Log) Len() int { return len(l.reported) }

// Once logs a warning unless it was logged before.
func (l *Log) Once(plugin, warning string) {
	if len(l.reported) >= maxWarnings {
		clear(l.reported)
	}
	for range l.New(Subject{Name: warning}, warning) {
		klog.Warningf("[%s] %s", plugin, warning)
	}
}
