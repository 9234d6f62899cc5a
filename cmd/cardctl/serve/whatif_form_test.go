package serve

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPickers adds the picked values to a form, and simulates the form only with the button for that.
func TestPickers(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	for name, c := range map[string]struct {
		form      url.Values
		want      string
		simulates bool
	}{
		"a quota":          {url.Values{"fill": {"setting"}, "queue": {"research"}, "field": {"cards."}, "of": {"NVIDIA-H200"}, "value": {"7"}}, ">queue/research:cards.NVIDIA-H200=7</textarea>", false},
		"a second line":    {url.Values{"fill": {"setting"}, "set": {"queue/lab:weight=2"}, "queue": {"research"}, "field": {"max-jobs"}, "value": {"3"}}, ">queue/lab:weight=2\nqueue/research:max-jobs=3</textarea>", false},
		"no value":         {url.Values{"fill": {"setting"}, "queue": {"research"}, "field": {"max-jobs"}}, ">queue/research:max-jobs=</textarea>", false},
		"an object":        {url.Values{"fill": {"object"}, "object": {"job/default/tune"}}, ">job/default/tune</textarea>", false},
		"the other button": {url.Values{"queue": {"research"}, "field": {"cards."}, "of": {"NVIDIA-H200"}, "value": {"7"}}, "llm-worker-4", true},
		"nothing picked":   {url.Values{"set": {"queue/research:cards.NVIDIA-H200=7"}, "queue": {"research"}, "field": {""}, "kind": {"Job"}, "pods": {"1"}}, "llm-worker-4", true},
		"a policy":         {url.Values{"queue": {"research"}, "field": {"max-jobs"}, "value": {"1"}}, "max-jobs", true},
	} {
		w := post(h, "/whatif", c.form)
		require.Equal(t, http.StatusOK, w.Code, name)
		assert.Contains(t, w.Body.String(), c.want, name)
		assert.Equal(t, c.simulates, strings.Contains(w.Body.String(), "With the change:"), name)
	}
}

// TestTemplates inserts manifests that can be simulated, whatever the names are.
func TestTemplates(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	const evil = `x: "}, y: {`
	for _, kind := range []string{"Job", "Deployment"} {
		for _, queue := range []string{"climate", evil} {
			form := url.Values{"fill": {"job"}, "kind": {kind}, "namespace": {"default"}, "in": {queue}, "card": {"Ascend910B"}, "pods": {"2"}, "each": {"1"}}
			w := post(h, "/whatif", form)
			require.Equal(t, http.StatusOK, w.Code)
			text := regexp.MustCompile(`(?s)<textarea id="add"[^>]*>(.*?)</textarea>`).FindStringSubmatch(w.Body.String())[1]
			manifest := html.UnescapeString(text)
			assert.Contains(t, manifest, "huawei.com/Ascend910", "the resource of the card")
			w = post(h, "/whatif", url.Values{"add": {manifest}})
			require.Equal(t, http.StatusOK, w.Code)
			if body := words(w.Body.String()); queue == evil {
				assert.Contains(t, body, "what-if")
			} else {
				assert.Contains(t, body, "default/what-if climate waits with 2 needs", kind)
				assert.Contains(t, body, "kubectl delete -f manifest.yaml")
			}
		}
	}
}

// TestNames suggests names that the viewer may see.
func TestNames(t *testing.T) {
	s := newSource(t, examples)
	names := func(v Viewer, query string) string {
		w := get(newServer(t, s, as(v)).Handler(), "/names?"+query)
		assert.Equal(t, http.StatusOK, w.Code)
		return strings.TrimSpace(strings.NewReplacer(`<option value="`, " ", `"></option>`, "").Replace(w.Body.String()))
	}
	assert.Equal(t, "train", names(everyone, "queue=TR"))
	assert.Equal(t, "research", names(everyone, "in=sea"))
	assert.Equal(t, "job/default/llm", names(everyone, "object=llm"))
	assert.Equal(t, "node/h800-1 node/h800-2", names(everyone, "object=node/h8"))
	assert.Contains(t, names(everyone, "queue="), "climate")
	queuesOnly := restricted{queues: true, namespaces: []string{"other"}}
	assert.Equal(t, "queue/train", names(queuesOnly, "object=train"))
	for _, query := range []string{"object=llm", "object=h200", "queue=llm"} {
		assert.Empty(t, names(queuesOnly, query), query)
	}
	for _, v := range []Viewer{nobody, restricted{namespaces: []string{"default"}}} {
		assert.Empty(t, names(v, "queue=train"))
		assert.Empty(t, names(v, "object=llm"))
	}
}

// TestProgress tells how far a simulation is, under its name and while it runs.
func TestProgress(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	h := server.Handler()
	const run = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	assert.Equal(t, http.StatusNotFound, get(h, "/whatif/progress.json?run="+run).Code)
	report, end := server.progress.begin(run)
	report("before")(3, 7)
	assert.JSONEq(t, `{"what": "before", "cycle": 3, "events": 7}`, get(h, "/whatif/progress.json?run="+run).Body.String())
	assert.Equal(t, http.StatusNotFound, get(h, "/whatif/progress.json?run=other").Code)
	stranger := New(Options{Source: server.options.Source, Access: as(nobody), Log: t.Logf})
	stranger.progress.stages.Store(run, stage{What: "before"})
	assert.Equal(t, http.StatusNotFound, get(stranger.Handler(), "/whatif/progress.json?run="+run).Code)
	end()
	server.progress.stages.Range(func(run, _ any) bool { return assert.Fail(t, "a stage is left", run) })
	report, end = server.progress.begin("guess")
	assert.Nil(t, report)
	end()
	page := get(h, "/whatif").Body.String()
	assert.Regexp(t, runName, regexp.MustCompile(`name="run" value="([^"]*)"`).FindStringSubmatch(page)[1])
}
