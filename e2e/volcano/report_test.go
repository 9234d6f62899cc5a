package volcano

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The outcomes of a spec in one run.
const (
	passed  = "p"
	failed  = "f"
	skipped = "s" // by itself
	leftOut = "o" // by this program
)

// report has the fields of a Ginkgo report that the comparison reads.
type report []struct {
	SpecReports []specReport
}

type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

// name returns the full name of the spec, which Ginkgo prints and its focus matches.
func (s specReport) name() string {
	return strings.Join(append(append([]string{}, s.ContainerHierarchyTexts...), s.LeafNodeText), " ")
}

// readReport returns the outcomes of the selected specs of a trial.
func readReport(t trial) (outcomes map[string]string, err error) {
	text, err := os.ReadFile(filepath.Join(t.directory, reportFile))
	if err != nil {
		return nil, err
	}
	return outcomesOf(t.suite.name, text)
}

// outcomesOf returns the outcomes of the specs in a report.
func outcomesOf(suite string, text []byte) (map[string]string, error) {
	var r report
	err := json.Unmarshal(text, &r)
	if err != nil {
		return nil, fmt.Errorf("reading the report of %s: %w", suite, err)
	}

	outcomes := map[string]string{}
	for _, part := range r {
		for _, s := range part.SpecReports {
			outcome := s.outcome(suite)
			if outcome == "" {
				continue
			}

			name := s.name()
			for n := 2; outcomes[name] != ""; n++ { // two specs may have one name
				name = fmt.Sprintf("%s (%d)", s.name(), n)
			}
			outcomes[name] = outcome
		}
	}

	if len(outcomes) == 0 {
		return nil, fmt.Errorf("the report of %s has no specs", suite)
	}

	return outcomes, nil
}

// outcome returns the outcome of a spec of Volcano. It is empty for any other part, and for a spec that was not
// selected.
func (s specReport) outcome(suite string) string {
	switch {
	case s.LeafNodeType != "It" || strings.HasPrefix(s.name(), kubernetesSpecs):
		return ""
	case omitted(suite, s.name()):
		return leftOut
	case s.State == "passed":
		return passed
	case s.State == "pending" || s.State == "skipped" && s.Failure.Message != "":
		return skipped
	case s.State == "skipped":
		return ""
	}

	return failed
}
