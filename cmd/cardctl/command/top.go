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
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/policy"
)

const topLong = `Shows for each queue what it deserves, what is allocated, what is reserved for
admitted jobs (INQUEUE), its share, and a bar for each card: how much of its
capability is allocated (#) or reserved (+). With -o wide it shows cpu and memory, and
the policies, windows and budgets of the queues.

In a terminal, the table fits it and is refreshed. Keys scroll, sort and filter it, Enter
opens a queue, ? lists the keys, and q ends the command. Into a pipe, and with --once, the
table is printed once.

With --by it shows who has which cards: by user and group (the annotations
volcano.sh/user and volcano.sh/groups of PodGroups and pods), by namespace, or by a label.
RUNNING has the jobs with the card, WAITING the jobs with a pod that waits for it, and
LIMIT the limits of the holder in queues (the annotation volcano.sh/card.quota.by).`

const topExamples = `  cardctl top

  # The queues below research, once
  cardctl top research --once -o wide

  # Who has the cards of research
  cardctl top research --by user
  cardctl top --by label:team

  # Each change of a queue of a team, for a log
  cardctl top -l team=vision --watch`

func newTop(s *source) *cobra.Command {
	var once bool
	var by string
	cmd := &cobra.Command{
		Use: "top [QUEUE]", Short: "Queues with their deserved amounts and their usage",
		Long: topLong, Example: topExamples,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeFirst(s.queueNames),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			queue := queueArgument(arguments)
			if by != "" {
				return s.topBy(cmd.Context(), queue, by)
			}
			return s.top(cmd.Context(), queue, once)
		},
	}

	cmd.Flags().BoolVar(&once, "once", false, "Print the queues once, also in a terminal")
	s.bind(cmd, named...)
	s.bindSelector(cmd, "Labels of the queues to show, such as team=vision")
	s.bindWatch(cmd)
	s.bindContexts(cmd)
	cmd.Flags().StringVar(&by, "by", "",
		"Show the cards of each user, group, namespace, or value of a label: user, group, namespace or label:NAME")
	cmd.MarkFlagsMutuallyExclusive("once", "watch")
	cmd.MarkFlagsMutuallyExclusive("by", "watch")
	cmd.MarkFlagsMutuallyExclusive("by", "selector")
	return cmd
}

// top shows the queues below a queue, or all.
func (s *source) top(ctx context.Context, queue string, once bool) error {
	read := func(ctx context.Context) ([]queues.Queue, error) { return s.queues(ctx, queue) }
	switch {
	case s.watch:
		return s.show(ctx, func(ctx context.Context) (*result, error) {
			all, err := read(ctx)
			return s.queuesResult(all), err
		})
	case !once && len(s.contexts) == 0 && !isData(s.output) && isTerminal(s.streams.Out):
		return s.screen(ctx, read)
	}

	all, err := inClusters(ctx, s, func(s *source, ctx context.Context) ([]queues.Queue, error) {
		return s.queues(ctx, queue)
	})
	if err != nil {
		return err
	}
	return printEach(s, all, func(s *source, all []queues.Queue) []*result {
		results := []*result{s.queuesResult(all)}
		if policies := policiesTable(all); s.output == asWide && len(policies.rows) > 0 {
			results = append(results, &result{rows: policies})
		}
		return results
	})
}

func (s *source) queuesResult(all []queues.Queue) *result {
	return &result{rows: queuesTable(all, s.output == asWide), data: listOf("QueueList", all)}
}

// topBy prints the cards of the holders of a key, in a queue and below it.
func (s *source) topBy(ctx context.Context, queue, key string) error {
	if !policy.IsHolderKey(key) {
		return fmt.Errorf("--by %s: want user, group, namespace or label:NAME", key)
	}

	all, err := inClusters(ctx, s, func(s *source, ctx context.Context) ([]stock.Holder, error) {
		return s.holders(ctx, queue, key)
	})
	if err != nil {
		return err
	}
	return printEach(s, all, func(_ *source, all []stock.Holder) []*result {
		r := orText(holdersTable(key, all), "No job has cards or waits for any.")
		r.data = listOf("HolderList", all)
		return []*result{r}
	})
}

// holders reads the input and returns the holders of a key, in a queue and below it.
func (s *source) holders(ctx context.Context, queue, key string) ([]stock.Holder, error) {
	o, err := s.openBelow(ctx, queue)
	if err != nil {
		return nil, err
	}
	defer o.Close()

	jobs := stock.HeldCards(o.Session, key)
	return stock.Holders(jobs, key, func(job *stock.Held) bool { return o.wanted(job.Queue) }), nil
}

func holdersTable(key string, all []stock.Holder) *table {
	t := tableOf(strings.ToUpper(strings.TrimPrefix(key, "label:")), "CARD", "ALLOCATED", "RUNNING", "WAITING",
		"LIMIT")
	t.columns[0].once = true
	for _, h := range all {
		t.add(h.Holder, h.Card, number(h.Allocated), h.Running, h.Waiting, limitsText(h.Limits))
	}
	return t
}

// limitsText describes the limits of a holder: 3 of 4 in train, 5 of 8 in research.
func limitsText(all []stock.Limit) string {
	var texts []string
	for _, l := range all {
		texts = append(texts, fmt.Sprintf("%s of %s in %s", number(l.Allocated), number(l.Limit), l.Queue))
	}
	return strings.Join(texts, ", ")
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
	queues.CountWaiting(all, waiting)

	return slices.DeleteFunc(all, func(q queues.Queue) bool {
		var own labels.Set
		if object := o.world.Queue(q.Queue); object != nil {
			own = object.Labels
		}
		return !o.wanted(q.Queue) || !s.labels.Matches(own)
	}), nil
}

// policiesTable has a row for each policy, window and budget of queues.
func policiesTable(all []queues.Queue) *table {
	t := tableOf("QUEUE", "POLICY", "VALUE", "SET BY", "NOW")
	t.columns[0].once = true
	for i := range all {
		for _, r := range all[i].PolicyRows() {
			t.add(all[i].Queue, r.Policy, r.Value, r.SetBy, r.Now)
		}
	}

	return t
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
