package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Scenario is everything that a run of a world depends on: the configuration of the scheduler, and the events before
// each cycle. The world is empty at first.
type Scenario struct {
	Config
	Cycles int // cycles with deeds; quiet ones follow
	Acts   []Act
}

// Act is a deed before a cycle.
type Act struct {
	Cycle int // from 1
	Deed  Deed
}

// Sorted returns the acts in the order in which they happen.
func (s *Scenario) Sorted() []Act {
	acts := slices.Clone(s.Acts)
	slices.SortStableFunc(acts, func(x, y Act) int { return x.Cycle - y.Cycle })
	return acts
}

// Before returns the deeds before a cycle.
func (s *Scenario) Before(cycle int) (deeds []Deed) {
	for _, a := range s.Acts {
		if a.Cycle == cycle {
			deeds = append(deeds, a.Deed)
		}
	}
	return deeds
}

// String is the scenario as a script.
func (s *Scenario) String() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, s.Config)
	done := 0
	cycles := func(until int) {
		switch n := until - done; {
		case n == 1:
			fmt.Fprintln(b, "cycle")
		case n > 1:
			fmt.Fprintln(b, "cycle", n)
		}
		done = max(done, until)
	}

	for _, a := range s.Sorted() {
		cycles(a.Cycle - 1)
		fmt.Fprintln(b, a.Deed)
	}

	cycles(s.Cycles)
	b.WriteString("settle\n")
	return b.String()
}

// File is the scenario as a file of plugin/internal/chaos/testdata/found, which is run as it is.
func (s *Scenario) File(comment string) string {
	return "# " + strings.ReplaceAll(strings.TrimSpace(comment), "\n", "\n# ") + "\nscene\n" + s.String() + "----\n"
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
