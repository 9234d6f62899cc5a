package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

// examples has nodes, queues and jobs. Some of the jobs wait.
const examples = "../../../examples/cardctl"

// source is a cluster that a test changes.
type source struct {
	mu      sync.Mutex
	objects *input.Objects
	err     error
	notes   []model.Note
	evicted []input.Evicted
	changed chan struct{}
}

func newSource(t *testing.T, paths ...string) *source {
	t.Helper()
	objects, err := input.ReadFiles(paths, false, nil, nil)
	require.NoError(t, err)
	return &source{objects: objects, changed: make(chan struct{}, 1)}
}

func (s *source) Changed() <-chan struct{} { return s.changed }

func (s *source) Read(context.Context) (*model.Reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		return nil, s.err
	}
	found, _, err := s.objects.Configuration()
	if err != nil {
		return nil, err
	}
	var configuration *engine.Configuration
	if found == nil {
		configuration, err = engine.Usual("capacity-card", s.objects.Queues)
	} else {
		configuration, err = engine.Configure(found.Text)
	}
	if err != nil {
		return nil, err
	}
	return &model.Reading{Objects: s.objects, Configuration: configuration, Notes: s.notes, Evicted: s.evicted, Time: time.Now()}, s.err
}

// fail makes the next readings fail.
func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// newServer returns a server that has read its source once.
func newServer(t *testing.T, s model.Source, access func(http.Handler) http.Handler) *Server {
	t.Helper()
	server := New(Options{Source: s, Interval: time.Millisecond, Flags: []string{"-f", "dump.json"}, Access: access, Log: t.Logf})
	server.keeper.read(t.Context(), true)
	return server
}

// do sends a request to this machine.
func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	r.Host = "127.0.0.1:8080"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	return do(h, httptest.NewRequest(http.MethodGet, path, nil))
}

func post(h http.Handler, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(h, r)
}

// paths are the paths of all views, on the examples.
var paths = []string{"/overview", "/queues", "/queues?full=on", "/queues?search=lab&wide=on", "/queue/research", "/queue/train", "/waiting", "/job/default/llm", "/cards", "/lending", "/whatif", "/health", "/audit", "/audit?days=30&check=NeverApplies", "/history", "/holders", "/holders?by=namespace&queue=research"}

// asJSON is the path of the JSON of a view.
func asJSON(path string) string {
	path, query, _ := strings.Cut(path, "?")
	if strings.HasPrefix(path, "/job/") || strings.HasPrefix(path, "/queue/") {
		return path + "/json?" + query
	}
	return path + ".json?" + query
}

func TestViews(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	contains := map[string][]string{
		"/overview":        {"needs 1 more NVIDIA-H200; research is full, 6 of 6", "train", "What changed in the last hour", "/health", "/overview.json", "cardctl cards -f dump.json"},
		"/queues":          {"research", `aria-label="NVIDIA-H200: deserved 3, guarantee 0, allocated 4, inqueue 0, capability 6"`, "cardctl top --once -f dump.json"},
		"/waiting":         {"research lacks 1 NVIDIA-H200", "default/llm", "cardctl explain -f dump.json"},
		"/job/default/llm": {"OverQuota", "default/Job/tune", "raise volcano.sh/card.quota of", "cardctl explain job llm -n default"},
		"/cards":           {"h200-1", "7 cards on 2 nodes"},
		"/lending":         {"train", "nobody"},
		"/health":          {"capacity-card", "it cannot run, even alone"},
		"/history":         {"<path", "train"},
		"/whatif":          {"<textarea", "cardctl simulate"},
	}
	for _, path := range paths {
		w := get(h, path)
		require.Equal(t, http.StatusOK, w.Code, path)
		for _, text := range contains[path] {
			assert.Contains(t, w.Body.String(), text, path)
		}
		w = get(h, asJSON(path))
		require.Equal(t, http.StatusOK, w.Code, path)
		assert.True(t, json.Valid(w.Body.Bytes()), path)
	}
	for path, code := range map[string]int{"/none": 404, "/job/default/none": 404, "/queue/none": 404, "/queue/none/json": 404, "/queues?queue=none": 404, "/queues.json?queue=none": 404, "/livez": 200, "/readyz": 200} {
		assert.Equal(t, code, get(h, path).Code, path)
	}
}

