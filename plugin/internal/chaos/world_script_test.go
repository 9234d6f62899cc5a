package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Script is a text of commands, one on each line. doc.go describes them.
type Script struct {
	lines []string
	// Variants are the configurations of the scheduler that the script runs with. Each is a list of settings for
	// Config.Set. There is at least one.
	Variants [][]string
}

// Step is one command: a deed, or a command that only the caller knows.
type Step struct {
	Deed    Deed // nil for other commands
	Command string
	Words   []string
}

// ParseScript reads a script. defined are the texts that the command use puts in its place.
func ParseScript(text string, defined map[string]string) (*Script, error) {
	s := &Script{Variants: [][]string{nil}}
	return s, s.read(text, defined)
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
		default:
			s.lines = append(s.lines, line)
		}
	}

	return nil
}

// lines returns the lines of a text without comments. A line goes on after a backslash.
func lines(text string) (all []string) {
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
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

			all = append(all, slices.Concat(before, rest[:end]))
			rest = rest[end+1:]
		}
	}

	s.Variants = all
}

// Steps returns the commands of a variant. A setting $name=value replaces $name in them.
func (s *Script) Steps(variant []string) (steps []Step, err error) {
	var pairs []string
	longestFirst := func(x, y string) int { return cmp.Compare(strings.Index(y, "="), strings.Index(x, "=")) }
	for _, setting := range slices.SortedFunc(slices.Values(variant), longestFirst) {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "$") {
			pairs = append(pairs, name, value)
		}
	}

	variables := strings.NewReplacer(pairs...)
	for _, line := range s.lines {
		line = variables.Replace(line)
		words, err := fields(line)
		if err != nil {
			return nil, err
		}

		step := Step{Command: words[0], Words: words[1:]}
		if !slices.Contains([]string{"config", "cycle", "settle", "admit", "ask", "show"}, step.Command) {
			step.Deed, err = ParseDeed(line)
			if err != nil {
				return nil, err
			}
		}
		steps = append(steps, step)
	}

	return steps, nil
}
