package world

import (
	"fmt"
	"slices"
	"strings"
)

// Script is a text of commands, one on each line. doc.go describes them.
type Script struct {
	Steps []Step
	// Variants are ways to configure the scheduler, with all of which the script runs: each is
	// settings for Config.Set. There is at least one.
	Variants [][]string
}

// Step is one command: a deed, or one that whoever runs the script knows.
type Step struct {
	Deed    Deed // nil for other commands
	Command string
	Words   []string
}

// ParseScript reads a script. defined are the texts that the command use puts in its place.
func ParseScript(text string, defined map[string]string) (*Script, error) {
	s := &Script{Variants: [][]string{nil}}
	err := s.read(text, defined)
	return s, err
}

func (s *Script) read(text string, defined map[string]string) error {
	for _, line := range lines(text) {
		words, err := fields(line)
		if err != nil {
			return err
		}
		switch command := words[0]; command {
		case "use":
			for _, name := range words[1:] {
				part, known := defined[name]
				if !known {
					return fmt.Errorf("use: nothing is defined as %s", name)
				}
				if err := s.read(part, defined); err != nil {
					return err
				}
			}
		case "vary":
			s.vary(words[1:])
		case "config", "cycle", "settle", "admit", "show":
			s.Steps = append(s.Steps, Step{Command: command, Words: words[1:]})
		default:
			d, err := ParseDeed(line)
			if err != nil {
				return err
			}
			s.Steps = append(s.Steps, Step{Deed: d, Command: command})
		}
	}
	return nil
}

// lines returns the lines of a text without comments. A line goes on after a backslash.
func lines(text string) (all []string) {
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// vary multiplies the variants by settings, which | separates.
func (s *Script) vary(words []string) {
	var all [][]string
	for _, before := range s.Variants {
		for rest := words; ; {
			end := slices.Index(rest, "|")
			if end < 0 {
				all = append(all, slices.Concat(before, rest))
				break
			}
			all, rest = append(all, slices.Concat(before, rest[:end])), rest[end+1:]
		}
	}
	s.Variants = all
}
