package input

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readText reads files of the given names and texts from one directory.
func readText(t *testing.T, files ...string) *Objects {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, os.MkdirAll(filepath.Dir(files[i]), 0o700))
		require.NoError(t, os.WriteFile(files[i], []byte(files[i+1]), 0o600))
	}
	o, err := ReadFiles([]string{"."}, true, nil, nil)
	require.NoError(t, err)
	return o
}

func queueText(name string) string {
	return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name + "}\n"
}

func problems(o *Objects) (all []string) {
	for _, p := range o.Problems {
		all = append(all, p.String())
	}
	return all
}

func names(o *Objects) (all []string) {
	for _, q := range o.Queues {
		all = append(all, q.Name+"@"+o.SourceOf(q).String())
	}
	return all
}

func TestYAMLDocuments(t *testing.T) {
	o := readText(t, "a.yaml", "# first\n---\n# nothing but a comment\n---\n"+queueText("one")+"--- # next\n\n"+queueText("two")+"---\n")
	assert.Equal(t, []string{"one@a.yaml:5", "two@a.yaml:10"}, names(o))
	assert.Empty(t, o.Problems)
}

// TestBrokenDocuments has each thing that can be wrong between two queues that are
// right.
func TestBrokenDocuments(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"not YAML":         {"a: [1\nb: 2\n", "a.yaml:6: did not find expected ',' or ']'"},
		"a cut list":       {"x: 1\na: [1,\n", "a.yaml:6: did not find expected node content"},
		"an indent":        {"k:\n  a: 1\n b: 2\nc: 3\n", "a.yaml:7: did not find expected key"},
		"a tab":            {"kind: Queue\n\tname: x\n", "a.yaml:6: found a tab character that violates indentation"},
		"two colons":       {"kind: Queue\na: b: c\n", "a.yaml:6: mapping values are not allowed in this context"},
		"no object":        {"just text\n", "a.yaml:5: not a Kubernetes object"},
		"no kind":          {"metadata: {name: x}\n", "a.yaml:5: not a Kubernetes object: it has no apiVersion and kind"},
		"no name":          {"apiVersion: v1\nkind: Node\n", "a.yaml:5: Node without a name: metadata.name"},
		"a wrong type":     {queueText("bad") + "spec:\n  weight: high\n", "a.yaml:9: Queue/bad: spec.weight: \"high\" is not a whole number"},
		"a fraction":       {queueText("bad") + "spec: {weight: 1.5}\n", "a.yaml:8: Queue/bad: spec.weight: 1.5 is not a whole number"},
		"a quantity":       {queueText("bad") + "spec:\n  capability:\n    cpu: 4\n    memory: lots\n", "a.yaml:11: Queue/bad: spec.capability.memory: \"lots\" is not a quantity"},
		"many digits":      {queueText("bad") + "spec: {capability: {cpu: \"1e-2000000000\"}}\n", "a.yaml:8: Queue/bad: spec.capability.cpu: \"1e-2000000000\" is not a quantity"},
		"more digits":      {queueText("bad") + "spec: {capability: {cpu: \"1e2000000000\"}}\n", "a.yaml:8: Queue/bad: spec.capability.cpu: \"1e2000000000\" is not a quantity"},
		"an annotation":    {"apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata:\n  name: bad\n  annotations:\n    volcano.sh/hierarchy-weights: 1\n", "a.yaml:10: Queue/bad: metadata.annotations[volcano.sh/hierarchy-weights]: 1 is not a string"},
		"a list":           {queueText("bad") + "spec: []\n", "a.yaml:8: Queue/bad: spec: [] is not an object"},
		"an element":       {"apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec:\n  containers:\n  - name: a\n  - name: b\n    tty: maybe\n", "a.yaml:12: Pod/bad: spec.containers[1].tty: \"maybe\" is not true or false"},
		"a boolean":        {"apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {nodeName: n}\n", "a.yaml:8: Pod/bad: spec.nodeName: false is not a string; quote it, because yes, no,"},
		"a namespace":      {"apiVersion: v1\nkind: Pod\nmetadata: {name: bad, namespace: team}\nspec: 3\n", "a.yaml:8: Pod/team/bad: spec: 3 is not an object"},
		"another version":  {strings.Replace(queueText("bad"), "v1beta1", "v1beta2", 1), `a.yaml:5: Queue/bad: apiVersion: "scheduling.volcano.sh/v1beta2" is not read; use scheduling.volcano.sh/v1beta1`},
		"another group":    {strings.Replace(queueText("bad"), "volcano.sh", "volcano.io", 1), `a.yaml:5: Queue/bad: apiVersion: "scheduling.volcano.io/v1beta1" is not read; use scheduling.volcano.sh/v1beta1`},
		"the core group":   {"kind: Queue\nmetadata: {name: bad}\napiVersion: v1\n", `a.yaml:7: Queue/bad: apiVersion: "v1" is not read; use scheduling.volcano.sh/v1beta1`},
		"no version":       {"kind: Queue\nmetadata: {name: bad}\n", "a.yaml:5: Queue/bad: apiVersion: is missing; use scheduling.volcano.sh/v1beta1"},
		"a removed group":  {"apiVersion: extensions/v1beta1\nkind: Deployment\n", `a.yaml:5: Deployment: apiVersion: "extensions/v1beta1" is not read; use apps/v1`},
		"a misspelt kind":  {strings.Replace(queueText("bad"), "Queue", "Queeu", 1), `a.yaml:6: Queeu/bad: kind: "Queeu" is not read; did you mean Queue?`},
		"a misspelt group": {"apiVersion: batch.volcno.sh/v1alpha1\nkind: Job\n", `a.yaml:5: Job: apiVersion: "batch.volcno.sh/v1alpha1" is not read; use batch.volcano.sh/v1alpha1`},
	} {
		t.Run(name, func(t *testing.T) {
			o := readText(t, "a.yaml", queueText("one")+"---\n"+c.text+"---\n"+queueText("two"))
			assert.Equal(t, []string{"one", "two"}, []string{o.Queues[0].Name, o.Queues[1].Name})
			require.Len(t, o.Problems, 1)
			assert.Contains(t, o.Problems[0].String(), c.want)
			assert.NotContains(t, o.Problems[0].String(), "\n")
		})
	}
}

