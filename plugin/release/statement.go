package release

//lint:file-ignore U1000 a fallback is unused with the releases that have the declaration

import (
	"errors"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// statement is a statement of any release.
type statement struct {
	*framework.Statement
	absentUndo
}

type absentUndo struct{ absentUnAllocate }

// absentUnAllocate stands in for UnAllocate, which v1.15 and later releases do not have: there a statement undoes
// failed operations itself.
type absentUnAllocate struct{}

// UnAllocate has another type than Volcano's, by which unAllocate tells them apart.
func (absentUnAllocate) UnAllocate() {}

// unAllocate returns the method that undoes an allocation. It is nil if statements undo failed operations themselves.
func unAllocate(s *framework.Statement) func(*api.TaskInfo) error {
	undo, _ := any(statement{Statement: s}.UnAllocate).(func(*api.TaskInfo) error)
	return undo
}

// Allocate allocates a task on a node. If it fails, it has no effect.
func Allocate(s *framework.Statement, task *api.TaskInfo, node *api.NodeInfo) error {
	err := s.Allocate(task, node)
	if undo := unAllocate(s); err != nil && undo != nil {
		return errors.Join(err, undo(task))
	}
	return err
}

// Pipeline assigns a task to a node on which resources become free. If it fails, it has no effect.
func Pipeline(s *framework.Statement, task *api.TaskInfo, node string, evictionOccurred bool) error {
	err := s.Pipeline(task, node, evictionOccurred)
	if err != nil && unAllocate(s) != nil {
		return errors.Join(err, s.UnPipeline(task))
	}
	return err
}

// Evict evicts a task. From v1.15 on it cannot fail.
func Evict(s *framework.Statement, task *api.TaskInfo, reason string) error {
	switch evict := any(s.Evict).(type) {
	case func(*api.TaskInfo, string) error:
		return evict(task, reason)
	case func(*api.TaskInfo, string):
		evict(task, reason)
		return nil
	}
	panic("release: Statement.Evict has a type that no known release has")
}
