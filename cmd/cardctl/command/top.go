package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/screen"
)

const topLong = `Shows for each queue what it deserves, what is allocated, what is reserved for
admitted jobs (INQUEUE), its share, and a bar for each card: how much of its
capability is allocated (#) or reserved (+). With -o wide it shows cpu and memory.

In a terminal, the table fits it and is refreshed, and the keys scroll, sort and
filter it; q ends the command. Into a pipe, and with --once, the table is printed
once.`

const topExamples = `  cardctl top

  # The queues below research, once
  cardctl top research --once -o wide

  # Each change of a queue of a team, for a log
  cardctl top -l team=vision --watch`

func newTop(s *source) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use: "top [QUEUE]", Short: "Queues with what they deserve and have", Long: topLong, Example: topExamples,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeFirst(s.queueNames),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			read := func(ctx context.Context) ([]queues.Queue, error) {
				return s.queues(ctx, strings.Join(arguments, ""))
			}
			if !once && !s.watch && !isData(s.output) && isTerminal(s.streams.Out) {
				return s.screen(cmd.Context(), read)
			}

			return s.show(cmd.Context(), func(ctx context.Context) (*result, error) {
				all, err := read(ctx)
				return &result{rows: queuesTable(all, s.output == asWide), data: document{"QueueList", all}}, err
			})
		},
	}

	cmd.Flags().BoolVar(&once, "once", false, "Print the queues once, also in a terminal")
	s.bind(cmd, formats...)
	s.bindSelector(cmd, "Labels of the queues to show, such as team=vision")
	s.bindWatch(cmd)
	cmd.MarkFlagsMutuallyExclusive("once", "watch")
	return cmd
}

// queues reads the input and returns the queues that the arguments and flags select.
func (s *source) queues(ctx context.Context, queue string) ([]queues.Queue, error) {
	o, err := s.openBelow(ctx, queue)
	if err != nil {
		return nil, err
	}
	all := queues.List(o.world, o.Session)
	o.Close()

	// This changes the world, so it is last.
	waiting, err := explain.WaitingIn(ctx, o.world, o.Configuration)
	if err != nil {
		return nil, err
	}
	queues.CountWaiting(all, slices.Values(waiting))

	return slices.DeleteFunc(all, func(q queues.Queue) bool {
		var own labels.Set
		if object := o.world.Queue(q.Queue); object != nil {
			own = object.Labels
		}
		return !o.wanted(q.Queue) || !s.labels.Matches(own)
	}), nil
}

func queuesTable(all []queues.Queue, wide bool) *table {
	t := &table{}
	for _, c := range queues.Columns {
		t.columns = append(t.columns, column{name: c.Name, wide: c.Wide, once: c.OfQueue})
	}

	rows := queues.Rows(all, wide)
	for i := range rows {
		var cells []string
		for _, c := range queues.Columns {
			cells = append(cells, c.Text(&rows[i]))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// screen shows queues in a terminal. The queues of files do not change. It returns an error of the first reading. Later
// errors are shown until the cluster is back.
func (s *source) screen(ctx context.Context, read func(context.Context) ([]queues.Queue, error)) error {
	all, err := read(ctx)
	if err != nil {
		return err
	}

	// From here on Run waits until the terminal is as it was.
	s.leaving.Lock()
	defer s.leaving.Unlock()

	first := screen.Reading{Queues: all, Time: time.Now()}
	options := screen.Options{First: first, Interval: s.interval, Wide: s.output == asWide}
	errOut := s.streams.ErrOut
	if len(s.files) == 0 {
		options.Read = func() screen.Reading {
			// stderr is the terminal. So the notes of a reading are part of the screen.
			var lines bytes.Buffer
			s.streams.ErrOut = &lines
			all, err := read(ctx)
			return screen.Reading{
				Queues: all, Err: err, Lines: slices.Collect(strings.Lines(lines.String())), Time: time.Now(),
			}
		}
	}

	lines, err := screen.Show(ctx, s.streams.Out, options)
	_, _ = io.WriteString(errOut, strings.Join(lines, ""))
	switch {
	case errors.Is(err, screen.ErrInterrupted):
		return errInterrupted
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}
