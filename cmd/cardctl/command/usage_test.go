package command

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// fair is a cluster with usage over time. usageFile is the record that its scheduler has saved.
const (
	fair      = "../../../examples/fairness"
	usageFile = fair + "/usage.yaml"
)

// TestUsageFile writes the usage of examples/fairness.
func TestUsageFile(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	record := usage.Record{Columns: []usage.Column{{Name: "NVIDIA-H200", Card: true}}, Root: "root", Queues: map[string]usage.QueueRecord{}}
	for name, cards := range map[string]float64{"root": 30, "research": 18.4, "vision": 13.4, "language": 5, "batch": 4.6, "serving": 6, "spare": 1} {
		parent := "root"
		switch name {
		case "root":
			parent = ""
		case "vision", "language":
			parent = "research"
		}
		record.Queues[name] = usage.QueueRecord{Parent: parent, Usage: []float64{1000 * cards}}
	}
	all, err := store.Write(types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"},
		&store.Stored{Record: store.Record{Record: record}, Saved: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), HalfLife: 24 * time.Hour}, "scheduler")
	require.NoError(t, err)
	all[0].APIVersion, all[0].Kind = "v1", "ConfigMap"
	text, err := yaml.Marshal(all[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Clean(usageFile), text, 0o600))
}

// fairCluster is the API server of a cluster with the objects of examples/fairness.
type fairCluster struct {
	objects *input.Objects
	mu      sync.Mutex
	usage   *v1.ConfigMap
	hidden  int // the status of reads of usage, 0 for an answer
	saves   int // of the scheduler, each after a read
	writes  int
}

func newFairCluster(t *testing.T) (*fairCluster, string) {
	t.Helper()
	objects, err := input.ReadFiles([]string{fair}, false, nil, nil)
	require.NoError(t, err)
	c := &fairCluster{objects: objects, usage: objects.Usage[0]}
	c.usage.ResourceVersion = "1"
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

func (c *fairCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(object any) { _ = json.NewEncoder(w).Encode(object) }
	kind := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case kind == "capacity-card-usage" && c.hidden > 0:
		w.WriteHeader(c.hidden)
	case kind == "capacity-card-usage" && r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		given, ok := object.(*v1.ConfigMap)
		switch {
		case err != nil || !ok:
			w.WriteHeader(http.StatusBadRequest)
		case given.ResourceVersion != c.usage.ResourceVersion:
			w.WriteHeader(http.StatusConflict)
		default:
			if r.URL.Query().Get("dryRun") == "" {
				c.usage, c.writes = given, c.writes+1
			}
			answer(given)
		}
	case kind == "capacity-card-usage":
		answer(c.usage)
		if c.saves > 0 {
			c.saves--
			c.usage.ResourceVersion += "1"
		}
	case kind == "volcano-scheduler-configmap":
		answer(c.objects.ConfigMaps[0])
	case kind == "nodes":
		answer(&v1.NodeList{Items: values(c.objects.Nodes)})
	case kind == "pods":
		answer(&v1.PodList{Items: values(c.objects.Pods)})
	case kind == "queues":
		answer(&scheduling.QueueList{Items: values(c.objects.Queues)})
	case kind == "podgroups":
		answer(&scheduling.PodGroupList{Items: values(c.objects.PodGroups)})
	default:
		_, _ = io.WriteString(w, `{"items":[]}`)
	}
}

func values[T any](all []*T) (of []T) {
	for _, each := range all {
		of = append(of, *each)
	}
	return of
}

// stored is the usage that the cluster has, in cards by queue.
func (c *fairCluster) stored(t *testing.T) (map[string]float64, *store.Stored) {
	t.Helper()
	stored, err := store.Read(c.usage, nil)
	require.NoError(t, err)
	is, h200 := map[string]float64{}, slices.Index(stored.Record.Columns, usage.Column{Name: "NVIDIA-H200", Card: true})
	for name, q := range stored.Record.Queues {
		is[name] = q.Usage[h200] / 1000
	}
	return is, stored
}

// TestUsageReset resets a queue. The scheduler has saved twice between a read and a write.
func TestUsageReset(t *testing.T) {
	c, address := newFairCluster(t)
	before, was := c.stored(t)
	for _, dry := range []string{"client", "server"} {
		code, out, stderr := run("", "usage", "reset", "vision", "--dry-run="+dry, "--server", address)
		require.Zero(t, code, stderr)
		assert.Contains(t, out, "queue vision: usage of NVIDIA-H200: 13.4, then 6\n")
		assert.Contains(t, out, "dry run)\n")
		assert.Zero(t, c.writes)
	}
	c.saves = 2
	code, out, stderr := run("", "usage", "reset", "vision", "--yes", "--server", address)
	require.Zero(t, code, stderr)
	assert.Equal(t, "queue vision: usage of NVIDIA-H200: 13.4, then 6\nusage of queue vision reset in ConfigMap volcano-system/capacity-card-usage\n", out)
	assert.Contains(t, stderr, "note: the scheduler takes it over within 1m\n")
	assert.Equal(t, 1, c.writes)
	after, is := c.stored(t)
	before["vision"], before["research"], before["root"] = 6, 18.4-7.4, 30-7.4
	assert.InDeltaMapValues(t, before, after, 1e-9)
	assert.True(t, is.Saved.After(was.Saved), "the scheduler takes over what is newer")
	assert.NotEqual(t, "scheduler", c.usage.Data["writer"])

	c.saves = 99
	code, _, stderr = run("", "usage", "reset", "vision", "--yes", "--server", address)
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "error: the scheduler saves usage at the same time: try again\n")
}

