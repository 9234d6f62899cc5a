package main

import "testing"

// TestMutantsMatch expects every mutant's text to stand in the code once.
func TestMutantsMatch(t *testing.T) {
	for _, m := range mutants {
		if err := m.check("../.."); err != nil {
			t.Error(err)
		}
	}
	if err := (mutant{"go.mod", "no such text", ""}).check("../.."); err == nil {
		t.Error("a text that is not there is not noticed")
	}
}
