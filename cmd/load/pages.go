package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// rewrite makes the page and the charts from the raw results again.
func rewrite() error {
	files, err := pages("")
	if err != nil {
		return err
	}

	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

//go:embed page.md.tmpl
var pageSource string

//go:embed workloads.md.tmpl
var workloadsSource string

var (
	pageTemplate      = parse(pageSource)
	workloadsTemplate = parse(workloadsSource)
)

// parse returns the template of a page.
func parse(source string) *template.Template {
	return template.Must(template.New("page").Funcs(functions).Parse(source))
}

// functions are the functions of the templates.
var functions = template.FuncMap{
	"words":       words,
	"podsPerJob":  func() int { return podsPerJob },
	"steadyFrom":  func() float64 { return steadyFrom },
	"steadyUntil": func() float64 { return steadyUntil },
	"waveCards":   func() int { return workload.WaveCards },
	"waveSlices":  func() int { return workload.WaveSlices },
}

// contents holds the results that the page shows.
type contents struct {
	report
	Others  []report     // with other releases of Volcano, and other numbers of nodes
	Waves   *wavesReport // nil if they were not measured
	Blocked []report
}

// pages are the page and the charts of the results below the root of the module, by path.
func pages(root string) (map[string]string, error) {
	main, err := load.Read[load.Result](filepath.Join(root, results))
	if err != nil {
		return nil, err
	}

	c := contents{report: report{main}}
	files := map[string]string{}

	c.Others, err = readReports(root, fmt.Sprintf(others, "v*"))
	if err != nil {
		return nil, err
	}

	// For each number of waiting jobs and each release of Volcano.
	c.Blocked, err = readReports(root, fmt.Sprintf(blockedResults, "*", "*"))
	if err != nil {
		return nil, err
	}

	files[workloadsPage], err = workloads(root)
	if err != nil {
		return nil, err
	}

	files[chartFile], err = c.chart()
	if err != nil {
		return nil, err
	}

	inWaves, err := load.Read[load.Run](filepath.Join(root, wavesResults))
	if err == nil {
		c.Waves = &wavesReport{inWaves}
		for _, drawn := range c.Waves.Charts() {
			files["docs/"+drawn.File], err = c.Waves.chart(drawn)
			if err != nil {
				return nil, err
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	files[page], err = execute(pageTemplate, c)
	return files, err
}

// execute returns the text of a page.
func execute(page *template.Template, contents any) (string, error) {
	var text strings.Builder
	err := page.Execute(&text, contents)
	return text.String(), err
}

// readReports reads the results with names of a pattern below the root of the module.
func readReports(root, pattern string) (all []report, err error) {
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	for _, path := range paths {
		read, err := load.Read[load.Result](path)
		if err != nil {
			return nil, err
		}
		all = append(all, report{read})
	}
	return all, err
}
