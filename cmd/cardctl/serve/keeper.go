package serve

import (
	"context"
	"sync"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
)

// keeper keeps the model of the last reading.
type keeper struct {
	source   model.Source
	interval time.Duration
	log      func(format string, arguments ...any)
	history  *model.History
	events   *broadcaster
	measures *measures

	mu    sync.RWMutex
	state state
}

// state is the last model, and the error of the last reading.
type state struct {
	model *model.Model // nil before the first reading
	err   error        // of the last reading
	since time.Time    // of err
}

func (k *keeper) now() state {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.state
}

// restShare is a part of the time between two readings. The keeper rests for at least this part.
const restShare = 2

// run reads until ctx is done. It reads a cluster after each change, at most once every interval, and more rarely if
// readings take long. It reads files once. It reads both when a window of a queue begins or ends.
func (k *keeper) run(ctx context.Context) {
	for {
		begun := time.Now()
		k.read(ctx)

		changed := k.source.Changed()
		window := k.nextWindow()
		if changed == nil && window.IsZero() && k.now().err == nil {
			return
		}

		wait := max(k.interval, restShare*time.Since(begun)) - time.Since(begun)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		// It reads again until the cluster is back.
		if k.now().err != nil {
			continue
		}

		var due <-chan time.Time
		if !window.IsZero() {
			due = time.After(time.Until(window))
		}

		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-due:
		}
	}
}

// nextWindow returns the next begin or end of a window of a queue, the zero time for never.
func (k *keeper) nextWindow() (next time.Time) {
	m := k.now().model
	if m == nil {
		return next
	}

	for i := range m.Queues {
		if at := m.Queues[i].NextWindow(); at != nil && (next.IsZero() || at.Before(next)) {
			next = *at
		}
	}
	return next
}

// read makes a model of the cluster now. If that fails, the previous model stays.
func (k *keeper) read(ctx context.Context) {
	before := k.now()
	begun := time.Now()
	reading, err := k.source.Read(ctx)
	if ctx.Err() != nil {
		return
	}

	after := state{model: before.model, err: err}
	if reading != nil && (err == nil || before.model == nil) {
		made, makeErr := model.Make(ctx, reading, before.model)
		if makeErr != nil {
			after.err = makeErr
		} else {
			after.model = made
			k.history.Add(made)
		}
	}

	k.measures.read(begun, after.err)

	switch {
	case after.err == nil && before.err != nil:
		k.log("The cluster is read again; it was not since %s.", before.since.Format(time.TimeOnly))
	case after.err != nil && before.err != nil && after.err.Error() == before.err.Error():
		after.since = before.since
	case after.err != nil:
		after.since = time.Now()
		k.log("error: %v", after.err)
	}

	k.mu.Lock()
	k.state = after
	k.mu.Unlock()

	if after.model != before.model || (after.err == nil) != (before.err == nil) {
		k.events.publish()
	}
}
