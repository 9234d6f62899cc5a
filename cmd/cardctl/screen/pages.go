package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// page is a text over the whole screen, in place of the table.
type page int

const (
	noPage page = iota
	queuePage
	helpPage
)

// openPage shows a page from its first line.
func (m *model) openPage(p page) {
	m.page = p
	m.pageOffset = 0
}

// openQueue shows the page of the queue at the cursor.
func (m *model) openQueue() {
	if r := m.selected(); r != nil {
		m.opened = r.Queue.Queue
		m.openPage(queuePage)
	}
}

// pressOnPage handles a key while a page is shown: keys scroll it or return to the table.
func (m *model) pressOnPage(k tea.KeyMsg) {
	switch {
	case key.Matches(k, clear, accept, quit, helpKey):
		m.openPage(noPage)
	case key.Matches(k, up):
		m.pageOffset--
	case key.Matches(k, down):
		m.pageOffset++
	case key.Matches(k, pageUp):
		m.pageOffset -= m.height
	case key.Matches(k, pageDown):
		m.pageOffset += m.height
	case key.Matches(k, top):
		m.pageOffset = 0
	case key.Matches(k, bottom):
		m.pageOffset = len(m.pageLines())
	}
	m.pageOffset = max(0, min(m.pageOffset, len(m.pageLines())-m.height+1))
}

// pageLines returns the lines of the page that is shown, as wide as the screen at most.
func (m *model) pageLines() []string {
	text := keysText()
	if m.page == queuePage {
		text = m.queueText()
	}
	lines := strings.Split(ansi.Wrap(text, m.width, " "), "\n")
	for i := range lines { // some terminals are narrower than a character of a word
		lines[i] = ansi.Truncate(lines[i], m.width, "")
	}
	return lines
}

// viewPage draws the page and the keys that leave it.
func (m *model) viewPage() string {
	lines := m.pageLines()
	lines = lines[min(m.pageOffset, len(lines)):]
	lines = append(slices.Clone(lines), make([]string, m.height)...)[:m.height-1]
	lines = append(lines, ansi.Truncate(m.help.ShortHelpView([]key.Binding{back, up}), m.width, ""))
	return strings.Join(lines, "\n")
}

// queueText describes all facts about the queue that is opened.
func (m *model) queueText() string {
	i := slices.IndexFunc(m.queues, func(q queues.Queue) bool { return q.Queue == m.opened })
	if i < 0 {
		return "queue " + m.opened + " is gone"
	}

	q := &m.queues[i]
	var text strings.Builder
	fmt.Fprintf(&text, "queue %s: share %.2f, waiting jobs %d\n", strings.Join(m.path(q), " / "), q.Share, q.Waiting)
	for _, problem := range []string{q.State, q.Broken} {
		if problem != "" {
			text.WriteString(problem + "\n")
		}
	}

	part := func(title string, lines []string) {
		if len(lines) > 0 {
			text.WriteString("\n" + title + "\n  " + strings.Join(lines, "\n  ") + "\n")
		}
	}
	part("Resources", resourceLines(q))
	part("Policies", policyLines(q))
	part("Queues below", m.childLines(q))
	text.WriteString("\nWhy its jobs wait: cardctl explain queue " + q.Queue)
	return text.String()
}

// path returns a queue and the queues above it, the root first.
func (m *model) path(q *queues.Queue) (names []string) {
	for range m.queues { // a broken tree can have a cycle
		names = append(names, q.Queue)
		i := slices.IndexFunc(m.queues, func(above queues.Queue) bool { return above.Queue == q.Parent })
		if i < 0 || q.Parent == q.Queue {
			break
		}
		q = &m.queues[i]
	}
	slices.Reverse(names)
	return names
}

func resourceLines(q *queues.Queue) (lines []string) {
	for _, h := range q.Resources {
		row := queues.Row{Queue: q, Holding: h}
		lines = append(lines, row.Quantities())
	}
	return lines
}

// policyLines has the policies, budgets and windows of a queue.
func policyLines(q *queues.Queue) (lines []string) {
	for _, r := range q.PolicyRows() {
		line := r.Policy + ": " + r.Value
		if r.SetBy != "" {
			line += " (" + r.SetBy + ")"
		}
		if r.Now != "" {
			line += ": " + r.Now
		}
		lines = append(lines, line)
	}
	return lines
}

func (m *model) childLines(q *queues.Queue) (lines []string) {
	for i := range m.queues {
		if c := &m.queues[i]; c.Parent == q.Queue && c.Queue != q.Queue {
			lines = append(lines, fmt.Sprintf("%s: share %.2f, waiting jobs %d", c.Queue, c.Share, c.Waiting))
		}
	}
	return lines
}

// keysText lists the keys.
func keysText() string {
	rows := [][2]string{
		{"↑ ↓ j k", "one row up or down"},
		{"PgUp PgDn", "one screen up or down (also b and the space bar)"},
		{"Home End", "the first and the last row (also g and G)"},
		{"Enter", "open the queue at the cursor: resources, policies, budgets, windows"},
		{"/", "filter by the name of a queue or a resource; Esc ends the filter"},
	}
	for _, o := range orders {
		text := "order by " + o.name + "; again: reversed"
		if o.compare == nil {
			text = "order of the tree"
		}
		rows = append(rows, [2]string{o.key.Help().Key, text})
	}
	rows = append(rows, [2]string{"?", "this page"}, [2]string{"q", "quit (also Ctrl-C)"})

	var text strings.Builder
	text.WriteString("Keys\n\n")
	for _, row := range rows {
		fmt.Fprintf(&text, "  %-10s %s\n", row[0], row[1])
	}
	text.WriteString("\n# is allocated, + is reserved for admitted jobs")
	return text.String()
}
