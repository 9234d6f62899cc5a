package serve

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
)

// TestQueue shows the cards of a queue, the jobs and nodes that have them, and the jobs that wait. It also shows the
// place of the queue in the tree.
func TestQueue(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	for path, texts := range map[string][]string{
		"/queue/train":    {"Queues / root / research Waiting: 1 job . Share 1.333", "NVIDIA-H200 4 0 6 3 0", "default/Job/llm 4 NVIDIA-H200 4 of 6", "default/Job/llm 1 NVIDIA-H200 2"},
		"/queue/research": {"lab 2", "train 1", "default/Job/llm train", "default/Job/survey research 1"},
		"/queue/climate":  {"Ascend910B 6 0 6 6 6", "No job waits."},
	} {
		body := words(get(h, path).Body.String())
		for _, text := range texts {
			assert.Contains(t, body, text, path)
		}
	}
	body := get(h, "/queue/train").Body.String()
	assert.Contains(t, body, "<h1>train</h1>")
	for _, link := range []string{`href="/queue/research"`, `href="/job/default/llm"`, `href="/cards?node=h200-1#node-h200-1"`, `href="/history?queue=train"`} {
		assert.Contains(t, body, link)
	}
	var d queueDocument
	require.NoError(t, json.Unmarshal(get(h, "/queue/research/json").Body.Bytes(), &d))
	assert.Equal(t, []string{"root"}, d.Path)
	assert.Equal(t, []string{"lab", "train"}, d.Children)
	assert.Equal(t, d.Queue.Waiting, len(d.Waiting))
	cards := 0.0
	for _, job := range d.Running {
		for _, on := range job.On {
			assert.NotEmpty(t, on.Node)
			for _, a := range on.Cards {
				cards += a.Cards
			}
		}
	}
	assert.InDelta(t, 8, cards, 0, "six NVIDIA-H200 and two NVIDIA-H800 are allocated")
	assert.Contains(t, get(h, "/queue/lab").Body.String(), "cardctl top lab --once -o wide -f dump.json")
}

// TestChinesePunctuation finds no half-width comma, semicolon, colon or full stop next to Chinese characters.
func TestChinesePunctuation(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	halfWidth := regexp.MustCompile(`.*\p{Han} ?[,;:.](?: .*|$)|.*[,;:] \p{Han}.*`)
	tag := regexp.MustCompile(`(?s)<(?:title|option|script)[^>]*>.*?</(?:title|option|script)>|<[^>]*>`)
	for _, path := range []string{
		"/", "/queues", "/queue/research", "/queue/train", "/waiting", "/job/default/llm", "/job/default/survey", "/cards",
		"/lending", "/whatif", "/health", "/audit", "/history", "/holders?by=namespace",
	} {
		address, err := url.Parse(path)
		require.NoError(t, err)
		query := address.Query()
		query.Set("lang", "zh")
		address.RawQuery = query.Encode()
		page := tag.ReplaceAllString(get(h, address.String()).Body.String(), "")
		assert.Regexp(t, `\p{Han}`, page, path)
		assert.Empty(t, halfWidth.FindAllString(page, -1), path)
	}
}

// TestNamesAreLinks expects each cell or heading that is the name of a queue, a job or a node to be a
// link, but on its own page, and each link to lead to a page.
func TestNamesAreLinks(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	link := regexp.MustCompile(`<a [^>]*href="([^"]*)"[^>]*>`)
	text := regexp.MustCompile(`(?s)<(title|option|svg)[^>]*>.*?</(title|option|svg)>|<a [^>]*>[^<]*</a>|<span class="nodename[^<]*</span>`)
	name := regexp.MustCompile(`>\s*((?:default/(?:Job/)?)?(?:research|lab|train|climate|serving|root|h200-\d|h800-\d|ascend-\d|llm|tune|vision|eval|survey))\s*[<,(]`)
	seen := map[string]bool{}
	for _, path := range paths {
		body := get(h, path).Body.String()
		for _, found := range name.FindAllStringSubmatch(text.ReplaceAllString(body, ""), -1) {
			own := strings.HasPrefix(path, "/queue/") && strings.HasSuffix(path, found[1]) || strings.HasPrefix(path, "/job/")
			assert.True(t, own, "%s: %s is no link", path, found[1])
		}
		for _, found := range link.FindAllStringSubmatch(body, -1) {
			address, _, _ := strings.Cut(html.UnescapeString(found[1]), "#")
			if address == "" || seen[address] {
				continue
			}
			seen[address] = true
			code := get(h, address).Code
			assert.Contains(t, []int{http.StatusOK, http.StatusFound}, code, "%s: %s", path, address)
		}
	}
	assert.Greater(t, len(seen), 40)
}

