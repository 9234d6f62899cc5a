package volcano

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// outcome has the results of a spec with each scheduler, a letter for each attempt.
type outcome struct{ upstream, ours string }

// String formats the outcome for the file of results, such as fp/pp.
func (o outcome) String() string { return o.upstream + "/" + o.ours }

func parseOutcome(text string) (outcome, error) {
	upstream, ours, ok := strings.Cut(text, "/")
	if !ok || strings.Trim(upstream+ours, passed+failed+skipped+leftOut) != "" {
		return outcome{}, fmt.Errorf("%q is no outcome", text)
	}
	return outcome{upstream, ours}, nil
}

// A spec passes with a scheduler if one attempt does.
func (o outcome) passedUpstream() bool { return strings.Contains(o.upstream, passed) }
func (o outcome) passedOurs() bool     { return strings.Contains(o.ours, passed) }

// differs reports whether the spec passes with exactly one scheduler.
func (o outcome) differs() bool { return o.passedUpstream() != o.passedOurs() }

// defect reports whether the spec passes with Volcano's scheduler only.
func (o outcome) defect() bool { return o.passedUpstream() && !o.passedOurs() }

// better reports whether the spec passes with our scheduler only.
func (o outcome) better() bool { return o.passedOurs() && !o.passedUpstream() }

// bothFail reports whether the spec fails with both schedulers.
func (o outcome) bothFail() bool {
	return !o.passedUpstream() && !o.passedOurs() && strings.Contains(o.upstream+o.ours, failed)
}

// row is a spec and its outcomes by configuration.
type row struct {
	suite, spec string
	outcomes    map[string]outcome
}

// results are the results of one release of Volcano.
type results struct {
	volcano, kubernetes string
	rows                []*row
}

func newResults() *results {
	return &results{volcano: releaseOfModule(), kubernetes: versionOf("k8s.io/kubernetes")}
}

// row returns the row of a spec. It adds a missing one.
func (r *results) row(suite, spec string) *row {
	i := slices.IndexFunc(r.rows, func(each *row) bool { return each.suite == suite && each.spec == spec })
	if i >= 0 {
		return r.rows[i]
	}

	added := &row{suite, spec, map[string]outcome{}}
	r.rows = append(r.rows, added)

	return added
}

// add adds an attempt of each spec of the trials.
func (r *results) add(trials []finished) {
	for _, t := range trials {
		for spec, result := range t.outcomes {
			row := r.row(t.suite.name, spec)
			o := row.outcomes[t.configuration.name]
			ran := result == passed || result == failed
			switch {
			case t.scheduler == upstream && (ran || o.upstream == ""):
				o.upstream += result
			case t.scheduler == ours && (ran || o.ours == ""):
				o.ours += result
			}
			row.outcomes[t.configuration.name] = o
		}
	}

	r.sort()
}

// sort orders rows by suite and name, so that equal results make equal files.
func (r *results) sort() {
	slices.SortFunc(r.rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.suite, b.suite), cmp.Compare(a.spec, b.spec))
	})
}

// differing returns the specs of a suite in which the schedulers differ in a configuration.
func (r *results) differing(suite, configuration string) (specs []string) {
	for _, row := range r.rows {
		if row.suite == suite && row.outcomes[configuration].differs() {
			specs = append(specs, row.spec)
		}
	}

	return specs
}

// defects are the specs that pass with Volcano's scheduler and fail with ours.
func (r *results) defects() (specs []string) {
	for _, row := range r.rows {
		for _, c := range configurations {
			if row.outcomes[c.name].defect() {
				specs = append(specs, fmt.Sprintf("%s, %s: %s", row.suite, c.name, row.spec))
			}
		}
	}

	return specs
}

// path returns the path of the file of a release.
func path(release string) string { return filepath.Join(resultsDirectory, release+".tsv") }

// header returns the first line of a file: the versions, and the configurations.
func (r *results) header() []string {
	columns := []string{"suite", "Volcano " + r.volcano + " Kubernetes " + r.kubernetes}
	for _, c := range configurations {
		columns = append(columns, c.name)
	}
	return columns
}

// text returns the text of the file: a line per spec, and a column per configuration.
func (r *results) text() (string, error) {
	lines := [][]string{r.header()}
	for _, row := range r.rows {
		line := []string{row.suite, row.spec}
		for _, c := range configurations {
			line = append(line, row.outcomes[c.name].String())
		}
		lines = append(lines, line)
	}

	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = '\t'
	err := w.WriteAll(lines)
	return b.String(), err
}

// parseResults parses the text of a file of results.
func parseResults(text string) (*results, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma = '\t'
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, errors.New("no header")
	}

	r := &results{}
	_, err = fmt.Sscanf(lines[0][1], "Volcano %s Kubernetes %s", &r.volcano, &r.kubernetes)
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}

	names := lines[0][2:]
	for _, line := range lines[1:] {
		row := r.row(line[0], line[1])
		for i, name := range names {
			row.outcomes[name], err = parseOutcome(line[2+i])
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", line[0], line[1], err)
			}
		}
	}

	return r, nil
}

// update replaces the repeated suites in the file of the release, and writes the page.
func update(fresh *results) error {
	text, err := os.ReadFile(path(fresh.volcano))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	merged := fresh
	if err == nil {
		merged, err = parseResults(string(text))
		if err != nil {
			return err
		}

		merged.kubernetes = fresh.kubernetes
		merged.replace(fresh)
	}
	updated, err := merged.text()
	if err != nil {
		return err
	}

	err = os.MkdirAll(resultsDirectory, 0o755)
	if err != nil {
		return err
	}

	err = os.WriteFile(path(fresh.volcano), []byte(updated), 0o644)
	if err != nil {
		return err
	}

	return writePage()
}

// replace takes over the suites and configurations that were run again.
func (r *results) replace(fresh *results) {
	type cell struct{ suite, configuration string }
	ran := sets.New[cell]()
	for _, row := range fresh.rows {
		for name := range row.outcomes {
			ran.Insert(cell{row.suite, name})
		}
	}

	for _, row := range r.rows {
		for _, c := range configurations {
			if ran.Has(cell{row.suite, c.name}) {
				delete(row.outcomes, c.name)
			}
		}
	}
	for _, row := range fresh.rows {
		for name, o := range row.outcomes {
			r.row(row.suite, row.spec).outcomes[name] = o
		}
	}

	// A spec without outcomes does not exist any more.
	r.rows = slices.DeleteFunc(r.rows, func(row *row) bool {
		maps.DeleteFunc(row.outcomes, func(_ string, o outcome) bool { return o == outcome{} })
		return len(row.outcomes) == 0
	})
	r.sort()
}
