package command

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestColumns has a column that is printed once, one for -o wide and one that is removed.
func TestColumns(t *testing.T) {
	queues := tableOf("QUEUE", "CARD", "(USED)", "STATE", "FREE")
	queues.columns[0].once = true
	queues.add("lab", "A", 1, "ready", 4)
	queues.add("lab", "B", 2, "ready", "")
	queues.add("serving", "A", 3, "ready", 5)
	queues.remove("STATE")

	for name, c := range map[string]struct {
		format  string
		headers bool
		want    string
	}{
		"table":           {asTable, true, "QUEUE     CARD   FREE\nlab       A      4\n          B      -\nserving   A      5\n"},
		"wide":            {asWide, true, "QUEUE     CARD   USED   FREE\nlab       A      1      4\n          B      2      -\nserving   A      3      5\n"},
		"without headers": {asTable, false, "lab       A      4\n          B      -\nserving   A      5\n"},
	} {
		var out bytes.Buffer
		require.NoError(t, queues.print(&out, c.format, c.headers))
		assert.Equal(t, c.want, out.String(), name)
	}
}

func TestOrText(t *testing.T) {
	all := tableOf("QUEUE")
	assert.Equal(t, &result{text: "No queue.\n"}, orText(all, "No queue."))
	all.add("lab")
	assert.Equal(t, &result{rows: all}, orText(all, "No queue."))
}

// TestControlCharacters prints texts that users can write into annotations: each row stays one line, and no terminal
// obeys them.
func TestControlCharacters(t *testing.T) {
	rows := tableOf("NAME", "CARD")
	rows.add("a", "A\nB")
	rows.add("b", "\x1b]0;title\a")
	rows.omitted = []bool{false, false}
	var out bytes.Buffer
	require.NoError(t, rows.print(&out, "", true))
	assert.Equal(t, "NAME   CARD\na      A\\nB\nb      \\x1b]0;title\\a\n", out.String())

	d := &description{}
	d.line("Why:", "no card <A\u009bB>")
	assert.Equal(t, "Why:        no card <A\\u009bB>\n", d.String())
	assert.Equal(t, "显卡 “A”", oneLine("显卡 “A”"))
}
