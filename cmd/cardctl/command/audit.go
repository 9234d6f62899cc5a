package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/audit"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

const auditLong = `Finds quotas that are not used, guarantees that idle, queues that only borrow, deserved
amounts and guarantees that add up to more than the queue above them or the nodes have,
groups of cards that overlap, and policies that can never apply.

What queues have used is known from the scheduler's record of usage over time, which it
keeps with the argument fairShareHalfLife. The record has one average for a queue and a
card, and so tells what the queue has used on average at most, for the time that the
record covers. Without it, unused quotas are not looked for, and guarantees and
borrowing are judged by what queues have now. BASIS says what a finding was concluded
from: record, now or configuration.`

const auditExamples = `  cardctl audit
  cardctl audit --days 30
  cardctl audit research -o json -f dump.json`

func newAudit(s *source) *cobra.Command {
	days := audit.DefaultDays
	cmd := &cobra.Command{
		Use: "audit [QUEUE]", Short: "Which quotas and policies nobody needs", Long: auditLong, Example: auditExamples,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeFirst(s.queueNames),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if days < 1 || days > audit.MostDays {
				return fmt.Errorf("--days %d: a number from 1 to %d", days, audit.MostDays)
			}
			return s.audit(cmd.Context(), queueArgument(arguments), days)
		},
	}

	cmd.Flags().IntVar(&days, "days", days, "Judge the use of this many days")
	s.bind(cmd, formats...)
	s.bindContexts(cmd)
	return cmd
}

func (s *source) audit(ctx context.Context, queue string, days int) error {
	all, err := inClusters(ctx, s, func(s *source, ctx context.Context) (*audit.Report, error) {
		return s.report(ctx, queue, days)
	})
	if err != nil {
		return err
	}
	return printEach(s, all, (*source).auditResults)
}

func (s *source) report(ctx context.Context, queue string, days int) (*audit.Report, error) {
	objects, configuration, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.warn(objects)

	checks, err := validate.Check(ctx, objects.Clone(), configuration)
	if err != nil {
		return nil, err
	}

	world, err := engine.Build(objects)
	if err != nil {
		return nil, err
	}
	s.warnOfWorld(world, configuration)
	session, err := engine.Open(ctx, world, configuration)
	if err != nil {
		return nil, err
	}
	defer session.Close()

	report := audit.Run(queues.List(world, session), checks, configuration, days)
	if queue != "" {
		wanted, err := below(world, configuration, queue)
		if err != nil {
			return nil, err
		}
		report.Keep(wanted)
	}
	return report, nil
}

func (s *source) auditResults(r *audit.Report) []*result {
	if isData(s.output) {
		return []*result{{data: r}}
	}
	record := fmt.Sprintf("Findings: %d.\n%s", len(r.Items), auditRecord(r))
	return []*result{orText(auditTable(r), "Nothing is found."), {text: record}}
}

// auditRecord describes the record of use over time.
func auditRecord(r *audit.Report) string {
	if r.Lacks != "" {
		return "There is no record of use over time: " + r.Lacks + ".\n" +
			"Unused quotas are not looked for, and guarantees and borrowing are judged by what queues have now.\n"
	}

	text := fmt.Sprintf("Use over time: averages with a half-life of %s, saved at %s. "+
		"The use of %d quotas and guarantees in the last %d days is known.\n",
		queues.ShortTime(r.HalfLife.Duration), r.Saved.UTC().Format(time.RFC3339), r.Judged, r.Days)
	if r.Short > 0 {
		text += fmt.Sprintf("The use of %d is not: the record covers less, at most %s of it, "+
			"or is of a release that did not keep when it began.\n", r.Short, queues.ShortTime(r.Covered.Duration))
	}
	return text
}

// auditTable has a row for each finding.
func auditTable(r *audit.Report) *table {
	t := tableOf("CHECK", "QUEUE", "RESOURCE", "BASIS", "FINDING", "(FIELD)")
	t.columns[0].once = true
	for _, f := range r.Items {
		t.add(f.Check, f.Queue, f.Resource, f.Basis, f.Message, f.Field)
	}
	return t
}
