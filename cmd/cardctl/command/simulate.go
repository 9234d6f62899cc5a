package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

const simulateLong = `Shows what happens if objects are added, changed or removed. The
scheduler runs in memory on two copies of the cluster, one of them with the
changes: all actions of its configuration run, cycle after cycle, until nothing
changes. Placed pods run and do not end. Evicted pods, and pods of a removed node,
come back as new pods. Nothing is written to the cluster.`

const simulateExamples = `  # One more job
  cardctl simulate --add job.yaml

  # A larger quota, one node less, in a dump
  cardctl simulate -f dump.json --set queue/research:cards.NVIDIA-H200=5 --remove node/h200-1

  # Without a job
  cardctl simulate --remove job/research/train`

// changes are the changes to simulate.
type changes struct {
	add    []string
	set    []string
	remove []string
	all    bool
}

func newSimulate(s *source) *cobra.Command {
	c := &changes{}
	cmd := &cobra.Command{
		Use: "simulate", Short: "What happens if something changes", Long: simulateLong, Example: simulateExamples,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(c.add)+len(c.set)+len(c.remove) == 0 {
				return fmt.Errorf("nothing to simulate: name a change with --add, --set or --remove")
			}
			return s.simulate(cmd, c)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&c.add, "add", nil, "File or directory with objects to add or, by the same name, to replace; may be given several times")
	flags.StringArrayVar(&c.set, "set", nil, "Change of a queue, such as queue/research:cards.NVIDIA-H200=5 or queue/research:capability.cpu=64; may be given several times")
	flags.StringArrayVar(&c.remove, "remove", nil, "Object to remove: job/NAME, job/NAMESPACE/NAME, queue/NAME or node/NAME; may be given several times")
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
	before, err := engine.Build(objects.Clone())
	if err != nil {
		return err
	}
	if len(c.add) > 0 {
		added, err := input.ReadFiles(c.add, s.recursive, s.streams.In, nil)
		if err != nil {
			return err
		}
		if len(added.Problems) > 0 {
			return fmt.Errorf("--add: %s", added.Problems[0])
		}
		for _, m := range added.ConfigMaps {
			s.warning("--add %s: ConfigMap %s: both runs use the scheduler configuration that is in force", added.SourceOf(m), m.Name)
		}
		objects.Merge(added)
	}
	after, err := engine.Build(objects)
	if err != nil {
		return err
	}
	for _, setting := range c.set {
		if err := whatif.Set(after, setting); err != nil {
			return fmt.Errorf("--set: %w", err)
		}
		if missing := whatif.MissingCard(after, setting); missing != "" {
			s.warning("--set %s: %s", setting, missing)
		}
	}
	for _, object := range c.remove {
		if err := whatif.Remove(after, object, s.namespace()); err != nil {
			return fmt.Errorf("--remove: %w", err)
		}
	}
	s.warn(objects)
	s.warnOfWorld(after, configuration)
	progress := newProgress(s.streams.ErrOut)
	defer progress.done()
	report := func(what string) func(int, int) {
		return func(cycle, events int) { progress.report(what+", cycle", cycle, cycle) }
	}
	comparison := whatif.Compare(whatif.Run(before, configuration, report("before")), whatif.Run(after, configuration, report("after")))
	progress.done()
	comparison.Jobs = slices.DeleteFunc(comparison.Jobs, func(j whatif.JobChange) bool { return s.namespace() != "" && j.Namespace != s.namespace() })
	return s.printComparison(comparison, c.all)
}

func (s *source) printComparison(c *whatif.Comparison, all bool) error {
	out := s.streams.Out
	if s.output == asJSON || s.output == asYAML {
		return printData(out, s.output, c)
	}
	for _, each := range []struct {
		name string
		*whatif.Outcome
	}{{"before", c.Before}, {"after", c.After}} {
		if !each.Settled {
			s.note("%s: the cluster does not settle: pods keep evicting each other; the output shows the last cycle", each.name)
		}
	}
	if err := s.printOr(jobChanges(c, all), "No job is affected."); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := s.printOr(queueChanges(c, all), "No queue has more or fewer cards than before."); err != nil {
		return err
	}
	events := newEvents(c)
	if len(events.rows) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	return events.print(out, s.output, !s.noHeaders)
}

func (s *source) printOr(t *table, empty string) error {
	if len(t.rows) == 0 {
		fmt.Fprintln(s.streams.Out, empty)
		return nil
	}
	return t.print(s.streams.Out, s.output, !s.noHeaders)
}

func jobChanges(c *whatif.Comparison, all bool) *table {
	t := &table{columns: columns("NAMESPACE", "JOB", "QUEUE", "BEFORE", "AFTER", "WHY IT WAITS")}
	for _, j := range c.Jobs {
		if !all && !j.Changed() {
			continue
		}
		why := ""
		if j.After != nil {
			why = j.After.Message
		}
		t.add(j.Namespace, j.Owner, j.Queue, inShort(j.Before), inShort(j.After), why)
	}
	return t
}

// inShort describes a job in a few words.
func inShort(f *explain.Finding) string {
	switch {
	case f == nil:
		return ""
	case f.State == explain.Finished:
		return "Finished"
	case f.Pods.Total == 0: // before its controller creates its pods
		return string(f.State)
	case f.Pods.Waiting == 0:
		return fmt.Sprintf("Running %d", f.Pods.Placed)
	case f.Pods.Placed == 0:
		return fmt.Sprintf("Waiting %d", f.Pods.Waiting)
	}
	return fmt.Sprintf("Running %d, Waiting %d", f.Pods.Placed, f.Pods.Waiting)
}

func queueChanges(c *whatif.Comparison, all bool) *table {
	t := &table{columns: columns("QUEUE", "CARD", "BEFORE", "AFTER")}
	for _, q := range c.Queues {
		before, after := ofQuota(q.Before, q.BeforeQuota), ofQuota(q.After, q.AfterQuota)
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

// newEvents lists what happens with the changes and not without them.
func newEvents(c *whatif.Comparison) *table {
	key := func(e engine.Event) string { return fmt.Sprint(e.Kind, e.Group, e.Pod, e.Node) }
	usual := map[string]int{}
	for _, e := range c.Before.Events {
		usual[key(e)]++
	}
	t := &table{columns: columns("CYCLE", "EVENT", "QUEUE", "JOB", "POD", "NODE")}
	for _, e := range c.After.Events {
		if usual[key(e)]--; usual[key(e)] < 0 {
			t.add(e.Cycle, e.Kind, e.Queue, e.Owner, e.Pod, e.Node)
		}
	}
	return t
}
