package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	raster "image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	printer "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// axeScript is the file that make axe downloads.
const axeScript = "../bin/axe/node_modules/axe-core/axe.min.js"

// chromium returns the path of the browser, and skips a test where there is none.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no chromium: make chromium gets it")
	return ""
}

// browser is a window of a headless Chromium. It collects the problems that browsers report in their console: errors of
// scripts, requests that fail, and violations of the Content-Security-Policy.
type browser struct {
	ctx  context.Context
	base string // the address of the server

	mu       sync.Mutex
	problems []string
}

// size is the size of a window in CSS pixels.
type size struct{ width, height int64 }

// The windows: of a laptop, as narrow as 80 columns of text, and of a 4K screen.
var (
	laptop = size{1280, 800}
	narrow = size{640, 800}
	wide   = size{3840, 2160}
)

// openBrowser opens a window for the pages of a server, until the test ends. Its problems fail the test.
func openBrowser(t *testing.T, base string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.IgnoreCertErrors,
		chromedp.Flag("lang", "en"), chromedp.Flag("font-render-hinting", "none"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	// Chromium is newer than the description of its protocol: unknown messages are not reported.
	ctx, closeWindow := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	b := &browser{ctx: ctx, base: base}
	chromedp.ListenTarget(ctx, b.listen)
	t.Cleanup(func() {
		assert.Empty(t, b.takeProblems(), "problems in the console")
		cancel()
		closeWindow()
		stop()
	})
	b.run(t, log.Enable(), sized(laptop), chromedp.ActionFunc(func(ctx context.Context) error {
		return network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": "en"}).Do(ctx)
	}))
	return b
}

func (b *browser) listen(event any) {
	problem := ""
	switch event := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.APITypeError || event.Type == runtime.APITypeWarning {
			problem = "console:"
			for _, argument := range event.Args {
				problem += " " + string(argument.Value) + argument.Description
			}
		}
	case *runtime.EventExceptionThrown:
		problem = "exception: " + event.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if event.Entry.Level == log.LevelError || event.Entry.Level == log.LevelWarning {
			problem = fmt.Sprintf("%s: %s (%s)", event.Entry.Source, event.Entry.Text, event.Entry.URL)
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

// takeProblems returns the problems that the console has reported since the last call.
func (b *browser) takeProblems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.problems
	b.problems = nil
	return taken
}

func (b *browser) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	require.NoError(t, chromedp.Run(b.ctx, actions...))
}

// open shows a page of the server.
func (b *browser) open(t *testing.T, path string) {
	t.Helper()
	b.run(t, chromedp.Navigate(b.base+path), chromedp.WaitReady("body"))
}

// evaluate returns the value of an expression in the page, also of one that is a promise.
func (b *browser) evaluate(t *testing.T, expression string, value any) {
	t.Helper()
	b.run(t, chromedp.Evaluate(expression, value, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// text returns the text that a reader of the page can read.
func (b *browser) text(t *testing.T) (text string) {
	t.Helper()
	b.evaluate(t, "document.body.innerText", &text)
	return strings.Join(strings.Fields(text), " ")
}

// shows waits until the page has these words.
func (b *browser) shows(t *testing.T, words ...string) {
	t.Helper()
	eventually(t, func(collect *assert.CollectT) {
		var text string
		if !assert.NoError(collect, chromedp.Run(b.ctx, chromedp.Evaluate("document.body.innerText", &text))) {
			return
		}
		text = strings.Join(strings.Fields(text), " ")
		for _, each := range words {
			assert.Contains(collect, text, each)
		}
	})
}

// waits waits until a condition in the page holds.
func (b *browser) waits(t *testing.T, condition string) {
	t.Helper()
	eventually(t, func(collect *assert.CollectT) {
		var holds bool
		assert.NoError(collect, chromedp.Run(b.ctx, chromedp.Evaluate(condition, &holds)))
		assert.True(collect, holds, condition)
	})
}

func sized(s size) chromedp.Action { return chromedp.EmulateViewport(s.width, s.height) }

// prefer has the pages see a preference of the user, for example prefers-color-scheme, or a medium.
func prefer(feature, value string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: feature, Value: value}})
}

// scripts switches JavaScript on or off.
func scripts(on bool) chromedp.Action { return emulation.SetScriptExecutionDisabled(!on) }

// speak sets the language that the browser prefers.
func speak(language string) chromedp.Action {
	return network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": language})
}

// picture keeps a picture of the whole page in bin/e2e/view, and returns it.
func (b *browser) picture(t *testing.T, name string) (text []byte) {
	t.Helper()
	b.run(t, chromedp.FullScreenshot(&text, 100))
	keepArtefact(t, name+".png", text)
	return text
}

// illustrate writes a picture into docs/ with -update. It has 256 colours, which makes the file a third as large.
func illustrate(t *testing.T, name string, text []byte) {
	t.Helper()
	if !*update {
		return
	}
	full, err := png.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	file, err := os.Create(filepath.Join("..", "docs", "view-"+name+".png"))
	require.NoError(t, err)
	defer file.Close()
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(file, reduced(full)))
}

// reduced returns a picture with the 256 colours that are most frequent in it.
func reduced(full raster.Image) *raster.Paletted {
	count := map[color.Color]int{}
	bounds := full.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	few := raster.NewPaletted(bounds, colours[:min(len(colours), 256)])
	draw.Draw(few, bounds, full, bounds.Min, draw.Src)
	return few
}

// print keeps the page as it is printed.
func (b *browser) print(t *testing.T, name string) {
	t.Helper()
	b.run(t, chromedp.ActionFunc(func(ctx context.Context) error {
		pdf, _, err := printer.PrintToPDF().Do(ctx)
		if err == nil {
			keepArtefact(t, name+".pdf", pdf)
		}
		return err
	}))
}

func keepArtefact(t *testing.T, name string, content []byte) {
	t.Helper()
	directory := filepath.Join("..", "bin", "e2e", "view")
	require.NoError(t, os.MkdirAll(directory, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(directory, name), content, 0o644))
}

// fits expects that nothing of the page is beyond the right edge of the window.
func (b *browser) fits(t *testing.T) {
	t.Helper()
	var beyond []string
	b.evaluate(t, `document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
		[...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
		.map(e => e.outerHTML.slice(0, 120))`, &beyond)
	assert.Empty(t, beyond, "wider than the window")
}

// accessible expects that axe-core finds no violation of WCAG 2.2 AA in the page.
func (b *browser) accessible(t *testing.T) {
	t.Helper()
	script, err := os.ReadFile(axeScript)
	if err != nil {
		t.Log("accessibility is not tested: make axe gets axe-core")
		return
	}
	var loaded bool
	b.evaluate(t, string(script)+";true", &loaded)
	var text string
	b.evaluate(t, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}).then(found =>
		JSON.stringify(found.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.html + " " + n.failureSummary).slice(0, 3).join("; "))))`, &text)
	var violations []string
	require.NoError(t, json.Unmarshal([]byte(text), &violations))
	assert.Empty(t, violations, "axe-core")
}
