package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
	"github.com/capacity-card/capacity-card/index/override"
)

const simulateLong = `Shows what happens if objects are added, changed or removed. The
scheduler runs in memory on two copies of the cluster, one of them with the
changes: all actions of its configuration run, cycle after cycle, until nothing
changes. Placed pods run and do not end. A pod that is evicted, or loses its node,
comes back as a new pod. Nothing is written to the cluster.`

const simulateExamples = `  # One more job
  cardctl simulate --add job.yaml

  # A larger quota, one node less, in a dump
  cardctl simulate -f dump.json --set queue/research:cards.NVIDIA-H200=5 --remove node/h200-1

  # Without a job
  cardctl simulate --remove job/research/train

  # As windows of queues hold on a day in December
  cardctl simulate --at 2026-12-01T08:00Z`

// changes are the changes to simulate.
type changes struct {
	add    []string
	set    []string
	remove []string
	at     string
	all    bool
}

func newSimulate(s *source) *cobra.Command {
	c := &changes{}
	cmd := &cobra.Command{
		Use: "simulate", Short: "What happens if something changes", Long: simulateLong, Example: simulateExamples,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(c.add)+len(c.set)+len(c.remove)+len(c.at) == 0 {
				return errors.New(
					"nothing to simulate: name a change with --add, --set or --remove, or a time with --at")
			}

			return s.simulate(cmd, c)
		},
	}

	flags := cmd.Flags()
	flags.StringArrayVar(&c.add, "add", nil,
		"File or directory with objects to add or, by the same name, to replace; may be given several times")
	flags.StringArrayVar(&c.set, "set", nil,
		"Change of a queue, such as queue/research:cards.NVIDIA-H200=5 or queue/research:capability.cpu=64; "+
			"may be given several times")
	flags.StringArrayVar(&c.remove, "remove", nil,
		"Object to remove: job/NAME, job/NAMESPACE/NAME, queue/NAME or node/NAME; may be given several times")
	flags.StringVar(&c.at, "at", "",
		"Time of the cluster with the changes, such as 2026-12-01T08:00Z: windows of queues hold as they do then")
	flags.BoolVar(&c.all, "all", false, "Also show jobs and queues that stay as they are")

	_ = cmd.RegisterFlagCompletionFunc("set", s.completeSetting)
	_ = cmd.RegisterFlagCompletionFunc("remove", s.completeRemoval)

	s.bind(cmd, formats...)
	s.bindNamespaces(cmd)
	return cmd
}

func (s *source) simulate(cmd *cobra.Command, c *changes) error {
	objects, configuration, err := s.read(cmd.Context())
	if err != nil {
		return err
	}

	change := whatif.Change{Set: c.set, Remove: c.remove, Namespace: s.namespace(), Rights: whatif.Everything}
	change.At, err = timeOf(c.at)
	if err != nil {
		return err
	}
	if len(c.add) > 0 {
		change.Add, err = input.ReadFiles(c.add, s.recursive, s.streams.In, nil)
		if err != nil {
			return err
		}
	}

	progress := newProgress(s.streams.ErrOut, false)
	trial, err := whatif.Try(cmd.Context(), objects, configuration, change, func(what string) func(int, int) {
		return func(cycle, events int) { progress.report(what+", cycle", cycle, cycle) }
	})
	progress.done()
	if err != nil {
		return flagOf(err)
	}

	known := namespaces(trial.World)
	for _, j := range trial.Jobs {
		known = append(known, j.Namespace) // of jobs that are removed as well
	}
	if err := s.checkNamespace(cmd.Context(), known); err != nil {
		return err
	}

	for _, warning := range trial.Warnings {
		s.warning("%s", warning)
	}
	s.warn(trial.Objects)
	s.warnOfWorld(trial.World, configuration)

	trial.Jobs = slices.DeleteFunc(trial.Jobs, func(j whatif.JobChange) bool {
		return s.namespace() != "" && j.Namespace != s.namespace()
	})
	return s.printComparison(trial.Comparison, c.all)
}

// timeOf parses the time of the flag --at, zero for none.
func timeOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, ok := override.ParseTime(text, time.Local)
	if !ok {
		return at, fmt.Errorf("--at: %q is not a time, such as 2026-12-01T08:00Z", text)
	}
	return at, nil
}

// flagOf names the flag that an error is about.
func flagOf(err error) error {
	var manifest whatif.ManifestError
	switch {
	case errors.As(err, &manifest):
		return fmt.Errorf("--add: %w", err)
	case errors.Is(err, whatif.ErrSetting):
		return fmt.Errorf("--set: %w", err)
	case errors.Is(err, whatif.ErrRemoval):
		return fmt.Errorf("--remove: %w", err)
	}
	return err
}

func (s *source) printComparison(c *whatif.Comparison, all bool) error {
	if isData(s.output) {
		return s.print(&result{data: c})
	}
	if c.Before.Evicts() {
		s.note("before: the next cycles evict pods, also without the changes")
	}
	s.noteUnsettled("before", c.Before)
	s.noteUnsettled("after", c.After)

	tables := []*result{
		orText(jobChanges(c, all), "No job is affected."),
		orText(queueChanges(c, all), "No queue has more or fewer cards than before."),
	}
	if events := newEvents(c); len(events.rows) > 0 {
		tables = append(tables, &result{rows: events})
	}
	return s.print(tables...)
}

func (s *source) noteUnsettled(name string, o *whatif.Outcome) {
	if !o.Settled {
		s.note("%s: the cluster does not settle: pods keep evicting each other; the output shows the last cycle", name)
	}
}

func jobChanges(c *whatif.Comparison, all bool) *table {
	t := tableOf("NAMESPACE", "JOB", "QUEUE", "BEFORE", "AFTER", "WHY IT WAITS")
	for _, j := range c.Jobs {
		if !all && !j.Changed() {
			continue
		}

		why := ""
		if j.After != nil {
			why = j.After.Message
		}
		t.add(j.Namespace, j.Owner, j.Queue, whatif.InShort(j.Before), whatif.InShort(j.After), why)
	}
	return t
}

func queueChanges(c *whatif.Comparison, all bool) *table {
	t := tableOf("QUEUE", "CARD", "BEFORE", "AFTER")
	for _, q := range c.Queues {
		before := ofQuota(q.Before, q.BeforeQuota)
		after := ofQuota(q.After, q.AfterQuota)
		if all || before != after {
			t.add(strings.Repeat("  ", q.Depth)+q.Queue, q.Card, before, after)
		}
	}
	return t
}

func ofQuota(allocated float64, quota *float64) string {
	if quota == nil {
		return number(allocated)
	}
	return number(allocated) + " of " + number(*quota)
}

// newEvents has a row for each event that happens with the changes and not without them.
func newEvents(c *whatif.Comparison) *table {
	t := tableOf("CYCLE", "EVENT", "QUEUE", "JOB", "POD", "NODE")
	for _, e := range c.NewEvents() {
		what := string(e.Kind)
		if e.Until != nil {
			what += " until " + e.Until.UTC().Format(time.TimeOnly) + "Z"
		}
		t.add(e.Cycle, what, e.Queue, e.Owner, e.Pod, e.Node)
	}
	return t
}
