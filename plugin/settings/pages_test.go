package settings_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin/settings"
)

var update = flag.Bool("update", false, "write the pages and the admission policy that follow from the table")

// TestReference compares the pages of the reference with their templates and the table.
func TestReference(t *testing.T) {
	for _, page := range []struct {
		path, template string
		chinese        bool
	}{
		{"../../docs/reference.md", "testdata/reference.md.tmpl", false},
		{"../../docs/zh/reference.md", "testdata/reference.zh.md.tmpl", true},
	} {
		source, err := template.New("").Funcs(template.FuncMap{
			"table":   func(place string) string { return table(settings.Place(place), page.chinese) },
			"windows": withoutWindows,
		}).ParseFiles(page.template)
		require.NoError(t, err)
		var want bytes.Buffer
		require.NoError(t, source.ExecuteTemplate(&want, page.template[len("testdata/"):], nil))

		if *update {
			require.NoError(t, os.WriteFile(page.path, want.Bytes(), 0o644))
		}
		got, err := os.ReadFile(page.path)
		require.NoError(t, err)
		assert.True(t, want.String() == string(got), "%s is out of date: run this test with -update", page.path)
	}
}

// withoutWindows lists the annotations of queues that no window can set.
func withoutWindows() string {
	var names []string
	for _, s := range settings.In(settings.Queue) {
		if !s.Windows {
			names = append(names, "`"+s.Short()+"`")
		}
	}
	slices.Sort(names)
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// table returns the settings of a place as a table of Markdown.
func table(place settings.Place, chinese bool) string {
	head := map[settings.Place]string{
		settings.Argument: "| argument | values | default | effect | level |\n|---|---|---|---|---|\n",
		settings.Queue:    "| annotation | value | default | effect | level |\n|---|---|---|---|---|\n",
		settings.Workload: "| annotation | on | value | default | effect | level |\n|---|---|---|---|---|---|\n",
	}
	if chinese {
		head = map[settings.Place]string{
			settings.Argument: "| 参数 | 取值 | 默认值 | 作用 | 级别 |\n|---|---|---|---|---|\n",
			settings.Queue:    "| 注解 | 取值 | 默认值 | 作用 | 级别 |\n|---|---|---|---|---|\n",
			settings.Workload: "| 注解 | 对象 | 取值 | 默认值 | 作用 | 级别 |\n|---|---|---|---|---|---|\n",
		}
	}

	text := head[place]
	for _, s := range settings.In(place) {
		cells := []string{"`" + s.Name + "`"}
		if place == settings.Workload {
			cells = append(cells, strings.Join(s.Objects, ", "))
		}
		cells = append(cells, s.Values.In(chinese), defaultOf(s, chinese), s.Effect.In(chinese)+" "+linkOf(s, chinese), levelOf(s, chinese))
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		text += "| " + strings.Join(cells, " | ") + " |\n"
	}
	return strings.TrimSuffix(text, "\n")
}

// defaultOf returns the default of a setting, after the value of the parent if the setting is inherited.
func defaultOf(s settings.Setting, chinese bool) string {
	text := s.Default.In(chinese)
	switch {
	case s.Inherits && chinese:
		return "上级的取值，其次 " + text
	case s.Inherits:
		return "the parent's, then " + text
	}
	return text
}

// linkOf links to the page that says more.
func linkOf(s settings.Setting, chinese bool) string {
	page, _, _ := strings.Cut(s.Page, "#")
	name := page[strings.LastIndex(page, "/")+1:]
	if !chinese {
		return fmt.Sprintf("[%s](%s)", name, s.Page)
	}
	if page == "settings.md" {
		return "[settings.md](settings.md)"
	}
	return fmt.Sprintf("[%s](../%s)", name, s.Page)
}

// levelOf returns the level of a setting, its stability, and since when it is there.
func levelOf(s settings.Setting, chinese bool) string {
	levels := map[settings.Level]string{
		settings.Team: "团队", settings.Common: "常用", settings.Reference: "参考", settings.Recipe: "专题",
	}
	if !chinese {
		if s.Stability == "" {
			return fmt.Sprintf("%s; %s", s.Level, s.Since)
		}
		return fmt.Sprintf("%s; %s, %s", s.Level, s.Stability, s.Since)
	}
	if s.Stability == "" {
		return levels[s.Level] + "；" + s.Since
	}
	return fmt.Sprintf("%s；%s，%s", levels[s.Level], s.Stability, s.Since)
}
