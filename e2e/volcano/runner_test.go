package volcano

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience bounds the time until the process of a trial stops after an interrupt.
const patience = 30 * time.Second

// runner runs trials concurrently, each in a separate process: a process can have only one control plane.
type runner struct {
	work  string // the directory of the programs
	lanes int
}

// finished is a trial and the outcomes of its specs.
type finished struct {
	trial
	outcomes map[string]string
}

// trial describes a run of a suite. Attempts are counted from 1.
func (r runner) trial(s suite, c configuration, scheduler string, attempt int, specs string) trial {
	name := strings.Join([]string{s.name, c.name, scheduler, fmt.Sprint(attempt)}, "-")
	return trial{suite: s, configuration: c, scheduler: scheduler, directory: filepath.Join(r.work, name), specs: specs}
}

// run runs all trials and returns the trials that ended.
func (r runner) run(ctx context.Context, trials []trial) (ended []finished, err error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(r.lanes)
	for _, t := range trials {
		group.Go(func() error {
			start := time.Now()
			outcomes, runErr := r.one(ctx, t)

			mu.Lock()
			defer mu.Unlock()
			name := fmt.Sprintf("%s, %s, %s", t.suite.name, t.configuration.name, t.scheduler)
			if runErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", name, runErr))
				fmt.Printf("%s: %v\n", name, runErr)
				return nil
			}

			ended = append(ended, finished{t, outcomes})
			count := map[string]int{}
			for _, outcome := range outcomes {
				count[outcome]++
			}
			fmt.Printf("%s  %s: %d passed, %d failed, %d skipped by Volcano, %d left out, %s\n",
				time.Now().Format(time.TimeOnly), name, count[passed], count[failed], count[skipped], count[leftOut],
				time.Since(start).Round(time.Second))

			return nil
		})
	}

	return ended, errors.Join(group.Wait(), err)
}

// one runs a trial.
func (r runner) one(ctx context.Context, t trial) (map[string]string, error) {
	err := ctx.Err()
	if err != nil {
		return nil, err
	}

	err = os.RemoveAll(t.directory)
	if err != nil {
		return nil, err
	}

	err = os.MkdirAll(t.directory, 0o755)
	if err != nil {
		return nil, err
	}

	err = r.runProcess(ctx, t)
	if err != nil {
		return nil, err
	}

	outcomes, err := readReport(t)
	if err != nil || slices.Contains(slices.Collect(maps.Values(outcomes)), failed) {
		return outcomes, err
	}

	// The log is large, and only needed for a failure.
	return outcomes, os.Remove(filepath.Join(t.directory, schedulerLog))
}

// runProcess runs the process of a trial.
func (r runner) runProcess(ctx context.Context, t trial) error {
	log, err := os.Create(filepath.Join(t.directory, controlPlaneLog))
	if err != nil {
		return err
	}

	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}

	command := exec.CommandContext(ctx, self, "-test.run", "^TestTrial$", "-trial", t.String(), "-specs", t.specs)
	command.Stdout = log
	command.Stderr = log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = patience
	err = command.Run()
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w: %s", err, text)
	}

	return nil
}
