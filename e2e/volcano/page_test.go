package volcano

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var pageTemplate string

// writePage writes the page of all results.
func writePage() error {
	text, err := renderPage(resultsDirectory)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// renderPage renders the page of the results in a directory.
func renderPage(directory string) (string, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.tsv"))
	if err != nil {
		return "", err
	}

	var all []*results
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}

		r, err := parseResults(string(text))
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", file, err)
		}
		all = append(all, r)
	}

	functions := template.FuncMap{"join": strings.Join, "escape": escape}
	parsed, err := template.New("page").Funcs(functions).Parse(pageTemplate)
	if err != nil {
		return "", err
	}

	var b strings.Builder
	err = parsed.Execute(&b, map[string]any{
		"Releases": all, "Repeats": repeats, "Workers": workers,
		"Omissions": table(omissions), "Causes": table(causes),
	})

	return b.String(), err
}

// escape keeps the name of a spec from being markup.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "[", `\[`, "]", `\]`, "<", `\<`, "{", `\{`, "$", `\$`).Replace(text)
}

// table formats remarks as rows.
func table(remarks []remark) (rows []string) {
	for _, r := range remarks {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", r.suite, escape(r.prefix), r.reason))
	}
	return rows
}

// Volcano and Kubernetes are the versions.
func (r *results) Volcano() string    { return r.volcano }
func (r *results) Kubernetes() string { return r.kubernetes }

// columns are the counts of the table.
var columns = []struct {
	title string
	has   func(outcome) bool
}{
	{"passed with Volcano's", outcome.passedUpstream},
	{"passed with ours", outcome.passedOurs},
	{"failed with both", outcome.bothFail},
	{"only Volcano's passed", outcome.defect},
	{"only ours passed", outcome.better},
	{"left out", func(o outcome) bool { return o.upstream == leftOut }},
	{"skipped by Volcano", func(o outcome) bool { return o.upstream == skipped }},
}

// Table counts the outcomes per suite and configuration.
func (r *results) Table() string {
	var b strings.Builder
	b.WriteString("| suite | configuration |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n")

	for _, suite := range r.Suites() {
		for _, configuration := range configurations {
			outcomes := r.outcomes(suite, configuration.name)
			if len(outcomes) == 0 {
				continue
			}

			fmt.Fprintf(&b, "| %s | %s |", suite, configuration.title)
			for _, c := range columns {
				fmt.Fprintf(&b, " %d |", countFunc(outcomes, c.has))
			}
			b.WriteString("\n")
		}
	}

	return b.String()
}

func countFunc(outcomes []outcome, has func(outcome) bool) (n int) {
	for _, o := range outcomes {
		if has(o) {
			n++
		}
	}

	return n
}

// Suites returns the names of the suites, in their order.
func (r *results) Suites() (names []string) {
	for _, row := range r.rows {
		if !slices.Contains(names, row.suite) {
			names = append(names, row.suite)
		}
	}

	return names
}

// outcomes returns the outcomes of a suite in a configuration.
func (r *results) outcomes(suite, configuration string) (all []outcome) {
	for _, row := range r.rows {
		o := row.outcomes[configuration]
		if row.suite == suite && o != (outcome{}) {
			all = append(all, o)
		}
	}

	return all
}

// list returns the specs with an outcome, and the configurations in which they have it.
func (r *results) list(has func(outcome) bool) (lines []string) {
	for _, row := range r.rows {
		var in []string
		for _, c := range configurations {
			o := row.outcomes[c.name]
			if has(o) {
				in = append(in, fmt.Sprintf("%s (%s)", c.name, o))
			}
		}
		if len(in) > 0 {
			lines = append(lines, fmt.Sprintf("| %s | %s | %s |", row.suite, escape(row.spec), strings.Join(in, ", ")))
		}
	}

	return lines
}

// Lists returns the specs that the page names individually.
func (r *results) Lists() []list {
	return []list{
		{"Passed with Volcano's scheduler, failed with ours", r.list(outcome.defect)},
		{"Failed with Volcano's scheduler, passed with ours", r.list(outcome.better)},
		{"Failed with both", r.list(outcome.bothFail)},
		{"Passed at some attempts only", r.list(func(o outcome) bool {
			return o.passedUpstream() && o.passedOurs() && strings.Contains(o.upstream+o.ours, failed)
		})},
	}
}

// list is rows of a table.
type list struct {
	Title string
	Rows  []string
}
