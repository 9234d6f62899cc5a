package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/capacity-card/capacity-card/fuzz/mutate/active"
)

// directories have the tests that are tried, those that run fast first.
var directories = []string{
	"fastres", "index", "index/card", "index/policy", "index/override", "quota", "quota/assign", "quota/usage", "quota/budget", "quota/evict", "quota/plan", "fuzz",
	"plugin/cards", "plugin/objects", "plugin/earmark", "plugin/reserve", "plugin/intake", "plugin/constraint/budget",
	"plugin/constraint", "plugin/constraint/hints", "plugin/record", "plugin/report", "plugin/store",
	"cmd/cardctl/audit", "cmd/cardctl/explain", "plugin/internal/session", "plugin/internal/chaos",
	"plugin/internal/session+invariants", "plugin/internal/chaos+invariants",
}

// checked matches the tests of a directory with a build tag, plugin/internal/session+invariants: those that make test runs with the tag.
var checked = regexp.MustCompile(`^(TestDifferential|TestBad|TestRefunds|TestRandomCards|TestFault|TestChaos$)`)

// few are arguments of the tests of a directory: random tests draw few worlds before they draw many.
var few = map[string][]string{
	"plugin/internal/session":            {"-clusters", "20", "-sessions", "200"},
	"plugin/internal/session+invariants": {"-clusters", "20"},
	"plugin/internal/chaos":              {"-worlds", "20"},
	"plugin/internal/chaos+invariants":   {"-worlds", "8"},
}

// random matches the tests that draw worlds, clusters and sessions. They run again without the
// arguments of few where nothing else kills a mutant.
var random = regexp.MustCompile("^(TestChaos|TestDifferential|TestOpening|TestRandom|TestThousandSessions)")

// test is a test, or a case of one that takes long.
type test struct {
	dir, name string
	args      []string
	took      time.Duration // of processor time, without a mutant
	reaches   map[int]bool  // functions with mutants
}

// listedTest is a test as the file of tests has it.
type listedTest struct {
	Dir, Name string
	Took      time.Duration
	Reaches   []int
}

func (t *test) String() string { return t.dir + " " + t.name }

// only returns the pattern of one test, or of one case of it.
func only(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// bench builds and runs tests of the tree. It is safe for many goroutines.
type bench struct {
	tree, dir string // of the sources, and of what is built
	mu        sync.Mutex
	built     map[string]func() (string, error) // by directory
}

// binary returns the tests of a directory with all mutants, and builds them if that has not been done.
func (b *bench) binary(dir string) (string, error) {
	b.mu.Lock()
	if b.built[dir] == nil {
		b.built[dir] = sync.OnceValues(func() (string, error) {
			name := filepath.Join(b.dir, strings.ReplaceAll(dir, "/", "-")+".test")
			return name, b.build(dir, name)
		})
	}
	build := b.built[dir]
	b.mu.Unlock()
	return build()
}

// errNotCompiling is the error of tests that cannot be built.
var errNotCompiling = errors.New("not compiling")

func (b *bench) build(dir, name string, flags ...string) error {
	dir, tag, _ := strings.Cut(dir, "+")
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-tags=" + tag}, flags, []string{"-o", name, "./" + dir})
	build := exec.Command("go", args...)
	build.Dir = b.tree
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %w\n%s", errNotCompiling, err, output)
	}
	return nil
}

// limited runs a command with a limit of processor time and of memory: a mutation can make a loop endless.
const limited = `ulimit -t "$0" -v 16000000; exec "$@"`

// run runs the tests that match, and returns the command after it has ended. A mutation can also make goroutines wait
// for ever, so a process ends after three times the limit, since on a busy machine tests that pass take long.
func (b *bench) run(binary, dir, pattern string, limit time.Duration, variables, args []string) (*exec.Cmd, []byte, error) {
	command := exec.Command("sh", slices.Concat([]string{"-c", limited, strconv.Itoa(max(1, int(limit.Seconds()))), binary, "-test.run=" + pattern,
		"-test.timeout=" + (3 * limit).String(), "-test.failfast"}, args)...)
	of, _, _ := strings.Cut(dir, "+")
	command.Dir = filepath.Join(b.tree, of)
	command.Env = append(os.Environ(), variables...)
	output, err := command.CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return nil, nil, fmt.Errorf("%s: %w", binary, err)
	}
	return command, output, nil
}

