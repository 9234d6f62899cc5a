package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is a format of traces.
type Format string

// The formats.
const (
	CSV    Format = "csv"    // the canonical one
	Helios Format = "helios" // cluster_log.csv of S-Lab-System-Group/HeliosData
)

// Formats has all of them.
var Formats = []string{string(CSV), string(Helios)}

// Errors about a whole trace.
var (
	ErrEmpty   = errors.New("the trace is empty")
	ErrUnknown = errors.New("the format of the trace is not known from its beginning")
	ErrNoJobs  = errors.New("the trace has no job that can be replayed")
)

// Read reads a trace. With format "", the beginning of the file selects the format. Problems has the lines that cannot
// be used. The error is about the whole file.
func Read(file string, in io.Reader, format Format) (*Trace, error) {
	r := bufio.NewReaderSize(in, 1<<16)
	head, err := r.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, fmt.Errorf("%s: %w: expected one of the formats %s", file, ErrEmpty, strings.Join(Formats, ", "))
	}

	if format == "" {
		format = detect(string(head))
		if format == "" {
			return nil, fmt.Errorf("%s: %w: name it with --format, one of %s", file, ErrUnknown,
				strings.Join(Formats, ", "))
		}
	}

	t := &Trace{Name: file, Format: format}
	if err := t.readTable(r); err != nil {
		return nil, err
	}
	t.finish()
	if len(t.Jobs) > 0 {
		return t, nil
	}
	if len(t.Problems) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrNoJobs, t.Problems[0])
	}
	return nil, fmt.Errorf("%s: %w", file, ErrNoJobs)
}

// detect returns the format of a file by its beginning, "" if the beginning does not tell.
func detect(head string) Format {
	head = strings.TrimPrefix(strings.TrimSpace(head), "\ufeff")
	line, _, _ := strings.Cut(head, "\n")
	columns := strings.Split(strings.TrimSpace(line), ",")

	switch {
	case slices.Contains(columns, "vc") && slices.Contains(columns, "gpu_num"):
		return Helios
	case slices.Contains(columns, "submit") && slices.Contains(columns, "runtime"):
		return CSV
	default:
		return ""
	}
}
