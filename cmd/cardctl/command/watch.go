package command

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// changes returns the part of a result that is new: the rows that the result before did not have. A result without rows
// is returned as a whole. It returns nil if nothing differs but the time that has passed.
func (r *result) changes(before *result, format string) *result {
	if isData(format) || r.rows == nil || before.rows == nil {
		// Data has times, and no ages.
		same := reflect.DeepEqual(r.data, before.data)
		if same && (r.data != nil || withoutAges(r.text) == withoutAges(before.text)) {
			return nil
		}
		return r
	}

	known := map[string]bool{}
	for _, row := range before.rows.rows {
		known[before.rows.identity(row)] = true
	}
	changed := *r.rows
	changed.omitted = make([]bool, len(changed.rows))
	for i, row := range changed.rows {
		changed.omitted[i] = known[r.rows.identity(row)]
	}

	if !slices.Contains(changed.omitted, false) {
		return nil
	}
	return &result{rows: &changed}
}

// identity returns the cells of a row, without ages.
func (t *table) identity(row []string) string {
	var cells []string
	for i, cell := range row {
		if t.columns[i].name != "AGE" {
			cells = append(cells, cell)
		}
	}
	return strings.Join(cells, "\x00")
}

// withoutAges returns a text without the lines that change with the time alone.
func withoutAges(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "Age" && name != "Since" {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// bindWatch adds the flags of commands that can print changes.
func (s *source) bindWatch(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "After the output, print what changes, as it changes")
	cmd.Flags().DurationVar(&s.interval, "interval", 2*time.Second, "Time between two readings of the cluster")
}

var (
	errWatchFiles = errors.New("--watch is for clusters: files are read once")
	errInterval   = errors.New("--interval: must be positive")
)

// show prints a view, and its changes from then on. It returns an error of the first view. It prints later errors, once
// until the cluster is back.
func (s *source) show(ctx context.Context, view func(context.Context) (*result, error)) error {
	last, err := view(ctx)
	if err != nil {
		return err
	}
	if err := s.print(last); err != nil {
		return err
	}

	failed := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.interval):
		}

		fresh, err := view(ctx)
		if err != nil {
			if text := firstLine(err); text != failed {
				fmt.Fprintln(s.streams.ErrOut, "error: "+text)
				failed = text
			}
			continue
		}
		failed = ""

		s.addUnknown(fresh)
		if err := s.showChanges(fresh.changes(last, s.output)); err != nil {
			return err
		}
		last = fresh
	}
}

func (s *source) showChanges(changed *result) error {
	if changed == nil {
		return nil
	}
	if s.output == asYAML {
		fmt.Fprintln(s.streams.Out, "---")
	}
	return changed.print(s.streams.Out, s.output, false)
}
