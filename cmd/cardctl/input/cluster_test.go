package input

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// apiServer answers with lists, and with a status for paths that contain a word.
func apiServer(t *testing.T, word string, status int) *rest.Config {
	t.Helper()
	lists := map[string]string{
		"/nodes":           `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n"}}]}`,
		"/pods":            `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p","namespace":"team"}}]}`,
		"/queues":          `{"kind":"QueueList","apiVersion":"scheduling.volcano.sh/v1beta1","items":[{"metadata":{"name":"q"}}]}`,
		"/podgroups":       `{"kind":"PodGroupList","apiVersion":"scheduling.volcano.sh/v1beta1","items":[]}`,
		"/jobs":            `{"kind":"JobList","apiVersion":"batch.volcano.sh/v1alpha1","items":[]}`,
		"/priorityclasses": `{"kind":"PriorityClassList","apiVersion":"scheduling.k8s.io/v1","items":[]}`,
		"/volcano-scheduler-configmap": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"volcano-scheduler-configmap"},` +
			`"data":{"volcano-scheduler.conf":"tiers: []"}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodGet, r.Method, "only reads")
		w.Header().Set("Content-Type", "application/json")
		if word != "" && strings.Contains(r.URL.Path, word) {
			w.WriteHeader(status)
			return
		}
		_, _ = w.Write([]byte(lists[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):]]))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestReadCluster(t *testing.T) {
	o, err := ReadCluster(t.Context(), apiServer(t, "", 0), nil)
	require.NoError(t, err)
	assert.Equal(t, 3, o.Len())
	assert.Equal(t, "team", o.Pods[0].Namespace)
	assert.Equal(t, "cluster", o.SourceOf(o.Nodes[0]).String())
	assert.Equal(t, []string{"tiers: []"}, o.Configurations)
}

func TestClusterThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		word   string
		status int
		want   string // "" for none
	}{
		"no permission":                 {"/pods", http.StatusForbidden, "no permission to list pods in all namespaces of"},
		"bad credentials":               {"/", http.StatusUnauthorized, "does not accept these credentials"},
		"no Volcano":                    {"volcano.sh", http.StatusNotFound, "has no jobs.batch.volcano.sh: is Volcano installed?"},
		"no priority classes, may be":   {"/priorityclasses", http.StatusForbidden, ""},
		"no scheduler's configuration":  {"/volcano-scheduler-configmap", http.StatusNotFound, ""},
		"configuration may not be read": {"/volcano-scheduler-configmap", http.StatusForbidden, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := ReadCluster(t.Context(), apiServer(t, c.word, c.status), nil)
			if c.want == "" {
				require.NoError(t, err)
				assert.Equal(t, 3, o.Len())
				return
			}
			require.ErrorContains(t, err, c.want)
			for line := range strings.Lines(err.Error()) {
				assert.NotContains(t, line, "  ")
			}
		})
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	_, err := ReadCluster(t.Context(), &rest.Config{Host: closed.URL}, nil)
	require.ErrorContains(t, err, "cannot be reached: connection refused")
	assert.NotContains(t, err.Error(), "\n", "reported once, not for each kind")
}