func TestJSON(t *testing.T) {
	item := func(name, escaped string) string {
		return fmt.Sprintf(`{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":%q,"annotations":{"text":%q}}}`, name, escaped)
	}
	odd := `a "quoted" \ ] } { [ back\\slash\`
	o := readText(t,
		"list.json", "{\"apiVersion\":\"v1\",\n\"items\":[\n"+item("one", odd)+",\n"+item("two", "")+" ],\"kind\":\"List\"}\n"+item("three", odd),
		"typed.json", `{"kind":"QueueList","apiVersion":"scheduling.volcano.sh/v1beta1","items":[{"metadata":{"name":"four"},"spec":{"weight":3}}]}`,
		"list.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: scheduling.volcano.sh/v1beta1\n  kind: Queue\n  metadata: {name: five}\n")
	assert.Empty(t, problems(o))
	assert.Equal(t, []string{"one@list.json:3", "two@list.json:4", "three@list.json:5", "five@list.yaml:4", "four@typed.json:1"}, names(o))
	assert.Equal(t, odd, o.Queues[0].Annotations["text"])
	assert.Equal(t, int32(3), o.Queues[4].Spec.Weight)
}

// TestEscapedJSON reads names and values with characters that are escaped in each way that JSON permits. Encoders of
// languages other than Go write a slash as \/.
func TestEscapedJSON(t *testing.T) {
	o := readText(t,
		"a.json", `{"apiVersion":"scheduling.volcano.sh\/v1beta1","kind":"Queue","metadata":{"name":"slash"}}`,
		"b.json", `{"apiVersion":"scheduling.volcano.sh/v1beta1","k\u0069nd":"\u0051ueue","metadata":{"name":"unicode"}}`,
		"c.json", `{"apiVersion":"v1","kind":"List","\u0069tems":[{"apiVersion":"scheduling.volcano.sh\/v1beta1","kind":"Queue","metadata":{"name":"item"}}]}`,
		"d.json", `{"apiVersion":"scheduling.volcano.sh\/v1beta1","kind":"QueueList","items":[{"metadata":{"name":"typed"}}]}`)
	assert.Empty(t, problems(o))
	assert.Empty(t, o.Skipped())
	assert.Equal(t, []string{"slash@a.json:1", "unicode@b.json:1", "item@c.json:1", "typed@d.json:1"}, names(o))
}

func TestBrokenJSON(t *testing.T) {
	good := `{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"good"}}`
	for text, want := range map[string]string{
		good + "\n" + `{"kind":"Queue",`:         "a.json:2: the JSON ends in the middle of an object",
		good + "\n" + `{"kind":"Que`:             "a.json:2: the JSON ends in the middle of an object",
		good + "\n\n" + `[1,2]`:                  "a.json:3: not a Kubernetes object",
		good + "\n" + `["items",[` + good + `]]`: "a.json:2: not a Kubernetes object",
		good + "\n" + `}`:                        "a.json:2: ",
		good + "\n" + `{"kind" 1}`:               "a.json:2: invalid character '1' after object key",
		good + "\n" + `{"apiVersion":"v1","kind":"Node","metadata":{"name":"x",}}`:                                                                              "a.json:2: Node: invalid character '}'",
		good + "\n" + "{\"kind\":\"Queue\",\n\"spec\":{\n\"weight\":,\n}}":                                                                                      "a.json:4: Queue: invalid character ','",
		good + "\n" + "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"},\n\"spec\":{\n\t\"weight\":\"x\"\n}}": "a.json:4: Queue/q: spec.weight: \"x\" is not a whole number",
	} {
		o := readText(t, "a.json", text)
		assert.Len(t, o.Queues, 1, text)
		require.Len(t, o.Problems, 1, text)
		assert.Contains(t, o.Problems[0].String(), want)
	}
}

