package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// table is a format of lines with named columns.
type table struct {
	required []string
	optional []string // nil: any other column is ignored
	job      func(*row) *Job
}

var tables = map[Format]table{
	CSV: {
		required: []string{"job", "submit", "runtime", "queue"},
		optional: []string{"namespace", "pods", "minimum", "cards", "card", "cpu", "memory_gib", "priority"},
		job:      (*row).canonical,
	},
	Helios: {
		required: []string{"job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "submit_time", "duration"},
		job:      (*row).helios,
	},
}

// readTable reads the lines of a file.
func (t *Trace) readTable(in io.Reader) error {
	format := tables[t.Format]
	end := &ending{Reader: in}
	r := csv.NewReader(end)
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	r.LazyQuotes = true

	columns, err := t.header(r, format)
	if err != nil {
		return err
	}

	var changed uneven
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			t.Problems = append(t.Problems, Problem{t.Name, broken.StartLine, broken.Err.Error()})
			continue
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", t.Name, err)
		}

		line, _ := r.FieldPos(0)
		w := &row{cells: cells, columns: columns, line: line, uneven: &changed}
		switch {
		case len(cells) == len(columns):
		case end.last != '\n' && r.InputOffset() >= end.read:
			w.fail("the file ends in the middle of a line: %d of %d columns", len(cells), len(columns))
		default:
			w.fail("%d columns: expected %d, as in the header", len(cells), len(columns))
		}
		t.add(w, format.job)
	}

	changed.into(t)
	return nil
}

// add adds the job of a row, or a problem if the row is wrong.
func (t *Trace) add(w *row, read func(*row) *Job) {
	var job *Job
	if w.wrong == "" {
		job = read(w)
	}
	if w.wrong == "" {
		job.Line = w.line
		w.wrong = job.check()
	}

	if w.wrong != "" {
		t.Problems = append(t.Problems, Problem{t.Name, w.line, w.wrong})
		return
	}
	t.Jobs = append(t.Jobs, *job)
}

// header reads the first line. It returns the places of the columns by their names.
func (t *Trace) header(r *csv.Reader, format table) (map[string]int, error) {
	names, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w: expected the columns %s", t.Name, err, strings.Join(format.required, ","))
	}

	known := slices.Concat(format.required, format.optional)
	columns := map[string]int{}
	for i, name := range names {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if _, twice := columns[name]; twice {
			return nil, fmt.Errorf("%s:1: the column %q is there twice", t.Name, name)
		}
		columns[name] = i
		if format.optional != nil && !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s:1: unknown column %q%s", t.Name, name, index.DidYouMean(name, known))
		}
	}

	for _, name := range format.required {
		if _, found := columns[name]; !found {
			return nil, fmt.Errorf("%s:1: there is no column %q: expected %s", t.Name, name,
				strings.Join(format.required, ","))
		}
	}
	return columns, nil
}

// ending remembers the last byte of a file, and the number of bytes so far.
type ending struct {
	io.Reader
	last byte
	read int64
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if n > 0 {
		e.last = p[n-1]
		e.read += int64(n)
	}
	return n, err
}

// row is a line of a file.
type row struct {
	cells   []string
	columns map[string]int // the places of the columns in cells
	line    int
	wrong   string // the first problem of the line, "" for none
	uneven  *uneven
}

func (w *row) fail(format string, arguments ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, arguments...)
	}
}

// text returns a cell, "" for one that is empty or that the file does not have.
func (w *row) text(column string) string {
	i, found := w.columns[column]
	if !found || i >= len(w.cells) {
		return ""
	}

	switch text := strings.TrimSpace(w.cells[i]); text {
	case "nan", "None", "N/A":
		return ""
	default:
		return text
	}
}

// number returns a cell with a number that is not negative. otherwise is the number of an empty cell.
func (w *row) number(column string, otherwise float64) float64 {
	text := w.text(column)
	if text == "" {
		return otherwise
	}

	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		w.fail("%s: %q is not a number", column, text)
		return 0
	}

	if x < 0 {
		w.fail("%s: %s is negative", column, text)
	}
	return x
}

// whole returns a cell with a whole number.
func (w *row) whole(column string, otherwise int64) int64 {
	x := w.number(column, float64(otherwise))
	if x != math.Trunc(x) || x > math.MaxInt32 {
		w.fail("%s: %q is not a whole number", column, w.text(column))
		return 0
	}
	return int64(x)
}

// span returns a cell with a time in seconds, or with units such as 2h30m.
func (w *row) span(column string) time.Duration {
	text := w.text(column)
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 {
			w.fail("%s: %s is negative", column, text)
		}
		return d
	}

	if text == "" {
		w.fail("%s: expected seconds", column)
		return 0
	}
	return seconds(w, column, w.number(column, 0))
}

// seconds converts the number of a cell to a time.
func seconds(w *row, column string, x float64) time.Duration {
	if x > mostSeconds {
		w.fail("%s: %.0f seconds are more than 100 years", column, x)
		return 0
	}
	return time.Duration(math.Round(x*1000)) * time.Millisecond
}

// epoch is the date of the time 0. Only differences of times matter.
var epoch = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)

// moment returns a cell with seconds or a date.
func (w *row) moment(column string) time.Duration {
	text := w.text(column)
	for _, layout := range []string{time.DateTime, time.RFC3339} {
		if date, err := time.Parse(layout, text); err == nil {
			return date.Sub(epoch)
		}
	}

	if x, err := strconv.ParseFloat(text, 64); err != nil || math.IsNaN(x) || x < 0 || x > mostSeconds {
		w.fail("%s: %q is no time: expected seconds, or a date such as 2006-01-02 15:04:05", column, text)
		return 0
	}
	return seconds(w, column, w.number(column, 0))
}
