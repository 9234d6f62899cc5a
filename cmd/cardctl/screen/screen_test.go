package screen

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// many are a root and n queues below it, with a card each. The last queue has the largest
// share and the most waiting jobs.
func many(n int) []queues.Queue {
	eight := 8.0
	all := []queues.Queue{{Queue: "root", Waiting: n, Resources: []queues.Holding{{Resource: "NVIDIA-H200", Card: true, Allocated: 3}}}}
	for i := range n {
		all = append(all, queues.Queue{
			Queue: fmt.Sprintf("team-%04d", i), Parent: "root", Depth: 1, State: "Open", Share: float64(i) / float64(n), Waiting: i,
			Resources: []queues.Holding{{Resource: "NVIDIA-H200/mig-1g.18gb-mixed", Card: true, Deserved: &eight, Guarantee: 2,
				Allocated: float64(i % 9), Inqueue: 1, Capability: &eight}},
		})
	}
	return all
}

// newScreen is a screen of a size, without colours.
func newScreen(width, height int, o Options) *model {
	m := newModel(lipgloss.NewRenderer(io.Discard), o)
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// press presses keys one after the other. A key is a character or a name such as "pgdown".
func press(m *model, keys ...string) {
	named := map[string]tea.KeyType{"up": tea.KeyUp, "down": tea.KeyDown, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome,
		"end": tea.KeyEnd, "enter": tea.KeyEnter, "esc": tea.KeyEsc}
	for _, k := range keys {
		if code, ok := named[k]; ok {
			m.Update(tea.KeyMsg{Type: code})
		} else {
			m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
		}
	}
}

func lines(m *model) []string { return strings.Split(m.View(), "\n") }

// selected is the line with the cursor.
func selected(t *testing.T, m *model) string {
	t.Helper()
	var found []string
	for _, line := range lines(m) {
		if strings.HasPrefix(line, ">") {
			found = append(found, line)
		}
	}
	require.Len(t, found, 1, m.View())
	return found[0]
}

// TestFits draws 1,000 queues in terminals of all sizes: no line is too long, none is too
// many, and the cursor is on the screen wherever it goes.
func TestFits(t *testing.T) {
	m := newScreen(80, 24, Options{First: Reading{Queues: many(1000)}, Wide: true, Read: func() Reading { return Reading{} }})
	for _, width := range []int{1, 5, 20, 40, 79, 80, 81, 100, 200} {
		for _, height := range []int{1, 3, 4, 7, 8, 24, 60} {
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			for _, keys := range [][]string{{"home"}, {"down", "down"}, {"pgdown"}, {"end"}, {"up"}, {"pgup"}, {"s"}, {"s"}, {"/", "7", "enter"}, {"esc", "t"}, {"enter"}, {"esc", "?"}, {"end", "esc"}} {
				press(m, keys...)
				drawn := lines(m)
				assert.Len(t, drawn, height, "%d x %d", width, height)
				for _, line := range drawn {
					assert.LessOrEqual(t, ansi.StringWidth(line), width, "%d x %d: %q", width, height, line)
				}
				assert.True(t, m.offset <= m.cursor && m.cursor < m.offset+m.body(), "%d x %d: %d %d", width, height, m.offset, m.cursor)
			}
		}
	}
}

func TestColumns(t *testing.T) {
	m := newScreen(80, 24, Options{First: Reading{Queues: many(20)}})
	assert.Equal(t, strings.Fields("QUEUE SHARE WAITING RESOURCE DESERVED ALLOCATED CAPABILITY USE"), strings.Fields(lines(m)[1]))
	assert.Equal(t, "   team-0003  0.15       3 NVIDIA-…-mixed        8         3          8 [##+...]", lines(m)[6])
	m = newScreen(160, 24, Options{First: Reading{Queues: many(20)}, Wide: true})
	assert.Equal(t, strings.Fields("QUEUE SHARE WAITING RESOURCE DESERVED ALLOCATED INQUEUE GUARANTEE CAPABILITY USE"), strings.Fields(lines(m)[1]))
	assert.Equal(t, "   team-0003  0.15       3 NVIDIA-H200/mig-1g.18gb-mixed        8         3       1         2          8 [########++..........]", lines(m)[6])
	m = newScreen(30, 24, Options{First: Reading{Queues: many(20)}})
	assert.Equal(t, []string{"QUEUE", "RESOURCE"}, strings.Fields(lines(m)[1]))
}

// TestSummary expects the values that do not fit into the table below it.
func TestSummary(t *testing.T) {
	m := newScreen(80, 24, Options{First: Reading{Queues: many(20)}})
	press(m, "down", "down")
	assert.Equal(t, []string{
		"queue team-0001, parent root: share 0.05, waiting jobs 1",
		"NVIDIA-H200/mig-1g.18gb-mixed: deserved 8, guarantee 2, allocated 1, inqueue 1,", "capability 8",
		"q quit  ? keys  ⏎ open  / filter  t tree  n name  s share  w waiting  u use",
	}, lines(m)[20:])
}

// TestOpenQueue opens the queue at the cursor, scrolls its page, and returns to the table.
func TestOpenQueue(t *testing.T) {
	all := many(20)
	all[2].Policies = []queues.Policy{{Policy: "volcano.sh/max-jobs", Value: "3", Queue: "root"}}
	m := newScreen(80, 24, Options{First: Reading{Queues: all}, Read: func() Reading { return Reading{} }})
	press(m, "down", "down", "enter")
	drawn := m.View()
	assert.Contains(t, drawn, "queue root / team-0001: share 0.05, waiting jobs 1\n")
	assert.Contains(t, drawn, "deserved 8, guarantee 2, allocated 1, inqueue")
	assert.Contains(t, drawn, "max-jobs: 3 (")
	assert.NotContains(t, drawn, "team-0002")

	press(m, "q")
	assert.Contains(t, selected(t, m), "team-0001", "q leaves the page, not the command")
	press(m, "enter")
	m.Update(Reading{Queues: all[:1]})
	assert.Contains(t, m.View(), "queue team-0001 is gone")
	press(m, "esc")
	m.Update(Reading{Queues: all})

	press(m, "home", "enter", "end")
	assert.NotContains(t, m.View(), "queue root:", "the page is scrolled")
	assert.Contains(t, m.View(), "cardctl explain queue root")
	press(m, "esc")
	assert.Contains(t, selected(t, m), "root")
}

// TestHelp lists each key.
func TestHelp(t *testing.T) {
	m := newScreen(80, 24, Options{First: Reading{Queues: many(3)}})
	press(m, "?")
	for _, o := range orders {
		assert.Contains(t, m.View(), "\n  "+o.key.Help().Key+" ")
	}
	press(m, "?")
	assert.Contains(t, selected(t, m), "root")

	press(m, "/", "?")
	assert.Equal(t, "?", m.filter.Value(), "a filter can have any character")
}

func TestScroll(t *testing.T) {
	m := newScreen(80, 24, Options{First: Reading{Queues: many(1000)}})
	assert.Contains(t, lines(m)[0], "1001 queues, order: tree")
	assert.Contains(t, selected(t, m), ">root ")
	press(m, "down", "down")
	assert.Contains(t, selected(t, m), ">  team-0001 ")
	press(m, "pgdown")
	assert.Contains(t, selected(t, m), ">  team-0019 ")
	press(m, "G")
	assert.Contains(t, selected(t, m), ">  team-0999 ")
	press(m, "pgup", "k")
	assert.Contains(t, selected(t, m), ">  team-0980 ")
	press(m, "g")
	assert.Contains(t, selected(t, m), ">root ")
}

func TestOrders(t *testing.T) {
	m := newScreen(100, 24, Options{First: Reading{Queues: many(1000)}})
	for _, c := range []struct{ keys, order, first string }{
		{"s", "share", ">team-0999 "}, {"s", "share, reversed", ">root "}, {"s", "share", ">team-0999 "},
		{"w", "waiting jobs", ">root "}, {"w", "waiting jobs, reversed", ">team-0000 "},
		{"n", "name", ">root "}, {"n", "name, reversed", ">team-0999 "},
		{"u", "use", ">team-0008 "}, {"t", "tree", ">root "}, {"t", "tree", ">root "},
	} {
		press(m, c.keys)
		assert.Equal(t, "1001 queues, order: "+c.order, lines(m)[0])
		assert.True(t, strings.HasPrefix(selected(t, m), c.first), "%s: %s", c.order, selected(t, m))
	}
}

func TestFilter(t *testing.T) {
	m := newScreen(80, 24, Options{First: Reading{Queues: many(1000)}})
	press(m, "G", "/", "T", "e", "A", "m", "-", "0", "4", "2")
	assert.Equal(t, `10 of 1001 queues with "TeAm-042", order: tree`, lines(m)[0])
	assert.Contains(t, lines(m)[23], "/TeAm-042")
	assert.Contains(t, selected(t, m), ">  team-0420 ")
	press(m, "q", "enter") // q is a character of the filter, and not the end
	assert.Equal(t, `0 of 1001 queues with "TeAm-042q", order: tree`, lines(m)[0])
	assert.Equal(t, " No queue.", lines(m)[2])
	press(m, "down", "s", "esc")
	assert.Equal(t, "1001 queues, order: share", lines(m)[0])
	press(m, "/", "m", "i", "g", "enter")
	assert.Equal(t, `1000 of 1001 queues with "mig", order: share`, lines(m)[0], "resources are found as well")
	press(m, "/", "esc")
	assert.Equal(t, "1001 queues, order: share", lines(m)[0])
}

// TestReadings shows the queues of the next reading, and the cursor stays on its queue. If the cluster cannot be read,
// the queues stay.
func TestReadings(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	next := Reading{Queues: many(30), Time: at.Add(time.Minute), Lines: []string{"note: a\n", "warning: the configuration is gone\n"}}
	m := newScreen(80, 24, Options{First: Reading{Queues: many(20), Time: at}, Read: func() Reading { return next }, Interval: 1})
	assert.Regexp(t, "^21 queues, order: tree +03:04:05$", lines(m)[0])
	press(m, "n", "down", "down", "down")
	require.Contains(t, selected(t, m), ">team-0002 ")
	_, read := m.Update(m.Init()())
	next.Queues = next.Queues[1:]
	_, wait := m.Update(read())
	assert.NotNil(t, wait, "the next reading")
	assert.Regexp(t, "^30 queues, order: name +03:05:05$", lines(m)[0])
	assert.Contains(t, selected(t, m), ">team-0002 ")
	assert.Equal(t, "warning: the configuration is gone", lines(m)[23])
	assert.Equal(t, next.Lines, m.lines)

	_, wait = m.Update(Reading{Err: errors.New("the cluster cannot be reached\nfor a while"), Time: at})
	assert.NotNil(t, wait)
	assert.Regexp(t, "^30 queues, order: name +03:05:05$", lines(m)[0])
	assert.Equal(t, "error: the cluster cannot be reached", lines(m)[23])
	m.Update(Reading{Queues: many(2), Time: at})
	assert.Regexp(t, "^3 queues", lines(m)[0])
	assert.Contains(t, lines(m)[23], "q quit")
	assert.Nil(t, newScreen(80, 24, Options{}).Init(), "files are not read again")
}

func TestKeysThatEnd(t *testing.T) {
	m := newScreen(80, 24, Options{First: Reading{Queues: many(1)}})
	end := func(k tea.KeyMsg) any {
		_, command := m.Update(k)
		require.NotNil(t, command)
		return command()
	}
	assert.Equal(t, tea.QuitMsg{}, end(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}))
	press(m, "/")
	assert.Equal(t, tea.InterruptMsg{}, end(tea.KeyMsg{Type: tea.KeyCtrlC}))
	assert.Equal(t, tea.SuspendMsg{}, end(tea.KeyMsg{Type: tea.KeyCtrlZ}))
}

// TestColours expects colours in rows without the cursor.
func TestColours(t *testing.T) {
	renderer := lipgloss.NewRenderer(io.Discard)
	renderer.SetColorProfile(termenv.ANSI)
	all := many(3)
	all[2].State = "Closed"
	m := newModel(renderer, Options{First: Reading{Queues: all}})
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 24})
	for _, want := range []string{"\x1b[32m#", "\x1b[33m+", "\x1b[33m1\x1b", "\x1b[31m  team-0001 (Closed)", "\x1b[7m>root "} {
		assert.Contains(t, m.View(), want)
	}
}