// TestRepeatedQuantity has a quantity with more digits than fit into memory before the one that counts: the decoder
// reads both.
func TestRepeatedQuantity(t *testing.T) {
	o := readText(t, "a.json", `{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},
		"spec":{"capability":{"cpu":"1e-2000000000","cpu":"1"}}}`)
	assert.Equal(t, []string{`a.json:2: Queue/q: spec.capability.cpu: "1e-2000000000" is not a quantity such as 4, 500m or "16Gi"`}, problems(o))
}

// TestBrokenItems has an item with a syntax error between two that are right.
func TestBrokenItems(t *testing.T) {
	item := func(name string) string {
		return `{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"` + name + `"}}`
	}
	for broken, want := range map[string]string{
		`{"kind":"Node","metadata":{"name":}}`:                       "a.json:2: Node: invalid character '}'",
		`{"apiVersion":"v1","kind":"Service","metadata":{"name" 1}}`: "a.json:2: Service: invalid character '1'",
		`{"metadata":["}",{"name":"a\"}"},]}`:                        "a.json:2: invalid character ']'",
		`word`:                                                       "a.json:2: invalid character 'w'",
		`["a" "b"]`:                                                  "a.json:2: invalid character '\"' after array element",
		`["a"]`:                                                      "a.json:2: not a Kubernetes object",
		`7`:                                                          "a.json:2: not a Kubernetes object",
	} {
		o := readText(t, "a.json", `{"kind":"List","items":[`+item("one")+",\n"+broken+",\n"+item("two")+"]}\n"+item("three"))
		assert.Equal(t, []string{"one@a.json:1", "two@a.json:3", "three@a.json:4"}, names(o), broken)
		require.Len(t, o.Problems, 1, broken)
		assert.Contains(t, o.Problems[0].String(), want)
	}
}

// TestBrokenLists reads the items of lists in which something else is wrong.
func TestBrokenLists(t *testing.T) {
	const item = `{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"}}`
	for text, want := range map[string]string{
		`{"kind":"List","items":[` + item + "],\n" + `"metadata":{,}}`: "a.json:2: List: invalid character ','",
		`{"kind":"List","items":[` + item + " {}]}":                    "a.json:1: List: invalid character '{' after array element",
		`{"kind":"List","items":[` + item + ",]}":                      "a.json:1: List: invalid character ']'",
	} {
		o := readText(t, "a.json", text)
		assert.Equal(t, []string{"q@a.json:1"}, names(o), text)
		require.NotEmpty(t, o.Problems, text)
		assert.Contains(t, o.Problems[0].String(), want)
	}
}

