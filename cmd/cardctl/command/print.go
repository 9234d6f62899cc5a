package command

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/printers"
)

// widthOf returns the width of a terminal, 0 for a stream that is none.
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

// oneLine escapes control characters: whoever may create a pod can write them into its annotations. They would break
// tables, and terminals obey some of them.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}

	var out strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) {
			out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// fold breaks a text between words, so that no line is longer than width. It indents all lines but the first, which is
// indented already. A width of 0 breaks nothing, and a long word stays whole.
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

// result is the output of a command: data for JSON and YAML, and otherwise rows of a table or a text.
type result struct {
	rows *table
	data any    // nil, or a document; a pointer where its Head can get the field unknown
	text string // in place of rows
}

// orText returns a table, or a line of text if the table has no rows.
func orText(t *table, empty string) *result {
	if len(t.rows) == 0 {
		return &result{text: empty + "\n"}
	}
	return &result{rows: t}
}

func (r *result) print(out io.Writer, format string, headers bool) error {
	switch {
	case isData(format):
		return printData(out, format, r.data, headers)
	case r.rows == nil:
		_, err := io.WriteString(out, r.text)
		return err
	}
	return r.rows.print(out, format, headers)
}

// print prints results for people, with an empty line between two of them.
func (s *source) print(all ...*result) error {
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(s.streams.Out)
		}
		s.addUnknown(r)
		if err := r.print(s.streams.Out, s.output, !s.noHeaders); err != nil {
			return err
		}
	}
	return nil
}

// addUnknown adds to the document of a result the facts that the document leaves out.
func (s *source) addUnknown(r *result) {
	if d, is := r.data.(interface{ SetUnknown(facts []string) }); is {
		d.SetUnknown(s.unknown)
	}
}

// table is rows of columns. Some columns are only for -o wide.
type table struct {
	columns []column
	rows    [][]string
	omitted []bool // rows that are not printed, nil for none; the others are complete then
}

type column struct {
	name string
	wide bool
	once bool // empty in a row that has the same in all such columns as the row before
	gone bool // not printed
}

// tableOf makes a table with columns of names. Names in parentheses are for -o wide.
func tableOf(names ...string) *table {
	t := &table{}
	for _, name := range names {
		inner, wide := strings.CutPrefix(name, "(")
		t.columns = append(t.columns, column{name: strings.TrimSuffix(inner, ")"), wide: wide})
	}
	return t
}

func (t *table) add(cells ...any) {
	var row []string
	for _, cell := range cells {
		row = append(row, cmp.Or(oneLine(fmt.Sprint(cell)), "-"))
	}
	t.rows = append(t.rows, row)
}

// remove removes columns.
func (t *table) remove(names ...string) {
	for i := range t.columns {
		if slices.Contains(names, t.columns[i].name) {
			t.columns[i].gone = true
		}
	}
}

// print prints the table as kubectl does.
func (t *table) print(out io.Writer, format string, headers bool) error {
	var padded bytes.Buffer
	w := printers.GetNewTabWriter(&padded)
	var names []string
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	t.printRow(w, format, names, false)
	for n, row := range t.rows {
		t.printRow(w, format, row, t.repeats(n))
	}
	if err := w.Flush(); err != nil {
		return err
	}

	// Omitted rows count for the widths of the columns.
	n := -1 // the header
	for line := range strings.Lines(padded.String()) {
		omitted := n < 0 && !headers || n >= 0 && t.omitted != nil && t.omitted[n]
		n++
		if omitted {
			continue
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil { // the last cell may be empty
			return err
		}
	}
	return nil
}

// printRow writes the cells of a row that the format shows. A row that repeats the row before leaves out the columns
// that are printed once.
func (t *table) printRow(w io.Writer, format string, row []string, repeats bool) {
	var cells []string
	for i, c := range t.columns {
		switch {
		case c.gone, c.wide && format != asWide:
		case c.once && repeats:
			cells = append(cells, "")
		default:
			cells = append(cells, row[i])
		}
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

// repeats reports whether a row has the same as the row before in the columns that are printed once.
func (t *table) repeats(n int) bool {
	if n == 0 || t.omitted != nil {
		return false
	}
	some := false
	for i, c := range t.columns {
		if c.once && t.rows[n][i] != t.rows[n-1][i] {
			return false
		}
		some = some || c.once
	}
	return some
}