// inline matches content that the content security policy forbids.
var inline = regexp.MustCompile(`(?i)<script(?:>|[^>]*[^>c]>[^<])|<style|\sstyle=|\son[a-z]+=|javascript:`)

// TestNothingIsInline expects the security headers on all pages, and nothing that they forbid.
func TestNothingIsInline(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	for _, path := range append(paths, "/none") {
		w := get(h, path)
		assert.Equal(t, policy, w.Header().Get("Content-Security-Policy"))
		assert.Empty(t, w.Header().Get("Set-Cookie"))
		assert.Empty(t, inline.FindString(w.Body.String()), path)
		for _, address := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			assert.Regexp(t, "^[/#]", address[1], "all is of this server")
		}
	}
	w := get(h, "/queues")
	for _, asset := range regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		w := get(h, asset[1])
		assert.Equal(t, http.StatusOK, w.Code, asset[1])
		assert.Contains(t, w.Header().Get("Cache-Control"), "immutable")
	}
	assert.Equal(t, 404, get(h, "/assets/0/style.css").Code)
}

// TestNamesAreEscaped shows a cluster with markup in its names. Dumps may have such names.
func TestNamesAreEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script>'"&`
	quoted, _ := json.Marshal(evil)
	path := filepath.Join(t.TempDir(), "dump.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(`
apiVersion: v1
kind: Node
metadata: {name: EVIL, labels: {nvidia.com/gpu.product: EVIL}}
status: {allocatable: {cpu: 8, memory: 64Gi, pods: 100, nvidia.com/gpu: 4}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: EVIL, annotations: {volcano.sh/card.quota: "{\"<script>alert(1)</script>\": 2}"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: EVIL, namespace: EVIL}
spec: {queue: EVIL, minMember: 1, minResources: {cpu: 1}}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: EVIL, namespace: EVIL, annotations: {scheduling.k8s.io/group-name: EVIL, volcano.sh/card.name: EVIL}}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 9}}}]}
status: {phase: Pending}
`, "EVIL", string(quoted))), 0o600))
	h := newServer(t, newSource(t, path), nil).Handler()
	job := "/job/" + url.PathEscape(evil) + "/" + url.PathEscape(evil)
	for _, path := range []string{"/queues", "/queue/" + url.PathEscape(evil), "/waiting", job, "/cards", "/lending", "/health", "/history",
		"/queues?search=" + url.QueryEscape(evil), "/whatif?set=" + url.QueryEscape("queue/"+evil+":weight=1"), "/none/" + url.PathEscape(evil)} {
		w := get(h, path)
		assert.NotContains(t, w.Body.String(), "<script>alert", path)
		assert.Empty(t, inline.FindString(w.Body.String()), path)
	}
	assert.Contains(t, get(h, "/queues").Body.String(), "&lt;script&gt;alert")
	assert.Equal(t, 200, get(h, job).Code)
	assert.Equal(t, 200, get(h, "/queue/"+url.PathEscape(evil)).Code)
	w := post(h, "/whatif", url.Values{"set": {"queue/" + evil + ":weight=2"}})
	assert.NotContains(t, w.Body.String(), "<script>alert")
	assert.Contains(t, w.Body.String(), "kubectl patch")
}

// TestOnlyThisMachine refuses the requests of a page with a host name that resolves to this machine.
func TestOnlyThisMachine(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	for host, code := range map[string]int{
		"127.0.0.1:8080": 200, "localhost:8080": 200, "[::1]:8080": 200, "localhost": 200, "example.com:8080": 421, "10.0.0.1:8080": 421, "127.0.0.1.example.com": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/queues", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, code, w.Code, host)
	}
}

// TestPolicies shows which policies hold in a queue and who sets them, and groups the jobs that
// wait because of them with the number and the level.
func TestPolicies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policies.yaml")
	text := `
