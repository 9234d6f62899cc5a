// Command cardctl-mcp answers agents by the Model Context Protocol on its standard input and output. For each call it
// runs cardctl, so it has the rights of its user and no rules of its own.
//
// It is a separate module: the SDK of the protocol needs a later Go and other versions of modules than the scheduler.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	mostBytes  = 200_000         // of an answer, without --max-bytes: some 60,000 tokens of a model
	patience   = 2 * time.Minute // with a run of cardctl
	mostAtOnce = 2               // runs of cardctl: each has a copy of the cluster in memory
)

const usage = `Usage: cardctl-mcp [flags] [-- FLAGS OF CARDCTL]

"cardctl mcp" starts this program. It answers agents by the Model Context Protocol on
standard input and output, and runs cardctl for each call.

`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()

	err := serve(ctx, os.Args[1:])
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

// serve answers until the agent closes the input, or ctx ends.
func serve(ctx context.Context, arguments []string) error {
	r := &runner{patience: patience, slots: make(chan struct{}, mostAtOnce)}
	cardctl := ""

	flags := flag.NewFlagSet("cardctl-mcp", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&cardctl, "cardctl", "",
		"the `path` of cardctl. Without it, cardctl is in the directory of this program or on the PATH")
	flags.IntVar(&r.most, "max-bytes", mostBytes, "the largest `number` of bytes of the JSON of an answer")

	err := flags.Parse(arguments)
	if err != nil {
		return err
	}

	if r.most < 1 {
		return fmt.Errorf("--max-bytes %d: must be positive", r.most)
	}

	// The flags of cardctl are checked by its runs.
	r.common = flags.Args()
	r.cardctl, err = find(cardctl)
	if err != nil {
		return err
	}
	return newServer(r).Run(ctx, &mcp.StdioTransport{})
}

// find returns the path of cardctl: the given one, or the one in the directory of this program, or the one on the PATH.
func find(given string) (string, error) {
	if given != "" {
		return given, nil
	}

	this, err := os.Executable()
	if err != nil {
		return "", err
	}

	path := filepath.Join(filepath.Dir(this), "cardctl")
	_, err = os.Stat(path)
	if err == nil {
		return path, nil
	}
	return exec.LookPath("cardctl")
}
