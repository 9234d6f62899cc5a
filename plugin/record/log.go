package record

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Log remembers which problems were reported, so that each is reported once for an object. A problem that comes back
// is reported again. The zero Log is ready.
type Log struct{ reported map[Subject][]string }

// Subject is an object and a topic. An object can have problems of several topics.
type Subject struct {
	Topic string
	Name  string
	UID   types.UID // a new object with the same name is another subject
}

// New returns the problems of a subject that the call before did not have. problems are all problems of the subject,
// none if they are solved.
func (l *Log) New(subject Subject, problems ...string) (added []string) {
	if len(problems) == 0 {
		// A problem that comes back is reported again.
		delete(l.reported, subject)
		return nil
	}

	before := l.reported[subject]
	for _, problem := range problems {
		if !slices.Contains(before, problem) {
			added = append(added, problem)
		}
	}

	if l.reported == nil {
		l.reported = map[Subject][]string{}
	}
	l.reported[subject] = problems
	return added
}

// Forget forgets the problems of objects that are gone.
func (l *Log) Forget(gone func(Subject) bool) {
	for subject := range l.reported {
		if gone(subject) {
			delete(l.reported, subject)
		}
	}
}

// maxWarnings bounds the warnings that are remembered. Warnings name queues and tasks,
// which come and go, so the memory must be bounded.
const maxWarnings = 4096

// Len returns the number of subjects with problems.
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
