// Package command has the commands of cardctl. It binds flags, reads the input, calls the engine and prints. Tables,
// errors and exit codes follow kubectl.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/capacity-card/capacity-card/cmd/internal/version"
	"github.com/capacity-card/capacity-card/index"
)

// The exit codes.
const (
	exitOK          = 0
	exitInvalid     = 1   // validate has found errors, or a part of the input could not be read
	exitUsage       = 2   // bad flags or bad input: nothing was printed
	exitInterrupted = 130 // SIGINT or SIGTERM, as shells report it
)

// errInvalid is the result of a command that has printed its output and the errors in it.
var errInvalid = errors.New("invalid")

// errInterrupted is the result of a command that Ctrl-C has ended, on a terminal where it is no signal.
var errInterrupted = errors.New("interrupted")

const long = `cardctl shows what the quotas of Volcano's queues do: why jobs wait, who uses
which cards, what is wrong with queues, and what would change.

It runs the scheduler's own quota plugin on the objects of a live cluster, or on
files: dumps of a cluster, or manifests from a Git repository. It only reads, except
for the command usage reset.`

// New returns cardctl. name is the name of the program: as kubectl-card it is a plugin of kubectl.
func New(name string, streams genericiooptions.IOStreams) *cobra.Command {
	return newRoot(name, newSource(streams))
}

func newRoot(name string, from *source) *cobra.Command {
	streams := from.streams
	use := "cardctl"
	if strings.HasPrefix(filepath.Base(name), "kubectl-card") || completes(name) {
		use = "kubectl card"
	}

	root := &cobra.Command{
		Use: "cardctl", Short: "Quotas of Volcano's queues, explained", Long: long,
		SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: use},
		Args:        knownCommand,
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)

	root.AddCommand(
		newExplain(from), newCards(from), newValidate(from), newTop(from), newUsage(from), newBudget(from),
		newAudit(from), newSimulate(from), newReplay(from), newServe(from), newMCP(from), newSchema(from),
		newPreflight(from), newVersion(streams))

	// The flags may stand in front of the command. Cobra finds the command if the root knows which flags have a value.
	from.bindShared(root)
	root.Flags().Lookup(namespaceFlag).Hidden = false
	from.bindContexts(root)

	root.SetUsageTemplate(usageTemplate(root))
	root.Version = version.Of().Text("cardctl")
	root.SetVersionTemplate("{{.Version}}")
	return root
}

// completes reports whether kubectl calls this program to complete the words after "kubectl card".
func completes(name string) bool {
	return strings.HasPrefix(filepath.Base(name), "kubectl_complete-card")
}

// knownCommand refuses the name of a command that does not exist.
func knownCommand(cmd *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}

	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return fmt.Errorf("unknown command %q%s", arguments[0], index.DidYouMean(arguments[0], names))
}

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use: "version", Short: "Versions of cardctl, Volcano and Kubernetes", Args: cobra.NoArgs,
		Long: "Prints the release and the commit of cardctl, and the versions of Volcano and\n" +
			"Kubernetes that its scheduler is built with.",
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(output, versionFormats); err != nil {
				return err
			}
			r := &result{text: version.Of().Text("cardctl"), data: version.Of()}
			return r.print(streams.Out, output, true)
		},
	}

	cmd.Flags().StringVarP(&output, "output", "o", asText, "Output format: "+strings.Join(versionFormats, ", "))
	complete(cmd, "output", versionFormats)
	return cmd
}

const asText = "text"

var versionFormats = []string{asText, asJSON, asYAML}

// usageTemplate is the template of cobra with the flags of kubectl behind the flags of the command.
func usageTemplate(root *cobra.Command) string {
	flagsOf := func(cmd *cobra.Command, cluster bool) string {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, is := f.Annotations[clusterFlag]; is == cluster {
				flags.AddFlag(f)
			}
		})
		return strings.TrimRight(flags.FlagUsages(), "\n")
	}
	cobra.AddTemplateFunc("ownFlags", func(cmd *cobra.Command) string { return flagsOf(cmd, false) })
	cobra.AddTemplateFunc("clusterFlags", func(cmd *cobra.Command) string { return flagsOf(cmd, true) })

	return strings.Replace(root.UsageTemplate(), "{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}",
		"{{ownFlags .}}{{with clusterFlags .}}\n\nFlags of the cluster and the user, as in kubectl:\n{{.}}{{end}}", 1)
}

// Main runs cardctl as a process. The first SIGINT or SIGTERM ends it.
func Main(arguments []string) {
	version.Of().SetUserAgent()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(Run(ctx, arguments[0], arguments[1:], streams))
}

// Run runs cardctl and returns its exit code. It returns as soon as ctx is done, also from a read or a computation that
// cannot be interrupted. Commands only leave two things in order: the terminal on which they draw, and the files of a
// replay. The process must end then, because a process has one session at a time.
func Run(ctx context.Context, name string, arguments []string, streams genericiooptions.IOStreams) int {
	from := newSource(streams)
	root := newRoot(name, from)
	if completes(name) {
		arguments = append([]string{cobra.ShellCompRequestCmd}, arguments...)
	}
	root.SetArgs(arguments)

	// A misspelt command has no flags. The command is the error then, not the flag.
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && !strings.HasPrefix(arguments[0], "-") {
			return knownCommand(root, arguments)
		}
		return err
	})

	err := await(ctx, func() error { return root.ExecuteContext(ctx) })
	if ctx.Err() != nil {
		from.leaving.Lock() // a screen restores the terminal before it unlocks
		return exitInterrupted
	}
	return exitCode(err, streams.ErrOut)
}

// await returns the error of work, or the error of ctx as soon as ctx is done.
func await(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exitCode prints an error and returns its exit code.
func exitCode(err error, errOut io.Writer) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInvalid):
		return exitInvalid
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}

	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(errOut, "error: "+line)
	}
	return exitUsage
}