apiVersion: v1
kind: Node
metadata: {name: node-one, labels: {nvidia.com/gpu.product: X}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 4}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-scheduler-configmap, namespace: volcano-system}
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate, reclaim"
    tiers:
    - plugins:
      - {name: gang}
      - name: capacity-card
        enableHierarchy: true
        arguments: {cardUnlimitedCpuMemory: true, reclaimByServiceType: true}
      - {name: predicates}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team, annotations: {volcano.sh/card.quota: '{"X": 8}', volcano.sh/max-jobs: "2", volcano.sh/reclaim-delay: 2m}}
spec: {parent: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: lab, annotations: {volcano.sh/card.quota: '{"X": 8}', volcano.sh/card.quota.by: '{"namespace": {"*": {"X": 1}}}'}}
spec: {parent: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: held, annotations: {volcano.sh/card.quota: '{"X": 8}', volcano.sh/card.quota.by: '{"user": {"": {"X": 1}}}'}}
spec: {parent: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: half, annotations: {volcano.sh/card.quota: '{"X": "50%"}', volcano.sh/card.deserved: '{"X": 0}', volcano.sh/card.guarantee: '{"X": 0}'}}
spec: {parent: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: train, annotations: {volcano.sh/card.quota: '{"X": 8}'}}
spec: {parent: team}
` + jobOf("a", "one", "train", "node-one") + jobOf("a", "two", "train", "") + strings.ReplaceAll(jobOf("a", "three", "train", ""), "Inqueue", "Pending") + jobOf("b", "four", "lab", "") + jobOf("b", "five", "held", "")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	h := newServer(t, newSource(t, path), nil).Handler()
	spaces := regexp.MustCompile(`<[^>]*>|\s+`)
	for path, texts := range map[string][]string{
		"/queues": {"reclaimByServiceType: true", "max-jobs 2 of team with all queues below it", "reclaim-delay 2m inherited from team",
			`card.quota.by {"namespace": {"*": {"X": 1}}}`},
		"/waiting": {"team has as many admitted jobs as it may have: 2 TooManyJobs max-jobs 2", "lab lacks 1 X for namespace b OverNamespace card.quota.by 1",
			"held lacks 1 X for jobs without a user OverHolder card.quota.by 1"},
		"/queue/train": {"max-jobs 2 the annotation of team , for all queues below it together", "reclaim-delay 2m the annotation of team",
			"reclaimByServiceType true the scheduler's configuration"},
		"/queue/team":  {"max-jobs 2 its own annotation"},
		"/queue/half":  {"card.quota X 50% = 2 its own annotation"},
		"/job/a/three": {"Policies that hold in its queue max-jobs 2 of team with all queues below it"},
		"/health":      {"reclaimByServiceType: true"},
	} {
		body := html.UnescapeString(spaces.ReplaceAllString(get(h, path).Body.String(), " "))
		body = strings.Join(strings.Fields(body), " ")
		for _, text := range texts {
			assert.Contains(t, body, text, path)
		}
	}
	assert.NotContains(t, get(h, "/job/a/three").Body.String(), "jobs=", "max-jobs is no field of a setting")
	assert.Contains(t, get(h, "/queues.json").Body.String(), `"policy": "volcano.sh/reclaim-delay"`)
	assert.Contains(t, get(h, "/queues.json").Body.String(), `"share": "50%"`)
	assert.NotContains(t, get(h, "/queues?resource=cpu&wide=on").Body.String(), `class="borrowed"`, "only cards are lent")
}

// TestViewers shows nobody the jobs of namespaces that he may not see, nor the queues.
func TestViewers(t *testing.T) {
	s := newSource(t, examples)
	s.evicted = []input.Evicted{{Time: time.Now(), Namespace: "default", Pod: "tune-worker-9", PodGroup: "tune", Node: "h200-1"}}
	h := newServer(t, s, as(restricted{queues: true, namespaces: []string{"other"}})).Handler()
	names := regexp.MustCompile(`tune|llm|vision|eval|survey|ocean|chat|embed`)
	for _, path := range paths {
		for _, path := range []string{path, asJSON(path)} {
			body := get(h, path).Body.String()
			if strings.HasPrefix(path, "/job/") {
				assert.Equal(t, 404, get(h, path).Code)
				continue
			}
			assert.Empty(t, names.FindString(body), path)
			assert.NotContains(t, body, "h200-", "names of nodes")
		}
	}
	assert.Contains(t, get(h, "/queues").Body.String(), "restricted")
	assert.Contains(t, get(h, "/waiting").Body.String(), "In namespaces that you may not see: 1 job<")
	form := url.Values{"set": {"queue/research:cards.NVIDIA-H200=8"}}
	for _, path := range []string{"/whatif", "/whatif.json"} {
		w := post(h, path, form)
		assert.Equal(t, 200, w.Code)
		assert.Empty(t, names.FindString(w.Body.String()), path)
	}
	for _, remove := range []string{"job/lln", "job/llm", "job/default/llm", "job/default/lln", "node/h200-2", "node/h200-9"} {
		w := post(h, "/whatif", url.Values{"remove": {remove}})
		assert.NotContains(t, strings.ReplaceAll(w.Body.String(), strings.TrimPrefix(remove, "job/"), ""), "llm", remove)
		assert.NotContains(t, w.Body.String(), "kubectl delete", remove)
	}

	for name, v := range map[string]Viewer{"nobody": nil, "no queues": restricted{namespaces: []string{"default"}}} {
		h := newServer(t, newSource(t, examples), as(v)).Handler()
		for _, path := range paths {
			open := strings.HasPrefix(path, "/waiting") || strings.HasPrefix(path, "/job/") && v != nil
			for _, path := range []string{path, asJSON(path)} {
				want := map[bool]int{true: 200, false: 403}[open]
				if strings.HasPrefix(path, "/job/") && v == nil {
					want = 404
				}
				assert.Equal(t, want, get(h, path).Code, "%s %s", name, path)
			}
		}
	}
}

// TestViewersOfOneModel opens all pages as a viewer who may see everything, and then as a viewer who may see queues
// alone. The pages of the first viewer are not kept for the second viewer.
func TestViewersOfOneModel(t *testing.T) {
	s, all := newSource(t, examples), true
	h := newServer(t, s, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var v Viewer = everyone
			if !all {
				v = restricted{queues: true}
			}
			next.ServeHTTP(w, r.WithContext(WithViewer(r.Context(), v)))
		})
	}).Handler()
	names := regexp.MustCompile(`tune|llm|vision|eval|survey|ocean|chat|embed|h200-`)
	shown := map[string]string{}
	for _, all = range []bool{true, false, true} {
		for _, path := range []string{"/", "/overview.json", "/waiting", "/cards", "/cards.json", "/health"} {
			body := get(h, path).Body.String()
			if !all {
				assert.Empty(t, names.FindString(body), path)
			} else if shown[path] == "" {
				assert.NotEmpty(t, names.FindString(body), path)
			}
			shown[path] = body
		}
	}
}

// TestWhatIf simulates a change, and gives the commands that make it.
func TestWhatIf(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	h := server.Handler()
	form := url.Values{"set": {"queue/research:cards.NVIDIA-H200=7"}}
	w := post(h, "/whatif", form)
	require.Equal(t, 200, w.Code)
	body := w.Body.String()
	assert.Contains(t, body, "llm-worker-4")
	assert.Contains(t, body, "Placed")
	assert.Contains(t, body, `kubectl patch queues.scheduling.volcano.sh research --type=merge -p &#39;{&#34;metadata&#34;:{&#34;annotations&#34;:{&#34;volcano.sh/card.quota&#34;:&#34;{\&#34;NVIDIA-H200\&#34;:7}&#34;}}}&#39;`)
	assert.NotContains(t, body, "sse-connect", "the result stays")
	text := words(body)
	assert.Contains(t, text, "With the change: 1 pod placed, 0 pods evicted, 1 job affected")
	assert.Less(t, strings.Index(text, "With the change:"), strings.Index(text, "Change queues"), "the outcome is first")
	assert.Contains(t, text, `Undo this change kubectl patch queues.scheduling.volcano.sh research --type=merge -p '{"metadata":{"annotations":{"volcano.sh/card.quota":"{\"NVIDIA-H200\": 6}"}}}'`)

	w = post(h, "/whatif.json", form)
	require.Equal(t, 200, w.Code)
	var comparison whatif.Comparison
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &comparison))
	assert.NotEmpty(t, comparison.Queues)
	var commands struct{ Commands, Undo []string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &commands))
	assert.Equal(t, []int{1, 1}, []int{len(commands.Commands), len(commands.Undo)})

	for name, c := range map[string]struct {
		form url.Values
		want string
	}{
		"a bad setting":     {url.Values{"set": {"queue/reserch:weight=1"}}, "did you mean"},
		"a broken manifest": {url.Values{"add": {"kind: Job\n  spec: ["}}, "manifest:"},
		"no such node":      {url.Values{"remove": {"node/none"}}, "there is no node"},
		"many pods":         {url.Values{"add": {manyPods}}, "at most 10000"},
		"many changes":      {url.Values{"set": {strings.Repeat("queue/lab:weight=1\n", 101)}}, "at most 100"},
	} {
		w := post(h, "/whatif.json", c.form)
		assert.Equal(t, 400, w.Code, name)
		assert.Contains(t, w.Body.String(), c.want, name)
		w = post(h, "/whatif", c.form)
		assert.Contains(t, w.Body.String(), c.want, name)
	}
	assert.Equal(t, 413, post(h, "/whatif", url.Values{"add": {strings.Repeat("x", formBytes+1)}}).Code)

	r := httptest.NewRequest(http.MethodPost, "/whatif", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	assert.Equal(t, 403, do(h, r).Code, "a form of another site")

	for range mostTrials {
		server.trials.running <- struct{}{}
	}
	w = post(h, "/whatif", form)
	assert.Equal(t, 503, w.Code)
	assert.NotEmpty(t, w.Header().Get("Retry-After"))
}

