package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// viewExample is the cluster of docs/cardctl.md.
const viewExample = "examples/cardctl"

// viewPath is a page of the example.
type viewPath struct{ name, path, title string }

// viewPaths are the pages in the order of the navigation.
var viewPaths = []viewPath{
	{"overview", "/", "Overview"},
	{"queues", "/queues", "Queues"},
	{"waiting", "/waiting", "Waiting"},
	{"cards", "/cards", "Cards"},
	{"lending", "/lending", "Lending"},
	{"whatif", "/whatif", "What if"},
	{"health", "/health", "Health"},
	{"audit", "/audit", "Audit"},
	{"history", "/history", "History"},
	{"holders", "/holders?by=namespace", "Who has which cards"},
}

// illustrated are the pages with a picture in docs/.
var illustrated = []string{"overview", "queues", "queue", "waiting", "job", "cards", "health", "history"}

// paths are all pages: the pages of the navigation, and pages of a job, of queues and of a node.
func (p *pages) paths(t *testing.T) []viewPath {
	return append(viewPaths[:len(viewPaths):len(viewPaths)], viewPath{"job", p.jobPath(t, "Job/llm"), "default/Job/llm"},
		viewPath{"queue", "/queue/research", "research"}, viewPath{"sorted", "/queues?sort=use&scale=common", "as a tree"},
		viewPath{"node", "/cards?node=h200-1&queue=research", "h200-1"})
}

// jobPath is the path of the page that explains a job that waits.
func (p *pages) jobPath(t *testing.T, owner string) string {
	t.Helper()
	p.answers(t, "/readyz", "", http.StatusOK)
	_, text, err := p.get("/waiting.json", "")
	require.NoError(t, err)
	var waiting struct {
		Items []struct{ Namespace, Name, Owner string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &waiting))
	for _, each := range waiting.Items {
		if each.Owner == owner {
			return "/job/" + each.Namespace + "/" + each.Name
		}
	}
	t.Fatalf("%s does not wait: %s", owner, text)
	return ""
}

// TestViewPages opens each page of the example as users see it: on a laptop, in the dark, in Chinese, in a narrow
// window, on a 4K screen, without scripts, and on paper. Nothing may be wrong in the console, wider than the window,
// or, for axe-core, inaccessible.
func TestViewPages(t *testing.T) {
	p := servePages(t, "-f", viewExample)
	paths := p.paths(t)
	for _, each := range []struct {
		name    string
		prepare []chromedp.Action
	}{
		{"light", nil},
		{"dark", []chromedp.Action{prefer("prefers-color-scheme", "dark")}},
		{"chinese", []chromedp.Action{speak("zh-CN")}},
		{"narrow", []chromedp.Action{sized(narrow)}},
		{"wide", []chromedp.Action{sized(wide)}},
		{"still", nil},
		{"contrast", []chromedp.Action{prefer("forced-colors", "active")}},
	} {
		t.Run(each.name, func(t *testing.T) {
			b := openBrowser(t, p.address)
			b.run(t, each.prepare...)
			for _, of := range paths {
				t.Run(of.name, func(t *testing.T) {
					b.run(t, scripts(each.name != "still"))
					b.open(t, of.path)
					b.run(t, scripts(true)) // scripts of the checks; scripts of the page do not run any more
					picture := b.picture(t, of.name+"-"+each.name)
					if each.name == "light" && slices.Contains(illustrated, of.name) {
						illustrate(t, of.name, picture)
					}
					b.fits(t)
					if each.name != "chinese" {
						b.shows(t, of.title)
					}
					b.accessible(t)
					if each.name == "light" {
						b.print(t, of.name)
					}
					assert.Empty(t, b.takeProblems())
				})
			}
		})
	}
}

