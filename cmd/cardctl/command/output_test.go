package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/internal/version"
)

const example = "../../../examples/cardctl"

// TestTemplates prints the example in the formats of kubectl that take a text, and the names of its objects.
func TestTemplates(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"top", "-o", "name"}, "queue.scheduling.volcano.sh/root\nqueue.scheduling.volcano.sh/climate\n" +
			"queue.scheduling.volcano.sh/research\nqueue.scheduling.volcano.sh/lab\n" +
			"queue.scheduling.volcano.sh/train\nqueue.scheduling.volcano.sh/serving\n"},
		{[]string{"explain", "llm", "-o", "name"}, "podgroup.scheduling.volcano.sh/llm\n"},
		{[]string{"explain", "-o", `jsonpath={range .items[*]}{.queue}{"\n"}{end}`}, "lab\ntrain\nresearch\nlab\n"},
		{[]string{"cards", "-o", "jsonpath={.cards[0].card}"}, "Ascend910B"},
		{[]string{"top", "research", "-o", "custom-columns=QUEUE:.queue,WAIT:.waitingJobs,CARDS:.resources[*].resource,X:.x"},
			"QUEUE      WAIT   CARDS                                X\n" +
				"research   4      cpu,memory,NVIDIA-H200,NVIDIA-H800   <none>\n" +
				"lab        2      cpu,memory,NVIDIA-H200,NVIDIA-H800   <none>\n" +
				"train      1      cpu,memory,NVIDIA-H200               <none>\n"},
		{[]string{"cards", "-o", "custom-columns=KIND:{.kind}", "--no-headers"}, "Stock\n"},
	} {
		code, stdout, stderr := run("", append(test.arguments, "-f", example)...)
		assert.Zero(t, code, stderr)
		assert.Equal(t, test.want, stdout, test.arguments)
	}
}

// TestBadFormats names formats that a command does not have, and texts that are wrong.
func TestBadFormats(t *testing.T) {
	for format, want := range map[string]string{
		"name":                    `unknown output format "name"`, // cards are no objects
		"jsonpath={":              "unclosed action",
		"custom-columns=A":        `custom-columns: "A": want HEADER:PATH`,
		"custom-columns=A:.b[":    `custom-columns: "A:.b["`,
		"custom-columns=A:.b,:.c": `custom-columns: ":.c"`,
		"jsonpath":                `unknown output format "jsonpath"`,
	} {
		code, _, stderr := run("", "cards", "-o", format, "-f", example)
		assert.Equal(t, exitUsage, code, format)
		assert.Contains(t, stderr, want)
	}
}

// TestQuiet prints warnings, and no notes.
func TestQuiet(t *testing.T) {
	_, _, stderr := run("", "top", "-q", "-f", example)
	assert.Empty(t, stderr)
	_, _, stderr = run("", "top", "--quiet", "-f", example+"/queues.yaml")
	assert.Contains(t, stderr, "warning: no scheduler configuration")
}

// TestFlagsInFront gives the flags of all commands in front of the name of the command.
func TestFlagsInFront(t *testing.T) {
	for behind, front := range map[string]string{
		"explain -q -f DIR":                       "-q explain -f DIR",
		"explain job llm --filename DIR":          "-f DIR explain job llm",
		"top --once -f DIR -q":                    "-f DIR --quiet top --once",
		"explain -n nowhere -f DIR":               "-n nowhere explain -f DIR",
		"cards -n default -f DIR":                 "-n default cards -f DIR",
		"cards --plugin capacity -f DIR":          "--plugin=capacity cards -f DIR",
		"explain -f DIR/q.yaml -q -f DIR":         "-f DIR/q.yaml -q explain -f DIR",
		"cards --context nowhere":                 "--context nowhere cards",
		"cards --contexts nowhere,there":          "--contexts nowhere,there cards",
		"explain --scheduler-conf gone -q -f DIR": "--scheduler-conf gone -q explain -f DIR",
	} {
		words := func(text string) []string { return strings.Fields(strings.ReplaceAll(text, "DIR", example)) }
		code, stdout, stderr := run("", words(behind)...)
		gotCode, gotStdout, gotStderr := run("", words(front)...)
		assert.Equal(t, code, gotCode, front)
		assert.Equal(t, stdout, gotStdout, front)
		assert.Equal(t, stderr, gotStderr, front)
	}
	_, _, stderr := run("", "--bogus", "explain")
	assert.Contains(t, stderr, "unknown flag: --bogus")
}

