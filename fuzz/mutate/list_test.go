package mutate

import (
	"fmt"
	"strconv"
	"strings"
)

// mutant is a line of mutants.txt.
type mutant struct {
	number   int    // of the mutant, from 1
	function string // its package and its name, with the receiver's type, such as quota/assign.loads.Add
	operator string // a key of operators
	place    int    // of the operator in the function, from 1
	dir      string // the directory of the test that must fail
	test     string // its name, with its case after a slash
}

func (m mutant) String() string {
	return fmt.Sprintf("%s %s %d %s %s", m.function, m.operator, m.place, m.dir, m.test)
}

// parse reads a list with one mutant on each line. Lines that begin with # are comments.
func parse(text string) (mutants []mutant, err error) {
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}

		m := mutant{number: len(mutants) + 1}
		if len(fields) != 5 {
			return nil, fmt.Errorf("%q: want a function, an operator, a place, a directory and a test", line)
		}
		m.function = fields[0]
		m.operator = fields[1]
		m.dir = fields[3]
		m.test = fields[4]
		m.place, err = strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%s: the place: %w", m.function, err)
		}

		at := strings.Join(fields[:3], " ")
		if seen[at] {
			return nil, fmt.Errorf("%s is there twice", at)
		}
		seen[at] = true
		mutants = append(mutants, m)
	}
	return mutants, nil
}
