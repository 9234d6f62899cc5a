package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const mcpLong = `Answers agents by the Model Context Protocol, on standard input and output. Its tools are
explain, simulate, validate, audit, top, cards, usage, budget and preflight. They return
the JSON of these commands, with the rights of your kubeconfig, and change nothing.

The agent starts the command. Its configuration has:

  {"mcpServers": {"cardctl": {"command": "cardctl", "args": ["mcp"]}}}

The command runs the program cardctl-mcp, which is in the directory of cardctl or on the
PATH. The archive of a release has it, and make mcp builds it.`

const mcpExamples = `  # The cluster of a context
  cardctl mcp --context production

  # A dump
  cardctl mcp -f dump.json`

// mcpProgram is the program that speaks the protocol. It is of another module: cmd/mcp.
const mcpProgram = "cardctl-mcp"

// mostBytes is the flag of mcpProgram that other commands do not have.
const mostBytes = "max-bytes"

func newMCP(s *source) *cobra.Command {
	most := 0
	cmd := &cobra.Command{
		Use: "mcp", Short: "Answers for agents, by the Model Context Protocol", Long: mcpLong, Example: mcpExamples,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cardctl, err := os.Executable()
			if err != nil {
				return err
			}
			words, err := s.mcpWords(cmd.Flags(), cardctl, most)
			if err != nil {
				return err
			}
			path, err := findMCP(cardctl)
			if err != nil {
				return err
			}

			// The program takes the place of this process, so that the end of the input and signals reach it.
			return fmt.Errorf("%s: %w", path, syscall.Exec(path, words, os.Environ()))
		},
	}

	cmd.Flags().IntVar(&most, mostBytes, 200_000, "Largest number of bytes of the JSON of an answer")
	s.bind(cmd)
	return cmd
}

// mcpWords returns the name and the arguments of the program, which runs cardctl with the flags that select the input.
func (s *source) mcpWords(flags *pflag.FlagSet, cardctl string, most int) ([]string, error) {
	if slices.Contains(s.files, "-") {
		return nil, errors.New("-f -: standard input is the connection to the agent; name a file")
	}

	words := []string{mcpProgram, "--cardctl=" + cardctl, fmt.Sprintf("--%s=%d", mostBytes, most), "--"}
	return append(words, sourceFlags(flags, mostBytes)...), nil
}

// findMCP returns the path of the program.
func findMCP(cardctl string) (string, error) {
	real, err := filepath.EvalSymlinks(cardctl) // kubectl-card is a link
	if err != nil {
		return "", err
	}

	path := filepath.Join(filepath.Dir(real), mcpProgram)
	_, err = os.Stat(path)
	if err == nil {
		return path, nil
	}
	path, err = exec.LookPath(mcpProgram)
	if err != nil {
		return "", fmt.Errorf("%s is neither in %s nor on the PATH: "+
			"the archive of a release has it, and make mcp builds it", mcpProgram, filepath.Dir(real))
	}
	return path, nil
}
