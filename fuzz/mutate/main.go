// Command mutate tests the tests. It applies small mutations to the rules, one at a time in
// each copy of the tree, runs the tests, and reports the mutants that survive. Run it in the
// directory of the module.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	only := flag.String("only", "", "try only the mutants whose file or text matches this regular expression")
	workers := flag.Int("workers", runtime.NumCPU(), "number of mutants that are tried at the same time, each in a copy of the tree")
	flag.Parse()
	if err := run(*only, max(1, *workers)); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// stage is a set of tests of one package. Fast stages come first.
type stage struct {
	dir  string
	args []string
}

var (
	engine   = []stage{{"fastres", nil}, {"index", nil}, {"quota", nil}, {"quota/assign", nil}, {"fuzz", nil}} // each imports those before it
	sessions = []stage{
		{"plugin", []string{"-test.skip", slow, "-clusters", "20"}},
		{"plugin", []string{"-test.run", slow, "-clusters", "200"}},
	}
)

// rooms are the packages whose own tests run first for their mutants.
var rooms = []string{"index/card", "index/policy", "plugin/cards", "plugin/earmark", "plugin/reserve", "plugin/intake", "plugin/report"}

// slow matches the tests that take more than a second.
const slow = "TestDifferential|TestRandomCards|TestThousandSessions"

// stages returns the tests that may kill a mutant of a file.
func stages(file string) []stage {
	for i, s := range engine {
		if s.dir == path.Dir(file) {
			return slices.Concat(engine[i:], sessions)
		}
	}
	if dir := path.Dir(file); slices.Contains(rooms, dir) {
		return slices.Concat([]stage{{dir, nil}}, sessions)
	}
	return sessions
}

func run(only string, workers int) error {
	matching, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range mutants {
		if err := m.check("."); err != nil {
			return err
		}
		if matching.MatchString(m.file + " " + m.from) {
			chosen = append(chosen, m)
		}
	}
	t := &tally{total: len(chosen)}
	queue := make(chan mutant)
	var group errgroup.Group
	for range workers {
		tree, err := copyTree()
		if err != nil {
			return err
		}
		defer os.RemoveAll(tree)
		group.Go(func() error {
			for m := range queue {
				start := time.Now()
				caught, err := m.try(tree)
				t.add(m, caught, err, time.Since(start))
			}
			return nil
		})
	}
	err = unmutated()
	if err == nil {
		for _, m := range chosen {
			queue <- m
		}
	}
	close(queue)
	return errors.Join(err, group.Wait(), t.result())
}

// unmutated returns an error if the tests fail without a mutation.
func unmutated() error {
	tree, err := copyTree()
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	all := slices.Clone(engine)
	for _, dir := range rooms {
		all = append(all, stage{dir, nil})
	}
	caught, err := test(tree, append(all, sessions...))
	if caught != "" {
		return fmt.Errorf("%s fails without a mutation", caught)
	}
	return err
}

// tally counts the results. It is safe for many goroutines.
type tally struct {
	mu                  sync.Mutex
	total, done, killed int
	failed              []error // mutants that could not be tried
}

func (t *tally) add(m mutant, caught string, err error, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	switch {
	case err != nil:
		t.failed = append(t.failed, fmt.Errorf("%s: %w", m, err))
		caught = "ERROR"
	case caught == "":
		caught = "SURVIVED"
	default:
		t.killed++
	}
	fmt.Printf("%3d/%d %-14s %4.0fs  %s\n", t.done, t.total, caught, took.Seconds(), m)
}

// result prints the sum, and returns an error unless all mutants were killed.
func (t *tally) result() error {
	survived := t.done - t.killed - len(t.failed)
	fmt.Printf("%d mutants, %d killed, %d survived, %d failed to run\n", t.done, t.killed, survived, len(t.failed))
	errs := t.failed
	if survived > 0 {
		errs = append(errs, fmt.Errorf("%d mutants survived: no test fails without these lines", survived))
	}
	return errors.Join(errs...)
}

// copyTree copies the present state of the files that git knows to a new directory.
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
	return tree, nil
}

// test returns the directory of the first stage that fails, "" if none does.
func test(tree string, all []stage) (caught string, err error) {
	built := ""
	for _, s := range all {
		if built != s.dir {
			build := exec.Command("go", "test", "-c", "-vet=off", "-trimpath", "-o", filepath.Join(tree, "mutant.test"), "./"+s.dir)
			build.Dir = tree
			if output, err := build.CombinedOutput(); err != nil {
				return "", fmt.Errorf("it does not compile: %w\n%s", err, output)
			}
			built = s.dir
		}
		// A mutation can make a loop endless.
		tests := exec.Command(filepath.Join(tree, "mutant.test"), append([]string{"-test.failfast", "-test.timeout", "5m"}, s.args...)...)
		tests.Dir = filepath.Join(tree, s.dir)
		var failed *exec.ExitError
		if err := tests.Run(); errors.As(err, &failed) {
			return s.dir, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}
