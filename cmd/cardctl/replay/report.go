package replay

import (
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"github.com/capacity-card/capacity-card/plugin/offline/replay"
)

// The files of a report.
const (
	ReportFile  = "report.html"
	ShareFile   = "share.svg"
	SummaryFile = "summary.json"
)

// Write writes the files of a report into a directory, which it makes.
func Write(directory string, in *Input, results []*replay.Result) error {
	summary := Summarise(in, results)
	drawn := SVG(in, results)
	data, err := json.MarshalIndent(summary, "", "  ")
	if err != nil {
		return err
	}
	var text strings.Builder
	// The drawing escapes all names.
	if err := document.Execute(&text, map[string]any{"Summary": summary, "SVG": template.HTML(drawn)}); err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for _, file := range []struct{ name, text string }{{ReportFile, text.String()}, {ShareFile, drawn}, {SummaryFile, string(data) + "\n"}} {
		if err := os.WriteFile(filepath.Join(directory, file.name), []byte(file.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Percent is a part as text, - for a part of nothing.
func Percent(part *float64) string {
	if part == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100**part)
}

// Index is an index of fairness as text, - for none.
func Index(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *x)
}

// Longest is a lock-out as text.
func Longest(l *LockOut) string {
	if l == nil {
		return "-"
	}
	return Text(l.Seconds)
}

// Hours is a number of card-hours as text.
func Hours(x float64) string { return fmt.Sprintf("%.1f", x) }

var document = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent": Percent, "index": Index, "longest": Longest, "hours": Hours, "text": Text,
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Replay of {{.Summary.Trace}}</title>
<style>
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 0 0 1.5em } th, td { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child { text-align: left } .partial { background: #fdf2d0; padding: .5em 1em } svg { max-width: 100%; height: auto }
</style></head><body>
<h1>Replay of {{.Summary.Trace}}</h1>
<p>{{.Summary.Jobs}} jobs, format {{.Summary.Format}}, seed {{.Summary.Seed}}.</p>
{{if .Summary.Partial}}<p class="partial">Partial: the replay was interrupted.</p>{{end}}
<h2>Outcome</h2>
<table><tr><th></th>{{range .Summary.Runs}}<th>{{.Configuration}}</th>{{end}}</tr>
<tr><td>plugin</td>{{range .Summary.Runs}}<td>{{.Plugin}}</td>{{end}}</tr>
<tr><td>time</td>{{range .Summary.Runs}}<td>{{text .Seconds}}{{if .Partial}}, partial{{end}}</td>{{end}}</tr>
<tr><td>jobs submitted</td>{{range .Summary.Runs}}<td>{{.Submitted}}</td>{{end}}</tr>
<tr><td>jobs started</td>{{range .Summary.Runs}}<td>{{.Started}}</td>{{end}}</tr>
<tr><td>jobs ended</td>{{range .Summary.Runs}}<td>{{.Ended}}</td>{{end}}</tr>
<tr><td>utilisation</td>{{range .Summary.Runs}}<td>{{percent .Utilisation}}</td>{{end}}</tr>
<tr><td>Jain index</td>{{range .Summary.Runs}}<td>{{index .Jain}}</td>{{end}}</tr>
<tr><td>Jain index of use</td>{{range .Summary.Runs}}<td>{{index .JainOfUse}}</td>{{end}}</tr>
<tr><td>longest lock-out</td>{{range .Summary.Runs}}<td>{{longest .LockOut}}{{with .LockOut}} of {{.Queue}}{{end}}</td>{{end}}</tr>
<tr><td>evicted pods</td>{{range .Summary.Runs}}<td>{{.Evicted.Pods}}</td>{{end}}</tr>
<tr><td>jobs that began again</td>{{range .Summary.Runs}}<td>{{.Evicted.Restarted}}</td>{{end}}</tr>
<tr><td>evicted card-hours</td>{{range .Summary.Runs}}<td>{{hours .Evicted.CardHours}}</td>{{end}}</tr>
</table>
<h2>Cards of queues</h2>
{{.SVG}}
{{range .Summary.Runs}}<h2>{{.Configuration}}</h2>
<table><tr><th>queue</th><th>card-hours</th><th>satisfied</th><th>longest lock-out</th><th>jobs</th><th>started</th><th>wait p50</th><th>p95</th><th>max</th></tr>
{{range .Queues}}<tr><td>{{.Queue}}</td><td>{{hours .CardHours}}</td><td>{{percent .Satisfied}}</td><td>{{longest .LockOut}}</td><td>{{.Wait.Jobs}}</td><td>{{.Wait.Started}}</td><td>{{text .Wait.P50}}</td><td>{{text .Wait.P95}}</td><td>{{text .Wait.Max}}</td></tr>
{{end}}</table>
{{template "waits" .Namespaces}}{{template "sizes" .Sizes}}
<table><tr><th>card</th><th>cards</th><th>utilisation</th></tr>{{range .Cards}}<tr><td>{{.Card}}</td><td>{{.Cards}}</td><td>{{percent .Utilisation}}</td></tr>{{end}}</table>
{{end}}</body></html>
{{define "waits"}}<table><tr><th>namespace</th>{{template "columns"}}</tr>{{range .}}{{template "row" .}}{{end}}</table>
{{end}}{{define "sizes"}}<table><tr><th>cards of a job</th>{{template "columns"}}</tr>{{range .}}{{template "row" .}}{{end}}</table>
{{end}}{{define "columns"}}<th>jobs</th><th>started</th><th>wait p50</th><th>p95</th><th>max</th>{{end}}{{define "row"}}<tr><td>{{.Group}}</td><td>{{.Jobs}}</td><td>{{.Started}}</td><td>{{text .P50}}</td><td>{{text .P95}}</td><td>{{text .Max}}</td></tr>
{{end}}`))
