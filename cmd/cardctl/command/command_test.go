package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

const queueText = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\n"

// TestBadInput expects exit code 2, a line on stderr for each cause, and nothing on
// stdout.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.json")
	file, err := os.Create(large)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(1<<30)) // a hole: it takes no room
	require.NoError(t, file.Close())
	conf := filepath.Join(dir, "conf")
	require.NoError(t, os.WriteFile(conf, []byte("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"), 0o600))
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.Mkdir(empty, 0o700))

	negative := filepath.Join(dir, "negative.yaml")
	require.NoError(t, os.WriteFile(negative, []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: -1}\n"), 0o600))

	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	t.Setenv("HOME", dir)
	for name, c := range map[string]struct {
		stdin     string
		arguments []string
		want      string
	}{
		"no cluster":           {"", []string{"explain"}, "cannot be reached"},
		"no such kubeconfig":   {"", []string{"explain", "--kubeconfig", "none"}, "no cluster to read: stat none"},
		"no such file":         {"", []string{"top", "-f", "none.yaml"}, "none.yaml: no such file or directory"},
		"empty input":          {"", []string{"cards", "-f", "-"}, "the input has no object that quotas concern"},
		"an empty directory":   {"", []string{"cards", "-f", empty}, "the input has no object that quotas concern"},
		"only other kinds":     {"apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", []string{"cards", "-f", "-"}, "the input has no object"},
		"nothing but rubbish":  {"rubbish", []string{"explain", "-f", "-"}, "nothing could be read: stdin:1: not a Kubernetes object"},
		"a large file":         {"", []string{"explain", "-f", large}, "the file is too large: at most 768 MiB are read"},
		"no quota plugin":      {queueText, []string{"explain", "-f", "-", "--scheduler-conf", conf}, "the scheduler configuration has no quota plugin"},
		"no configuration":     {queueText, []string{"explain", "-f", "-", "--scheduler-conf", "none"}, "open none"},
		"bad configuration":    {queueText, []string{"explain", "-f", "-", "--scheduler-conf", "command_test.go"}, "the scheduler configuration: "},
		"unknown plugin":       {queueText, []string{"explain", "-f", "-", "--plugin", "drf"}, `unknown plugin "drf"`},
		"unknown format":       {queueText, []string{"explain", "-f", "-", "-o", "xml"}, `unknown output format "xml"`},
		"unknown flag":         {"", []string{"explain", "--colour"}, "unknown flag: --colour"},
		"unknown command":      {"", []string{"explian"}, `unknown command "explian"; did you mean "explain"?`},
		"a command and flags":  {queueText, []string{"explian", "-f", "-", "--colour"}, `unknown command "explian"; did you mean "explain"?`},
		"no such namespace":    {queueText + "---\n" + groupText, []string{"explain", "-n", "defualt", "-f", "-"}, `no namespace "defualt" in the input; did you mean "default"?`},
		"nor to simulate in":   {queueText + "---\n" + groupText, []string{"simulate", "--set", "queue/q:weight=2", "-n", "defualt", "-f", "-"}, `no namespace "defualt"`},
		"unknown subject":      {queueText, []string{"explain", "node", "a", "-f", "-"}, `cannot explain a "node"`},
		"no such job":          {queueText, []string{"explain", "job", "j", "-f", "-"}, `no job "j" in the input`},
		"no such pod":          {queueText, []string{"explain", "pod", "p", "-f", "-"}, `no pod "p" in the input`},
		"no such queue":        {queueText, []string{"explain", "queue", "gone", "-f", "-"}, `no queue "gone" in the input`},
		"a kind of queue":      {queueText, []string{"top", "queue/gone", "-f", "-"}, `no queue "gone" in the input`},
		"no such queue on top": {queueText, []string{"top", "gone", "-f", "-"}, `no queue "gone" in the input`},
		"nothing to simulate":  {queueText, []string{"simulate", "-f", "-"}, "nothing to simulate"},
		"a bad setting":        {queueText, []string{"simulate", "-f", "-", "--set", "q=1"}, `--set: bad setting "q=1"`},
		"no such node":         {queueText, []string{"simulate", "-f", "-", "--remove", "node/n"}, `--remove: cannot remove "node/n": there is no node "n"`},
		"a queue by mistake":   {queueText + "---\n" + otherQueue, []string{"top", "othr", "-f", "-"}, `no queue "othr" in the input; did you mean "other"?`},
		"a job by mistake":     {queueText + "---\n" + groupText, []string{"explain", "job", "G", "-f", "-", "-n", "default"}, `no job "G" in the input`},
		"a pod by mistake":     {"---\n" + groupText + "---\n" + strings.Replace(podText, "name: p,", "name: pod-0,", 1), []string{"explain", "pod", "pod-1", "-f", "-"}, `no pod "pod-1" in the input; did you mean "pod-0"?`},
		"a bad selector":       {queueText, []string{"explain", "-f", "-", "-l", "a in"}, "--selector: "},
		"a bad interval":       {queueText, []string{"top", "-f", "-", "--interval", "0s"}, "--interval: must be positive"},
		"files and --watch":    {queueText, []string{"top", "-f", "-", "-w"}, "--watch is for clusters: files are read once"},
		"--once and --watch":   {queueText, []string{"top", "--once", "-w"}, "[once watch]"},
		"pages for everyone":   {queueText, []string{"serve", "-f", "-", "--listen", ":8080"}, "--listen :8080: without --authenticate the pages are for everyone"},
		"tokens in plain text": {"", []string{"serve", "--listen", "0.0.0.0:8080", "--authenticate"}, "needs --tls-cert-file and --tls-private-key-file"},
		"files with tokens":    {queueText, []string{"serve", "-f", "-", "--authenticate"}, "[authenticate filename]"},
		"no certificate":       {queueText, []string{"serve", "-f", "-", "--tls-cert-file", "none", "--tls-private-key-file", "none"}, "--tls-cert-file: open none"},
		"agents and stdin":     {queueText, []string{"mcp", "-f", "-"}, "-f -: standard input is the connection to the agent"},
		"agents and jobs":      {"", []string{"mcp", "-n", "team"}, "--namespace has no effect"},
		"nothing to add":       {queueText, []string{"simulate", "-f", "-", "--add", "none"}, "stat none"},
		"negative replicas":    {queueText, []string{"simulate", "-f", "-", "--add", negative}, "Deployment/d: spec.replicas: -1 is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(c.stdin, c.arguments...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, c.want)
			assert.Equal(t, 1, strings.Count(stderr, "error: "), stderr)
			for line := range strings.Lines(strings.TrimSpace(stderr)) {
				assert.Regexp(t, "^(error|warning|note): ", line)
			}
		})
	}
}

