package mutate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/capacity-card/capacity-card/fuzz/mutate/active"
)

// runner builds and runs the tests of a copy of the module with mutants. It is safe for many goroutines.
type runner struct {
	tree string

	mu    sync.Mutex
	built map[string]func() (string, error) // the test binary, by directory, see binary

	printing sync.Mutex
	survived []error
}

func newRunner(tree string) *runner {
	return &runner{tree: tree, built: map[string]func() (string, error){}}
}

// try runs the tests of all mutants. It returns an error for each mutant that survives.
func (r *runner) try(ctx context.Context, mutants []mutant, workers int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, m := range mutants {
		group.Go(func() error { return r.tryOne(ctx, m) })
	}
	err := group.Wait()
	if err != nil {
		return err
	}

	fmt.Printf("%d mutants, %d killed, %d survived\n", len(mutants), len(mutants)-len(r.survived), len(r.survived))
	return errors.Join(r.survived...)
}

func (r *runner) tryOne(ctx context.Context, m mutant) error {
	binary, err := r.binary(ctx, m.dir)
	if err != nil {
		return err
	}

	killed, err := r.fails(ctx, binary, m)
	if err != nil {
		return err
	}

	if killed {
		// A test that fails without the mutant, too, shows nothing.
		unchanged := m
		unchanged.number = 0
		broken, err := r.fails(ctx, binary, unchanged)
		if err != nil {
			return err
		}
		killed = !broken
	}

	r.printing.Lock()
	defer r.printing.Unlock()
	if killed {
		fmt.Println("killed  ", m)
		return nil
	}

	fmt.Println("SURVIVED", m)
	r.survived = append(r.survived, fmt.Errorf("survived: %s", m))
	return nil
}

// binary returns the tests of a directory. The first time, it builds them.
func (r *runner) binary(ctx context.Context, dir string) (string, error) {
	r.mu.Lock()
	if r.built[dir] == nil {
		r.built[dir] = sync.OnceValues(func() (string, error) { return r.build(ctx, dir) })
	}
	build := r.built[dir]
	r.mu.Unlock()
	return build()
}

func (r *runner) build(ctx context.Context, dir string) (string, error) {
	name := filepath.Join(r.tree, strings.ReplaceAll(dir, "/", "-")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", name, "./"+dir)
	build.Dir = r.tree
	output, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the tests of %s: %w\n%s", dir, err, output)
	}
	return name, nil
}

// limited bounds the processor time and the memory of a test, in seconds and KiB: a mutant can make a loop endless.
const limited = `ulimit -t 300 -v 16000000; exec "$@"`

// fails reports whether the test of a mutant fails with it. A test that does not exist is an error.
func (r *runner) fails(ctx context.Context, binary string, m mutant) (bool, error) {
	command := exec.CommandContext(ctx, "sh", "-c", limited, "sh", binary, "-test.run="+pattern(m.test),
		"-test.timeout=10m", "-test.failfast", "-test.v")
	command.Dir = filepath.Join(r.tree, m.dir)
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", active.Variable, m.number))
	output, err := command.CombinedOutput()

	failed := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil && !errors.As(err, &failed):
		return false, fmt.Errorf("%s: %w", m, err)
	case !strings.Contains(string(output), "=== RUN"):
		return false, fmt.Errorf("%s: no such test runs", m)
	}
	return err != nil, nil
}

// pattern returns the pattern that matches one test, or one case of it.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
