package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// stage is a set of tests of one package. Fast stages come first.
type stage struct {
	dir       string
	run, skip string   // which tests, by regular expression, "" for all and for none
	args      []string // of the tests
}

var (
	engine   = []stage{{dir: "fastres"}, {dir: "index"}, {dir: "quota"}, {dir: "quota/assign"}, {dir: "quota/usage"}, {dir: "quota/budget"}, {dir: "quota/evict"}, {dir: "fuzz"}} // each imports those before it
	sessions = []stage{
		{dir: "plugin", skip: slow},
		{dir: "plugin", run: slow, args: []string{"-clusters", "20", "-worlds", "20", "-sessions", "200"}},
		{dir: "plugin", run: random, args: []string{"-clusters", "200"}},
	}
)

// random matches the tests that draw worlds, clusters and sessions. slow matches all that take more than a second.
const (
	random = "TestChaos|TestDifferential|TestOpening|TestRandom|TestThousandSessions|TestWhatVictimsLeave|FuzzCapacity"
	slow   = random + "|TestLoansComeToRest|TestGamingGainsNothing|TestSharesFollowWeights|TestLockOutIsBounded|TestScenes/earmarks|" +
		"TestUsageSurvivesRestarts|TestBudgetsSurviveRestarts|TestOrderFollowsTheDocumentation"
)

// stages returns the tests that may kill a mutant of a file: those of its package, and of
// packages that use it.
func stages(tree, file string) []stage {
	dir := path.Dir(file)
	for i, s := range engine {
		if s.dir == dir {
			return slices.Concat(engine[i:], sessions)
		}
	}
	if own, err := filepath.Glob(filepath.Join(tree, dir, "*_test.go")); err == nil && len(own) > 0 && dir != "plugin" {
		return slices.Concat([]stage{{dir: dir}}, sessions)
	}
	return sessions
}

// try runs the tests with a mutation. The go command reads the mutated file in place of the one
// in the tree (-overlay), so that several mutants share the tree. The test that killed the
// mutant before runs first, "" if none did.
func (m mutated) try(tree, killer string) (outcome string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(tree, m.file): filepath.Join(dir, "mutant.go")},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "mutant.go"), m.source, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644)
	}
	if err != nil {
		return "", err
	}
	return test(tree, dir, first(killer, stages(tree, m.file)), "-overlay", filepath.Join(dir, "overlay.json"))
}

// first puts the package and test that killed a mutant before all stages.
func first(killer string, all []stage) []stage {
	dir, name, _ := strings.Cut(killer, " ")
	for _, s := range all {
		runs, skips := regexp.MustCompile(s.run), regexp.MustCompile(s.skip)
		if s.dir == dir && runs.MatchString(name) && (s.skip == "" || !skips.MatchString(name)) {
			return slices.Insert(slices.Clone(all), 0, stage{dir: dir, run: only(name), args: s.args})
		}
	}
	return all
}

// only returns the pattern of one test, or of one case of it.
func only(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// unmutated returns an error if the tests fail without a mutation.
func unmutated(tree string, chosen []mutated) error {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []stage
	for _, m := range chosen {
		for _, s := range slices.Backward(stages(tree, m.file)) {
			if !slices.ContainsFunc(all, func(o stage) bool { return fmt.Sprint(o) == fmt.Sprint(s) }) {
				all = slices.Insert(all, 0, s)
			}
		}
	}
	outcome, err := test(tree, dir, all)
	if err == nil && outcome != survived {
		return fmt.Errorf("without a mutation: %s", outcome)
	}
	return err
}

// Outcomes of mutants that no test kills. That of a killed one is the package and the test.
const (
	survived     = "SURVIVED"
	notCompiling = "NOT COMPILING"
)

var (
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`) // a test comes before its cases
	timeout = regexp.MustCompile(`(?m)^panic: test timed out`)
)

// limited runs a command until it has used ten minutes of processor time. A mutation can make a
// loop endless, and on a busy machine tests that pass take long.
const limited = `ulimit -t 600; exec "$0" "$@"`

// test builds and runs tests until one fails.
func test(tree, dir string, all []stage, flags ...string) (outcome string, err error) {
	binary, built := filepath.Join(dir, "mutant.test"), ""
	for _, s := range all {
		if built != s.dir {
			args := slices.Concat([]string{"test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w"}, flags, []string{"-o", binary, "./" + s.dir})
			build := exec.Command("go", args...)
			build.Dir = tree
			if output, err := build.CombinedOutput(); err != nil {
				return notCompiling, fmt.Errorf("%w\n%s", err, output)
			}
			built = s.dir
		}
		args := append([]string{"-c", limited, binary, "-test.failfast", "-test.timeout=1h",
			"-test.run=" + s.run, "-test.skip=" + s.skip}, s.args...)
		tests := exec.Command("sh", args...)
		tests.Dir = filepath.Join(tree, s.dir)
		output, err := tests.CombinedOutput()
		var failed *exec.ExitError
		switch failures := failure.FindAllSubmatch(output, -1); {
		case err == nil:
			continue
		case !errors.As(err, &failed):
			return "", err
		case timeout.Match(output):
			return s.dir + ": timeout", nil
		case len(failures) > 0:
			return s.dir + " " + string(failures[len(failures)-1][1]), nil
		default:
			return s.dir + ": exit", nil
		}
	}
	return survived, nil
}
