package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// preflown are the files of a cluster with Volcano's own scheduler.
const preflown = "-f " + scene + "/nodes.yaml -f " + scene + "/queues.yaml -f " + scene + "/jobs.yaml -f ../../../examples/preflight"

func TestPreflight(t *testing.T) {
	if release.Built() != release.V1141 {
		t.Skip("the example has Volcano v1.14.1")
	}
	dir := t.TempDir()
	twice := filepath.Join(dir, "twice.conf")
	require.NoError(t, os.WriteFile(twice, []byte("actions: allocate\ntiers:\n- plugins: [{name: capacity}, {name: proportion}]\n"), 0o600))
	early := filepath.Join(dir, "early.conf")
	require.NoError(t, os.WriteFile(early, []byte("actions: reclaim\ntiers:\n- plugins: [{name: capacity-card}]\n"), 0o600))

	for name, test := range map[string]struct {
		arguments, out, stderr string
		code                   int
	}{
		"a change":       {preflown, "nothing stops the change to capacity-card; ", "", 0},
		"the image":      {preflown + " --plugin proportion", "proportion is in tier 2, and stays", "", 0},
		"a stop":         {preflown + " --scheduler-conf " + early, "do not change to capacity-card yet: 1 checks stop it; ", "", 1},
		"no next":        {preflown + " --scheduler-conf none.conf", "", "error: open none.conf", 2},
		"a bad next":     {preflown + " --scheduler-conf " + twice, "", "only one quota plugin can be in force", 2},
		"no nodes":       {"-f ../../../examples/preflight", "unknown  nodes        the files have no nodes", "", 0},
		"no Deployments": {"-f " + scene, "unknown  volcano      no Deployment runs the scheduler volcano", "", 0},
		"no such file":   {"-f none.yaml", "", "error: stat none.yaml", 2},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := run("", append([]string{"preflight"}, strings.Fields(test.arguments)...)...)
			assert.Equal(t, test.code, code, stderr)
			assert.Contains(t, out, test.out)
			assert.Contains(t, stderr, test.stderr)
		})
	}
}

// TestPreflightGolden compares the text for the example with a file, and expects the page to show it without the lists
// of queues and jobs, which its command filters out.
func TestPreflightGolden(t *testing.T) {
	if release.Built() != release.V1141 {
		t.Skip("the example has Volcano v1.14.1")
	}
	const golden = "testdata/preflight.txt"
	code, out, stderr := run("", append([]string{"preflight"}, strings.Fields(preflown)...)...)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	was, err := os.ReadFile(golden)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out), 0o600))
	}

	text, err := os.ReadFile(page)
	require.NoError(t, err)
	lists := regexp.MustCompile(`(?m)^ +- .*\n`)
	shown := lists.ReplaceAllString(out, "")
	if *update {
		text = []byte(strings.Replace(string(text), lists.ReplaceAllString(string(was), ""), shown, 1))
		require.NoError(t, os.WriteFile(page, text, 0o600))
	}
	assert.Contains(t, string(text), "| grep -v '  - '\n```\n\n```text\n"+shown+"```\n")
	if !*update {
		assert.Equal(t, string(was), out, "run this test with -update")
	}
}

// TestPreflightData expects the same data in JSON and YAML, without the limit of details of the text.
func TestPreflightData(t *testing.T) {
	arguments := append([]string{"preflight"}, strings.Fields(preflown)...)
	_, text, _ := run("", append(arguments, "-o", "json")...)
	_, asYAML, _ := run("", append(arguments, "-o", "yaml")...)
	var fromJSON, fromYAML map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &fromJSON))
	require.NoError(t, yaml.Unmarshal([]byte(asYAML), &fromYAML))
	assert.Equal(t, fromJSON, fromYAML)
	assert.Equal(t, "Preflight", fromJSON["kind"])
	assert.Equal(t, "note", fromJSON["verdict"])
	assert.Len(t, fromJSON["checks"], 11)
}

// TestPreflightText prints ten details, and counts the others.
func TestPreflightText(t *testing.T) {
	var jobs strings.Builder
	for i := range 12 {
		jobs.WriteString("---\napiVersion: v1\nkind: Node\nmetadata: {name: n" + string(rune('a'+i)) + "}\nstatus: {allocatable: {nvidia.com/gpu: 1}}\n")
	}
	_, out, _ := run(jobs.String(), "preflight", "-f", "-")
	assert.Contains(t, out, "12 problems of labels")
	assert.Equal(t, 10, strings.Count(out, "has no card name"))
	assert.Contains(t, out, "- and 2 more\n")
	assert.Contains(t, out, "kubectl label node na nb nc nd ne nf ng nh ni nj nvidia.com/gpu.product=CARD    # and 2 more: cardctl cards")
}
