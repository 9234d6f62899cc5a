// Package background runs tasks outside of sessions, so that no session waits for the API server.
package background

import "sync"

// mostProblems bounds the problems that are kept until a session reports them.
const mostProblems = 10

// Task runs a function in a goroutine, one at a time, and keeps what failed for the next session. The zero Task is
// ready.
type Task struct {
	work sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	busy     bool
	problems []string
}

// Start runs a function, unless one is running: then it does nothing. An error is a problem.
func (t *Task) Start(do func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		return
	}

	t.busy = true
	t.work.Add(1)
	go func() {
		defer t.work.Done()
		err := do()

		t.mu.Lock()
		defer t.mu.Unlock()
		t.busy = false
		if err != nil && len(t.problems) < mostProblems {
			t.problems = append(t.problems, err.Error())
		}
	}()
}

// Busy reports whether a function is running.
func (t *Task) Busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy
}

// Problems returns the problems since the last call, at most ten.
func (t *Task) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()

	problems := t.problems
	t.problems = nil
	return problems
}

// Wait waits until no function is running.
func (t *Task) Wait() { t.work.Wait() }
