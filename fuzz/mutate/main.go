// Command mutate tests the tests. It applies small mutations to the rules, one at a time, runs
// the tests, and reports the mutants that survive. Run it in the directory of the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	only := flag.String("only", "", "try only the mutants whose file, declaration or text matches this regular expression")
	workers := flag.Int("workers", runtime.NumCPU(), "number of mutants that are tried at the same time")
	file := flag.String("results", "build/mutants.txt", "the file of results: those of this commit are not tried again")
	flag.Parse()
	if err := run(*only, max(1, *workers), *file); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(only string, workers int, file string) error {
	tree, err := copyTree()
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	chosen, err := choose(tree, only)
	if err != nil {
		return err
	}
	commit, err := present()
	if err != nil {
		return err
	}
	r, err := openResults(file, commit, chosen)
	if err != nil {
		return err
	}
	defer r.file.Close()
	if len(r.left) > 0 {
		if err := unmutated(tree, r.left); err != nil {
			return err
		}
	}
	queue := make(chan mutated)
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			var errs error
			for m := range queue {
				start := time.Now()
				outcome, err := m.try(tree, r.killer(m))
				errs = errors.Join(errs, r.add(m, outcome, err, time.Since(start)))
			}
			return errs
		})
	}
	stopped, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
feed:
	for _, m := range r.left {
		select {
		case queue <- m:
		case <-stopped.Done():
			break feed
		}
	}
	close(queue)
	return errors.Join(group.Wait(), writeKillers(killersFile, r.killers, mutants), r.sum())
}

// choose applies the mutants that match.
func choose(tree, only string) ([]mutated, error) {
	matching, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	s, err := readSources(tree)
	if err != nil {
		return nil, err
	}
	var chosen []mutated
	for _, m := range mutants {
		if slices.Contains(ofDeviceClaims, m) && !knowsDeviceClaims() {
			continue
		}
		applied, err := m.apply(s)
		if err != nil {
			return nil, err
		}
		if matching.MatchString(applied.file + " " + m.in + " " + m.from) {
			chosen = append(chosen, applied)
		}
	}
	return chosen, nil
}

// knowsDeviceClaims reports whether the tests are built with a release of Volcano that has resource
// claims: go.mod names one without, and GOFLAGS another file.
func knowsDeviceClaims() bool { return strings.Contains(os.Getenv("GOFLAGS"), "-modfile=") }

// copyTree copies the present state of the files that git knows to a new directory, so that the
// sources do not change during a run. Another release of Volcano needs build/apis.
func copyTree() (string, error) {
	listed, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return "", fmt.Errorf("listing files: %w", err)
	}
	tree, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", err
	}
	for name := range strings.Lines(string(listed)) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but not committed yet
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, name), content, 0o644)
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(tree))
		}
	}
	if knowsDeviceClaims() {
		if err := os.CopyFS(filepath.Join(tree, "build", "apis"), os.DirFS("build/apis")); err != nil {
			return "", errors.Join(err, os.RemoveAll(tree))
		}
	}
	return tree, nil
}
