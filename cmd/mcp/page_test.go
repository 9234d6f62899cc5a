package main

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the answers into docs/agents.md")

const page = "../../docs/agents.md"

// exchange is a block of the page: a tool with its arguments, and fields of the answer, a line each.
var exchange = regexp.MustCompile("(?s)```console\n> (\\w+) (\\{.*?\\})\n(.*?)```")

// field is a line with the path of a field and its value.
var field = regexp.MustCompile(`(?m)^([\w.]+): .*$`)

// TestConversations makes the calls of the page, and expects its answers.
func TestConversations(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	session := serving(t, input("cardctl")...)

	found := 0
	written := exchange.ReplaceAllStringFunc(string(text), func(block string) string {
		found++
		said := exchange.FindStringSubmatch(block)
		var arguments values
		require.NoError(t, json.Unmarshal([]byte(said[2]), &arguments), said[2])
		_, answer := calls(t, session, said[1], arguments)
		data := strings.Split(answer, "\n")[1] // as a model reads it

		require.Regexp(t, field, said[3], block)
		shown := field.ReplaceAllStringFunc(said[3], func(line string) string {
			path, _, _ := strings.Cut(line, ": ")
			return path + ": " + valueAt(t, data, path)
		})
		return "```console\n> " + said[1] + " " + said[2] + "\n" + shown + "```"
	})
	require.GreaterOrEqual(t, found, 6)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(written), 0o600))
	}
	assert.Equal(t, string(text), written, "run this test with -update")
}

// valueAt returns the value of JSON at a path of names and indices.
func valueAt(t *testing.T, data, path string) string {
	t.Helper()
	value := json.RawMessage(data)
	for part := range strings.SplitSeq(path, ".") {
		at, err := strconv.Atoi(part)
		if err == nil {
			var list []json.RawMessage
			require.NoError(t, json.Unmarshal(value, &list), path)
			require.Greater(t, len(list), at, path)
			value = list[at]
			continue
		}

		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(value, &object), path)
		require.Contains(t, object, part, path)
		value = object[part]
	}
	return string(value)
}

// TestPageNamesTools expects the page to have a row for each tool, with its arguments.
func TestPageNamesTools(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	listed, err := of(t, tried("none")).ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range listed.Tools {
		row := regexp.MustCompile("(?m)^\\| `" + tool.Name + "` \\|.*$").FindString(string(text))
		require.NotEmpty(t, row, tool.Name)
		for name := range schemaOf(t, tool).Properties {
			assert.Contains(t, row, "`"+name+"`", tool.Name)
		}
	}
}
