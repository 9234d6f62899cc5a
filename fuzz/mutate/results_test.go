package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestResultsContinue expects a second run of a commit to try only what is left, and a run of
// another commit, or of a tree with changes, to try all and to know what killed the mutants.
func TestResultsContinue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "build", "mutants.txt")
	chosen := []mutated{{mutant: mutant{"f", "a", "b"}}, {mutant: mutant{"f", "b", "c"}}, {mutant: mutant{"f", "c", "d"}}}
	open := func(commit string, left int) *results {
		t.Helper()
		r, err := openResults(file, commit, chosen)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.file.Close() })
		if len(r.left) != left {
			t.Errorf("%d mutants are left of %s, not %d", len(r.left), commit, left)
		}
		return r
	}
	for _, commit := range []string{"one", "two" + dirty} {
		r := open(commit, 3)
		for i, outcome := range []string{"quota TestTake", survived} {
			if err := r.add(chosen[i], outcome, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := open("one", 1); r.killed != 1 || len(r.lost) != 1 {
		t.Errorf("%d are killed and %d are not, not 1 and 1", r.killed, len(r.lost))
	}
	open("two"+dirty, 3)
	if r := open("three", 3); r.killer(chosen[0]) != "quota TestTake" || r.killer(chosen[1]) != "" {
		t.Errorf("the killers are %v", r.killers)
	}
}

// TestKillersAreKept expects the file to have the killers of the mutants that the list has.
func TestKillersAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "killers.tsv")
	kept, gone := mutant{"f", "a", "b"}, mutant{"f", "b", "c"}
	killers := map[string]string{kept.String(): "quota TestTake", gone.String(): "quota TestGone"}
	if err := writeKillers(file, killers, []mutant{kept, {"f", "c", "d"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := readKillers(string(text)); len(got) != 1 || got[kept.String()] != "quota TestTake" {
		t.Errorf("the file has %v", got)
	}
}
