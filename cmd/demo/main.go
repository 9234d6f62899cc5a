// Command demo shows quotas of cards at work on a real control plane that it runs in its own process: it creates nodes
// with accelerator cards and a tree of queues, submits Volcano jobs and prints the decisions of the scheduler as they
// happen. It exits with 0 only if every act comes out as expected.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/capacity-card/capacity-card/cmd/internal/version"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/plugin"
)

// interruptedStatus is the exit status of a shell command that SIGINT ended.
const interruptedStatus = 130

func main() {
	version.Of().SetUserAgent()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()

	err := run(ctx, os.Getenv("DEMO_KEEP") == "1")
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "\nThe demo failed: %v\n", err)
		os.Exit(1)
	}

	// An interrupt during DEMO_KEEP is the usual end, and no error.
	if ctx.Err() != nil {
		fmt.Println("\nInterrupted; everything is stopped and removed.")
	}
	if err != nil {
		os.Exit(interruptedStatus)
	}
}

// run boots the control plane, plays the demo on it and stops it again. The log stays if the demo failed.
func run(ctx context.Context, keep bool) error {
	plugin.Register()

	fmt.Println("Starting a Kubernetes control plane with Volcano in this process:")
	started := time.Now()
	cp, err := controlplane.Start(ctx, controlplane.Options{Progress: printStage})
	if err != nil {
		return err
	}

	err = play(ctx, cp, started, keep)
	if err != nil && ctx.Err() == nil {
		if kept, keepErr := cp.KeepLog(); keepErr == nil {
			err = fmt.Errorf("%w\nThe log of the control plane is kept in %s", err, kept)
		}
	}

	if stopErr := cp.Stop(); stopErr != nil {
		return fmt.Errorf("stopping the control plane: %w (before that: %v)", stopErr, err)
	}
	return err
}

// play creates the cluster and plays the story. With keep, it stays until it is interrupted. The control plane began to
// start at started.
func play(ctx context.Context, cp *controlplane.ControlPlane, started time.Time, keep bool) error {
	// The watches end before the API server stops, so that it does not wait for them.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if err := install(ctx, cp); err != nil {
		return err
	}

	// The scheduler starts before the queues exist because it creates the root queue.
	if _, err := cp.StartInstalledScheduler(ctx); err != nil {
		return fmt.Errorf("starting the scheduler: %w", err)
	}
	if err := createCluster(ctx, cp); err != nil {
		return err
	}

	printStage("Volcano's scheduler, nodes, queues", time.Since(started))

	watcher, err := startWatcher(ctx, cp)
	if err != nil {
		return err
	}

	board := &board{watcher: watcher, out: os.Stdout, start: time.Now(), printed: map[string]string{}}
	if keep {
		return tellAndStay(ctx, cp, board)
	}
	if err := tell(ctx, cp, board); err != nil {
		return err
	}

	fmt.Println("make demo DEMO_KEEP=1 keeps the control plane up, for docs/quickstart.md.")
	return nil
}

func printStage(stage string, elapsed time.Duration) {
	fmt.Printf("  %-36s %5.1fs\n", stage, elapsed.Seconds())
}
