// Command mutate tests the tests. It applies small mutations to the rules, one at a time, runs
// the tests, and reports the mutants that survive. Run it in the directory of the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	chosen, err := prepare(tree, only)
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
	built, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	stopped, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err = search(stopped, &bench{tree: tree, dir: built, built: map[string]func() (string, error){}}, r, workers)
	return errors.Join(err, writeKillers(killersFile, r.killers, mutants), r.sum())
}

// search tries the mutants that are left: first each with the test that killed it before, then with all that reach its
// function.
func search(ctx context.Context, b *bench, r *results, workers int) error {
	known := map[string]*test{}
	for _, m := range r.left {
		if killer := r.killer(m); killer != "" {
			known[killer] = nil
		}
	}
	var mu sync.Mutex
	err := each(ctx, workers, slices.Sorted(maps.Keys(known)), func(killer string) error {
		dir, name, _ := strings.Cut(killer, " ")
		if !slices.Contains(directories, dir) {
			return nil
		}
		binary, err := b.binary(dir)
		if err != nil {
			return err
		}
		found, err := b.measure(ctx, binary, dir, name)
		mu.Lock()
		defer mu.Unlock()
		if len(found) == 1 { // else it does not pass, or is too long for one
			known[killer] = found[0]
		}
		return err
	})
	if err != nil {
		return err
	}
	var unknown []mutated
	err = each(ctx, workers, r.left, func(m mutated) error {
		if killer := known[r.killer(m)]; killer != nil {
			if killed, err := b.attempt(r, m, []*test{killer}); killed || err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		unknown = append(unknown, m)
		return nil
	})
	if err != nil || len(unknown) == 0 {
		return err
	}
	all, err := b.listAll(ctx, r.commit, workers)
	if err != nil {
		return err
	}
	fmt.Printf("%d mutants are left; %d tests pass without one\n", len(unknown), len(all))
	return rounds(ctx, b, r, workers, unknown, all)
}

// quick is for how long a mutant is tried before the others are.
const quick = 20 * time.Second

// rounds tries mutants with the tests that reach their functions: all mutants with those that take little time, and
// then what is left with the rest.
func rounds(ctx context.Context, b *bench, r *results, workers int, unknown []mutated, all []*test) error {
	type tried struct {
		mutated
		rest []*test
	}
	var mu sync.Mutex
	var left []tried
	err := each(ctx, workers, unknown, func(m mutated) error {
		tests := m.candidates(all, r.kills(m.file, all))
		n := lasting(tests, quick)
		killed, err := b.attempt(r, m, tests[:n])
		if !killed && err == nil {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, tried{m, tests[n:]})
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d mutants are left for tests that take longer\n", len(left))
	return each(ctx, workers, left, func(m tried) error {
		killed, err := b.attempt(r, m.mutated, m.rest)
		if killed || err != nil {
			return err
		}
		return r.add(m.mutated, survived, nil, 0)
	})
}

// lasting returns how many of the first tests take no longer than a time together.
func lasting(tests []*test, most time.Duration) int {
	for i, t := range tests {
		most -= t.took
		if most < 0 {
			return i
		}
	}
	return len(tests)
}

// attempt tries tests with a mutant, and adds the outcome unless it survives.
func (b *bench) attempt(r *results, m mutated, tests []*test) (killed bool, err error) {
	start := time.Now()
	outcome, err := b.try(m, tests)
	if outcome == survived || outcome == "" {
		return false, err
	}
	return true, r.add(m, outcome, err, time.Since(start))
}

// each calls a function for each of a list, in several goroutines, until it is interrupted.
func each[T any](ctx context.Context, workers int, list []T, f func(T) error) error {
	var group errgroup.Group
	group.SetLimit(workers)
	for _, of := range list {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return f(of)
		})
	}
	return group.Wait()
}

// prepare writes all mutants into the tree, and returns those that match.
func prepare(tree, only string) ([]mutated, error) {
	matching, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	s, err := readSources(tree)
	if err != nil {
		return nil, err
	}
	all, err := s.applyAll(mutants)
	if err != nil {
		return nil, err
	}
	var chosen []mutated
	files, err := merge(s, all)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if slices.Contains(ofLater, m.mutant) && !isLater() {
			continue
		}
		if matching.MatchString(m.file + " " + m.in + " " + m.from) {
			chosen = append(chosen, m)
		}
	}
	return chosen, writeFiles(tree, files)
}

// isLater reports whether the tests are built with a later release of Volcano than that of go.mod: GOFLAGS names
// another file.
func isLater() bool { return strings.Contains(os.Getenv("GOFLAGS"), "-modfile=") }

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
	if isLater() {
		if err := os.CopyFS(filepath.Join(tree, "build", "apis"), os.DirFS("build/apis")); err != nil {
			return "", errors.Join(err, os.RemoveAll(tree))
		}
	}
	return tree, nil
}
