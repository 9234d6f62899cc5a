package screen

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// styles are the styles of the screen. With NO_COLOR they are all plain, so a style never
// carries information alone.
type styles struct{ plain, header, selected, allocated, reserved, warning, problem lipgloss.Style }

func newStyles(r *lipgloss.Renderer) styles {
	plain := r.NewStyle()
	colour := func(number string) lipgloss.Style { return plain.Foreground(lipgloss.Color(number)) }
	return styles{
		plain:     plain,
		header:    plain.Bold(true),
		selected:  plain.Reverse(true),
		allocated: colour("2"),
		reserved:  colour("3"),
		warning:   colour("3"),
		problem:   colour("1"),
	}
}

// View draws the screen: a title, the table, the selected row in full, and the keys.
func (m *model) View() string {
	// The size of the terminal is not known at first.
	if m.width == 0 || m.height == 0 {
		return ""
	}

	if m.page != noPage {
		return m.viewPage()
	}

	left, right := m.title()
	lines := []string{
		m.fit(m.styles.plain, left, right),
		m.fit(m.styles.header, m.line(func(c *cell) string { return c.Name }), ""),
	}

	for i := m.offset; i < m.offset+m.body(); i++ {
		switch {
		case i < len(m.rows):
			lines = append(lines, m.row(i))
		case i == 0:
			lines = append(lines, m.fit(m.styles.plain, " No queue.", ""))
		default:
			lines = append(lines, "")
		}
	}

	if r := m.selected(); r != nil && m.summary() > 0 {
		lines = append(lines, strings.Split(ansi.Wrap(r.Summary(), m.width, " "), "\n")...)
	}

	lines = append(lines, make([]string, m.summary())...)[:2+m.body()+m.summary()]
	lines = append(lines, m.last())

	// A small terminal shows the last lines.
	return strings.Join(lines[max(0, len(lines)-m.height):], "\n")
}

// last returns the last line: the filter while it is edited, an error or a warning, or the keys.
func (m *model) last() string {
	switch {
	case m.filter.Focused():
		return ansi.Truncate(m.filter.View(), m.width, "")
	case m.err != nil:
		text, _, _ := strings.Cut(m.err.Error(), "\n")
		return m.fit(m.styles.problem, "error: "+text, "")
	case m.note != "":
		return m.fit(m.styles.warning, m.note, "")
	}

	// The help is at least as wide as one of its items.
	m.help.Width = m.width
	return ansi.Truncate(m.help.ShortHelpView(inHelp()), m.width, "")
}

// fit cuts a line to the width of the screen, with right at its end.
func (m *model) fit(style lipgloss.Style, left, right string) string {
	if room := m.width - ansi.StringWidth(right) - 1; right != "" && room > 0 {
		left = ansi.Truncate(left, room, "…")
		left += strings.Repeat(" ", m.width-ansi.StringWidth(left)-ansi.StringWidth(right)) + right
	}
	return style.Render(ansi.Truncate(left, m.width, "…"))
}

// line joins the cells of a line. text returns texts that are at most as wide as the cells.
func (m *model) line(text func(*cell) string) string {
	var line strings.Builder
	for i := range m.cells {
		c := &m.cells[i]
		own := text(c)

		space := strings.Repeat(" ", max(0, c.width-ansi.StringWidth(own)))
		if c.Number {
			own = space + own
		} else {
			own += space
		}

		line.WriteString(" " + own)
	}
	return line.String()
}

// row draws a row. Cells of the queue are empty below its first row on the screen. The
// selected row begins with >, and has no other style than its own.
func (m *model) row(i int) string {
	r := &m.rows[i]
	selected := i == m.cursor
	first := i == m.offset || selected || m.rows[i-1].Queue != r.Queue

	text := m.line(func(c *cell) string {
		switch {
		case c.OfQueue && !first:
			return ""
		case c.Name == queues.Use:
			return m.bar(r.Holding.Bar(c.width), selected)
		}
		return m.colour(c, r, selected).Render(cut(c.Text(r), c.width))
	})

	if selected {
		return m.fit(m.styles.selected, ">"+text[1:], "")
	}
	return m.fit(m.styles.plain, text, "")
}

// colour returns the style of a cell.
func (m *model) colour(c *cell, r *queues.Row, selected bool) lipgloss.Style {
	switch {
	case selected:
	case c.Name == "QUEUE" && (r.Queue.Broken != "" || r.Queue.State == "Closed"):
		return m.styles.problem
	case c.Name == "WAITING" && r.Queue.Waiting > 0:
		return m.styles.warning
	}
	return m.styles.plain
}

func (m *model) bar(parts []string, selected bool) string {
	if parts == nil || selected {
		return strings.Join(parts, "")
	}
	return parts[0] + m.styles.allocated.Render(parts[1]) + m.styles.reserved.Render(parts[2]) + parts[3]
}