// TestViewAnswers reads the answers to questions of a user from the pages: who has which cards, why llm waits, who
// could take cards back, and which change would let llm in.
func TestViewAnswers(t *testing.T) {
	p := servePages(t, "-f", viewExample)
	b := openBrowser(t, p.address)
	b.open(t, "/")
	b.shows(t, "NVIDIA-H200", "needs 1 more NVIDIA-H200; research is full, 6 of 6", "train")
	b.open(t, "/queue/train")
	b.shows(t, "default/Job/llm", "4 NVIDIA-H200", "h200-1, h200-2", "4 of 6")
	b.open(t, p.jobPath(t, "Job/llm"))
	b.shows(t, "llm", "Needs 1 more NVIDIA-H200; research is full, 6 of 6")
	b.open(t, "/whatif")
	b.run(t, chromedp.SetValue(`[name="set"]`, "queue/research:cards.NVIDIA-H200=8", chromedp.ByQuery), chromedp.Submit(`[name="set"]`, chromedp.ByQuery))
	b.shows(t, "research", "NVIDIA-H200", "kubectl")
	illustrate(t, "whatif", b.picture(t, "whatif-answer"))
	b.fits(t)
	b.accessible(t)
	b.run(t, chromedp.SetValue(`[name="add"]`, "kind: [", chromedp.ByQuery), chromedp.Submit(`[name="set"]`, chromedp.ByQuery))
	b.shows(t, "did not find expected node content")
}

