// Package screen shows the queues of a cluster in a terminal: a table that fits it, can be
// scrolled, sorted and filtered, and is read again from time to time.
package screen

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/help"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	_ "github.com/capacity-card/capacity-card/cmd/cardctl/screen/background" // before Bubble Tea
)

// ErrInterrupted is the error after Ctrl-C.
var ErrInterrupted = tea.ErrInterrupted

// Reading holds the objects of a cluster.
type Reading struct {
	Queues []queues.Queue
	Lines  []string // warnings and notes that were not in the previous reading
	Time   time.Time
	Err    error // the queues could not be read
}

// Options are the options of a screen.
type Options struct {
	First    Reading
	Read     func() Reading // nil: the queues do not change
	Interval time.Duration  // between two readings
	Wide     bool           // also cpu and memory of queues with cards
}

// Show shows queues until the user quits or ctx is done. It returns the lines of all
// readings but the first.
func Show(ctx context.Context, out io.Writer, o Options) ([]string, error) {
	m := newModel(lipgloss.NewRenderer(out), o)
	program := tea.NewProgram(m,
		tea.WithContext(ctx), tea.WithOutput(out), tea.WithAltScreen(), tea.WithoutSignalHandler())
	last, err := program.Run()
	return last.(*model).lines, err
}

// model is the state of the screen. Update changes it, and View draws it.
type model struct {
	Options
	styles        styles
	width, height int

	queues   []queues.Queue // in the order of the tree
	read     time.Time
	err      error
	lines    []string
	note     string // the last line of the last reading
	order    int    // of orders
	reversed bool
	filter   textinput.Model
	help     help.Model

	rows   []queues.Row // rows that pass the filter, in the order of the screen
	cells  []cell
	cursor int // of rows
	offset int // the first row on the screen

	page       page
	pageOffset int    // the first line on the screen
	opened     string // the queue of queuePage
}

func newModel(renderer *lipgloss.Renderer, o Options) *model {
	m := &model{
		Options: o,
		styles:  newStyles(renderer),
		queues:  o.First.Queues,
		read:    o.First.Time,
		filter:  textinput.New(),
		help:    help.New(),
	}

	m.filter.Prompt = "/"
	m.filter.PromptStyle = m.styles.plain
	m.filter.TextStyle = m.styles.plain
	m.filter.Cursor.Style = m.styles.header

	m.help.Styles = help.Styles{
		ShortKey:       m.styles.header,
		ShortDesc:      m.styles.plain,
		ShortSeparator: m.styles.plain,
		Ellipsis:       m.styles.plain,
	}
	m.help.ShortSeparator = "  "

	m.arrange()
	return m
}

// again is the message that it is time for the next reading.
type again struct{}

// Init waits for the second reading.
func (m *model) Init() tea.Cmd { return m.wait() }

func (m *model) wait() tea.Cmd {
	if m.Read == nil {
		return nil
	}
	return tea.Tick(m.Interval, func(time.Time) tea.Msg { return again{} })
}

// Update handles a message.
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	var command tea.Cmd
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width = message.Width
		m.height = message.Height
		m.arrange()
	case again:
		command = func() tea.Msg { return m.Read() }
	case Reading:
		m.take(message)
		command = m.wait()
	case tea.KeyMsg:
		command = m.press(message)
	default: // the cursor of the filter blinks
		m.filter, command = m.filter.Update(message)
	}
	return m, command
}

// take takes over a reading. If it failed, the queues of the last one stay.
func (m *model) take(r Reading) {
	m.err = r.Err
	m.note = ""
	m.lines = append(m.lines, r.Lines...)
	if len(r.Lines) > 0 {
		m.note = strings.TrimSpace(r.Lines[len(r.Lines)-1])
	}

	if r.Err == nil {
		m.queues = r.Queues
		m.read = r.Time
		m.arrange()
	}
}

