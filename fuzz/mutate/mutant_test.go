package main

import (
	"strings"
	"testing"
)

// TestMutantsMatch expects every mutant to apply, and no two to be the same.
func TestMutantsMatch(t *testing.T) {
	s, err := readSources("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range mutants {
		if _, err := m.apply(s); err != nil {
			t.Error(err)
		}
		if seen[m.String()] {
			t.Errorf("%s is there twice", m)
		}
		seen[m.String()] = true
	}
}

// TestMutantsThatDoNotMatch expects an error for each way in which a mutant gets out of date.
func TestMutantsThatDoNotMatch(t *testing.T) {
	source := []byte("func f() { g(); g() }")
	s := &sources{files: map[string][]byte{"a/a.go": source}, named: map[string][]declaration{}}
	for _, name := range []string{"a.T.f", "a.U.f", "b.g"} {
		for _, short := range names(name) {
			s.named[short] = append(s.named[short], declaration{name: name, file: "a/a.go", end: len(source)})
		}
	}
	for _, c := range []struct {
		mutant
		says string
	}{
		{mutant{"h", "g()", ""}, "nothing has the name h"},
		{mutant{"f", "g()", ""}, "a.T.f and a.U.f have the name f"},
		{mutant{"a.T.f", "g()", ""}, "the shortest name of a.T.f is T.f"},
		{mutant{"T.f", "g()", ""}, "2 times"},
		{mutant{"T.f", "h()", ""}, "0 times"},
		{mutant{"T.f", "f()", "f()"}, "1 times"},
		{mutant{"g", "{", ""}, "expected"},
	} {
		if _, err := c.apply(s); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s gives %v, not %q", c.mutant, err, c.says)
		}
	}
}
