package model

import "sync"

// once keeps what views compute from a model. All viewers of a model load their pages when it is made,
// and most of what a page has is the same for all who may see everything.
type once struct {
	mu   sync.Mutex
	kept map[string]any // by name
}

// Once returns what compute returned for a name the first time for this model. The result is shared, so that
// nobody may change it. compute calls no Once itself. Names are constants: users choose none of them.
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
