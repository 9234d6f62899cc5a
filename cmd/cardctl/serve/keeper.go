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
	clock    time.Duration // the longest time between two readings, except for quietShare
	log      func(format string, arguments ...any)
	history  *model.History
	events   *broadcaster
	measures *measures

	mu    sync.RWMutex
	state state
}

// state is the last model, and the error of the last reading.
type state struct {
	model     *model.Model // nil before the first reading
	unchanged time.Time    // the first reading of the objects of model
	err       error        // of the last reading
	since     time.Time    // of err
}

func (k *keeper) now() state {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.state
}

// restShare is a part of the time between two readings. The keeper rests for at least this part.
const restShare = 2

// quietShare is the same for a cluster that does not change: the reading of a large cluster takes seconds, and an idle
// server should cost little.
const quietShare = 20

// clock is the longest time between two readings: budgets, windows, usage and delays change without a change of an
// object.
const clock = 10 * time.Second

// run reads until ctx is done. It reads after each change, at most once every interval, and at each tick of the clock.
// It reads more rarely if readings take long.
func (k *keeper) run(ctx context.Context) {
	changed := true
	for {
		begun := time.Now()
		k.read(ctx, changed)
		took := time.Since(begun)

		wait := max(k.interval, restShare*took) - took
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		// It reads again until the cluster is back.
		if k.now().err != nil {
			changed = true
			continue
		}

		select {
		case <-ctx.Done():
			return
		case <-k.source.Changed():
			changed = true
		case <-k.tick(begun, took):
			changed = false
		}
	}
}

// tick returns the channel for the next reading of a cluster that does not change, after a reading that took a time.
// Files do not change. They are read again only if something in them depends on the time.
func (k *keeper) tick(begun time.Time, took time.Duration) <-chan time.Time {
	m := k.now().model
	if k.source.Changed() == nil && m != nil && !m.Timed() {
		return nil
	}
	return time.After(time.Until(begun.Add(max(k.clock, quietShare*took))))
}

// read makes a model of the cluster now. changed: an object can have changed since the previous model. If the reading
// fails, the previous model stays.
func (k *keeper) read(ctx context.Context, changed bool) {
	before := k.now()
	begun := time.Now()
	reading, err := k.source.Read(ctx)
	if ctx.Err() != nil {
		return
	}

	after := state{model: before.model, unchanged: before.unchanged, err: err}
	if reading != nil && (err == nil || before.model == nil) {
		made, makeErr := model.Make(ctx, reading, before.model)
		if makeErr != nil {
			after.err = makeErr
		} else {
			after.model = made
			if changed {
				after.unchanged = made.Time
			}
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