// TestCutAnywhere cuts a list at each byte. Nothing panics or hangs. A cut list has a problem and gives no queue, and
// the whole list gives its queue.
func TestCutAnywhere(t *testing.T) {
	text := `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"a\"b\\","x":[1,-2.5e3,true,null]}}]}`
	for i := range len(text) {
		o := New()
		o.decode(split("cut", []byte(text[:i])), nil)
		assert.Empty(t, o.Queues)
		if i > 0 {
			assert.NotEmpty(t, o.Problems, text[:i])
		}
	}
	o := New()
	o.decode(split("whole", []byte(text)), nil)
	assert.Len(t, o.Queues, 1)
}

// TestUnknownFields expects the fields that the kind of a manifest does not have, and
// those that it has twice, with their lines. The object counts all the same.
func TestUnknownFields(t *testing.T) {
	const head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"
	for text, want := range map[string][]string{
		head + "metadata:\n  name: q\nspec:\n  capabilty: {cpu: 1}\n  weight: 2\n": {`a.yaml:6: Queue/q: spec.capabilty: unknown field; did you mean "capability"?`},
		head + "metadata: {name: q, annotaions: {}}\nspec:\n  guarantee:\n    cpu: 1\n": {
			`a.yaml:3: Queue/q: metadata.annotaions: unknown field; did you mean "annotations"?`, "a.yaml:6: Queue/q: spec.guarantee.cpu: unknown field"},
		head + "metadata: {name: q}\nspec:\n  weight: 2\n  weight: 3\n": {`a.yaml:6: Queue/q: duplicate field "weight"`},
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: scheduling.volcano.sh/v1beta1\n  kind: Queue\n  metadata: {name: p}\n" +
			"- apiVersion: scheduling.volcano.sh/v1beta1\n  kind: Queue\n  metadata: {name: q}\n  Spec: {}\n": {`a.yaml:10: Queue/q: Spec: unknown field; did you mean "spec"?`},
		"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: q}\nspec:\n  tasks:\n  - replicas: 1\n  - replicas: 2\n    template:\n      spec:\n        contaners: []\n": {
			`a.yaml:10: Job/q: spec.tasks[1].template.spec.contaners: unknown field; did you mean "containers"?`},
		"{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"},\n \"spec\":{\n  \"wieght\":1,\n  \"weight\":1,\n  \"weight\":2}}": {
			`a.yaml:3: Queue/q: spec.wieght: unknown field; did you mean "weight"?`, "a.yaml:5: Queue/q: spec.weight: duplicate field"},
	} {
		o := readText(t, "a.yaml", text)
		assert.Empty(t, problems(o), text)
		assert.NotZero(t, o.Len())
		var got []string
		for _, p := range o.Unknown {
			got = append(got, p.String())
		}
		assert.Equal(t, want, got, text)
	}
}

// TestFieldsOfNewerReleases expects unknown fields of queues of a cluster apart from those
// of manifests, and none of other objects of a cluster.
func TestFieldsOfNewerReleases(t *testing.T) {
	o := readText(t, "a.yaml", "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q, uid: u}\nspec: {capabilty: 1}\n"+
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: v}\nspec: {ofANewerRelease: 1}\n")
	assert.Equal(t, 2, o.Len())
	assert.Empty(t, o.Unknown)
	require.Len(t, o.Newer, 1)
	assert.Equal(t, `a.yaml:4: Queue/q: spec.capabilty: unknown field; did you mean "capability"?`, o.Newer[0].String())
}