const manyPods = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {replicas: 2000000000, template: {spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}}`

// TestKeepsTheLastReading shows the last reading while the cluster is away.
func TestKeepsTheLastReading(t *testing.T) {
	s := newSource(t)
	s.objects = nil
	s.fail(errors.New("the cluster cannot be reached"))
	server := newServer(t, s, nil)
	h := server.Handler()
	for _, path := range paths {
		w := get(h, path)
		assert.Equal(t, 200, w.Code)
		assert.Contains(t, w.Body.String(), "the cluster cannot be reached")
		assert.Equal(t, 503, get(h, asJSON(path)).Code)
	}
	assert.Equal(t, 503, get(h, "/readyz").Code)
	assert.Equal(t, 200, get(h, "/livez").Code)

	s.objects = newSource(t, examples).objects
	s.fail(nil)
	server.keeper.read(t.Context(), true)
	assert.NotContains(t, get(h, "/queues").Body.String(), "cannot be reached")
	s.fail(errors.New("the cluster cannot be reached"))
	server.keeper.read(t.Context(), true)
	w := get(h, "/queues")
	assert.Contains(t, w.Body.String(), "the cluster cannot be reached")
	assert.Contains(t, w.Body.String(), "research")
	assert.Equal(t, 200, get(h, "/queues.json").Code)
}

// TestEvents expects an event in a browser after a change.
func TestEvents(t *testing.T) {
	s := newSource(t, examples)
	server := newServer(t, s, nil)
	listener := httptest.NewServer(server.Handler())
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, listener.URL+"/events?after=1", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	lines := bufio.NewScanner(answer.Body)
	require.True(t, lines.Scan())
	assert.Equal(t, "retry: 2000", lines.Text(), "the stream is open, and has no event yet")
	go server.Run(ctx)
	s.changed <- struct{}{}
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event:") {
	}
	assert.Equal(t, "event: reading", lines.Text())

	r.URL.RawQuery = "after=0"
	late, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer late.Body.Close()
	lines = bufio.NewScanner(late.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event:") {
	}
	assert.Equal(t, "event: reading", lines.Text(), "the page is older than the last reading")
}

// pipes is a listener for connections without a buffer.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error {
	close(p.conns)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestClientThatNeverReads drops a client that takes nothing, and serves another meanwhile.
func TestClientThatNeverReads(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	server.events.patience = time.Millisecond
	listener, ended := pipes{make(chan net.Conn, 1)}, make(chan bool)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		server.Handler().ServeHTTP(w, r)
	})}
	go func() { _ = web.Serve(listener) }()
	defer web.Close()
	client, conn := net.Pipe()
	listener.conns <- conn
	_, err := client.Write([]byte("GET /events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	require.NoError(t, err)
	server.events.publish()
	assert.Equal(t, 200, get(server.Handler(), "/queues").Code)
	<-ended
	assert.Zero(t, server.events.open())
}

// TestTooManyClients refuses streams beyond the bound of all.
func TestTooManyClients(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	for i := range mostClients {
		_, err := server.events.subscribe(fmt.Sprint(i), 0)
		require.NoError(t, err)
	}
	w := get(server.Handler(), "/events")
	assert.Equal(t, 503, w.Code)
	assert.Contains(t, w.Body.String(), errPages.Error())
	assert.NotEmpty(t, w.Header().Get("Retry-After"))
	server.events.publish()
	server.events.publish() // nobody reads, and it returns
}

// TestStreamsOfOneUser refuses streams beyond the limit of one user. Without user names, the limit is for one address.
// Other users and addresses get their streams.
func TestStreamsOfOneUser(t *testing.T) {
	for name, c := range map[string]struct {
		access       func(http.Handler) http.Handler
		mine, others func(*http.Request)
	}{
		"users": {func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r.WithContext(WithViewer(r.Context(), named(r.Header.Get("User")))))
			})
		}, func(r *http.Request) { r.RemoteAddr = "10.0.0.1:1"; r.Header.Set("User", "ann") },
			func(r *http.Request) { r.RemoteAddr = "10.0.0.1:1"; r.Header.Set("User", "ben") }},
		"addresses": {nil, func(r *http.Request) { r.RemoteAddr = "127.0.0.1:1" }, func(r *http.Request) { r.RemoteAddr = "127.0.0.2:1" }},
		"networks":  {nil, func(r *http.Request) { r.RemoteAddr = "[2001:db8::1]:1" }, func(r *http.Request) { r.RemoteAddr = "[2001:db8:0:1::1]:1" }},
	} {
		server := newServer(t, newSource(t, examples), c.access)
		h := server.Handler()
		events := func(of func(*http.Request)) *httptest.ResponseRecorder {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the stream ends at once
			r := httptest.NewRequest(http.MethodGet, "/events?after=1", nil).WithContext(ctx)
			of(r)
			return do(h, r)
		}
		r := httptest.NewRequest(http.MethodGet, "/events", nil)
		c.mine(r)
		owner := "user " + r.Header.Get("User")
		if c.access == nil {
			owner = "address " + AddressOf(r)
		}
		var clients []chan uint64
		for range mostOfOneUser {
			client, err := server.events.subscribe(owner, 0)
			require.NoError(t, err)
			clients = append(clients, client)
		}
		w := events(c.mine)
		assert.Equal(t, 503, w.Code, name)
		assert.Contains(t, w.Body.String(), errYourPages.Error(), name)
		assert.Equal(t, 200, events(c.others).Code, name)
		server.events.unsubscribe(clients[0])
		assert.Equal(t, 200, events(c.mine).Code, name)
		for _, client := range clients[1:] {
			server.events.unsubscribe(client)
		}
		assert.Empty(t, server.events.streams, name)
		assert.Zero(t, server.events.open(), name)
	}
}

// named is a viewer with a name, who may see nothing.
type named string

func (n named) Name() string                           { return string(n) }
func (n named) Queues(context.Context) bool            { return false }
func (n named) Nodes(context.Context) bool             { return false }
func (n named) Namespace(context.Context, string) bool { return false }

func TestAddressOf(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:80": "10.0.0.1", "[::ffff:10.0.0.1]:80": "10.0.0.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64", "pipe": "pipe", "": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", "10.9.9.9")
		assert.Equal(t, want, AddressOf(r), remote)
	}
}

// TestServe ends when its context does, with a stream open.
func TestServe(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(ctx, listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/events")
	require.NoError(t, err)
	defer answer.Body.Close()
	cancel()
	require.NoError(t, <-stopped)
}

// TestBars has parts that fill a bar and no more, for any rounding.
func TestBars(t *testing.T) {
	for scale := 1.0; scale < 40; scale++ {
		for deserved := 0.0; deserved <= scale; deserved++ {
			h := queues.Holding{Resource: "X", Card: true, Allocated: scale, Inqueue: 1, Deserved: &deserved}
			bar := barOf(queues.Row{Queue: &queues.Queue{}, Holding: h}, model.Borrowed(h), scale)
			for _, part := range []float64{bar.Own, bar.Borrowed, bar.Reserved} {
				require.GreaterOrEqual(t, part, 0.0)
			}
			require.InDelta(t, 100, bar.Own+bar.Borrowed+bar.Reserved, 1e-9)
		}
	}
	four, two := 4.0, 2.0
	over := barOf(queues.Row{Queue: &queues.Queue{}, Holding: queues.Holding{Resource: "X", Card: true, Allocated: 8, Capability: &four, Deserved: &two}}, 6, 8)
	assert.Equal(t, []float64{25, 25, 50, 100}, []float64{over.Own, over.Borrowed, over.Over, over.ReservedAt()})
	bar := barOf(queues.Row{Queue: &queues.Queue{}, Holding: queues.Holding{Resource: "X", Card: true, Allocated: 3, Inqueue: 1, Deserved: &two, Guarantee: 1, Capability: &four}}, 1, 8)
	assert.Equal(t, page.Bar{Resource: "X", Text: "3 + 1 / 4", Label: "X: deserved 2, guarantee 1, allocated 3, inqueue 1, capability 4", Own: 25, Borrowed: 12.5, Reserved: 12.5,
		Ticks: []page.Tick{{Name: "guarantee", At: 12.5}, {Name: "deserved", At: 25}, {Name: "quota", At: 50}}}, bar)
}

// TestColours has a queue in one colour in both charts, whatever its place.
func TestColours(t *testing.T) {
	layers := func(names ...string) (all []page.Layer) {
		for _, name := range names {
			all = append(all, page.Layer{Name: name})
		}
		return all
	}
	classes := map[string]string{}
	first, second := layers("b", "a", "c"), layers("d", "c", "e", "a")
	colour(first, classes)
	colour(second, classes)
	assert.Equal(t, map[string]string{"a": "q1", "b": "q2", "c": "q3", "d": "q2", "e": "q4"}, classes)
	assert.Equal(t, []string{"q2", "q1", "q3"}, []string{first[0].Class, first[1].Class, first[2].Class})
	assert.Equal(t, []string{"q2", "q3", "q4", "q1"}, []string{second[0].Class, second[1].Class, second[2].Class, second[3].Class})
}
