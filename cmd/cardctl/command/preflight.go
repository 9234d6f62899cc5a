package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/preflight"
	"github.com/capacity-card/capacity-card/plugin"
)

const preflightLong = `Says before you replace Volcano's scheduler what will happen: versions and the image
that fits, flags and gates, the configuration, what Helm would reset, labels of
nodes, and which queues and jobs are decided about in another way. For these, both
schedulers run in memory on a copy of the cluster. Nothing is written.

Each check is ok, a note, a stop, or unknown if it could not be read. The exit code
is 1 if a check stops the change, and 2 if the cluster or the files cannot be read.`

const preflightExamples = `  # The change to capacity-card
  cardctl preflight

  # The change to a configuration of your own
  cardctl preflight --scheduler-conf volcano-scheduler.conf

  # Only the image, with the plugin capacity
  cardctl preflight --plugin capacity`

func newPreflight(s *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "preflight", Short: "What a change to this scheduler will do", Long: preflightLong,
		Example: preflightExamples, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.preflight(cmd.Context()) },
	}

	s.bind(cmd, asTable, asJSON, asYAML)
	cmd.Flags().Lookup("scheduler-conf").Usage = "File with the configuration to change to, or with its ConfigMap. " +
		"Without it, the present one with another quota plugin"
	cmd.Flags().Lookup("plugin").Usage = "The quota plugin to change to: " + strings.Join(plugin.Names, ", ")
	return cmd
}

func (s *source) preflight(ctx context.Context) error {
	subject, err := s.subject(ctx)
	if err != nil {
		return err
	}
	subject.Plugin = s.plugin
	if s.configuration != "" {
		subject.Next, err = configuredBy(s.configuration)
		if err != nil {
			return err
		}
	}

	report, err := preflight.Run(ctx, subject)
	if err != nil {
		return err
	}
	if err := s.print(&result{text: preflightText(report), data: report}); err != nil {
		return err
	}
	if report.Verdict == preflight.Stop {
		return errInvalid
	}
	return nil
}

// subject reads the input of the checks. Where a cluster does not permit to read a part, it notes the reason.
func (s *source) subject(ctx context.Context) (*preflight.Subject, error) {
	if len(s.files) > 0 {
		objects, err := s.objects(ctx)
		if err != nil {
			return nil, err
		}
		for _, lack := range objects.Missing() {
			s.warning("%s", lack)
		}
		s.warn(objects)

		subject := &preflight.Subject{Installation: objects.Installation(), Objects: objects, Nodes: objects.Nodes}
		if len(objects.Nodes) == 0 {
			subject.NodesLack = "the files have no nodes"
			subject.ObjectsLack = subject.NodesLack
		}
		return subject, nil
	}

	config, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	installation, err := input.ReadInstallation(ctx, config)
	if err != nil {
		return nil, err
	}

	subject := &preflight.Subject{Installation: installation}
	progress := newProgress(s.streams.ErrOut, false)
	subject.Objects, err = input.ReadCluster(ctx, config, false, progress.report)
	progress.done()
	if err == nil {
		subject.Nodes = subject.Objects.Nodes
		for _, lack := range subject.Objects.Warnings {
			s.warning("%s", lack)
		}
		return subject, nil
	}

	subject.ObjectsLack = firstLine(err)
	nodes, err := input.ReadKinds(ctx, config, input.Nodes)
	if err != nil {
		subject.NodesLack = firstLine(err)
		return subject, ctx.Err()
	}
	subject.Nodes = nodes.Nodes
	return subject, ctx.Err()
}

// preflightText has the verdict, and a paragraph for each check.
func preflightText(r *preflight.Report) string {
	var text strings.Builder
	fmt.Fprintln(&text, r.Summary())

	const indent = "                      "
	for _, c := range r.Checks {
		fmt.Fprintf(&text, "%-8s %-12s %s\n", c.Result, c.Name, c.Message)
		for i, detail := range c.Details {
			if i == preflight.Most {
				fmt.Fprintf(&text, "%s- and %d more\n", indent, len(c.Details)-i)
				break
			}
			lines := strings.ReplaceAll(detail.String(), "\n", "\n"+indent+"  ")
			fmt.Fprintf(&text, "%s- %s\n", indent, lines)
		}
		for i, line := range c.Do {
			if i == preflight.Most {
				fmt.Fprintf(&text, "%sdo: and %d more\n", indent, len(c.Do)-i)
				break
			}
			fmt.Fprintf(&text, "%sdo: %s\n", indent, line)
		}
	}
	return text.String()
}
