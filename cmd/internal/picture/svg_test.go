package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