func TestUsageResetOffersNoFiles(t *testing.T) {
	_, out, _ := run("", "usage", "reset", "--help")
	assert.Contains(t, out, "--scheduler-conf ")
	assert.NotContains(t, out, "--filename ")
	assert.NotContains(t, out, "--recursive ")
}

func TestUsageResetBadInput(t *testing.T) {
	c, address := newFairCluster(t)
	for name, test := range map[string]struct {
		hidden    int
		arguments string
		want      string
	}{
		"no confirmation": {0, "vision", "usage reset cannot be undone: see what it does with --dry-run=client, and confirm it with --yes"},
		"an unknown mode": {0, "vision --dry-run=yes", `unknown value "yes" of --dry-run`},
		"files":           {0, "vision --yes -f " + fair, "usage reset changes a cluster: it takes no files"},
		"no such queue":   {0, "visio --yes", `no queue "visio" in the input; did you mean "vision"?`},
		"switched off":    {0, "vision --yes --plugin capacity", "queues are not ordered by usage over time: plugin capacity has no argument fairShareHalfLife"},
		"no permission":   {403, "vision --yes", "there is no usage to reset: ConfigMap volcano-system/capacity-card-usage: no permission to get it in"},
		"never saved":     {404, "vision --yes", "there is no usage to reset: ConfigMap volcano-system/capacity-card-usage: does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			c.hidden = test.hidden
			arguments := append([]string{"usage", "reset"}, strings.Fields(test.arguments)...)
			if !strings.Contains(test.arguments, "-f ") {
				arguments = append(arguments, "--server", address)
			}
			code, out, stderr := run("", arguments...)
			assert.Equal(t, 2, code)
			assert.Empty(t, out)
			assert.Contains(t, stderr, "error: "+test.want)
		})
	}
	assert.Zero(t, c.writes)
}

// TestUsageThatIsNotKnown expects no numbers where usage cannot be read, and why.
func TestUsageThatIsNotKnown(t *testing.T) {
	c, address := newFairCluster(t)
	c.hidden = http.StatusForbidden
	code, out, stderr := run("", "usage", "vision", "--server", address)
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "    vision   -       NVIDIA-H200   yes     4          6     -         -       -\n")
	assert.Contains(t, stderr, "warning: the usage of queues over time is not known, so their order may differ: "+
		"ConfigMap volcano-system/capacity-card-usage: no permission to get it in")
	_, out, _ = run("", "usage", "vision", "--server", address, "-o", "json")
	assert.Contains(t, out, `"average": null`)
	assert.Contains(t, out, `"lacks": "ConfigMap volcano-system`)

	_, _, stderr = run("", "usage", "-f", fair+"/cluster.yaml")
	assert.Contains(t, stderr, "capacity-card-usage does not exist in the input")
	for _, arguments := range [][]string{{"explain"}, {"cards"}, {"top"}} {
		_, _, stderr = run("", append(arguments, "-f", scene)...)
		assert.NotContains(t, stderr, "over time", "it is off")
	}
}

// TestUsagePage runs the commands of docs/cardctl.md on examples/fairness, and compares their output with the page.
func TestUsagePage(t *testing.T) {
	if release.Built() != release.V1141 {
		t.Skip("the pages show the rules of Volcano v1.14.1")
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	t.Chdir("../../..")
	blocks := regexp.MustCompile("(?s)```sh\n(cardctl [^\n]*-f examples/fairness)\n```\n\n```text\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 1)
	for _, block := range blocks {
		assert.Equal(t, block[2], play("$ " + block[1] + "\n")[len("$ "+block[1]+"\n"):])
	}
}

// TestUsageOnPages expects the level of queues, the past use of a queue, and the queues that go before the queue of a
// job. Where the order is off, the pages have none of this.
func TestUsageOnPages(t *testing.T) {
	var stderr bytes.Buffer
	pages := pagesOf(t, &stderr, fair)
	for path, wanted := range map[string][]string{
		"/queues":                    {"Usage level", `<td class="number">1.77</td>`},
		"/queues?sort=level":         {"2.42"},
		"/queue/research":            {"Past usage", "It is number 3 of 3 sibling queues that wait.", "18.4", "4h50m", "never"},
		"/queue/research?lang=zh":    {"它的历史占用", "它排第 3，共有 3 个同级队列在等待。"},
		"/job/default/next":          {"queue research is third for NVIDIA-H200: averaged 14.2 of 8 deserved; serving and batch go first"},
		"/job/default/next?lang=zh":  {"队列 research 对 NVIDIA-H200 排在第 3：平均占用 14.2，应得 8；serving、batch 先行"},
		"/queue/research/json":       {`"average": 18.4`, `"place": 3`},
		"/queues.json?search=vision": {`"level": 2.425`},
	} {
		body := answer(pages, http.MethodGet, path, nil).Body.String()
		for _, text := range wanted {
			assert.Contains(t, body, text, path)
		}
	}
	for _, path := range []string{"/queues", "/queue/train", "/queue/train/json"} {
		body := answer(pagesOf(t, &stderr, scene), http.MethodGet, path, nil).Body.String()
		for _, text := range []string{"Usage level", "Past usage", `"past"`} {
			assert.NotContains(t, body, text, path)
		}
	}
}