func TestFold(t *testing.T) {
	const text = "raise the quota of queue lab"
	assert.Equal(t, text, fold(text, 0, 4))
	assert.Equal(t, text, fold(text, 40, 4))
	assert.Equal(t, "raise the\n    quota of\n    queue lab", fold(text, 14, 4))
	assert.Equal(t, "raise\n    the\n    quota\n    of\n    queue\n    lab", fold(text, 5, 4), "words stay whole")
}

// assumed is the warning about input without the scheduler's configuration.
const assumed = "warning: no scheduler configuration: the input has no ConfigMap with one. Assumed: plugin capacity-card, queues are flat " +
	"(--scheduler-conf names a file)\n"

// TestBrokenDocument expects a message about the text that is not read, the rest of the input to count, and an exit
// code that a script notices.
func TestBrokenDocument(t *testing.T) {
	text := queueText + "---\nkind: [\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	for _, arguments := range everyCommand {
		if arguments[0] == "simulate" {
			arguments = []string{"simulate", "--set", "queue/q:capability.cpu=1"}
		}
		code, stdout, stderr := run(text, append(arguments, "-f", "-")...)
		assert.Equal(t, 1, code, arguments)
		assert.NotEmpty(t, stdout)
		if arguments[0] == "validate" {
			assert.Contains(t, stdout, "stdin:5: error: did not find expected node content")
			assert.Equal(t, assumed+"note: skipped 1 objects of other kinds: Service (1)\n", stderr)
		} else {
			assert.Equal(t, assumed+"error: stdin:5: did not find expected node content\nnote: skipped 1 objects of other kinds: Service (1)\n", stderr)
		}
	}
}

