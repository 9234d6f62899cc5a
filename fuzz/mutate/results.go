package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// results are the outcomes of mutants. A file keeps them, a line for each: the commit, the
// outcome, and the mutant. So a run that was stopped goes on, and a run of another commit begins
// with the tests that killed the mutants before. It is safe for many goroutines.
type results struct {
	mu      sync.Mutex
	file    *os.File
	commit  string              // see present
	killers map[string]string   // the package and test that last killed a mutant
	inFile  map[string][]string // the tests that killed mutants of a file in this run
	left    []mutated           // those to try
	total   int
	killed  int
	lost    []error // those that survived, and those that do not compile
}

// code has the rules and their tests. A commit that changes nothing of it changes no outcome.
var code = []string{"fastres", "index", "quota", "plugin", "fuzz", "go.mod"}

// present returns the last commit that changed the code, with dirty at the end if the tree has changes of it.
func present() (string, error) {
	commit, err := exec.Command("git", append([]string{"log", "-1", "--format=%H", "--"}, code...)...).Output()
	if err != nil {
		return "", fmt.Errorf("reading the commit: %w", err)
	}
	changes, err := exec.Command("git", append([]string{"status", "--porcelain", "--"}, code...)...).Output()
	if err != nil {
		return "", fmt.Errorf("reading what is not committed: %w", err)
	}
	if len(changes) > 0 {
		return strings.TrimSpace(string(commit)) + dirty, nil
	}
	return strings.TrimSpace(string(commit)), nil
}

const dirty = "-dirty"

// openResults reads the file, if there is one.
func openResults(name, commit string, chosen []mutated) (*results, error) {
	r := &results{commit: commit, inFile: map[string][]string{}, killers: readKillers(killersText), total: len(chosen)}
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	known := map[string]string{}
	for line := range strings.Lines(string(before)) {
		columns := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(columns) != 3 {
			continue
		}
		outcome, m := columns[1], columns[2]
		if columns[0] == commit && !strings.HasSuffix(commit, dirty) {
			known[m] = outcome
		}
		if isTest(outcome) {
			r.killers[m] = outcome
		}
	}
	for _, m := range chosen {
		if outcome, found := known[m.String()]; found {
			r.count(m, outcome, nil)
		} else {
			r.left = append(r.left, m)
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	r.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return r, err
}

// add writes an outcome to the file, and prints it.
func (r *results) add(m mutated, outcome string, err error, took time.Duration) error {
	if outcome == "" {
		return fmt.Errorf("%s: %w", m, err) // the tests did not run
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(m, outcome, err)
	fmt.Printf("%3d/%d %-30s %4.0fs  %s:%d %s\n", r.killed+len(r.lost), r.total, outcome, took.Seconds(), m.file, m.line, m)
	_, err = fmt.Fprintf(r.file, "%s\t%s\t%s\n", r.commit, outcome, m)
	return err
}

func (r *results) count(m mutated, outcome string, err error) {
	switch outcome {
	case survived, notCompiling:
		r.lost = append(r.lost, errors.Join(fmt.Errorf("%s: %s:%d %s", outcome, m.file, m.line, m), err))
	default:
		r.killed++
		if isTest(outcome) {
			r.killers[m.String()] = outcome
			r.inFile[m.file] = append(r.inFile[m.file], outcome)
		}
	}
}

// killer returns the package and test that last killed a mutant, "" if none did.
func (r *results) killer(m mutated) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.killers[m.String()]
}

// kills returns how many mutants of a file each of some tests has killed, by the name of the test.
func (r *results) kills(file string, all []*test) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	kills := map[string]int{}
	for _, killer := range r.inFile[file] {
		for _, t := range all {
			if killer == t.String() || strings.HasPrefix(killer, t.String()+"/") {
				kills[t.String()]++
			}
		}
	}
	return kills
}

// isTest reports whether an outcome is the package and the name of a test.
func isTest(outcome string) bool {
	_, name, _ := strings.Cut(outcome, " ")
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")
}

// killersText has a line for each mutant: the package and the test that last killed it, and the
// mutant. So the first run of a clone takes a third of the time.
//
//go:embed killers.tsv
var killersText string

const killersFile = "fuzz/mutate/killers.tsv"

func readKillers(text string) map[string]string {
	killers := map[string]string{}
	for line := range strings.Lines(text) {
		if killer, m, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			killers[m] = killer
		}
	}
	return killers
}

// writeKillers writes the file of killers, without those of mutants that are not in the list.
func writeKillers(file string, killers map[string]string, list []mutant) error {
	var lines []string
	for _, m := range list {
		if killer := killers[m.String()]; killer != "" {
			lines = append(lines, killer+"\t"+m.String()+"\n")
		}
	}
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(slices.Compact(lines), "")), 0o644)
}

// sum prints the sum, and returns an error unless all mutants were killed.
func (r *results) sum() error {
	broken := 0
	for _, err := range r.lost {
		if strings.HasPrefix(err.Error(), notCompiling) {
			broken++
		}
	}
	fmt.Printf("%d mutants, %d killed, %d survived, %d do not compile\n", r.total, r.killed, len(r.lost)-broken, broken)
	return errors.Join(r.lost...)
}
