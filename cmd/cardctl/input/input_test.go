package input

import (
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
		"not YAML":     {"a: [1\nb: 2\n", "a.yaml:5: line 5: did not find expected ',' or ']'"},
		"a tab":        {"kind: Queue\n\tname: x\n", "a.yaml:5: line 6: found a tab character that violates indentation"},
		"no object":    {"just text\n", "a.yaml:5: not a Kubernetes object"},
		"no kind":      {"metadata: {name: x}\n", "a.yaml:5: not a Kubernetes object: it has no apiVersion and kind"},
		"no name":      {"apiVersion: v1\nkind: Node\n", "a.yaml:5: Node without a name: metadata.name"},
		"a wrong type": {queueText("bad") + "spec: {weight: high}\n", "a.yaml:5: Queue bad: cannot unmarshal string into Go struct field QueueSpec.spec.weight of type int32"},
		"a quantity":   {queueText("bad") + "spec: {capability: {cpu: lots}}\n", "a.yaml:5: Queue bad: quantities must match the regular expression"},
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
	assert.Equal(t, []string{"one@list.json:3", "two@list.json:4", "three@list.json:5", "five@list.yaml:1", "four@typed.json:1"}, names(o))
	assert.Equal(t, odd, o.Queues[0].Annotations["text"])
	assert.Equal(t, int32(3), o.Queues[4].Spec.Weight)
}

// TestEscapedJSON reads names and values whose characters are escaped in each way
// that JSON permits. Encoders of other languages than Go write a slash as \/.
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
		good + "\n" + `{"kind":"Queue",`: "a.json:2: the JSON ends in the middle of an object",
		good + "\n" + `{"kind":"Que`:     "a.json:2: the JSON ends in the middle of an object",
		good + "\n\n" + `[1,2]`:          "a.json:3: not a Kubernetes object",
		good + "\n" + `}`:                "a.json:2: ",
		good + "\n" + `{"kind" 1}`:       "a.json:2: expected colon after object key",
		good + "\n" + `{"apiVersion":"v1","kind":"Node","metadata":{"name":"x",}}`: "a.json:2: Node: invalid character '}'",
	} {
		o := readText(t, "a.json", text)
		assert.Len(t, o.Queues, 1, text)
		require.Len(t, o.Problems, 1, text)
		assert.Contains(t, o.Problems[0].String(), want)
	}
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

// TestCutAnywhere cuts a list at each byte: nothing panics or hangs, and what is
// whole before is never lost to what is cut after it.
func TestCutAnywhere(t *testing.T) {
	text := `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"a\"b\\","x":[1,-2.5e3,true,null]}}]}`
	for i := range len(text) {
		o := New()
		o.read("cut", []byte(text[:i]), nil)
		assert.Empty(t, o.Queues)
		if i > 0 {
			assert.NotEmpty(t, o.Problems, text[:i])
		}
	}
	o := New()
	o.read("whole", []byte(text), nil)
	assert.Len(t, o.Queues, 1)
}

func TestSkippedAndRepeated(t *testing.T) {
	o := readText(t, "a.yaml", queueText("q")+"---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n",
		"b.yaml", queueText("q")+"spec: {weight: 7}\n", "c.txt", "not read")
	assert.Equal(t, "skipped 2 objects of other kinds: Job (1), Service (1)", o.Skipped())
	require.Len(t, o.Queues, 1)
	assert.Equal(t, int32(7), o.Queues[0].Spec.Weight, "the last one counts")
	require.Len(t, o.Repeated, 1)
	assert.Equal(t, "b.yaml:1: Queue q was read at a.yaml:1 already; this one counts", o.Repeated[0].String())
}

func TestConfigurations(t *testing.T) {
	text := "actions: allocate\ntiers:\n- plugins:\n  - name: capacity\n"
	indented := "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  %s: |\n" + indented + "\n"
	for key, found := range map[string]bool{"volcano-scheduler.conf": true, "other.conf": true, "other.yaml": false} {
		o := readText(t, "m.yaml", fmt.Sprintf(configMap, key))
		assert.Equal(t, found, len(o.Configurations) == 1, key)
	}
	assert.Equal(t, text, ConfigurationIn([]byte(text)))
	assert.Equal(t, text, ConfigurationIn(fmt.Appendf(nil, configMap, "volcano-scheduler.conf")))
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
	f.Fuzz(func(_ *testing.T, text string) { New().read("fuzz", []byte(text), nil) })
}