// TestTooManyPods simulates the rest of the input, and names the workloads with pods that are left out.
func TestTooManyPods(t *testing.T) {
	many := filepath.Join(t.TempDir(), "many.yaml")
	require.NoError(t, os.WriteFile(many, []byte("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\n"+
		"spec: {queue: q, minAvailable: 2147483647, tasks: [{name: t, replicas: 2147483647, template: {spec: {containers: [{name: c, image: i}]}}}]}\n"), 0o600))
	code, _, stderr := run(queueText, "simulate", "-f", "-", "--add", many)
	assert.Zero(t, code)
	assert.Contains(t, stderr, "warning: Job default/j: its 2147483647 pods are left out")
}

// TestFormats expects JSON and YAML of every command to be the same, and tables to
// have no more columns than wide ones.
func TestFormats(t *testing.T) {
	t.Chdir(scene)
	for _, arguments := range [][]string{
		{"explain"}, {"explain", "job", "llm"}, {"explain", "queue", "serving"}, {"cards"}, {"top"}, {"top", "lab"},
		{"simulate", "--set", "queue/research:cards.NVIDIA-H200=8"}, {"simulate", "--remove", "node/ascend-1", "--all"}, {"validate"},
	} {
		arguments = append(arguments, "-f", ".")
		code, text, stderr := run("", append(arguments, "-o", "json")...)
		_, asYAML, _ := run("", append(arguments, "-o", "yaml")...)
		var fromJSON, fromYAML any
		require.NoError(t, json.Unmarshal([]byte(text), &fromJSON), "%v: %s %s", arguments, text, stderr)
		require.NoError(t, yaml.Unmarshal([]byte(asYAML), &fromYAML), arguments)
		assert.Equal(t, fromJSON, fromYAML, arguments)
		tableCode, table, _ := run("", arguments...)
		assert.Equal(t, code, tableCode, arguments)
		assert.NotEmpty(t, table)
		for line := range strings.Lines(table) {
			assert.NotContains(t, line, " \n", "space at the end of a line")
		}
		if arguments[0] != "validate" {
			_, wide, _ := run("", append(arguments, "-o", "wide")...)
			head, _, _ := strings.Cut(table, "\n")
			wideHead, _, _ := strings.Cut(wide, "\n")
			assert.LessOrEqual(t, len(strings.Fields(head)), len(strings.Fields(wideHead)))
		}
	}
}

func TestNamespaceNarrows(t *testing.T) {
	t.Chdir(scene)
	_, all, _ := run("", "explain", "-f", ".")
	_, own, _ := run("", "explain", "-f", ".", "-n", "default")
	assert.Equal(t, all, own)
	_, none, _ := run("apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: other}\nspec: {nodeName: h200-1, containers: [{name: c, image: i}]}\nstatus: {phase: Running}\n",
		"explain", "-f", ".", "-f", "-", "-n", "other")
	assert.Equal(t, "No job waits.\n", none)
}

func TestNames(t *testing.T) {
	help := func(name string) string {
		var out bytes.Buffer
		Run(context.Background(), name, []string{"explain", "--help"}, genericiooptions.IOStreams{In: &out, Out: &out, ErrOut: &out})
		return out.String()
	}
	assert.Contains(t, help("/usr/bin/cardctl"), "  cardctl explain [[job|pod|queue|setting] NAME] [flags]")
	assert.Contains(t, help("/usr/bin/kubectl-card"), "  kubectl card explain [[job|pod|queue|setting] NAME] [flags]")
}

