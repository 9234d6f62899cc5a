// Package store keeps what must last over restarts of the scheduler in ConfigMaps: what queues have had over time,
// what they have used of their budgets, and what they lost to evictions.
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
	"github.com/capacity-card/capacity-card/quota/budget"
	"github.com/capacity-card/capacity-card/quota/evict"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// requestTimeout bounds what one save or load may take.
const requestTimeout = 30 * time.Second

// State is the loaded state. A part that the store lacks, or has with another half-life, is nil.
type State struct {
	History   *usage.History
	Budgets   *budget.Ledger
	Evictions *evict.Ledger
	Saved     time.Time
	Now       time.Time // of the session that takes it, the zero time for that of the session's clock
}

// Store reads and writes records in goroutines of its own. The zero Store is not open.
type Store struct {
	client    kubernetes.Interface
	namespace string
	name      string
	halfLife  time.Duration
	writer    string
	next      time.Time // to save
	due       bool

	work sync.WaitGroup
	mu   sync.Mutex // guards what follows
	busy bool
	// loaded: the store was read, so that a save loses nothing. tried: it was, or the first attempt failed.
	loaded   bool
	tried    bool
	newer    *State    // for the next session
	known    string    // the save that was loaded or written last
	current  time.Time // when the ConfigMap was known to have what there is
	saves    int
	parts    int // of the save that is known
	last     Record
	problems []string
}

// Open begins to load when the first session opens, and when the store is another one. That
// waits for a session in which nothing is being loaded or saved.
func (s *Store) Open(client kubernetes.Interface, with *arguments.FairShare) {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if with.Store == arguments.NoStore {
		client = nil
	}
	if busy || s.client == client && s.namespace == with.Store.Namespace && s.name == with.Store.Name && s.halfLife == with.HalfLife {
		return
	}
	s.client = client
	s.namespace = with.Store.Namespace
	s.name = with.Store.Name
	s.halfLife = with.HalfLife
	if client == nil {
		return
	}
	if s.writer == "" {
		s.writer = string(uuid.NewUUID())
	}
	s.loaded, s.tried = false, false
	s.start(s.load)
}

// start runs a task unless one is running.
func (s *Store) start(task func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return
	}
	s.busy = true
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		err := task(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy, s.tried = false, true
		if err != nil {
			s.problems = append(s.problems, fmt.Sprintf("argument %s: ConfigMap %s/%s: %v", arguments.FairShareStore, s.namespace, s.name, err))
		}
	}()
}

// Problems returns the problems since the last call.
func (s *Store) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	problems := s.problems
	s.problems = nil
	return problems
}

// Loaded returns what was loaded, nil for nothing new, and whether the store is still being read for the first time.
// Both are of one moment: what is read in between would be missed.
func (s *Store) Loaded() (newer *State, loads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer, s.newer = s.newer, nil
	return newer, s.client != nil && s.busy && !s.loaded && !s.tried
}

// Begin forgets what was loaded. The next session begins with a stored state, nil for none: for sessions on worlds that
// do not follow from each other.
func (s *Store) Begin(with *Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.newer = time.Time{}, nil
	if with == nil {
		return
	}
	if state, err := with.Record.state(with.Saved, with.HalfLife > 0); err == nil && state != nil { // Read has checked it
		state.Now = with.Now
		s.newer = state
	}
}

// Tick decides whether the session of a time is the first one after the time between saves.
func (s *Store) Tick(now time.Time, save time.Duration) {
	// More than a save ahead is a time from before the setting was changed, or the clock.
	s.due = !now.Before(s.next) || s.next.Sub(now) > save
	if s.due {
		s.next = now.Add(save)
	}
}

// Rest says that nothing is to be saved.
func (s *Store) Rest() { s.due = false }

// Due reports what Tick decided.
func (s *Store) Due() bool { return s.due }

// Wait waits until nothing is being loaded or saved.
func (s *Store) Wait() { s.work.Wait() }

// Offer saves a record, or loads it if that has failed before. What was loaded must not be
// overwritten before a session has taken it.
func (s *Store) Offer(now time.Time, record func() Record) {
	s.mu.Lock()
	busy, loaded := s.client == nil || s.busy || s.newer != nil, s.loaded
	s.mu.Unlock()
	switch {
	case busy:
	case loaded:
		next := record()
		s.start(func(ctx context.Context) error { return s.save(ctx, next, now) })
	default:
		s.start(s.load)
	}
}

// Saved returns when the store was saved or loaded last, the zero time for never.
func (s *Store) Saved() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// load reads what is stored.
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

// read reads what begins in a ConfigMap. What cannot be read is replaced by the next
// save, unless a later release wrote it.
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

// parse reads the parts of a save. Usage of another half-life is left out.
func (s *Store) parse(ctx context.Context, first *v1.ConfigMap, saved time.Time) (*State, int, error) {
	packed, parts, err := join(first, func(name string) (*v1.ConfigMap, error) {
		return s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return nil, parts, err
	}
	record, err := Unpack(packed)
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

// save writes a record, unless nothing changed, or another scheduler saved since this one saved or loaded. That one
// led later, so its history is taken over, whatever the clocks say.
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
	next := head{saved: now, halfLife: s.halfLife, writer: s.writer, save: fmt.Sprintf("%s/%d", s.writer, s.saves), set: oneSet}
	if exists {
		next.set = after(first.Data[setKey])
	}
	all := split(types.NamespacedName{Namespace: s.namespace, Name: s.name}, packed, next)
	if len(all) > mostParts {
		return fmt.Errorf("usage is not saved: it has %d parts, and at most %d are read", len(all), mostParts)
	}
	for i, part := range slices.Backward(all) {
		if i == 0 && exists {
			part.ResourceVersion = first.ResourceVersion // another scheduler may save at the same time
		}
		if err := s.write(ctx, part, i > 0 || exists); err != nil {
			return fmt.Errorf("usage is not saved: %w", err)
		}
	}
	before := s.parts
	s.last = record
	s.finish(nil, next.save, now, len(all))
	if max(len(all), before) == 1 {
		return nil // as nearly always
	}
	if err := s.deleteParts(ctx, next.set, len(all)); err != nil || len(all) > 1 {
		return err
	}
	return s.deleteParts(ctx, after(next.set), 1)
}

// deleteParts deletes the parts of a set from a number on, which no save needs any more.
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
