package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is a mutation: a text that is in a file exactly once, and its replacement.
type mutant struct {
	file, from, to string
}

func (m mutant) String() string {
	short := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	return fmt.Sprintf("%s: %s → %s", m.file, short(m.from), short(m.to))
}

// check returns an error if the text is not in the file exactly once. It keeps the list up to
// date.
func (m mutant) check(tree string) error {
	source, err := os.ReadFile(filepath.Join(tree, m.file))
	if err != nil {
		return err
	}
	if n := bytes.Count(source, []byte(m.from)); n != 1 || m.from == m.to {
		return fmt.Errorf("%s: the text is in the file %d times", m, n)
	}
	return nil
}

// try applies the mutation to the tree, runs the tests, and reverts it.
func (m mutant) try(tree string) (caught string, err error) {
	name := filepath.Join(tree, m.file)
	source, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(name, bytes.Replace(source, []byte(m.from), []byte(m.to), 1), 0o644); err != nil {
		return "", err
	}
	caught, err = test(tree, stages(m.file))
	return caught, errors.Join(err, os.WriteFile(name, source, 0o644))
}
