package main

import "testing"

// TestMutantsMatch expects the text of every mutant to be in its file exactly once.
func TestMutantsMatch(t *testing.T) {
	for _, m := range mutants {
		if err := m.check("../.."); err != nil {
			t.Error(err)
		}
	}
	if err := (mutant{"go.mod", "no such text", ""}).check("../.."); err == nil {
		t.Error("a text that is not in the file gives no error")
	}
}
