package volcano

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The places of results and programs, relative to the root of the module.
const (
	resultsDirectory = "e2e/volcano/results"
	page             = "docs/volcano-e2e.md"
	workDirectory    = "bin/e2e-volcano"
)

// repeats is the number of times that a spec runs again with both schedulers, if its outcomes differ.
const repeats = 2

// make e2e-volcano sets lanes. TestSuites sets trial and specs of its processes.
var (
	lanes                = flag.Int("lanes", 0, "suites that run side by side, each with 0.8 GiB of memory; with 0 none runs")
	suitePattern         = flag.String("suites", "", "only suites that match this regular expression")
	configurationPattern = flag.String("configurations", "", "only configurations that match this regular expression")
	specs                = flag.String("specs", "", "only specs that match this regular expression; the results are printed and not written")
	alone                = flag.String("trial", "", "the trial of TestTrial: suite,configuration,scheduler,directory")
)

// untilInterrupt returns a context that an interrupt ends, so that all processes stop.
func untilInterrupt(t *testing.T) context.Context {
	ctx, cancel := signal.NotifyContext(t.Context(), syscall.SIGINT, syscall.SIGTERM)
	t.Cleanup(cancel)
	return ctx
}

// TestSuites runs the suites with both schedulers, and writes the results and the page.
func TestSuites(t *testing.T) {
	if *lanes == 0 {
		return
	}
	t.Chdir("../..")
	require.NoError(t, runAll(untilInterrupt(t)))
}

// TestTrial runs one suite, on a control plane in this process. TestSuites starts a process for each trial.
func TestTrial(t *testing.T) {
	if *alone == "" {
		return
	}
	require.NoError(t, runAlone(untilInterrupt(t), *alone, *specs))
}

// runAll builds the programs, runs the suites and writes the results.
func runAll(ctx context.Context) error {
	suites, err := selected(suitesOf(releaseOfModule()), *suitePattern, func(s suite) string { return s.name })
	if err != nil {
		return err
	}

	chosen, err := selected(configurations, *configurationPattern, func(c configuration) string { return c.name })
	if err != nil {
		return err
	}

	work, err := filepath.Abs(filepath.Join(workDirectory, releaseOfModule()))
	if err != nil {
		return err
	}

	err = build(ctx, work, suites)
	if err != nil {
		return err
	}

	// The results of complete trials are kept even if other trials fail.
	r, err := compare(ctx, runner{work: work, lanes: *lanes}, suites, chosen, *specs)
	if *specs == "" && len(r.rows) > 0 {
		err = errors.Join(err, update(r))
	}
	if err != nil {
		return err
	}

	fmt.Print("\n" + r.Table())
	defects := r.defects()
	if len(defects) > 0 {
		return fmt.Errorf("%d specs pass with Volcano's scheduler and fail with ours:\n  %s",
			len(defects), strings.Join(defects, "\n  "))
	}

	return nil
}

// selected returns the items with names that match a regular expression.
func selected[T any](items []T, pattern string, name func(T) string) (matching []T, err error) {
	expression, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, err
	}

	for _, item := range items {
		if pattern == "" || expression.MatchString(name(item)) {
			matching = append(matching, item)
		}
	}
	if len(matching) == 0 {
		return nil, fmt.Errorf("nothing matches %s", pattern)
	}

	return matching, nil
}