// press handles a key.
func (m *model) press(k tea.KeyMsg) tea.Cmd {
	switch {
	case key.Matches(k, interrupt):
		return tea.Interrupt
	case key.Matches(k, suspend):
		return tea.Suspend
	case m.page != noPage:
		m.pressOnPage(k)
	case m.filter.Focused():
		return m.edit(k)
	case key.Matches(k, accept):
		m.openQueue()
	case key.Matches(k, helpKey):
		m.openPage(helpPage)
	case key.Matches(k, quit):
		return tea.Quit
	case key.Matches(k, search):
		return m.filter.Focus()
	case key.Matches(k, clear):
		m.filter.SetValue("")
		m.arrange()
	case key.Matches(k, up):
		m.move(-1)
	case key.Matches(k, down):
		m.move(1)
	case key.Matches(k, pageUp):
		m.move(-m.body())
	case key.Matches(k, pageDown):
		m.move(m.body())
	case key.Matches(k, top):
		m.move(-len(m.rows))
	case key.Matches(k, bottom):
		m.move(len(m.rows))
	default:
		m.sort(k)
	}
	return nil
}

// edit handles a key of the filter. Each one narrows the table at once.
func (m *model) edit(k tea.KeyMsg) (command tea.Cmd) {
	switch {
	case key.Matches(k, clear):
		m.filter.SetValue("")
		m.filter.Blur()
	case key.Matches(k, accept):
		m.filter.Blur()
	default:
		m.filter, command = m.filter.Update(k)
	}

	m.arrange()
	m.move(-len(m.rows))
	return command
}

// sort handles the key of an order. The key of the order in force reverses it.
func (m *model) sort(k tea.KeyMsg) {
	for i, o := range orders {
		if key.Matches(k, o.key) {
			m.reversed = i == m.order && !m.reversed && o.compare != nil
			m.order = i
			m.arrange()
			m.move(-len(m.rows))
		}
	}
}

// arrange sorts and filters the rows, and keeps the cursor on its row.
func (m *model) arrange() {
	selected := m.selected()

	sorted := slices.Clone(m.queues)
	if compare := orders[m.order].compare; compare != nil {
		slices.SortStableFunc(sorted, func(a, b queues.Queue) int {
			if m.reversed {
				return compare(&b, &a)
			}
			return compare(&a, &b)
		})
		// Without the tree, names have no indentation.
		for i := range sorted {
			sorted[i].Depth = 0
		}
	}

	text := strings.ToLower(m.filter.Value())
	has := func(name string) bool { return strings.Contains(strings.ToLower(name), text) }
	m.rows = slices.DeleteFunc(queues.Rows(sorted, m.Wide), func(r queues.Row) bool {
		return !has(r.Queue.Queue) && !has(r.Holding.Resource)
	})
	m.cells = layout(m.rows, m.Wide, m.width)

	if selected != nil {
		i := slices.IndexFunc(m.rows, func(r queues.Row) bool {
			return r.Queue.Queue == selected.Queue.Queue && r.Holding.Resource == selected.Holding.Resource
		})
		if i >= 0 {
			m.cursor = i
		}
	}

	m.move(0)
}

// selected returns the row of the cursor, nil without rows.
func (m *model) selected() *queues.Row {
	if m.cursor < len(m.rows) {
		return &m.rows[m.cursor]
	}
	return nil
}

// move moves the cursor by n rows, and the table so that the cursor is on the screen.
func (m *model) move(n int) {
	m.cursor = max(0, min(m.cursor+n, len(m.rows)-1))
	m.offset = max(0, min(m.offset, len(m.rows)-m.body(), m.cursor), m.cursor-m.body()+1)
}

// summary returns the number of lines below the table: none in a terminal of a few lines.
func (m *model) summary() int {
	if m.height < 8 {
		return 0
	}
	return 3
}

// body returns the number of rows that fit below the title and the header and above the summary
// and the line of keys.
func (m *model) body() int { return max(1, m.height-3-m.summary()) }

// title describes the content of the table.
func (m *model) title() (left, right string) {
	left = fmt.Sprintf("%d queues", len(m.queues))
	if len(m.queues) == 1 {
		left = "1 queue"
	}

	if m.filter.Value() != "" {
		found := map[string]bool{}
		for _, r := range m.rows {
			found[r.Queue.Queue] = true
		}
		left = fmt.Sprintf("%d of %d queues with %q", len(found), len(m.queues), m.filter.Value())
	}

	left += ", order: " + orders[m.order].name
	if m.reversed {
		left += ", reversed"
	}
	if m.Read == nil {
		return left, ""
	}
	return left, m.read.Format(time.TimeOnly)
}