// TestNamespaceWithoutEffect gives commands about queues a namespace.
func TestNamespaceWithoutEffect(t *testing.T) {
	for _, name := range []string{"cards", "top", "budget", "usage", "audit", "validate", "serve"} {
		code, _, stderr := run("", name, "-n", "default", "-f", example)
		assert.Equal(t, exitUsage, code)
		assert.Equal(t, "error: --namespace has no effect: cardctl "+name+" is not about the jobs of a namespace\n", stderr)
	}
	code, _, stderr := run("", "explain", "-n", "default", "-f", example)
	assert.Zero(t, code, stderr)
}

// TestExplainName finds a job by its name alone.
func TestExplainName(t *testing.T) {
	_, want, _ := run("", "explain", "job", "llm", "-f", example)
	for _, name := range []string{"llm", "default/llm"} {
		_, stdout, _ := run("", "explain", name, "-f", example)
		assert.Equal(t, want, stdout)
	}
	_, _, stderr := run("", "explain", "lm", "-q", "-f", example)
	assert.Equal(t, "error: no job \"lm\" in the input; did you mean \"llm\"?\n", stderr)
}

// TestHelpOrder prints the flags of a command before the flags of kubectl, and hides a flag without effect.
func TestHelpOrder(t *testing.T) {
	_, stdout, _ := run("", "top", "--help")
	own, cluster, found := strings.Cut(stdout, "\nFlags of the cluster and the user, as in kubectl:\n")
	require.True(t, found)
	assert.Contains(t, own, "--by string")
	assert.NotContains(t, own, "--kubeconfig")
	assert.Contains(t, cluster, "--kubeconfig")
	assert.NotContains(t, stdout, "--namespace")

	_, stdout, _ = run("", "explain", "--help")
	own, _, _ = strings.Cut(stdout, "\nFlags of the cluster")
	assert.Contains(t, own, "--namespace")
}

func TestVersionFormats(t *testing.T) {
	_, stdout, _ := run("", "version", "-o", "json")
	var got version.Info
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	assert.Equal(t, version.Of(), got)

	_, stdout, _ = run("", "version", "-o", "yaml")
	assert.Contains(t, stdout, "\nvolcano: ")
	_, stdout, _ = run("", "version")
	assert.Equal(t, version.Of().Text("cardctl"), stdout)
	code, _, _ := run("", "version", "-o", "wide")
	assert.Equal(t, exitUsage, code)
}

// TestTopPolicies prints the policies and budgets of queues behind their table, each with the queue that sets it.
func TestTopPolicies(t *testing.T) {
	_, stdout, _ := run("", "top", "-q", "-o", "wide", "-f", "../../../examples/budgets")
	_, policies, found := strings.Cut(stdout, "\n\n")
	require.True(t, found)
	var rows []string
	for line := range strings.Lines(policies) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	assert.Equal(t, []string{
		"QUEUE POLICY VALUE SET BY NOW",
		"batch card.budget NVIDIA-H200: 100 card-hours, 2d sliding batch, for all queues below it together 100 used, 0 left",
		"research card.budget NVIDIA-H200: 5000 card-hours, month research, for all queues below it together " +
			"4525 used, 403 left, used up in 39h",
		`language card.budget {"NVIDIA-H200": "5000h/month"} research, for all queues below it together -`,
		`vision card.budget {"NVIDIA-H200": "5000h/month"} research, for all queues below it together -`,
		"card.budget NVIDIA-H200: 300 card-hours, week vision, for all queues below it together " +
			"150 used, 78 left, used up in 18h",
	}, rows)

	_, stdout, _ = run("", "top", "-q", "-o", "wide", "-f", example)
	assert.NotContains(t, stdout, "POLICY", "no queue has a policy")
}
