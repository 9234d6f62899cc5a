package command

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tablePage has the table of commands and bad inputs.
const tablePage = "../../../docs/dev/CARDCTL.md"

const (
	otherQueue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: other}\nspec: {weight: 1}\n"
	schedConf  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata:\n  volcano-scheduler.conf: |\n    actions: enqueue, allocate\n    tiers:\n" +
		"    - plugins:\n      - name: capacity\n"
	podText = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/queue-name: q}}\n" +
		"spec: {schedulerName: volcano, nodeName: node-1, containers: [{name: c, image: i}]}\nstatus: {phase: Running}\n"
	groupText = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec: {queue: q, priorityClassName: high}\nstatus: {phase: Running}\n"
)

// badInput is a row of the table: input in a file, in a cluster, or flags.
type badInput struct {
	name  string
	text  string   // of in.yaml, beside a configuration and, after it, a Queue
	alone bool     // in.yaml is the only file
	flags []string // in place of files

	word   string // the cluster answers paths that contain word with status
	status int
}

// badInputs are the rows. The input of a row is the smallest that shows the problem.
func badInputs() []badInput {
	queue := func(lines string) string { return queueText + lines }
	var zip bytes.Buffer
	w := gzip.NewWriter(&zip)
	_, _ = w.Write([]byte(queueText + "spec: {weight: 1}\n"))
	_ = w.Close()
	return []badInput{
		{name: "a file that does not exist", flags: []string{"-f", "none.yaml"}},
		{name: "a directory without manifests", flags: []string{"-f", "empty"}},
		{name: "a file of more than 768 MiB", flags: []string{"-f", "large.json"}},
		{name: "an empty file", alone: true},
		{name: "only kinds that are not read", text: "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", alone: true},
		{name: "text that is no object, alone", text: "rubbish\n", alone: true},
		{name: "text that is no object", text: "rubbish\n"},
		{name: "broken YAML, alone", text: "kind: Queue\nspec: [\n", alone: true},
		{name: "broken YAML", text: "kind: Queue\nspec: [\n"},
		{name: "broken JSON", text: "{\"kind\": \"Queue\",\n \"spec\": ,}\n"},
		{name: "JSON that is cut", text: `{"kind": "List", "items": [{"kind": "Qu`},
		{name: "gzip", text: zip.String()},
		{name: "gzip that is cut", text: zip.String()[:20]},
		{name: "a value of a wrong type", text: queue("spec: {weight: high}\n")},
		{name: "a bad quantity", text: queue("spec:\n  capability:\n    cpu: lots\n")},
		{name: "an unknown field", text: queue("spec: {capabilty: {cpu: 1}}\n")},
		{name: "a field that is given twice", text: queue("spec:\n  weight: 1\n  weight: 2\n")},
		{name: "a wrong apiVersion", text: strings.Replace(queueText, "v1beta1", "v1", 1)},
		{name: "an object without a name", text: strings.Replace(queueText, "{name: q}", "{}", 1)},
		{name: "an unknown annotation", text: strings.Replace(queueText, "{name: q}", "{name: q, annotations: {volcano.sh/card.quotas: '{}'}}", 1)},
		{name: "a bad card annotation", text: strings.Replace(queueText, "{name: q}", "{name: q, annotations: {volcano.sh/card.quota: '{\"A\": 1.5}'}}", 1)},
		{name: "an unknown parent", text: queue("spec: {parent: othr}\n")},
		{name: "an object that is read twice", text: queueText + "---\n" + queueText},
		{name: "pods without PodGroups", text: queueText + "---\n" + podText},
		{name: "PodGroups without pods", text: queueText + "---\n" + groupText},
		{name: "no configuration", text: queueText, alone: true},
		{name: "two configurations", text: queueText + "---\n" + strings.NewReplacer("name: conf", "name: conf2", "capacity", "proportion").Replace(schedConf)},
		{name: "`--scheduler-conf` without a quota plugin", flags: []string{"-f", "more.yaml", "--scheduler-conf", "gang.conf"}},
		{name: "`--scheduler-conf` that is no configuration", flags: []string{"-f", "more.yaml", "--scheduler-conf", "bad.conf"}},
		{name: "`--scheduler-conf` that does not exist", flags: []string{"-f", "more.yaml", "--scheduler-conf", "none.conf"}},
		{name: "an unknown `--plugin`", flags: []string{"-f", "more.yaml", "--plugin", "drf"}},
		{name: "an unknown `--output`", flags: []string{"-f", "more.yaml", "-o", "xml"}},
		{name: "an unknown flag", flags: []string{"--colour"}},
		{name: "no such kubeconfig", flags: []string{"--kubeconfig", "none"}},
		{name: "a cluster that cannot be reached", flags: []string{"--server", "http://127.0.0.1:1"}},
		{name: "a cluster without Volcano", word: "volcano.sh", status: http.StatusNotFound},
		{name: "bad credentials", word: "/", status: http.StatusUnauthorized},
		{name: "no permission to list pods", word: "/pods", status: http.StatusForbidden},
		{name: "no permission to list Deployments", word: "/deployments", status: http.StatusForbidden},
		{name: "no permission to read the ConfigMap", word: "/configmaps/", status: http.StatusForbidden},
		{name: "the same, with `--plugin`", word: "/configmaps/", status: http.StatusForbidden, flags: []string{"--plugin", "capacity"}},
		{name: "no permission to list priority classes", word: "/priorityclasses", status: http.StatusForbidden},
		{name: "a cluster without the ConfigMap", word: "/configmaps/", status: http.StatusNotFound},
	}
}

