package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// The output formats.
const (
	asTable = "table"
	asWide  = "wide"
	asJSON  = "json"
	asYAML  = "yaml"
)

var formats = []string{asTable, asWide, asJSON, asYAML}

// widthOf is the width of a terminal, 0 for a stream that is none.
func widthOf(out io.Writer) int {
	if !isTerminal(out) {
		return 0
	}
	width, _, err := term.GetSize(int(out.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}

// fold breaks a text between words, so that no line is longer than width after an indent, which the
// first line has already. A width of 0 breaks nothing, and a long word stays whole.
func fold(text string, width, indent int) string {
	var out strings.Builder
	column := indent
	for i, word := range strings.Split(text, " ") {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width > 0 && column+1+length > width:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += length
	}
	return out.String()
}

// document is the top level of JSON and YAML output.
type document struct {
	Kind  string `json:"kind"`
	Items any    `json:"items"`
}

// printData prints a value as JSON or YAML.
func printData(out io.Writer, format string, value any) error {
	if format == asYAML {
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "    ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// table is rows of columns, of which some are only for -o wide.
type table struct {
	columns []column
	rows    [][]string
	omitted []bool // rows that are not printed, nil for none; the others are complete then
}

type column struct {
	name string
	wide bool
	once bool // empty in a row that has the same in all such columns as the row before
}

func (t *table) add(cells ...any) {
	var row []string
	for _, cell := range cells {
		text := fmt.Sprint(cell)
		if text == "" {
			text = "-"
		}
		row = append(row, text)
	}
	t.rows = append(t.rows, row)
}

// print prints the table as kubectl does.
func (t *table) print(out io.Writer, format string, headers bool) error {
	var padded bytes.Buffer
	w := printers.GetNewTabWriter(&padded)
	line := func(cells func(i int) string) {
		var shown []string
		for i, c := range t.columns {
			if !c.wide || format == asWide {
				shown = append(shown, cells(i))
			}
		}
		fmt.Fprintln(w, strings.Join(shown, "\t"))
	}
	line(func(i int) string { return t.columns[i].name })
	for n, row := range t.rows {
		repeats := t.repeats(n)
		line(func(i int) string {
			if repeats && t.columns[i].once {
				return ""
			}
			return row[i]
		})
	}
	if err := w.Flush(); err != nil {
		return err
	}
	n := -1 // the header
	for row := range strings.Lines(padded.String()) {
		if omitted := n < 0 && !headers || n >= 0 && t.omitted != nil && t.omitted[n]; !omitted {
			if _, err := fmt.Fprintln(out, strings.TrimRight(row, " \n")); err != nil { // the last cell may be empty
				return err
			}
		}
		n++
	}
	return nil
}

// repeats reports whether a row has the same as the row before in the columns that
// are printed once.
func (t *table) repeats(n int) bool {
	same, some := n > 0 && t.omitted == nil, false
	for i, c := range t.columns {
		if c.once {
			some = true
			same = same && t.rows[n][i] == t.rows[n-1][i]
		}
	}
	return same && some
}

// columns makes columns of names; those in parentheses are for -o wide.
func columns(names ...string) []column {
	var all []column
	for _, name := range names {
		inner, wide := strings.CutPrefix(name, "(")
		all = append(all, column{name: strings.TrimSuffix(inner, ")"), wide: wide})
	}
	return all
}