// emptyGroup is a PodGroup that is not admitted and has no pods, as of a Deployment without replicas: it does not wait.
const emptyGroup = `---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: empty, namespace: a}
spec: {queue: owns}
status: {phase: Pending}
`

// TestOneNumberOfWaitingJobs counts the jobs that wait on each page and for cardctl top. They include a job that
// nothing refuses, a job of an inner queue, and a job of a queue that does not exist.
func TestOneNumberOfWaitingJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.yaml")
	text := shared + jobOf("a", "runs", "lends", "node-one") + jobOf("a", "starts", "lends", "") + jobOf("a", "big", "limits", "") +
		jobOf("a", "lost", "vanished", "") + jobOf("a", "inner", "team", "") + emptyGroup +
		"---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: team}\nspec: {parent: root}\n" +
		"---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: child}\nspec: {parent: team}\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	server := newServer(t, newSource(t, path), nil)
	h := server.Handler()
	rules := map[string]bool{}
	for _, f := range server.keeper.now().model.Waiting {
		rules[string(f.Rule)] = true
	}
	require.True(t, rules[""] && rules["InnerQueue"] && rules["UnknownQueue"] && len(server.keeper.now().model.Waiting) == 4, "%v", rules)
	assert.Contains(t, words(get(h, "/queues").Body.String()), "Waiting: 4 jobs. 1 of them are in queues that do not exist.")
	assert.Contains(t, words(get(h, "/waiting").Body.String()), "Waiting: 4 jobs, 8 pods.")
	assert.Contains(t, words(get(h, "/waiting").Body.String()), "Startable 1 job, 2 pods")

	var list struct{ Items []struct{ Queue string } }
	require.NoError(t, json.Unmarshal(get(h, "/waiting.json").Body.Bytes(), &list))
	assert.Len(t, list.Items, 4)
	var tree struct {
		Items []struct {
			Queue       string
			WaitingJobs int
		}
	}
	require.NoError(t, json.Unmarshal(get(h, "/queues.json").Body.Bytes(), &tree))
	waiting, err := explain.WaitingIn(t.Context(), worldOf(t, path), server.keeper.now().model.Configuration)
	require.NoError(t, err)
	ofTop := slices.Clone(server.keeper.now().model.Queues)
	for i := range ofTop {
		ofTop[i].Waiting = 0
	}
	queues.CountWaiting(ofTop, waiting)
	assert.Len(t, waiting, 4)
	for i, queue := range tree.Items {
		assert.Equal(t, queue.WaitingJobs, ofTop[i].Waiting, queue.Queue)
		list.Items = nil
		require.NoError(t, json.Unmarshal(get(h, "/waiting.json?queue="+queue.Queue).Body.Bytes(), &list))
		assert.Len(t, list.Items, queue.WaitingJobs, queue.Queue)
	}
	var past struct{ Items []model.Series }
	require.NoError(t, json.Unmarshal(get(h, "/history.json").Body.Bytes(), &past))
	jobs := map[string]int{"": 4}
	for _, queue := range tree.Items {
		jobs[queue.Queue] = queue.WaitingJobs
	}
	for _, s := range past.Items {
		if s.Waiting && s.Resource == "" {
			assert.InDelta(t, jobs[s.Queue], s.Last(), 0, s.Queue)
			jobs[s.Queue] = 0
		}
	}
	assert.Zero(t, jobs[""])
	var first struct{ Waiting waitingCount }
	require.NoError(t, json.Unmarshal(get(h, "/overview.json").Body.Bytes(), &first))
	assert.Equal(t, 4, first.Waiting.Jobs)
	var health struct{ Refused []refusal }
	require.NoError(t, json.Unmarshal(get(h, "/health.json").Body.Bytes(), &health))
	total := 0.0
	for _, r := range health.Refused {
		total += float64(r.Jobs)
	}
	assert.InDelta(t, 4, total, 0)
}

// worldOf reads a world from a file.
func worldOf(t *testing.T, path string) *engine.World {
	t.Helper()
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	world, err := engine.Build(objects)
	require.NoError(t, err)
	return world
}
