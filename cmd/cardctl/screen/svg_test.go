package screen

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The size of a character cell and of the frame, in pixels.
const (
	cellWidth, cellHeight = 7.5, 17.0
	frame                 = 14.0
)

// head has the styles: a class for each parameter of an SGR sequence that is supported.
// The background is opaque, so that the picture is readable on any page.
const head = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]g" height="%[2]g" viewBox="0 0 %[1]g %[2]g" ` +
	`font-family="ui-monospace,SFMono-Regular,Menlo,Liberation Mono,DejaVu Sans Mono,monospace" ` +
	`font-size="12.5">
<title>%[3]s</title>
<style>
text { fill: #d1d7e0; white-space: pre }
.c1 { font-weight: bold; fill: #f0f6fc } .c31 { fill: #ff7b72 } .c32 { fill: #3fb950 } .c33 { fill: #d29922 }
.c7 { fill: #0d1117 } .back { fill: #d1d7e0 }
</style>
<rect x="0.5" y="0.5" width="%[4]g" height="%[5]g" rx="8" fill="#0d1117" stroke="#3d444d"/>
`

// prompt starts each line that the user types.
const prompt = "$ "

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// SVG draws text in a terminal of a number of columns. Lines that are longer are wrapped, and
// lines that begin with "$ " are bold.
func SVG(title, text string, columns int) string {
	lines := strings.Split(strings.TrimRight(ansi.Hardwrap(text, columns, true), "\n"), "\n")
	width := float64(columns)*cellWidth + 2*frame
	height := float64(len(lines))*cellHeight + 2*frame

	var b strings.Builder
	fmt.Fprintf(&b, head, width, height, escape(title), width-1, height-1)
	for i, line := range lines {
		if strings.HasPrefix(line, prompt) {
			line = "\x1b[1m" + line + "\x1b[0m"
		}
		drawLine(&b, line, frame+float64(i)*cellHeight)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawLine draws each span of equal style in the place of its cells, since the characters of
// another font may have another width.
func drawLine(b *strings.Builder, line string, top float64) {
	var styles []string
	column := 0
	span := func(text string) {
		width := ansi.StringWidth(text)
		at := frame + float64(column)*cellWidth
		if slices.Contains(styles, "c7") {
			fmt.Fprintf(b, `<rect class="back" x="%g" y="%g" width="%g" height="%g"/>`+"\n",
				at, top, float64(width)*cellWidth, cellHeight)
		}

		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(b, `<text x="%g" y="%g" textLength="%g" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
				at, top+12.5, float64(width)*cellWidth, class(styles), escape(text))
		}

		column += width
	}

	for line != "" {
		at := sgr.FindStringSubmatchIndex(line)
		if at == nil {
			span(line)
			return
		}
		if at[0] > 0 {
			span(line[:at[0]])
		}

		for parameter := range strings.SplitSeq(line[at[2]:at[3]], ";") {
			if parameter == "" || parameter == "0" {
				styles = nil
			} else {
				styles = append(styles, "c"+parameter)
			}
		}

		line = line[at[1]:]
	}
}

func class(styles []string) string {
	if len(styles) == 0 {
		return ""
	}
	return fmt.Sprintf(` class=%q`, strings.Join(styles, " "))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// TestSVG draws each supported style where its cells are.
func TestSVG(t *testing.T) {
	drawn := SVG("a < b", "$ run\nred \x1b[31m<8>\x1b[0m and \x1b[1;32mgreen\x1b[m\n\x1b[7m>row\x1b[0m\n\n", 40)
	for _, want := range []string{
		`width="328" height="79"`,
		`<title>a &lt; b</title>`,
		`<text x="14" y="26.5" textLength="37.5" lengthAdjust="spacingAndGlyphs" class="c1">$ run</text>`,
		`<text x="14" y="43.5" textLength="30" lengthAdjust="spacingAndGlyphs">red </text>`,
		`<text x="44" y="43.5" textLength="22.5" lengthAdjust="spacingAndGlyphs" class="c31">&lt;8&gt;</text>`,
		`<text x="104" y="43.5" textLength="37.5" lengthAdjust="spacingAndGlyphs" class="c1 c32">green</text>`,
		`<rect class="back" x="14" y="48" width="30" height="17"/>`,
	} {
		assert.Contains(t, drawn, want)
	}
	assert.NotContains(t, drawn, "\x1b")
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}

// TestSVGWraps wraps a line that is longer than the terminal is wide.
func TestSVGWraps(t *testing.T) {
	drawn := SVG("", strings.Repeat("a", 25), 10)
	assert.Equal(t, 3, strings.Count(drawn, "<text "))
	assert.Contains(t, drawn, ">aaaaa</text>")
}
