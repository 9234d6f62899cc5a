package model

import "sync"

// once keeps results that views compute from a model. All viewers load their pages when a model is made, and most of
// a page is the same for all viewers that may see everything.
type once struct {
	mu   sync.Mutex
	kept map[string]any // by name
}

// Once returns the result of compute for a name. It calls compute once for each model and name. The result is shared:
// callers must not change it. compute must not call Once. Names are constants: users choose none of them.
func Once[T any](m *Model, name string, compute func() T) T {
	o := &m.known.once
	o.mu.Lock()
	defer o.mu.Unlock()

	if kept, found := o.kept[name]; found {
		return kept.(T)
	}

	if o.kept == nil {
		o.kept = map[string]any{}
	}
	result := compute()
	o.kept[name] = result
	return result
}
