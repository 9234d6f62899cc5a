// Package store keeps state in ConfigMaps that must survive a restart of the scheduler: the usage of queues over
// time, the used part of their budgets, and their losses to evictions. For cardctl, it also has the last good values of
// wrong annotations, the cards of pods on nodes that do not state them any more, and the pods that others were evicted
// for.
package store

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/background"
	"github.com/capacity-card/capacity-card/quota/budget"
	"github.com/capacity-card/capacity-card/quota/evict"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// requestTimeout bounds the time of one save or load.
const requestTimeout = 30 * time.Second

// State is the loaded state. A part is nil if the store does not have it, or has it with another half-life.
type State struct {
	History   *usage.History
	Budgets   *budget.Ledger
	Evictions *evict.Ledger
	Saved     time.Time
	Now       time.Time // of the session that takes it; zero for the time of its clock
}

// Store reads and writes records in goroutines of its own. The zero Store is not open.
type Store struct {
	background.Task
	client    kubernetes.Interface
	namespace string
	name      string
	halfLife  time.Duration
	writer    string
	next      time.Time // of a save
	due       bool

	mu sync.Mutex // guards the fields below
	// loaded: the store was read, so that a save loses nothing. tried: it was read, or the first attempt failed.
	loaded  bool
	tried   bool
	newer   *State    // for the next session
	known   string    // the save that was loaded or written last
	current time.Time // the last time at which the ConfigMap was known to be up to date
	saves   int
	parts   int // of the known save
	last    Record
}

// Open begins to load when the first session opens, and when the settings name another store. It waits for a session in
// which nothing is being loaded or saved.
func (s *Store) Open(client kubernetes.Interface, with *arguments.FairShare) {
	if with.Store == arguments.NoStore {
		client = nil
	}

	same := s.client == client && s.namespace == with.Store.Namespace && s.name == with.Store.Name
	if s.Busy() || same && s.halfLife == with.HalfLife {
		return
	}

	s.client = client
	s.namespace = with.Store.Namespace
	s.name = with.Store.Name
	s.halfLife = with.HalfLife
	if client == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.current = time.Time{}
		return
	}

	if s.writer == "" {
		s.writer = string(uuid.NewUUID())
	}
	s.loaded = false
	s.tried = false
	s.start(s.load)
}

// start runs a task unless one is running.
func (s *Store) start(task func(context.Context) error) {
	s.Start(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		err := task(ctx)

		s.mu.Lock()
		defer s.mu.Unlock()
		s.tried = true
		if err != nil {
			return fmt.Errorf("argument %s: ConfigMap %s/%s: %w", arguments.StateStore, s.namespace, s.name, err)
		}
		return nil
	})
}

// Loaded returns the state that was loaded since the last call, nil for none. loads: the store is still being read
// for the first time. One call returns both, because a load that ends between two calls would be missed.
func (s *Store) Loaded() (newer *State, loads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	newer = s.newer
	s.newer = nil
	return newer, s.client != nil && !s.loaded && !s.tried
}

// Begin forgets the loaded state. The next session begins with a stored state, nil for none. It is for sessions on
// unrelated clusters.
func (s *Store) Begin(with *Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.next = time.Time{}
	s.newer = nil
	if with == nil {
		return
	}

	state, err := with.Record.state(with.Saved, with.HalfLife > 0)
	if err == nil && state != nil { // Read has checked it
		state.Now = with.Now
		s.newer = state
	}
}

// Tick decides whether a save is due at the time of a session. save is the time between saves.
func (s *Store) Tick(now time.Time, save time.Duration) {
	// A time further ahead is from before a change of the setting or of the clock.
	s.due = !now.Before(s.next) || s.next.Sub(now) > save
	if s.due {
		s.next = now.Add(save)
	}
}

// Rest cancels the save that is due.
func (s *Store) Rest() { s.due = false }

// Due reports whether a save is due.
func (s *Store) Due() bool { return s.due }

// Offer saves a record, or loads the store if that has failed before.
func (s *Store) Offer(now time.Time, record func() Record) {
	s.mu.Lock()
	loaded := s.loaded
	rests := s.client == nil || s.newer != nil // a loaded state is not overwritten before a session takes it
	s.mu.Unlock()

	switch {
	case rests || s.Busy():
	case loaded:
		next := record()
		s.start(func(ctx context.Context) error { return s.save(ctx, next, now) })
	default:
		s.start(s.load)
	}
}

