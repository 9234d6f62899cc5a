package command

import (
	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/plugin/settings"
)

const schemaLong = `Prints a JSON schema (draft 2020-12) of the annotations of queues, jobs and pods.

An editor with a language server for YAML completes and checks them: save the
schema to a file, and name the file in a comment in the first line of a manifest.`

const schemaExamples = `  cardctl schema > capacity-card.schema.json

  # The first line of a manifest:
  # yaml-language-server: $schema=capacity-card.schema.json`

func newSchema(s *source) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "A JSON schema of annotations, for editors",
		Long: schemaLong, Example: schemaExamples,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return printData(s.streams.Out, asJSON, settings.JSONSchema(), true)
		},
	}
}