// tableCommands are the columns.
var tableCommands = [][]string{{"explain"}, {"cards"}, {"validate"}, {"top", "--once"}, {"simulate", "--add", "more.yaml"}}

// TestTable runs each command on each bad input and compares with the table of the page.
// No command panics, and none ends with 0 where a part of the input was not read.
func TestTable(t *testing.T) {
	path, err := filepath.Abs(tablePage)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", "none")
	t.Setenv("HOME", t.TempDir())
	for name, text := range map[string]string{
		"more.yaml": otherQueue, "conf.yaml": schedConf, "gang.conf": "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n", "bad.conf": "tiers: 3\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir("empty", 0o700))
	large, err := os.Create("large.json")
	require.NoError(t, err)
	require.NoError(t, large.Truncate(1<<30)) // a hole: it takes no room
	require.NoError(t, large.Close())

	var table strings.Builder
	for _, input := range badInputs() {
		table.WriteString(input.row(t))
	}
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := rows.ReplaceAllLiteralString(string(page), "|---|---|---|---|---|---|---|\n"+table.String())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(whole), 0o600))
		return
	}
	assert.Equal(t, string(page), whole, "run this test with -update")
}

// rows are the rows of the table.
var rows = regexp.MustCompile(`(?m)^\|---\|---\|---\|---\|---\|---\|---\|\n(\|.*\n)*`)

// TestConfigurationInForce expects the line on stderr about the configuration.
func TestConfigurationInForce(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("in.yaml", []byte(queueText+"spec: {parent: research}\n---\n"+strings.Replace(otherQueue, "other", "research", 1)), 0o600))
	require.NoError(t, os.WriteFile("conf.yaml", []byte(schedConf), 0o600))
	server := httptest.NewServer(badInput{word: "nothing"})
	defer server.Close()
	for want, arguments := range map[string][]string{
		"note: scheduler configuration: ConfigMap default/conf (conf.yaml:1): plugin capacity, queues are flat":                      {"-f", "."},
		"note: scheduler configuration: conf.yaml: plugin capacity, queues are flat":                                                 {"-f", "in.yaml", "--scheduler-conf", "conf.yaml"},
		"note: scheduler configuration: assumed for --plugin: plugin capacity, queues are a tree":                                    {"-f", ".", "--plugin", "capacity"},
		"note: scheduler configuration: ConfigMap volcano-system/volcano-scheduler-configmap: plugin capacity, queues are flat":      {"--server", server.URL},
		"warning: no scheduler configuration: the input has no ConfigMap with one. Assumed: plugin capacity-card, queues are a tree": {"-f", "in.yaml"},
	} {
		for _, command := range tableCommands {
			if command[0] == "simulate" {
				command = []string{"simulate", "--set", "queue/q:capability.cpu=1"}
			}
			_, _, stderr := run("", append(command, arguments...)...)
			assert.True(t, strings.HasPrefix(stderr, want), "%s: %s", command, stderr)
		}
	}
}

// row runs the commands on an input and returns the row of the table.
func (b badInput) row(t *testing.T) string {
	arguments := b.flags
	server := &httptest.Server{}
	switch {
	case b.word != "":
		server = httptest.NewServer(b)
		defer server.Close()
		arguments = append([]string{"--server", server.URL}, arguments...)
	case arguments == nil:
		require.NoError(t, os.WriteFile("in.yaml", []byte(b.text), 0o600))
		arguments = []string{"-f", "in.yaml"}
		if !b.alone {
			arguments = append(arguments, "-f", "conf.yaml", "-f", "more.yaml")
		}
	}
	cells := []string{b.name}
	var messages []string
	for _, command := range tableCommands {
		code, stdout, stderr := run("", append(command, arguments...)...)
		assert.Equal(t, code == exitUsage, stdout == "", "%s, %s: nothing on stdout means that the input or a flag is bad", b.name, command)
		cells = append(cells, fmt.Sprint(code))
		message := firstProblem(stderr)
		if command[0] == "validate" && message == "" {
			message = firstProblem(stdout)
		}
		if server.URL != "" {
			message = strings.ReplaceAll(message, server.URL, "https://cluster")
		}
		if message != "" && !strings.Contains(strings.Join(messages, "\n"), message) {
			messages = append(messages, message)
		}
	}
	for i, message := range messages {
		messages[i] = "`" + strings.NewReplacer("|", `\|`, "`", "'").Replace(message) + "`"
	}
	return "| " + strings.Join(append(cells, strings.Join(messages, "<br>")), " | ") + " |\n"
}

// firstProblem is the first error or warning of an output. validate has the severity after
// the line of the file.
func firstProblem(output string) string {
	m := problem.FindStringSubmatch(output)
	if m == nil {
		return ""
	}
	return m[2] + m[1] + m[3]
}

var problem = regexp.MustCompile(`(?m)^(\S+:\d+: )?((?:error|warning): )(.*)$`)

// ServeHTTP answers as the API server of a cluster with a queue and a configuration.
func (b badInput) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(r.URL.Path, b.word) {
		w.WriteHeader(b.status)
		return
	}
	answer := `{"items":[]}`
	switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):] {
	case "/queues":
		answer = `{"kind":"QueueList","apiVersion":"scheduling.volcano.sh/v1beta1","items":[{"metadata":{"name":"q","uid":"u"}}]}`
	case "/volcano-scheduler-configmap":
		answer = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"volcano-scheduler-configmap","namespace":"volcano-system"},` +
			`"data":{"volcano-scheduler.conf":"actions: allocate\ntiers:\n- plugins:\n  - name: capacity\n"}}`
	}
	_, _ = io.WriteString(w, answer)
}