// TestFinishedJobs explains jobs that have ended: one with a deleted PodGroup, one with a pod that is left, and one
// that is no Volcano job.
func TestFinishedJobs(t *testing.T) {
	job := func(name, phase string) string {
		return "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " + name + ", uid: u}\n" +
			"spec: {queue: q, minAvailable: 2, tasks: [{name: w, replicas: 2}]}\nstatus: {state: {phase: " + phase + "}}\n"
	}
	group := func(name, phase string) string {
		return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: " + name + "}\nspec: {queue: q, minMember: 1}\nstatus: {phase: " + phase + "}\n"
	}
	pod := func(group string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + group + "-0, annotations: {scheduling.k8s.io/group-name: " + group + "}}\n" +
			"spec: {schedulerName: volcano, nodeName: node, containers: [{name: c, image: i}]}\nstatus: {phase: Succeeded}\n"
	}
	text := queueText + "spec: {weight: 1}\n" + job("deleted", "Completed") + job("kept", "Failed") + group("kept-u", "Running") + pod("kept-u") + group("other", "Completed")
	for name, want := range map[string]string{
		"deleted": "State:      Finished (Completed)\nPods:       none left\n",
		"kept":    "State:      Finished (Failed)\nPods:       1, of which none waits\n",
		"other":   "State:      Finished\nPods:       none left\n",
	} {
		code, stdout, stderr := run(text, "explain", "job", name, "-f", "-", "--plugin", "capacity")
		assert.Zero(t, code, stderr)
		assert.True(t, strings.HasSuffix(stdout, want), stdout)
		assert.NotContains(t, stderr, "PodGroup")
	}
	_, stdout, _ := run(text, "explain", "-f", "-", "--plugin", "capacity")
	assert.Equal(t, "No job waits.\n", stdout)
	_, stdout, _ = run(text, "simulate", "--all", "--set", "queue/q:capability.cpu=1", "-f", "-", "--plugin", "capacity")
	for _, name := range []string{"Job/deleted", "Job/kept"} {
		assert.Regexp(t, "(?m)^default +"+name+" +q +Finished +Finished +-$", stdout)
	}
	_, stdout, _ = run(text+"---\napiVersion: v1\nkind: Node\nmetadata: {name: node}\n", "validate", "-f", "-", "--plugin", "capacity")
	assert.Equal(t, "7 objects: 0 errors, 0 warnings, 0 notes\n", stdout)
}

// TestAddedConfiguration expects a warning about a configuration among the added objects.
func TestAddedConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("conf.yaml", []byte(schedConf), 0o600))
	code, _, stderr := run(queueText, "simulate", "-f", "-", "--add", "conf.yaml", "--plugin", "capacity")
	assert.Zero(t, code)
	assert.Contains(t, stderr, "warning: --add conf.yaml:1: ConfigMap conf: both runs use the scheduler configuration that is in force\n")
}

func TestVersion(t *testing.T) {
	code, command, _ := run("", "version")
	assert.Zero(t, code)
	assert.Regexp(t, "^cardctl .*\ncommit .*\nVolcano .*\nKubernetes .*\nGo +go1.*\n$", command)
	_, flag, _ := run("", "--version")
	assert.Equal(t, command, flag)
}

func TestCompletion(t *testing.T) {
	code, script, _ := run("", "completion", "bash")
	assert.Zero(t, code)
	assert.Contains(t, script, "__start_cardctl")
	t.Chdir(scene)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(kubeconfig, []byte("contexts: [{name: here}, {name: there}]\nclusters: [{name: one}]\nusers: [{name: me}]\n"), 0o600))
	server := httptest.NewServer(badInput{word: "nothing"})
	defer server.Close()
	for line, want := range map[string]string{
		"explain ":                                         "job pod queue setting",
		"explain job -f . ":                                "chat embed eval llm ocean survey tune vision",
		"explain jobs -f . e":                              "embed eval",
		"explain job llm -f . ":                            "",
		"explain -f . job/e":                               "job/embed job/eval",
		"explain queue -f . l":                             "lab",
		"explain -f . q/":                                  "",
		"explain pod -f . llm-worker-4":                    "llm-worker-4",
		"explain job -n other -f . ":                       "",
		"explain -n other -A job -f . l":                   "llm",
		"explain -f . --namespace ":                        "default",
		"explain -o ":                                      "table wide json yaml name jsonpath= custom-columns=",
		"top -f . r":                                       "research",
		"top -f . lab ":                                    "",
		"top -f none.yaml ":                                "",
		"top -f - ":                                        "",
		"top --server " + server.URL + " ":                 "q",
		"simulate -f . --set ":                             "queue/climate: queue/lab: queue/research: queue/serving: queue/train:",
		"simulate -f . --set queue/lab:w":                  "queue/lab:weight=",
		"simulate -f . --set queue/lab:deservedCards.A":    "queue/lab:deservedCards.Ascend910B=",
		"simulate -f . --set queue/lab:weight=":            "",
		"simulate -f . --remove ":                          "job/ node/ queue/",
		"simulate -f . --remove node/h200":                 "node/h200-1 node/h200-2",
		"simulate -f . --remove job/l":                     "job/llm",
		"simulate -f . --remove pod/":                      "",
		"cards --kubeconfig " + kubeconfig + " --context ": "here there",
		"cards --kubeconfig " + kubeconfig + " --cluster ": "one",
		"cards --kubeconfig " + kubeconfig + " --user ":    "me",
	} {
		_, words, _ := run("", append([]string{"__complete"}, strings.Split(line, " ")...)...)
		words, _, _ = strings.Cut(words, ":4\n")
		words, _, _ = strings.Cut(words, ":6\n")
		assert.Equal(t, want, strings.Join(strings.Fields(words), " "), line)
	}
	var asked bytes.Buffer // by kubectl, for the words after "kubectl card"
	Run(t.Context(), "/usr/bin/kubectl_complete-card", []string{"top", "-f", ".", "tr"}, genericiooptions.IOStreams{In: &asked, Out: &asked, ErrOut: &asked})
	assert.True(t, strings.HasPrefix(asked.String(), "train\n:4\n"), asked.String())
}