// Saved returns when the store was last saved or loaded. The zero time means never, or that there is no store now.
func (s *Store) Saved() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// load reads the store.
func (s *Store) load(ctx context.Context) error {
	first, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.finish(nil, "", time.Time{}, 0)
		return nil
	}
	if err != nil {
		return fmt.Errorf("usage cannot be loaded: %w", err)
	}
	return s.read(ctx, first)
}

// read reads the save that begins in a ConfigMap. The next save replaces a save that cannot be read, unless a later
// release wrote it.
func (s *Store) read(ctx context.Context, first *v1.ConfigMap) error {
	if v := first.Data[versionKey]; v != version && v != "" {
		return errNewer
	}

	saved, err := time.Parse(time.RFC3339Nano, first.Data[savedKey])
	var found *State
	var parts int
	if err == nil {
		found, parts, err = s.parse(ctx, first, saved)
	}
	if err != nil {
		err = fmt.Errorf("usage is not read, present use decides: %w", err)
	}

	s.finish(found, first.Data[saveKey], saved, parts)
	return err
}

// finish notes the result of a load or a save.
func (s *Store) finish(found *State, save string, saved time.Time, parts int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.loaded = true
	s.newer = found
	s.known = save
	s.current = saved
	s.parts = parts
}

// parse reads the parts of a save. It leaves out usage with another half-life.
func (s *Store) parse(ctx context.Context, first *v1.ConfigMap, saved time.Time) (*State, int, error) {
	record, parts, err := join(first, func(name string) (*v1.ConfigMap, error) {
		return s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return nil, parts, err
	}

	halfLife := first.Data[halfLifeKey]
	same := halfLife == s.halfLife.String()
	state, err := record.state(saved, same && s.halfLife > 0)
	if err == nil && !same && s.halfLife > 0 && halfLife != noHalfLife {
		err = fmt.Errorf("it has the half-life %s", halfLife)
	}
	return state, parts, err
}

// save writes a record, unless nothing has changed, or another scheduler has saved since this one saved or loaded.
// Then it reads the record of the other scheduler, which became leader later, regardless of the clocks.
func (s *Store) save(ctx context.Context, record Record, now time.Time) error {
	first, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	exists := err == nil
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("usage is not saved: %w", err)
	case exists && first.Data[writerKey] != s.writer && first.Data[saveKey] != s.known:
		return s.read(ctx, first)
	case exists && reflect.DeepEqual(record.withoutKnown(), s.last.withoutKnown()):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.current = now
		return nil
	}

	packed, err := Pack(record)
	if err != nil {
		return err
	}

	s.saves++
	next := head{
		saved:    now,
		halfLife: s.halfLife,
		writer:   s.writer,
		save:     fmt.Sprintf("%s/%d", s.writer, s.saves),
		set:      oneSet,
	}
	resourceVersion := ""
	if exists {
		next.set = after(first.Data[setKey])
		resourceVersion = first.ResourceVersion
	}

	all := split(types.NamespacedName{Namespace: s.namespace, Name: s.name}, packed, next)
	if len(all) > mostParts {
		return fmt.Errorf("usage is not saved: it has %d parts, and at most %d are read", len(all), mostParts)
	}

	all[0].ResourceVersion = resourceVersion // another scheduler may save at the same time
	for i, part := range slices.Backward(all) {
		if err := s.write(ctx, part, i > 0 || exists); err != nil {
			return fmt.Errorf("usage is not saved: %w", err)
		}
	}

	before := s.parts
	s.last = record
	s.finish(nil, next.save, now, len(all))
	return s.deleteUnneeded(ctx, next.set, before, len(all))
}

// deleteUnneeded deletes the parts that a save does not need any more. before and now are numbers of parts.
func (s *Store) deleteUnneeded(ctx context.Context, set string, before, now int) error {
	if max(before, now) == 1 {
		return nil // nearly always
	}

	err := s.deleteParts(ctx, set, now)
	if err != nil || now > 1 {
		return err
	}
	return s.deleteParts(ctx, after(set), 1)
}

// deleteParts deletes the parts of a set from a number on.
func (s *Store) deleteParts(ctx context.Context, set string, from int) error {
	for i := from; i < mostParts; i++ {
		err := s.client.CoreV1().ConfigMaps(s.namespace).Delete(ctx, partName(s.name, set, i), metav1.DeleteOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("parts that are not needed any more are not deleted: %w", err)
		}
	}
	return nil
}

func (s *Store) write(ctx context.Context, part *v1.ConfigMap, exists bool) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	if exists {
		_, err := maps.Update(ctx, part, metav1.UpdateOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err := maps.Create(ctx, part, metav1.CreateOptions{})
	return err
}
