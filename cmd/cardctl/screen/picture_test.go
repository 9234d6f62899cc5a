package screen

import (
	"flag"
	"io"
	"os"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// Update is a flag of the tests in both packages.
var Update = flag.Bool("update", false, "write docs/top.svg and docs/explain.svg")

// TestPicture holds the picture of the screen in the README against the screen with the
// cluster of the demo.
func TestPicture(t *testing.T) {
	if release.Built() != release.V1141 {
		t.Skip("the pages show the rules of Volcano v1.14.1")
	}
	objects, err := input.ReadFiles([]string{"../../../examples/cardctl"}, false, nil, func(string, int, int) {})
	require.NoError(t, err)
	found, _, err := objects.Configuration()
	require.NoError(t, err)
	configuration, err := engine.Configure(found.Text)
	require.NoError(t, err)
	world, err := engine.Build(objects)
	require.NoError(t, err)
	session, err := engine.Open(t.Context(), world, configuration)
	require.NoError(t, err)
	all := queues.List(world, session)
	session.Close()
	waiting, err := explain.WaitingIn(t.Context(), world, configuration)
	require.NoError(t, err)
	queues.CountWaiting(all, waiting)

	renderer := lipgloss.NewRenderer(io.Discard)
	renderer.SetColorProfile(termenv.ANSI)
	m := newModel(renderer, Options{First: Reading{Queues: all, Time: time.Date(2026, 1, 1, 10, 30, 0, 0, time.UTC)}, Read: func() Reading { return Reading{} }})
	m.Update(tea.WindowSizeMsg{Width: 124, Height: 19})
	press(m, "down", "down", "down", "down", "down", "down", "down", "down", "down")

	const file = "../../../docs/top.svg"
	drawn := SVG("cardctl top", m.View(), 124)
	if *Update {
		require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), drawn, "run this test with -update")
}
