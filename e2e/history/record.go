package history

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Type is the kind of a Record: a revision of an object, a mark or a gap.
type Type string

const (
	// Listed is the state of an object when its kind was listed, at the start and after a Gap.
	Listed   Type = "listed"
	Added    Type = "added"
	Modified Type = "modified"
	// Deleted has the last state of the object.
	Deleted Type = "deleted"
	// Gap states that the changes of the kind between the revisions From and Revision are not known.
	Gap Type = "gap"
	// Marked has a Mark. Its revision is the highest recorded revision before it.
	Marked Type = "mark"
)

// Record is one line of a history.
type Record struct {
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"` // when the change arrived
	Type     Type      `json:"type"`
	Kind     string    `json:"kind,omitempty"`
	From     int64     `json:"from,omitempty"`
	// Object is the object without the fields that only the API server needs.
	Object json.RawMessage `json:"object,omitempty"`
	Mark   *Mark           `json:"mark,omitempty"`
}

// Mark is an action or an observation of a test.
type Mark struct {
	// What is one of the words that package check knows.
	What string `json:"what"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// Writer writes a history. It is safe for concurrent use.
type Writer struct {
	mu       sync.Mutex
	file     io.WriteCloser
	zip      *gzip.Writer
	encoder  *json.Encoder
	revision int64
	err      error
}

// Create creates the file of a history.
func Create(path string) (*Writer, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}

	return NewWriter(file), nil
}

// NewWriter writes a history to a file, which Close closes.
func NewWriter(file io.WriteCloser) *Writer {
	zip := gzip.NewWriter(file)
	return &Writer{file: file, zip: zip, encoder: json.NewEncoder(zip)}
}

// Add writes a record. An error is kept for Close.
func (w *Writer) Add(record Record) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if record.Type == Marked && record.Revision == 0 {
		record.Revision = w.revision
	}
	w.revision = max(w.revision, record.Revision)
	if w.err == nil {
		w.err = w.encoder.Encode(record)
	}
}

// Mark writes a mark.
func (w *Writer) Mark(what, name, text string) { w.MarkAt(0, what, name, text) }

// MarkAt writes a mark about the state at a revision. 0 stands for the revision of the last change.
func (w *Writer) MarkAt(revision int64, what, name, text string) {
	mark := &Mark{What: what, Name: name, Text: text}
	w.Add(Record{Type: Marked, Revision: revision, Time: time.Now(), Mark: mark})
}

// Close ends the history, and returns the first error of all writes.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()

	return errors.Join(w.err, w.zip.Close(), w.file.Close())
}

// Write writes records as the file of a history.
func Write(path string, records []Record) error {
	w, err := Create(path)
	if err != nil {
		return err
	}

	for _, record := range records {
		// Not Add: marks keep their revisions.
		if w.err == nil {
			w.err = w.encoder.Encode(record)
		}
	}

	return w.Close()
}

// Open reads the file of a history.
func Open(path string) ([]Record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()

	records, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return records, nil
}

// Read reads a history, and returns it in order of revision. A mark comes after the changes of its revision.
func Read(from io.Reader) ([]Record, error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}

	var records []Record
	decoder := json.NewDecoder(bufio.NewReader(zip))
	for {
		var record Record
		err := decoder.Decode(&record)
		switch {
		case errors.Is(err, io.EOF):
			return Sorted(records), nil
		case err != nil:
			return nil, fmt.Errorf("record %d: %w", len(records)+1, err)
		}

		records = append(records, record)
	}
}

// Sorted returns records in order of revision.
func Sorted(records []Record) []Record {
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(after(a), after(b)))
	})

	return records
}

func after(r Record) int {
	if r.Type == Marked {
		return 1
	}
	return 0
}
