package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// result is the output of a command: rows of a table, data for JSON and YAML, or a text.
type result struct {
	rows *table
	data any
	text string // in place of rows
}

func (r *result) print(out io.Writer, format string, headers bool) error {
	switch {
	case format == asJSON || format == asYAML:
		return printData(out, format, r.data)
	case r.rows == nil:
		_, err := io.WriteString(out, r.text)
		return err
	}
	return r.rows.print(out, format, headers)
}

// changes returns the part of a result that was not in the one before: the rows that are
// new or differ, and otherwise all of it. It is nil if nothing differs.
func (r *result) changes(before *result, format string) *result {
	if format == asJSON || format == asYAML || r.rows == nil || before.rows == nil {
		if reflect.DeepEqual(r, before) {
			return nil
		}
		return r
	}
	known := map[string]bool{}
	for _, row := range before.rows.rows {
		known[strings.Join(row, "\x00")] = true
	}
	changed := *r.rows
	changed.omitted = make([]bool, len(changed.rows))
	for i, row := range changed.rows {
		changed.omitted[i] = known[strings.Join(row, "\x00")]
	}
	if !slices.Contains(changed.omitted, false) {
		return nil
	}
	return &result{rows: &changed}
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

// show prints a view and, with --watch, what changes from then on. An error of the first
// view is returned. Later ones are printed, once until the cluster is back.
func (s *source) show(ctx context.Context, view func(context.Context) (*result, error)) error {
	last, err := view(ctx)
	if err != nil {
		return err
	}
	if err := last.print(s.streams.Out, s.output, !s.noHeaders); err != nil || !s.watch {
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