// TestGzip reads a compressed file, from a directory and from standard input.
func TestGzip(t *testing.T) {
	var text bytes.Buffer
	zip := gzip.NewWriter(&text)
	_, err := zip.Write([]byte("# first\n" + queueText("q")))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	assert.Equal(t, []string{"q@dump.yaml.gz:2"}, names(readText(t, "dump.yaml.gz", text.String(), "text.gz", "not read")))
	o, err := ReadFiles([]string{"-"}, false, bytes.NewReader(text.Bytes()), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"q@stdin:2"}, names(o))
	for _, cut := range []int{5, text.Len() - 4} {
		_, err = ReadFiles([]string{"-"}, false, bytes.NewReader(text.Bytes()[:cut]), nil)
		require.ErrorContains(t, err, "reading -: unexpected EOF")
	}
}

func TestSkippedAndRepeated(t *testing.T) {
	o := readText(t, "a.yaml", queueText("q")+"---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n",
		"b.yaml", queueText("q")+"spec: {weight: 7}\n", "c.txt", "not read")
	assert.Equal(t, "skipped 2 objects of other kinds: Job (1), Service (1)", o.Skipped())
	require.Len(t, o.Queues, 1)
	assert.Equal(t, int32(7), o.Queues[0].Spec.Weight, "the last one counts")
	require.Len(t, o.Repeated, 1)
	assert.Equal(t, "b.yaml:1: Queue/q: was read at a.yaml:1 already; this one counts", o.Repeated[0].String())
}

func configMapText(name, key, text string) string {
	indented := "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  %s: |\n%s\n", name, key, indented)
}

