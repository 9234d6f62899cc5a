package fairness

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// The keys of a ConfigMap that stores a history. A large one has further ConfigMaps with the same
// save, whose names end in -1, -2 and so on. The first is written last.
const (
	savedKey    = "saved"    // time
	halfLifeKey = "halfLife" // of the history
	writerKey   = "writer"   // a scheduler
	saveKey     = "save"     // the same in all ConfigMaps of one save
	partsKey    = "parts"    // their number
	versionKey  = "version"
	usageKey    = "usage" // binary: a part of the gzipped usage.Record
)

// version is that of the format.
const version = "1"

// partSize is the most that a ConfigMap gets. etcd refuses objects of more than 1.5 MiB.
const partSize = 512 << 10

// requestTimeout bounds what one save or load may take.
const requestTimeout = 30 * time.Second

// stored is a history that was loaded.
type stored struct {
	history *usage.History
	saved   time.Time
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
	newer    *stored // for the next session
	saved    time.Time
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
	return s.saved
}

// errNewer: another format, which only a later release can read.
var errNewer = errors.New("is of a later release, and is neither read nor written")

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
	s.loaded, s.newer, s.saved, s.parts = true, found, saved, parts
}

// parse reads the parts of a save.
func (s *store) parse(ctx context.Context, first *v1.ConfigMap, saved time.Time) (*stored, int, error) {
	if halfLife := first.Data[halfLifeKey]; halfLife != s.halfLife.String() {
		return nil, 0, fmt.Errorf("it has the half-life %s", halfLife)
	}
	parts, err := strconv.Atoi(first.Data[partsKey])
	if err != nil || parts < 1 || parts > mostParts {
		return nil, 0, fmt.Errorf("%s: %q is not a number from 1 to %d", partsKey, first.Data[partsKey], mostParts)
	}
	packed := bytes.Clone(first.BinaryData[usageKey])
	for i := 1; i < parts; i++ {
		part, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.partName(i), metav1.GetOptions{})
		if err != nil {
			return nil, parts, err
		}
		if part.Data[saveKey] != first.Data[saveKey] {
			return nil, parts, fmt.Errorf("%s is of another save", part.Name)
		}
		packed = append(packed, part.BinaryData[usageKey]...)
	}
	history, err := Unpack(packed)
	return &stored{history, saved}, parts, err
}

// mostParts bounds what is read.
const mostParts = 64

func (s *store) partName(i int) string {
	if i == 0 {
		return s.name
	}
	return fmt.Sprintf("%s-%d", s.name, i)
}

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
		return nil
	}
	packed, err := Pack(record)
	if err != nil {
		return err
	}
	s.saves++
	parts := max(1, (len(packed)+partSize-1)/partSize)
	for i := parts - 1; i >= 0; i-- {
		part := s.part(i, parts, packed, now)
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

// part returns a ConfigMap of a save.
func (s *store) part(i, parts int, packed []byte, now time.Time) *v1.ConfigMap {
	return &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.partName(i)},
		Data: map[string]string{
			versionKey: version, savedKey: now.UTC().Format(time.RFC3339Nano), halfLifeKey: s.halfLife.String(), writerKey: s.writer,
			saveKey: fmt.Sprintf("%s/%d", s.writer, s.saves), partsKey: strconv.Itoa(parts),
		},
		BinaryData: map[string][]byte{usageKey: packed[i*partSize : min(len(packed), (i+1)*partSize)]},
	}
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

// Pack returns a record as it is stored.
func Pack(r usage.Record) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}

// most is the most that a record has, unpacked.
const most = 256 << 20

// Unpack returns the history of what Pack returned.
func Unpack(packed []byte) (*usage.History, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var record usage.Record
	if err := json.NewDecoder(io.LimitReader(r, most)).Decode(&record); err != nil {
		return nil, err
	}
	return usage.New(record)
}
