// Package mutate tests the tests. Each line of mutants.txt changes one place of a rule, and names the test that must
// fail then:
//
//	quota.Fits    boundary 1    quota TestFits
//
// In the function quota.Fits, the first comparison is inverted at its boundary (< becomes <=), and TestFits of the
// directory quota must notice. A place is the function, an operator (see operators_test.go) and the number of the place
// in the function, so that a mutant does not depend on how the code is formatted or named inside.
//
// TestMutants copies the module, puts all mutants into the copy, and runs the named tests, one process for each mutant.
// It fails if a mutant survives:
//
//	go test ./fuzz/mutate -run TestMutants -v -timeout 0 -mutants '^quota/plan'
package mutate

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed mutants.txt
var list string

var (
	only    = flag.String("mutants", "", "try the mutants whose line matches this regular expression, none by default")
	workers = flag.Int("workers", runtime.NumCPU(), "number of mutants that are tried at the same time")
)

// TestMutants tries the mutants that the flag chooses.
func TestMutants(t *testing.T) {
	if *only == "" {
		t.Skip("no -mutants")
	}
	matching, err := regexp.Compile(*only)
	require.NoError(t, err)
	mutants, err := parse(list)
	require.NoError(t, err)

	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	t.Chdir("../..")
	tree, err := copyTree()
	require.NoError(t, err)
	defer os.RemoveAll(tree)
	require.NoError(t, insert(tree, mutants))

	var chosen []mutant
	for _, m := range mutants {
		if matching.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	require.NoError(t, newRunner(tree).try(ctx, chosen, max(1, *workers)))
}

// insert writes the files with all mutants into a copy of the module.
func insert(tree string, mutants []mutant) error {
	m, err := readModule(tree)
	if err != nil {
		return err
	}

	files, err := m.merge(mutants)
	if err != nil {
		return err
	}

	for name, source := range files {
		err := os.WriteFile(filepath.Join(tree, name), source, 0o644)
		if err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies the files that git knows, as they are now, to a new directory. So the sources do not change during a
// run.
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
		err := copyFile(tree, strings.TrimSpace(name))
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(tree))
		}
	}
	return tree, nil
}

func copyFile(tree, name string) error {
	content, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // deleted, but not committed yet
	}
	if err != nil {
		return err
	}

	to := filepath.Join(tree, name)
	err = os.MkdirAll(filepath.Dir(to), 0o755)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