// deploymentText is a Deployment of a scheduler with flags and a volume.
func deploymentText(replicas int, args, mount, volume string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d}\nspec: {replicas: %d, template: {spec: {containers: [{name: c, args: [%s], "+
		"volumeMounts: [{name: v, %s}]}], volumes: [{name: v, %s}]}}}\n", replicas, replicas, args, mount, volume)
}

// ofVolcano moves an object to the namespace of Volcano's chart.
func ofVolcano(object string) string {
	return strings.Replace(object, "metadata: {", "metadata: {namespace: volcano-system, ", 1)
}

func TestConfigurations(t *testing.T) {
	const (
		chart  = "volcano-scheduler.conf"
		text   = "actions: allocate\ntiers:\n- plugins:\n  - name: capacity\n"
		other  = "actions: enqueue\ntiers: []\n"
		args   = `--scheduler-conf=/conf/volcano-scheduler.conf`
		mount  = "mountPath: /conf"
		volume = "configMap: {name: m}"
	)
	none := "the input has no ConfigMap with one"
	for name, c := range map[string]struct {
		documents    []string
		origin       string // of text
		missing, err string
	}{
		"the key of the chart":           {[]string{configMapText("m", chart, text)}, "ConfigMap default/m (a.yaml:1)", "", ""},
		"the only .conf":                 {[]string{configMapText("m", "other.conf", text)}, "ConfigMap default/m (a.yaml:1)", "", ""},
		"another file":                   {[]string{configMapText("m", "other.yaml", text)}, "", none, ""},
		"no ConfigMap":                   {nil, "", none, ""},
		"two that are the same":          {[]string{configMapText("m", chart, text), configMapText("o", chart, text)}, "ConfigMap default/m (a.yaml:1)", "", ""},
		"two that differ":                {[]string{configMapText("m", chart, text), configMapText("o", chart, other)}, "", "", "2 different scheduler configurations: ConfigMap default/m (a.yaml:1); ConfigMap default/o (a.yaml:11); name one with --scheduler-conf"},
		"the Deployment decides":         {[]string{configMapText("o", chart, other), configMapText("m", chart, text), deploymentText(1, args, mount, volume)}, "ConfigMap default/m (a.yaml:9), which Deployment default/d1 mounts", "", ""},
		"any key and path":               {[]string{configMapText("m", "x.yaml", text), deploymentText(1, `--scheduler-conf, /conf/y/z`, mount, "configMap: {name: m, items: [{key: x.yaml, path: y/z}]}")}, "ConfigMap default/m (a.yaml:1), which Deployment default/d1 mounts", "", ""},
		"a file by its subPath":          {[]string{configMapText("m", "x.yaml", text), deploymentText(1, `--scheduler-conf=/conf/c`, "mountPath: /conf/c, subPath: x.yaml", volume)}, "ConfigMap default/m (a.yaml:1), which Deployment default/d1 mounts", "", ""},
		"a shell":                        {[]string{configMapText("m", chart, text), deploymentText(1, `"exec vc-scheduler `+args+` -v=3"`, mount, volume)}, "ConfigMap default/m (a.yaml:1), which Deployment default/d1 mounts", "", ""},
		"no such ConfigMap":              {[]string{configMapText("o", chart, other), deploymentText(1, args, mount, volume)}, "", "Deployment default/d1 mounts ConfigMap default/m, which is missing", ""},
		"no such file":                   {[]string{configMapText("m", "x.conf", text), deploymentText(1, args, mount, volume)}, "", "Deployment default/d1 reads volcano-scheduler.conf of ConfigMap default/m, which has no such file", ""},
		"another volume":                 {[]string{configMapText("m", chart, text), deploymentText(1, args, mount, "emptyDir: {}")}, "", "Deployment default/d1 reads its configuration from a volume that is no ConfigMap", ""},
		"two Deployments":                {[]string{configMapText("m", chart, text), configMapText("o", chart, other), deploymentText(1, args, mount, volume), deploymentText(2, args, mount, "configMap: {name: o}")}, "", "", "2 different scheduler configurations"},
		"a Deployment of a tenant":       {[]string{configMapText("o", chart, other), deploymentText(1, args, mount, "configMap: {name: o}"), ofVolcano(configMapText("m", chart, text)), ofVolcano(deploymentText(2, args, mount, volume))}, "ConfigMap volcano-system/m (a.yaml:14), which Deployment volcano-system/d2 mounts", "", ""},
		"a Deployment without a pod":     {[]string{configMapText("m", chart, text), configMapText("o", chart, other), deploymentText(1, args, mount, volume), deploymentText(0, args, mount, "configMap: {name: o}")}, "ConfigMap default/m (a.yaml:1), which Deployment default/d1 mounts", "", ""},
		"a scheduler of another name":    {[]string{configMapText("m", chart, text), configMapText("o", chart, other), deploymentText(1, args, mount, volume), deploymentText(2, args+", --scheduler-name=agent-scheduler", mount, "configMap: {name: o}")}, "ConfigMap default/m (a.yaml:1), which Deployment default/d1 mounts", "", ""},
		"a Deployment of something else": {[]string{configMapText("m", chart, text), deploymentText(1, "--config=/conf/x", mount, volume)}, "ConfigMap default/m (a.yaml:1)", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := readText(t, "a.yaml", strings.Join(c.documents, "---\n"))
			found, missing, err := o.Configuration()
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			if c.origin == "" {
				assert.Nil(t, found)
				assert.Equal(t, c.missing, missing)
				return
			}
			require.NotNil(t, found)
			assert.Equal(t, text, found.Text)
			assert.Equal(t, c.origin, found.Origin)
		})
	}
}

// TestReadConfiguration reads a configuration, and a ConfigMap with one.
func TestReadConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "conf.yaml")
	const text = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
	for _, content := range []string{text, configMapText("m", chartKey, text)} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		read, err := ReadConfiguration(file)
		require.NoError(t, err)
		assert.Equal(t, text, read.Text)
		assert.Equal(t, file, read.Origin)
	}

	_, err := ReadConfiguration(file + ".missing")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.json")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(1<<30)) // a hole: it takes no room
	require.NoError(t, file.Close())
	_, err = ReadFiles([]string{path}, false, nil, nil)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = ReadFiles([]string{filepath.Join(t.TempDir(), "none")}, false, nil, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestStdinAndClone(t *testing.T) {
	o, err := ReadFiles([]string{"-"}, false, strings.NewReader(queueText("q")), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"q@stdin:1"}, names(o))
	c := o.Clone()
	c.Queues[0].Spec.Weight = 9
	assert.Zero(t, o.Queues[0].Spec.Weight)
	assert.Equal(t, names(o), names(c))
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "{", `{"items":[`, `{"kind":"List","items":[{},1,"x"]}`, "a: b\n---\n- c", "---\n---", `{"a":"\`, `{"items":{}}`, `"`, "[", "{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) { New().decode(split("fuzz", []byte(text)), nil) })
}