// TestViewKeyboard reaches everything on each page with the keyboard, where the focus can be seen.
func TestViewKeyboard(t *testing.T) {
	p := servePages(t, "-f", viewExample)
	b := openBrowser(t, p.address)
	for _, of := range p.paths(t) {
		b.open(t, of.path)
		var controls int
		b.evaluate(t, `(window.controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]).length`, &controls)
		for range controls {
			b.run(t, chromedp.KeyEvent(kb.Tab))
			b.evaluate(t, `document.activeElement.reached = getComputedStyle(document.activeElement).outlineStyle !== "none"`, nil)
		}
		var missed []string
		b.evaluate(t, `window.controls.filter(e => !e.reached).map(e => e.outerHTML.slice(0, 120))`, &missed)
		assert.Empty(t, missed, of.path)
	}

	b.open(t, "/queues")
	press := `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true, cancelable: true}))`
	b.waits(t, `!(`+press+`) && document.activeElement.name === "search"`)
	b.waits(t, press) // in a field it is a letter
	b.open(t, "/queues")
	b.run(t, chromedp.Focus("#toggle-research", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	b.waits(t, `document.getElementById("toggle-research").getAttribute("aria-expanded") === "false" && !document.getElementById("queue-lab")`)
	b.waits(t, `document.activeElement.id === "toggle-research" && location.search === "?close=research"`)
	b.run(t, chromedp.KeyEvent(kb.Enter))
	b.waits(t, `document.getElementById("queue-lab") !== null`)
	b.run(t, chromedp.KeyEvent("3", chromedp.KeyModifiers(input.ModifierAlt)))
	b.waits(t, `location.pathname === "/waiting"`)
	b.run(t, chromedp.NavigateBack())
	b.waits(t, `location.pathname === "/queues" && document.getElementById("queue-lab") !== null`)
}

// TestViewScripts shows times in the zone of the browser, copies a command, suggests the names of queues, and says that
// a simulation runs.
func TestViewScripts(t *testing.T) {
	p := servePages(t, "-f", viewExample)
	b := openBrowser(t, p.address)
	b.run(t, emulation.SetTimezoneOverride("Asia/Shanghai"))
	b.open(t, "/history")
	b.waits(t, `[...document.querySelectorAll("time")].every(e => e.textContent.endsWith("GMT+8") && e.title.endsWith("UTC"))`)
	b.run(t, chromedp.Click("footer .copy", chromedp.ByQuery))
	b.waits(t, `document.querySelector("footer .copy").textContent === "Copied"`)
	b.run(t, chromedp.SendKeys(`[name="queue"]`, "tra", chromedp.ByQuery))
	b.waits(t, `[...document.querySelectorAll("#queue-names option")].map(e => e.value).join() === "train"`)
	b.open(t, "/whatif")
	b.evaluate(t, `document.querySelector("form.whatif").addEventListener("submit", e => e.preventDefault())`, nil)
	b.run(t, chromedp.Click("button.main", chromedp.ByQuery))
	b.waits(t, `!document.querySelector("[data-running]").hidden && / s$/.test(document.querySelector("[data-running]").innerText)`)
	b.takeProblems() // that no simulation has the name
}

// TestViewOtherSites opens pages of other sites that use the server: they change nothing, and
// learn nothing.
func TestViewOtherSites(t *testing.T) {
	p := servePages(t, "-f", viewExample)
	p.answers(t, "/readyz", "", http.StatusOK)
	const change = "queue/research:cards.NVIDIA-H200=8"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="%[1]s%[2]s"><input name="set" value="%[3]s"><button id="send">send</button></form><a id="follow" href="%[1]s/whatif?set=%[3]s">follow</a><iframe src="%[1]s/queues"></iframe>`,
			p.address, r.URL.Query().Get("to"), change)
	}))
	t.Cleanup(other.Close)
	b := openBrowser(t, p.address)
	for _, site := range []string{other.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)} {
		for _, to := range []string{"/whatif", "/whatif.json", "/login", "/logout"} {
			b.run(t, chromedp.Navigate(site+"?to="+to), chromedp.Click("#send", chromedp.ByQuery))
			b.shows(t, "cross-origin")
		}
		b.run(t, chromedp.Navigate(site))
		var answer string
		b.evaluate(t, fmt.Sprintf(`fetch("%s/queues.json", {mode: "no-cors"}).then(() => "read", e => e.name)`, p.address), &answer)
		assert.Equal(t, "TypeError", answer)
		var frames int
		b.evaluate(t, `[...document.querySelectorAll("iframe")].filter(f => { try { return f.contentDocument && f.contentDocument.body.innerText } catch { return false } }).length`, &frames)
		assert.Zero(t, frames)
		b.run(t, chromedp.Click("#follow", chromedp.ByQuery))
		b.shows(t, "What if", "Simulate")
		assert.NotContains(t, b.text(t), "before and after", "a link fills the form, and simulates nothing")
		b.takeProblems() // the refused requests
	}
}

// TestViewFollows changes a cluster while pages of it are open. They show it without a reload.
func TestViewFollows(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	p := servePages(t, "--kubeconfig", c.Kubeconfig(), "--scheduler-conf", "examples/cards/scheduler.conf.yaml")
	b := openBrowser(t, p.address)
	b.open(t, "/waiting")
	b.shows(t, "No job waits.")
	c.queue(t, "followed", `{"NVIDIA-H200": 3}`)
	c.submit(t, "four", "followed", h200, 4)
	c.runs(t, "four", map[string]int{h200: 3}, 1)
	b.shows(t, "followed lacks 1 NVIDIA-H200", "four")
	c.setQuota(t, "followed", `{"NVIDIA-H200": 4}`)
	b.shows(t, "No job waits.")

	b.open(t, "/queues")
	b.shows(t, "followed")
	// A name that is a script comes from the API server as text: it is no valid name, but a valid annotation.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{quotaKey: `{"<script>alert(1)</script>": 1}`}}})
	require.NoError(t, err)
	_, err = c.Volcano.SchedulingV1beta1().Queues().Patch(t.Context(), "followed", types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	b.shows(t, "<script>alert(1)</script>")

	p.stop()
	b.shows(t, "The server does not answer.")
	b.picture(t, "lost")
	b.takeProblems() // that it does not
}

// TestViewLending has a queue borrow all cards and another take one back, once a policy of the borrower allows it. A
// server that starts later knows the eviction from an event.
func TestViewLending(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	flags := []string{"--scheduler-conf", "examples/cards/scheduler.conf.yaml"}
	b := openBrowser(t, servePages(t, flags...).address)
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/min-runtime", "reclaim=1h")
	borrowAll(t, c)
	b.open(t, "/queues?search=training")
	b.shows(t, "min-runtime reclaim=1h")
	b.open(t, "/waiting")
	b.shows(t, "owner", "have not run for long enough to be reclaimed (8 pods) min-runtime reclaim=1h of queue training")
	b.picture(t, "waiting-policy")
	b.open(t, "/lending")
	b.shows(t, "training", "Nothing: no job that waits can take anything back now.")
	c.annotate(t, "training", "volcano.sh/min-runtime", "reclaim=0s")
	c.runs(t, "owner", map[string]int{rtx4090D: 1}, 0)
	b.shows(t, "borrower-", "Pod is evicted, because of reclaim", "/owner (inference)")
	illustrate(t, "lending", b.picture(t, "lending-live"))
	b.fits(t)
	b.accessible(t)

	late := openBrowser(t, servePages(t, flags...).address)
	late.open(t, "/lending")
	late.shows(t, " event ", "Pod is evicted, because of reclaim", "/owner (inference)", "before this server started")
	late.picture(t, "lending-event")
	late.accessible(t)
}

// hostile are objects with scripts as names. The API server admits no such names, but files have them.
const hostile = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: "<script>alert(1)</script>"
  annotations: {volcano.sh/card.quota: '{"<img src=x onerror=alert(2)>": 1, "NVIDIA-H200": 1}'}
---
apiVersion: v1
kind: Node
metadata:
  name: "\"><script>alert(3)</script>"
  labels: {nvidia.com/gpu.product: NVIDIA-H200}
status: {allocatable: {cpu: 8, memory: 8Gi, pods: 9, nvidia.com/gpu: 8}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: "javascript:alert(4)'><script>alert(5)</script>", namespace: "<b>"}
spec:
  queue: "<script>alert(1)</script>"
  minAvailable: 3
  schedulerName: volcano
  tasks:
  - replicas: 3
    name: w
    template:
      metadata: {annotations: {volcano.sh/card.name: NVIDIA-H200}}
      spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
`

// TestViewEscapes shows names that are scripts on every page, and runs none of them.
func TestViewEscapes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hostile.yaml")
	require.NoError(t, os.WriteFile(file, []byte(hostile), 0o600))
	p := servePages(t, "-f", file)
	b := openBrowser(t, p.address)
	for _, of := range viewPaths {
		query := "?"
		if strings.Contains(of.path, "?") {
			query = "&"
		}
		b.open(t, of.path+query+"search=%22%3E%3Cscript%3Ealert(6)%3C/script%3E")
		b.open(t, of.path)
		var scripts []string
		b.evaluate(t, `[...document.querySelectorAll("script:not([src]), [onerror], [onload], body b, body img:not([src^='/assets/'])")].map(e => e.outerHTML)`, &scripts)
		assert.Empty(t, scripts, of.path)
		assert.Empty(t, b.takeProblems(), of.path)
		b.picture(t, "escaped-"+of.name)
	}
	b.open(t, "/queues")
	b.shows(t, "<script>alert(1)</script>")
	response, err := p.client.Post(p.address+"/whatif", "application/x-www-form-urlencoded", strings.NewReader("set=x&add="+strings.Repeat("a", 2<<20)))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	require.Contains(t, response.Header.Get("Content-Security-Policy"), "script-src 'self'")
	require.NotContains(t, response.Header.Get("Content-Security-Policy"), "unsafe")
}

// TestViewLarge opens the queues of a large cluster. It reports how long that takes, and how large the answers are.
func TestViewLarge(t *testing.T) {
	const queues = 5000
	var text strings.Builder
	for i := range queues {
		parent, quota := "root", 800
		if i >= 50 {
			parent, quota = fmt.Sprintf("department-%02d", i%50), 8
		}
		name := fmt.Sprintf("team-%04d", i)
		if i < 50 {
			name = fmt.Sprintf("department-%02d", i)
		}
		fmt.Fprintf(&text, "kind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: %s, annotations: {volcano.sh/card.quota: '{\"NVIDIA-H200\": %d}'}}\nspec: {parent: %s}\n---\n", name, quota, parent)
	}
	for i := range 100 {
		fmt.Fprintf(&text, "kind: Node\napiVersion: v1\nmetadata: {name: node-%03d, labels: {nvidia.com/gpu.product: NVIDIA-H200}}\nstatus: {allocatable: {cpu: 64, memory: 512Gi, pods: 99, nvidia.com/gpu: 8}}\n---\n", i)
	}
	file := filepath.Join(t.TempDir(), "large.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	p := servePages(t, "-f", file)
	p.answers(t, "/readyz", "", http.StatusOK)
	b := openBrowser(t, p.address)
	for name, path := range map[string]string{
		"the tree": "/queues", "one department": "/queues?open=department-07", "a search": "/queues?search=team-42", "cards": "/cards",
	} {
		b.open(t, path)
		var took struct{ Duration, TransferSize, DecodedBodySize float64 }
		b.evaluate(t, `(e => ({Duration: e.duration, TransferSize: e.transferSize, DecodedBodySize: e.decodedBodySize}))(performance.getEntriesByType("navigation")[0])`, &took)
		t.Logf("%s of %d queues: %.0f ms until it is loaded, %.0f KiB", name, queues, took.Duration, took.DecodedBodySize/1024)
		b.picture(t, "large-"+strings.ReplaceAll(name, " ", "-"))
	}
	b.open(t, "/queues?search=team-42")
	b.shows(t, "team-4200", "department-")
}