// split is the time from which on the cases of a test are tests of their own.
const split = 2 * time.Second

// list runs each test of a directory without a mutant. A test that fails then is left out: some count allocations,
// which the question for the active mutant changes.
func (b *bench) list(ctx context.Context, dir string, workers int) ([]*test, error) {
	binary, err := b.binary(dir)
	if err != nil {
		return nil, err
	}
	_, names, err := b.run(binary, dir, "", time.Minute, nil, []string{"-test.list=^(Test|Fuzz)"})
	if err != nil {
		return nil, err
	}
	var (
		group errgroup.Group
		mu    sync.Mutex
		all   []*test
	)
	group.SetLimit(workers)
	_, _, tagged := strings.Cut(dir, "+")
	for _, name := range strings.Fields(string(names)) {
		if tagged && !checked.MatchString(name) {
			continue
		}
		group.Go(func() error {
			found, err := b.measure(ctx, binary, dir, name)
			mu.Lock()
			all = append(all, found...)
			mu.Unlock()
			return err
		})
	}
	return all, group.Wait()
}

// testsFile has the tests of the last commit that was tried: to list them takes as long as all of them.
const testsFile = "build/mutants-tests.json"

// listAll lists the tests of all directories, or reads what an earlier run of the same commit has listed.
func (b *bench) listAll(ctx context.Context, commit string, workers int) (all []*test, err error) {
	var kept struct {
		Commit string
		Tests  []listedTest
	}
	if text, err := os.ReadFile(testsFile); err == nil && json.Unmarshal(text, &kept) == nil && kept.Commit == commit && !strings.HasSuffix(commit, dirty) {
		for _, k := range kept.Tests {
			t := &test{dir: k.Dir, name: k.Name, args: few[k.Dir], took: k.Took, reaches: map[int]bool{}}
			for _, function := range k.Reaches {
				t.reaches[function] = true
			}
			all = append(all, t)
		}
		return all, nil
	}
	kept.Commit, kept.Tests = commit, nil
	for _, dir := range directories {
		found, err := b.list(ctx, dir, workers)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			kept.Tests = append(kept.Tests, listedTest{t.dir, t.name, t.took, slices.Sorted(maps.Keys(t.reaches))})
		}
		all = append(all, found...)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(testsFile, text, 0o644)
}

