package fairness

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
	"github.com/capacity-card/capacity-card/quota/usage"
)

// requestTimeout bounds what one save or load may take.
const requestTimeout = 30 * time.Second

// stored is a history that was loaded.
type stored struct {
	history *usage.History
	saved   time.Time
	now     time.Time // of the session that takes it, the zero time for that of the session's clock
}

// store reads and writes the history in goroutines of its own. The zero store is not open.
type store struct {
	client    kubernetes.Interface
	namespace string
	name      string
	halfLife  time.Duration
	writer    string

	work sync.WaitGroup
	mu   sync.Mutex // guards what follows
	busy bool
	// loaded: the store was read, so that a save loses nothing.
	loaded   bool
	newer    *stored   // for the next session
	saved    time.Time // of the ConfigMap
	current  time.Time // when the ConfigMap was known to have the history
	saves    int
	parts    int
	last     usage.Record
	problems []string
}

// open begins to load the history when the first session opens, and when the store is another one. That
// waits for a session in which nothing is being loaded or saved.
func (s *store) open(client kubernetes.Interface, with *arguments.FairShare) {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if with.Store == arguments.NoStore {
		client = nil
	}
	if busy || s.client == client && s.namespace == with.Store.Namespace && s.name == with.Store.Name && s.halfLife == with.HalfLife {
		return
	}
	s.client, s.namespace, s.name, s.halfLife = client, with.Store.Namespace, with.Store.Name, with.HalfLife
	if client == nil {
		return
	}
	if s.writer == "" {
		s.writer = string(uuid.NewUUID())
	}
	s.loaded = false
	s.start(s.load)
}

// start runs a task unless one is running.
func (s *store) start(task func(context.Context) error) {
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
		s.busy = false
		if err != nil {
			s.problems = append(s.problems, fmt.Sprintf("argument %s: ConfigMap %s/%s: %v", arguments.FairShareStore, s.namespace, s.name, err))
		}
	}()
}

func (s *store) takeProblems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	problems := s.problems
	s.problems = nil
	return problems
}

// take returns a history that was loaded, nil for none.
func (s *store) take() *stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer := s.newer
	s.newer = nil
	return newer
}

// offer saves the history, or loads it if that has failed before. What was loaded must not be
// overwritten before a session has taken it.
func (s *store) offer(now time.Time, history *usage.History) {
	s.mu.Lock()
	busy, loaded := s.client == nil || s.busy || s.newer != nil, s.loaded
	s.mu.Unlock()
	switch {
	case busy:
	case loaded:
		record := history.Record()
		s.start(func(ctx context.Context) error { return s.save(ctx, record, now) })
	default:
		s.start(s.load)
	}
}

func (s *store) lastSave() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// load reads the history.
func (s *store) load(ctx context.Context) error {
	first, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.finish(nil, time.Time{}, 0)
		return nil
	}
	if err != nil {
		return fmt.Errorf("usage cannot be loaded: %w", err)
	}
	return s.read(ctx, first)
}

// read reads the history that begins in a ConfigMap. What cannot be read is replaced by the next
// save, unless a later release wrote it.
func (s *store) read(ctx context.Context, first *v1.ConfigMap) error {
	if v := first.Data[versionKey]; v != version && v != "" {
		return errNewer
	}
	saved, err := time.Parse(time.RFC3339Nano, first.Data[savedKey])
	var found *stored
	var parts int
	if err == nil {
		found, parts, err = s.parse(ctx, first, saved)
	}
	if err != nil {
		found, err = nil, fmt.Errorf("usage is not read, present use decides: %w", err)
	}
	s.finish(found, saved, parts)
	return err
}

// finish notes the result of a load.
func (s *store) finish(found *stored, saved time.Time, parts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded, s.newer, s.saved, s.current, s.parts = true, found, saved, saved, parts
}

// parse reads the parts of a save.
func (s *store) parse(ctx context.Context, first *v1.ConfigMap, saved time.Time) (*stored, int, error) {
	if halfLife := first.Data[halfLifeKey]; halfLife != s.halfLife.String() {
		return nil, 0, fmt.Errorf("it has the half-life %s", halfLife)
	}
	packed, parts, err := join(first, func(name string) (*v1.ConfigMap, error) {
		return s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return nil, parts, err
	}
	history, err := Unpack(packed)
	return &stored{history: history, saved: saved}, parts, err
}

func (s *store) partName(i int) string { return partName(s.name, i) }

// save writes the history, unless nothing changed, or another scheduler saved a newer one, which
// is taken over.
func (s *store) save(ctx context.Context, record usage.Record, now time.Time) error {
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	first, err := maps.Get(ctx, s.name, metav1.GetOptions{})
	exists := err == nil
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("usage is not saved: %w", err)
	case exists && first.Data[writerKey] != s.writer && s.isNewer(first):
		return s.read(ctx, first)
	case exists && reflect.DeepEqual(record, s.last):
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
	all := split(types.NamespacedName{Namespace: s.namespace, Name: s.name}, packed,
		head{saved: now, halfLife: s.halfLife, writer: s.writer, save: fmt.Sprintf("%s/%d", s.writer, s.saves)})
	parts := len(all)
	for i, part := range slices.Backward(all) {
		if i == 0 && exists {
			part.ResourceVersion = first.ResourceVersion // another scheduler may save at the same time
		}
		if err := s.write(ctx, part, i > 0 || exists); err != nil {
			return fmt.Errorf("usage is not saved: %w", err)
		}
	}
	for i := parts; i < s.parts; i++ {
		if err := maps.Delete(ctx, s.partName(i), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	s.last = record
	s.finish(nil, now, parts)
	return nil
}

// isNewer reports whether a ConfigMap was saved after this scheduler's last save or load.
func (s *store) isNewer(c *v1.ConfigMap) bool {
	saved, err := time.Parse(time.RFC3339Nano, c.Data[savedKey])
	return err == nil && saved.After(s.saved)
}

func (s *store) write(ctx context.Context, part *v1.ConfigMap, exists bool) error {
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