// TestSelectors narrows by labels and namespaces.
func TestSelectors(t *testing.T) {
	pod := func(namespace, name, label string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: " + namespace + ", name: " + name + ", labels: {app: " + label + "}, annotations: {scheduling.volcano.sh/queue-name: q}}\n" +
			"spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n"
	}
	text := strings.Replace(queueText, "{name: q}", "{name: q, labels: {team: a}}", 1) + "spec: {capability: {cpu: 1m}}\n---\n" + otherQueue +
		pod("a", "one", "web") + pod("b", "two", "web") + pod("b", "three", "db") + "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {allocatable: {cpu: 8}}\n"
	for line, want := range map[string]string{
		"explain":                                  "Pod/one Pod/three Pod/two",
		"explain -l app=web":                       "Pod/one Pod/two",
		"explain -l app!=web":                      "Pod/three",
		"explain -l app=web -n b":                  "Pod/two",
		"explain queue q -l app=db":                "Pod/three",
		"explain -n a -A":                          "Pod/one Pod/three Pod/two",
		"simulate --remove node/node-1 --all -n b": "Pod/three Pod/two",
		"simulate --remove job/one --all -n a":     "Pod/one",
		"top -l team=a":                            "q",
		"top -l !team":                             "other",
	} {
		code, stdout, stderr := run(text, append(strings.Fields(line), "-f", "-", "--plugin", "capacity", "--no-headers")...)
		require.Zero(t, code, stderr)
		first, _, _ := strings.Cut(stdout, "\n\n")
		var found []string
		for row := range strings.Lines(first) {
			switch words := strings.Fields(row); {
			case strings.HasPrefix(row, " ") && !strings.HasPrefix(row, "  other") && !strings.HasPrefix(row, "  q"): // another resource of the queue
			case strings.HasPrefix(line, "top"):
				found = append(found, words[0])
			default:
				found = append(found, words[1])
			}
		}
		assert.Equal(t, want, strings.Join(found, " "), line)
	}
}

// TestNoHeaders compares the tables of each command with and without headers.
func TestNoHeaders(t *testing.T) {
	t.Chdir(scene)
	for _, arguments := range [][]string{{"explain"}, {"cards"}, {"top"}, {"simulate", "--remove", "node/h200-1"}} {
		_, with, _ := run("", append(arguments, "-f", ".")...)
		_, without, _ := run("", append(arguments, "-f", ".", "--no-headers")...)
		tables := strings.Split(with, "\n\n")
		for i := range tables {
			_, tables[i], _ = strings.Cut(tables[i], "\n")
		}
		assert.Equal(t, strings.Join(tables, "\n\n"), without, arguments)
	}
}

