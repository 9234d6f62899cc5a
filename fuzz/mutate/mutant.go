package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// mutant is a mutation: the name of a declaration, a text that is in it exactly once, and its
// replacement. The name is the shortest that nothing else has, such as Victims.take. So a mutant
// follows what it changes to any file, and mostly to any package.
type mutant struct {
	in, from, to string
}

func (m mutant) String() string {
	short := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	return fmt.Sprintf("%s: %s → %s", m.in, short(m.from), short(m.to))
}

// mutated is a mutant that applies.
type mutated struct {
	mutant
	declaration
	line     int
	number   int    // from 1
	function int    // the number of the function, see merge
	source   []byte // the file with the mutation
	body     []byte // the body of the function with the mutation, nil if the mutation is not in the body of a function
}

// apply returns the file with the mutation. It returns an error if the text is not in the
// declaration exactly once, or if the result is not Go. This keeps the list up to date.
func (m mutant) apply(s *sources) (mutated, error) {
	d, err := s.find(m.in)
	if err != nil {
		return mutated{}, fmt.Errorf("%s: %w", m, err)
	}
	before := s.files[d.file]
	of := before[d.start:d.end]
	if n := bytes.Count(of, []byte(m.from)); n != 1 || m.from == m.to {
		return mutated{}, fmt.Errorf("%s: the text is in %s %d times", m, d.name, n)
	}
	at := d.start + bytes.Index(of, []byte(m.from))
	end := at + len(m.from)
	after := slices.Concat(before[:at], []byte(m.to), before[end:])
	if _, err := parser.ParseFile(token.NewFileSet(), d.file, after, parser.SkipObjectResolution); err != nil {
		return mutated{}, fmt.Errorf("%s: %w", m, err)
	}
	applied := mutated{mutant: m, declaration: d, line: 1 + bytes.Count(before[:at], []byte("\n")), source: after}
	if at >= d.body.start && end <= d.body.end {
		applied.body = slices.Concat(before[d.body.start:at], []byte(m.to), before[end:d.body.end])
	}
	return applied, nil
}
