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
	optional []string        // nil: any other column is ignored
	columns  []string        // of a file without a header, nil: the first line is the header
	job      func(*row) *Job // nil for a line that is left out, with a reason
}

var tables = map[Format]table{
	CSV: {required: []string{"job", "submit", "runtime", "queue"},
		optional: []string{"namespace", "pods", "minimum", "cards", "card", "cpu", "memory_gib", "priority"}, job: (*row).canonical},
	Helios: {required: []string{"job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "submit_time", "duration"}, job: (*row).helios},
	OpenB: {required: []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec",
		"creation_time", "deletion_time", "scheduled_time"}, job: (*row).openb},
	PAI: {required: []string{"job_name", "task_name", "inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"},
		columns: []string{"job_name", "task_name", "inst_num", "status", "start_time", "end_time",
			"plan_cpu", "plan_mem", "plan_gpu", "gpu_type"}, job: (*row).pai},
}

// readTable reads a format of lines with columns.
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
	reasons := counts{}
	w := &row{at: columns.at, counts: &reasons}
	use := func(cells []string) {
		line, _ := r.FieldPos(0)
		w.cells = cells
		w.line = line
		w.wrong = ""
		if len(cells) != columns.n {
			w.fail("%d columns: expected %d, as in the header", len(cells), columns.n)
			if end.last != '\n' && r.InputOffset() >= end.read {
				w.wrong = fmt.Sprintf("the file ends in the middle of a line: %d of %d columns", len(cells), columns.n)
			}
		}
		t.add(w, format.job)
	}
	if columns.first != nil {
		use(columns.first)
	}
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
		use(cells)
	}
	reasons.into(t)
	return nil
}

// add adds the job of a row, or what is wrong with it.
func (t *Trace) add(w *row, read func(*row) *Job) {
	var job *Job
	if w.wrong == "" {
		job = read(w)
	}
	if job != nil && w.wrong == "" {
		job.Line = w.line
		w.wrong = job.check()
	}
	switch {
	case w.wrong != "":
		t.Problems = append(t.Problems, Problem{t.Name, w.line, w.wrong})
	case job != nil:
		t.Jobs = append(t.Jobs, *job)
	}
}

// columns is where the columns of a file are.
type columns struct {
	at    map[string]int
	n     int
	first []string // the first line, if it is no header
}

func (t *Trace) header(r *csv.Reader, format table) (columns, error) {
	cells, err := r.Read()
	if err != nil {
		return columns{}, fmt.Errorf("%s:1: %w: expected the columns %s", t.Name, err, strings.Join(format.required, ","))
	}
	names := slices.Clone(cells)
	for i := range names {
		names[i] = strings.TrimSpace(strings.TrimPrefix(names[i], "\ufeff"))
	}
	c := columns{at: map[string]int{}, n: len(names)}
	if format.columns != nil && !slices.Contains(names, format.required[0]) {
		if len(names) != len(format.columns) {
			return c, fmt.Errorf("%s:1: %d columns: expected %s", t.Name, len(names), strings.Join(format.columns, ","))
		}
		names, c.first = format.columns, names
	}
	for i, name := range names {
		if _, twice := c.at[name]; twice {
			return c, fmt.Errorf("%s:1: the column %q is there twice", t.Name, name)
		}
		c.at[name] = i
		if format.optional != nil && !slices.Contains(format.required, name) && !slices.Contains(format.optional, name) {
			known := slices.Concat(format.required, format.optional)
			return c, fmt.Errorf("%s:1: unknown column %q%s", t.Name, name, index.DidYouMean(name, known))
		}
	}
	for _, name := range format.required {
		if _, found := c.at[name]; !found {
			return c, fmt.Errorf("%s:1: there is no column %q: expected %s", t.Name, name, strings.Join(format.required, ","))
		}
	}
	return c, nil
}

// ending remembers the last byte of a file.
type ending struct {
	io.Reader
	last byte
	read int64
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if n > 0 {
		e.last, e.read = p[n-1], e.read+int64(n)
	}
	return n, err
}

// row is a line. It keeps the first thing that is wrong with it.
type row struct {
	cells  []string
	at     map[string]int
	line   int
	wrong  string
	counts *counts
}

func (w *row) fail(format string, arguments ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, arguments...)
	}
}

// leaveOut counts a line that is no job to replay.
func (w *row) leaveOut(why string) *Job {
	w.counts.add(w.line, "left out: "+why)
	return nil
}

// text is a cell, "" for one that is empty or that the file does not have.
func (w *row) text(column string) string {
	i, found := w.at[column]
	if !found || i >= len(w.cells) {
		return ""
	}
	if text := strings.TrimSpace(w.cells[i]); text != "nan" && text != "None" && text != "N/A" {
		return text
	}
	return ""
}

// number is a cell that is not negative, otherwise for an empty one.
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

// whole is a cell with a whole number.
func (w *row) whole(column string, otherwise int64) int64 {
	x := w.number(column, float64(otherwise))
	if x != math.Trunc(x) || x > math.MaxInt32 {
		w.fail("%s: %q is not a whole number", column, w.text(column))
		return 0
	}
	return int64(x)
}

// span is a cell with a time in seconds or, such as 2h30m, with units.
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

// seconds is a time that a cell states.
func seconds(w *row, column string, x float64) time.Duration {
	if x > mostSeconds {
		w.fail("%s: %.0f seconds are more than 100 years", column, x)
		return 0
	}
	return time.Duration(math.Round(x*1000)) * time.Millisecond
}

// epoch is where dates are counted from. Only differences of times matter.
var epoch = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)

// moment is a cell with seconds or a date.
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
