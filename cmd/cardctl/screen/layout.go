package screen

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// flexible are the columns with cells that can be cut, with their least width.
var flexible = map[string]int{"QUEUE": 16, "RESOURCE": 14, queues.Use: 8}

// dispensable are the columns that are left out of a narrow terminal, the first one first.
// The lines below the table show them.
var dispensable = []string{
	"GUARANTEE", "INQUEUE", "DESERVED", "WAITING", "SHARE", queues.Use, "CAPABILITY", "ALLOCATED", "RESOURCE",
}

// cut cuts the middle out of a text that is wider than width: names of queues and cards
// often begin alike. The indentation of a queue stays.
func cut(text string, width int) string {
	name := []rune(strings.TrimLeft(text, " "))
	indent := len([]rune(text)) - len(name)
	if len(name)+indent <= width || width-indent < 4 {
		return ansi.Truncate(text, width, "…")
	}

	head := (width - indent) / 2
	tail := width - indent - head - 1
	return text[:indent] + string(name[:head]) + "…" + string(name[len(name)-tail:])
}

// cell is a column with its width on the screen.
type cell struct {
	queues.Column
	width int
}

// layout chooses the columns that fit into width, each with a space before it. If even the least
// columns do not fit, the last cell of a row can be cut.
func layout(rows []queues.Row, wide bool, width int) []cell {
	var cells []cell
	total := 0
	natural := map[string]int{} // the width of a column without a cut
	for _, column := range queues.Columns {
		if column.Wide && !wide {
			continue
		}

		widest := len(column.Name)
		for i := range rows {
			widest = max(widest, ansi.StringWidth(column.Text(&rows[i])))
		}

		natural[column.Name] = widest
		if least, ok := flexible[column.Name]; ok {
			widest = min(widest, least)
		}
		cells = append(cells, cell{column, widest})
		total += 1 + widest
	}

	for _, name := range dispensable {
		i := slices.IndexFunc(cells, func(c cell) bool { return c.Name == name })
		if total > width && i >= 0 {
			total -= 1 + cells[i].width
			cells = slices.Delete(cells, i, i+1)
		}
	}

	for i := range cells {
		more := max(0, min(natural[cells[i].Name]-cells[i].width, width-total))
		cells[i].width += more
		total += more
	}
	return cells
}
