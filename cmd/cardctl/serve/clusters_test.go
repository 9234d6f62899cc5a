package serve

import (
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownAddress is an address of this server in a page.
var ownAddress = regexp.MustCompile(`(?:href|action|hx-get|sse-connect|data-running)="(/[^"]*)"`)

// twoClusters returns the servers of a cluster that is read, and of one that does not answer. The name of the second
// has a slash, as names of clusters in clouds have.
func twoClusters(t *testing.T) Clusters {
	t.Helper()
	away := newSource(t, examples)
	away.objects = nil
	away.err = errors.New("no answer")
	all := NewClusters([]Options{
		{Source: newSource(t, examples), Cluster: "near", Interval: time.Millisecond, Flags: []string{"--context=near"}, Log: t.Logf},
		{Source: away, Cluster: "team/far", Interval: time.Millisecond, Flags: []string{"--context=team/far"}, Log: t.Logf},
	})
	for _, s := range all {
		s.keeper.read(t.Context(), true)
	}
	return all
}

// TestPagesOfClusters follows the links of all pages of a cluster. All links stay in the cluster, except for the choice
// of clusters.
func TestPagesOfClusters(t *testing.T) {
	h := twoClusters(t).Handler()
	w := get(h, "/")
	assert.Equal(t, http.StatusSeeOther, w.Code)
	assert.Equal(t, "/cluster/near/", w.Header().Get("Location"))

	followed := map[string]bool{}
	for _, path := range append([]string{"/"}, paths...) {
		w := get(h, "/cluster/near"+path)
		require.Equal(t, http.StatusOK, w.Code, path)
		body := w.Body.String()
		assert.Contains(t, body, `aria-current="true">near</a>`, path)
		assert.Contains(t, body, `team/far</a> <span class="badge error">not read</span>`, path)
		if !strings.HasPrefix(path, "/whatif") {
			assert.Contains(t, body, `hx-select-oob="#clusters"`, "the choice follows the clusters")
		}

		for _, found := range ownAddress.FindAllStringSubmatch(body, -1) {
			address := html.UnescapeString(found[1])
			own := strings.HasPrefix(address, "/cluster/near/") || strings.HasPrefix(address, "/assets/")
			assert.True(t, own || strings.HasPrefix(address, "/cluster/team%2Ffar/"), "%s on %s", address, path)
			address, _, _ = strings.Cut(address, "#")
			if followed[address] || strings.HasPrefix(address, "/cluster/near/events") || strings.HasSuffix(address, "/progress.json") {
				continue
			}
			followed[address] = true
			assert.NotEqual(t, http.StatusNotFound, get(h, address).Code, "%s on %s", address, path)
		}
	}
	assert.Greater(t, len(followed), 20)

	assert.Contains(t, get(h, "/cluster/near/queues").Body.String(), `href="/cluster/team%2Ffar/queues"`, "the same page")
	assert.Contains(t, get(h, "/cluster/near/queue/lab").Body.String(), `href="/cluster/team%2Ffar/"`, "the queue may be unknown there")
	assert.Contains(t, get(h, "/cluster/near/queues?lang=zh").Body.String(), `href="/cluster/team%2Ffar/queues?lang=zh"`)
	assert.Contains(t, get(h, "/cluster/near/cards").Body.String(), "cardctl cards --context=near")
	assert.Contains(t, get(h, "/cluster/near/queues.json").Body.String(), `"kind": "QueueList"`)
	w = post(h, "/cluster/near/whatif.json", url.Values{"set": {"queue/research:cards.NVIDIA-H200=7"}})
	assert.Equal(t, http.StatusOK, w.Code, w.Body.String())
}

// TestClusterThatIsAway shows the error on the pages of the cluster alone.
func TestClusterThatIsAway(t *testing.T) {
	all := twoClusters(t)
	h := all.Handler()
	w := get(h, "/cluster/team%2Ffar/queues")
	assert.Equal(t, http.StatusOK, w.Code, "the page fills itself")
	assert.Contains(t, w.Body.String(), "no answer")
	assert.Contains(t, w.Body.String(), `aria-current="true">team/far</a>`)
	assert.Equal(t, http.StatusServiceUnavailable, get(h, "/cluster/team%2Ffar/queues.json").Code)
	assert.NotContains(t, get(h, "/cluster/near/queues").Body.String(), "no answer")
	assert.Equal(t, http.StatusOK, get(h, "/readyz").Code, "one cluster is read")
	assert.Equal(t, http.StatusServiceUnavailable, get(h, "/cluster/team%2Ffar/readyz").Code)

	assert.Equal(t, http.StatusNotFound, get(h, "/cluster/nowhere/queues").Code)
	assert.Equal(t, http.StatusNotFound, get(h, "/queues").Code)
	assert.Equal(t, http.StatusOK, get(h, "/livez").Code)
	assert.Contains(t, get(h, "/cluster/near/metrics").Body.String(), `cardctl_cluster_readings_total{result="ok"} 1`)

	back := all[1].options.Source.(*source)
	back.objects = newSource(t, examples).objects
	back.fail(nil)
	all[1].keeper.read(t.Context(), true)
	assert.NotContains(t, get(h, "/cluster/near/queues").Body.String(), "not read")
	assert.Contains(t, get(h, "/cluster/team%2Ffar/queues").Body.String(), "research")
}

// TestClustersOfThisMachine tells another site nothing, not even which clusters there are.
func TestClustersOfThisMachine(t *testing.T) {
	h := twoClusters(t).Handler()
	for _, path := range []string{"/", "/cluster/near/", "/cluster/nowhere/", "/cluster/near/livez"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "rebound.example.com"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, http.StatusMisdirectedRequest, w.Code, path)
		assert.Empty(t, w.Header().Get("Location"), path)
	}
}

// TestOneClusterHasNoChoice has no mark of several clusters on the pages of one.
func TestOneClusterHasNoChoice(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	for _, path := range paths {
		body := get(h, path).Body.String()
		assert.NotContains(t, body, "/cluster/", path)
		assert.NotContains(t, body, `id="clusters"`, path)
		assert.NotContains(t, body, "hx-select-oob", path)
	}
}