// measure runs a test, and its cases one by one if it takes long.
func (b *bench) measure(ctx context.Context, binary, dir, name string) ([]*test, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	file, err := os.CreateTemp(b.dir, "reached")
	if err != nil {
		return nil, err
	}
	file.Close()
	t := &test{dir: dir, name: name, args: few[dir], reaches: map[int]bool{}}
	ended, output, err := b.run(binary, dir, only(name), 20*time.Minute, []string{active.ReachedVariable + "=" + file.Name()}, append(t.args, "-test.v"))
	if err != nil {
		return nil, err
	}
	if !ended.ProcessState.Success() {
		fmt.Printf("left out, since it fails without a mutant: %s\n", t)
		return nil, nil
	}
	t.took = ended.ProcessState.UserTime() + ended.ProcessState.SystemTime()
	if cases := casesOf(name, output); t.took > split && len(cases) > 1 {
		var all []*test
		for _, name := range cases {
			found, err := b.measure(ctx, binary, dir, name)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	reached, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, err
	}
	for _, function := range strings.Fields(string(reached)) {
		n, err := strconv.Atoi(function)
		if err != nil {
			return nil, err
		}
		t.reaches[n] = true
	}
	return []*test{t}, nil
}

var passed = regexp.MustCompile(`(?m)^\s*--- PASS: (\S+) `)

// casesOf returns the cases of a test, without their own cases.
func casesOf(name string, output []byte) (cases []string) {
	for _, found := range passed.FindAllSubmatch(output, -1) {
		if of, ok := strings.CutPrefix(string(found[1]), name+"/"); ok && !strings.Contains(of, "/") {
			cases = append(cases, string(found[1]))
		}
	}
	return cases
}

// candidates returns the tests that can kill a mutant: those that killed most mutants of its file first, then shorter
// ones. For a mutant that is not in the body of a function it is not known which they are, and each directory takes a
// build: its order comes first.
func (m mutated) candidates(all []*test, kills map[string]int) (tests []*test) {
	for _, t := range all {
		if m.body == nil || t.reaches[m.function] {
			tests = append(tests, t)
		}
	}
	of := func(t *test) int { return kills[t.String()] }
	slices.SortStableFunc(tests, func(a, b *test) int {
		if m.body == nil && a.dir != b.dir {
			return slices.Index(directories, a.dir) - slices.Index(directories, b.dir)
		}
		return cmp.Or(cmp.Compare(of(b), of(a)), cmp.Compare(a.took, b.took))
	})
	for _, t := range tests {
		if t.args != nil && random.MatchString(t.name) {
			tests = append(tests, &test{dir: t.dir, name: t.name, took: 10 * t.took})
		}
	}
	return tests
}

// Outcomes of mutants that no test kills. That of a killed one is the package and the test.
const (
	survived     = "SURVIVED"
	notCompiling = "NOT COMPILING"
)

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`) // a test comes before its cases

// try runs tests with a mutant until one fails. Tests that one pattern can match share a process, first for a
// second of processor time, then for twice as long each time.
func (b *bench) try(m mutated, tests []*test) (outcome string, err error) {
	dir, err := os.MkdirTemp(b.dir, "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for length := time.Second; len(tests) > 0; length *= 2 {
		batch := batchOf(tests, length)
		tests = tests[len(batch):]
		binary, err := b.binaryOf(m, dir, batch[0].dir)
		if errors.Is(err, errNotCompiling) {
			return notCompiling, err
		} else if err != nil {
			return "", err
		}
		limit := time.Minute
		for _, t := range batch {
			limit += 10 * t.took
		}
		ended, output, err := b.run(binary, batch[0].dir, patternOf(batch), limit, []string{fmt.Sprintf("%s=%d", active.Variable, m.number)}, batch[0].args)
		if err != nil {
			return "", err
		}
		if !ended.ProcessState.Success() {
			return outcomeOf(batch, output), nil
		}
	}
	return survived, nil
}

// batchOf returns the tests at the beginning that can share a process and take that long together, one at least: tests
// of one directory, or cases of one test.
func batchOf(tests []*test, length time.Duration) []*test {
	first, took := tests[0], tests[0].took
	for i, t := range tests[1:] {
		took += t.took
		if t.dir != first.dir || path.Dir(t.name) != path.Dir(first.name) || took > length || !slices.Equal(t.args, first.args) {
			return tests[:i+1]
		}
	}
	return tests
}

// patternOf returns the pattern of the tests of a batch.
func patternOf(batch []*test) string {
	var names []string
	for _, t := range batch {
		names = append(names, regexp.QuoteMeta(path.Base(t.name)))
	}
	pattern := "^(" + strings.Join(names, "|") + ")$"
	if parent := path.Dir(batch[0].name); parent != "." {
		pattern = only(parent) + "/" + pattern
	}
	return pattern
}

// outcomeOf returns the test that failed. A process that ended without a word had used all its time or memory, or
// panicked outside of a test.
func outcomeOf(batch []*test, output []byte) string {
	if failures := failure.FindAllSubmatch(output, -1); len(failures) > 0 {
		return batch[0].dir + " " + string(failures[len(failures)-1][1])
	}
	if len(batch) == 1 {
		return batch[0].String()
	}
	return batch[0].dir + ": ended"
}

// binaryOf returns the tests of a directory with a mutant: that with all mutants, or one of its own if the mutant is
// not in the body of a function. The go command then reads the mutated file in place of the one in the tree.
func (b *bench) binaryOf(m mutated, dir, of string) (string, error) {
	if m.body != nil {
		return b.binary(of)
	}
	name := filepath.Join(dir, strings.ReplaceAll(of, "/", "-")+".test")
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	overlay, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(b.tree, m.file): filepath.Join(dir, "mutant.go")},
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
	return name, b.build(of, name, "-overlay", filepath.Join(dir, "overlay.json"))
}
