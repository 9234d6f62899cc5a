// Command mutate tests the tests. Each line of mutants.txt changes one place of a rule, and names the test that must
// fail then:
//
//	quota.Fits    boundary 1    quota TestFits
//
// In the function quota.Fits, the first comparison is inverted at its boundary (< becomes <=), and TestFits of the
// directory quota must notice. A place is the function, an operator (see operators.go) and the number of the place in
// the function, so that a mutant does not depend on how the code is formatted or named inside.
//
// The command copies the module, puts all mutants into the copy, and runs the named tests, one process for each mutant.
// Run it in the directory of the module. It fails if a mutant survives.
package main

import (
	"context"
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
)

//go:embed mutants.txt
var list string

func main() {
	only := flag.String("only", "", "try only the mutants whose line matches this regular expression")
	workers := flag.Int("workers", runtime.NumCPU(), "number of mutants that are tried at the same time")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := run(ctx, *only, max(1, *workers))
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, workers int) error {
	matching, err := regexp.Compile(only)
	if err != nil {
		return err
	}

	mutants, err := parse(list)
	if err != nil {
		return err
	}

	tree, err := copyTree()
	if err != nil {
		return err
	}

	defer os.RemoveAll(tree)
	err = insert(tree, mutants)
	if err != nil {
		return err
	}

	var chosen []mutant
	for _, m := range mutants {
		if matching.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	return newRunner(tree).try(ctx, chosen, workers)
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
