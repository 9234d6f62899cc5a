package replay

import (
	_ "embed"
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

// Write makes a directory and writes the files of a report into it.
func Write(directory string, in *Input, results []*replay.Result) error {
	summary := Summarise(in, results)
	data, err := json.MarshalIndent(summary, "", "  ")
	if err != nil {
		return err
	}

	var text strings.Builder
	drawing := SVG(in, results)
	// The drawing escapes all names.
	if err := reportPage.Execute(&text, map[string]any{"Summary": summary, "SVG": template.HTML(drawing)}); err != nil {
		return err
	}

	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for _, file := range []struct{ name, text string }{
		{ReportFile, text.String()},
		{ShareFile, drawing},
		{SummaryFile, string(data) + "\n"},
	} {
		if err := os.WriteFile(filepath.Join(directory, file.name), []byte(file.text), 0o644); err != nil {
			return err
		}
	}

	return nil
}

// Percent formats a part, or "-" for a part of nothing.
func Percent(part *float64) string {
	if part == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100**part)
}

// Index formats an index of fairness, or "-" for none.
func Index(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *x)
}

// Longest formats the length of a lock-out, or "-" for none.
func Longest(l *LockOut) string {
	if l == nil {
		return "-"
	}
	return Text(l.Seconds)
}

// Hours formats a number of card-hours.
func Hours(x float64) string { return fmt.Sprintf("%.1f", x) }

//go:embed report.html.tmpl
var page string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent": Percent,
	"index":   Index,
	"longest": Longest,
	"hours":   Hours,
	"text":    Text,
}).Parse(page))
