// Command volcano runs the end-to-end suites of Volcano's own repository, once with Volcano's scheduler and once with
// ours, in several configurations, and compares them spec by spec. It fails if a spec passes with Volcano's scheduler
// and fails with ours.
//
// The suites are built from the Volcano module of go.mod and are not changed. Each run has a separate control plane in
// a separate process: an API server, the controllers of Kubernetes and Volcano, kube-scheduler, Volcano's webhooks and
// a simulated kubelet. Its pods end as their commands do. Suites spend most of their time waiting, so several run at
// the same time.
//
// The outcomes go to e2e/volcano/results, and from there to docs/volcano-e2e.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// The places of results and programs, relative to the root of the module.
const (
	resultsDirectory = "e2e/volcano/results"
	page             = "docs/volcano-e2e.md"
	workDirectory    = "bin/e2e-volcano"
)

// repeats is the number of times that a spec runs again with both schedulers, if its outcomes differ.
const repeats = 2

func main() {
	lanes := flag.Int("lanes", 4, "suites that run side by side, each with 0.8 GiB of memory; "+
		"0 writes the page of the results that are there")
	suitePattern := flag.String("suites", "", "only suites that match this regular expression")
	configurationPattern := flag.String("configurations", "", "only configurations that match this regular expression")
	specs := flag.String("specs", "", "only specs that match this regular expression; "+
		"the results are printed and not written")
	alone := flag.String("run", "", "run one suite, on a control plane in this process: "+
		"suite,configuration,scheduler,directory")
	flag.Parse()

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()

	var err error
	switch {
	case *alone != "":
		err = runAlone(ctx, *alone, *specs)
	case *lanes == 0:
		err = writePage()
	default:
		err = runAll(ctx, *lanes, *suitePattern, *configurationPattern, *specs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "volcano:", err)
		os.Exit(1)
	}
}

// runAll builds the programs, runs the suites and writes the results.
func runAll(ctx context.Context, lanes int, suitePattern, configurationPattern, specs string) error {
	suites, err := selected(suitesOf(releaseOfModule()), suitePattern, func(s suite) string { return s.name })
	if err != nil {
		return err
	}

	chosen, err := selected(configurations, configurationPattern, func(c configuration) string { return c.name })
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
	r, err := compare(ctx, runner{work: work, lanes: lanes}, suites, chosen, specs)
	if specs == "" && len(r.rows) > 0 {
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
