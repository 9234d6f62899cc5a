package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

const validateLong = `Checks the scheduler's configuration, queues, their tree, their annotations, and
jobs: unknown plugins and arguments, unknown parents, cycles, bounds above those
of the parent, bad JSON, values that the API server refuses, cards that no node
has, jobs that cannot run even on an empty cluster.

Each line names the file, the line where the object begins, the object and the
field. The exit code is 1 if there is an error, and 0 if there are only warnings
and notes, so that a pipeline can use it. Checks that need nodes are skipped if
the input has none.`

func newValidate(s *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate", Short: "What is wrong with queues, cards and jobs", Long: validateLong,
		Example: "  cardctl validate -f queues/ -f nodes.yaml\n  kustomize build . | cardctl validate -f -",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			objects, configuration, err := s.read(cmd.Context())
			if err != nil {
				return err
			}

			found, err := validate.Check(cmd.Context(), objects, configuration)
			if err != nil {
				return err
			}

			if skipped := objects.Skipped(); skipped != "" {
				s.note("%s", skipped)
			}

			return s.printIssues(found.Issues, objects.Len())
		},
	}

	s.bind(cmd, asTable, asJSON, asYAML, asPath, asColumns)
	return cmd
}

func (s *source) printIssues(issues []validate.Issue, objects int) error {
	counts := map[validate.Severity]int{}
	var text strings.Builder
	for _, i := range issues {
		counts[i.Severity]++
		fmt.Fprintln(&text, i)
	}

	fmt.Fprintf(&text, "%d objects: %d errors, %d warnings, %d notes\n",
		objects, counts[validate.Error], counts[validate.Warning], counts[validate.Note])

	data := listOf("IssueList", append([]validate.Issue{}, issues...))
	if err := s.print(&result{text: text.String(), data: data}); err != nil {
		return err
	}

	if counts[validate.Error] > 0 {
		return errInvalid
	}
	return nil
}