// TestWatchedJobs expects a job that no longer waits to be shown as running.
func TestWatchedJobs(t *testing.T) {
	s := newSource(genericiooptions.NewTestIOStreamsDiscard())
	shown := map[string]bool{}
	states := func(capability string) (all []string) {
		objects, err := input.ReadFiles([]string{"-"}, false, strings.NewReader(queueText+"spec: {capability: {cpu: "+capability+"}}\n---\n"+otherQueue+
			"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {scheduling.volcano.sh/queue-name: q}}\n"+
			"spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n"+
			"---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {allocatable: {cpu: 8, pods: 9}}\n"), nil)
		require.NoError(t, err)
		configuration, err := engine.Usual("capacity", nil)
		require.NoError(t, err)
		world, err := engine.Build(objects)
		require.NoError(t, err)
		r, err := s.explain(t.Context(), subject{kind: "job"}, world, configuration, shown)
		require.NoError(t, err)
		for _, row := range r.rows.rows {
			all = append(all, row[1]+" "+row[3])
		}
		return all
	}
	assert.Equal(t, []string{"Pod/p Waiting"}, states("1m"))
	assert.Equal(t, []string{"Pod/p Startable"}, states("4"))
}

type reading struct {
	text string
	err  error
}

// TestWatch prints the rows that change, and an error until the cluster is back.
func TestWatch(t *testing.T) {
	for format, want := range map[string]string{
		asTable: "NAME   STATE\na      1\nb      1\nb      2\nc      1\n",
		asYAML:  "a: 1\nb: 1\n---\na: 1\nb: 2\n---\na: 1\nb: 2\nc: 1\n",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		readings := []reading{{text: "a=1 b=1"}, {text: "a=1 b=1"}, {err: errors.New("gone\nfor a while")}, {err: errors.New("gone")}, {text: "a=1 b=2"},
			{err: errors.New("gone")}, {text: "a=1 b=2 c=1"}}
		var out, errOut bytes.Buffer
		s := newSource(genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
		s.watch, s.interval, s.output = true, 1, format
		err := s.show(ctx, func(context.Context) (*result, error) {
			r := readings[0]
			if len(readings) == 1 {
				cancel()
			} else {
				readings = readings[1:]
			}
			return resultOf(r.text), r.err
		})
		require.NoError(t, err)
		assert.Equal(t, want, out.String())
		assert.Equal(t, "error: gone\nerror: gone\n", errOut.String(), "once until the cluster is back")
	}
	s := newSource(genericiooptions.NewTestIOStreamsDiscard())
	s.watch = true
	require.EqualError(t, s.show(t.Context(), func(context.Context) (*result, error) { return nil, errors.New("no cluster") }), "no cluster")
}

// TestTimeAloneIsNoChange prints no row and no text in which only the age has changed.
func TestTimeAloneIsNoChange(t *testing.T) {
	jobs := func(age, state string) *result {
		r := &result{rows: tableOf("NAME", "AGE", "STATE")}
		r.rows.add("a", age, state)
		return r
	}
	assert.Nil(t, jobs("2s", "Waiting").changes(jobs("1s", "Waiting"), asTable))
	assert.NotNil(t, jobs("2s", "Running").changes(jobs("1s", "Waiting"), asTable))

	listed := jobs("2s", "Waiting")
	listed.data = []string{"a"}
	earlier := jobs("1s", "Waiting")
	earlier.data = []string{"a"}
	assert.Nil(t, listed.changes(earlier, asJSON))

	job := func(age, state string) *result {
		return &result{text: "Age:        " + age + "\nState:      " + state + "\n"}
	}
	assert.Nil(t, job("2s", "Waiting").changes(job("1s", "Waiting"), asTable))
	assert.NotNil(t, job("2s", "Running").changes(job("1s", "Waiting"), asTable))
}

// resultOf makes a result of text such as "a=1 b=2".
func resultOf(text string) *result {
	r, data := &result{rows: tableOf("NAME", "STATE")}, map[string]int{}
	for _, word := range strings.Fields(text) {
		name, state, _ := strings.Cut(word, "=")
		r.rows.add(name, state)
		data[name], _ = strconv.Atoi(state)
	}
	r.data = data
	return r
}
