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

// scheduler is a Deployment of the scheduler with a name and a ConfigMap of its own.
const scheduler = `{"metadata":{"name":"own","namespace":"batch"},"spec":{"template":{"spec":{
	"containers":[{"name":"c","args":["--logtostderr","--scheduler-conf=/etc/conf/volcano.conf"],"volumeMounts":[{"name":"v","mountPath":"/etc/conf"}]}],
	"volumes":[{"name":"v","configMap":{"name":"own-conf","items":[{"key":"my.conf","path":"volcano.conf"}]}}]}}}}`

// apiServer answers with lists, and with a status for paths that contain a word. More are
// the ends of paths and their answers.
func apiServer(t *testing.T, word string, status int, more ...string) *rest.Config {
	t.Helper()
	lists := map[string]string{
		"/nodes":           `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n"}}]}`,
		"/pods":            `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p","namespace":"team"}}]}`,
		"/queues":          `{"kind":"QueueList","apiVersion":"scheduling.volcano.sh/v1beta1","items":[{"metadata":{"name":"q"}}]}`,
		"/podgroups":       `{"kind":"PodGroupList","apiVersion":"scheduling.volcano.sh/v1beta1","items":[]}`,
		"/jobs":            `{"kind":"JobList","apiVersion":"batch.volcano.sh/v1alpha1","items":[]}`,
		"/priorityclasses": `{"kind":"PriorityClassList","apiVersion":"scheduling.k8s.io/v1","items":[]}`,
		"/deployments":     `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` + scheduler + `,{"metadata":{"name":"web"}}]}`,
		"/own-conf": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"own-conf","namespace":"batch"},` +
			`"data":{"my.conf":"tiers: []","old.conf":"tiers: {}"}}`,
		"/volcano-scheduler-configmap": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"volcano-scheduler-configmap","namespace":"volcano-system"},` +
			`"data":{"volcano-scheduler.conf":"tiers: [chart]"}}`,
	}
	for i := 0; i < len(more); i += 2 {
		lists[more[i]] = more[i+1]
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodGet, r.Method, "only reads")
		w.Header().Set("Content-Type", "application/json")
		if word != "" && strings.Contains(r.URL.Path, word) {
			w.WriteHeader(status)
			return
		}
		answer, known := lists[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):]]
		if !known { // such as a release without resource claims
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestReadCluster(t *testing.T) {
	o, err := ReadCluster(t.Context(), apiServer(t, "", 0), true, nil)
	require.NoError(t, err)
	assert.Equal(t, 4, o.Len())
	assert.Equal(t, "team", o.Pods[0].Namespace)
	assert.Equal(t, "cluster", o.SourceOf(o.Nodes[0]).String())
	found, _, err := o.Configuration()
	require.NoError(t, err)
	assert.Equal(t, &Configuration{Text: "tiers: []", Origin: "ConfigMap batch/own-conf, which Deployment batch/own mounts", Object: "ConfigMap/batch/own-conf", ConfigMap: o.configMap("batch", "own-conf"), Key: "my.conf"}, found)
}

func TestClusterThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		word   string
		status int
		want   []string
	}{
		"no permission":   {"/pods", http.StatusForbidden, []string{"no permission to list pods in all namespaces of", "quotas are counted across the cluster"}},
		"bad credentials": {"/", http.StatusUnauthorized, []string{"does not accept these credentials"}},
		"no Volcano":      {"volcano.sh", http.StatusNotFound, []string{"has no jobs.batch.volcano.sh: is Volcano installed?"}},
		"Deployments may not be read": {"/deployments", http.StatusForbidden,
			[]string{"no permission to list deployments.apps", "the scheduler's Deployment names its configuration (name it with --scheduler-conf or --plugin)"}},
		"the ConfigMap may not be read": {"/own-conf", http.StatusForbidden,
			[]string{"no permission to get the ConfigMap batch/own-conf of http", "(name it with --scheduler-conf or --plugin)"}},
		"the ConfigMap cannot be read": {"/own-conf", http.StatusInternalServerError, []string{"listing configmaps: "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadCluster(t.Context(), apiServer(t, c.word, c.status), true, nil)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			for line := range strings.Lines(err.Error()) {
				assert.NotContains(t, line, "  ")
			}
		})
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	_, err := ReadCluster(t.Context(), &rest.Config{Host: closed.URL}, true, nil)
	require.ErrorContains(t, err, "cannot be reached: connection refused")
	assert.NotContains(t, err.Error(), "\n", "reported once, not for each kind")
}

// TestClusterWithoutConfiguration expects the reason why there is no configuration. The reason names the ConfigMap of
// Volcano's chart only where no Deployment runs the scheduler.
func TestClusterWithoutConfiguration(t *testing.T) {
	o, err := ReadCluster(t.Context(), apiServer(t, "/own-conf", http.StatusNotFound), true, nil)
	require.NoError(t, err)
	found, missing, err := o.Configuration()
	require.NoError(t, err)
	assert.Nil(t, found)
	assert.Equal(t, "Deployment batch/own mounts ConfigMap batch/own-conf, which is missing", missing)

	o.Deployments, o.ConfigMaps = nil, nil
	_, missing, err = o.Configuration()
	require.NoError(t, err)
	assert.Equal(t, "no Deployment runs the scheduler volcano, and there is no ConfigMap volcano-system/volcano-scheduler-configmap", missing)
}

// TestConfigurationOfTheChart expects the ConfigMap of Volcano's chart where no Deployment
// runs the scheduler, such as with a scheduler outside of the cluster.
func TestConfigurationOfTheChart(t *testing.T) {
	o, err := ReadCluster(t.Context(), apiServer(t, "", 0, "/deployments", `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`), true, nil)
	require.NoError(t, err)
	found, _, err := o.Configuration()
	require.NoError(t, err)
	assert.Equal(t, &Configuration{Text: "tiers: [chart]", Origin: "ConfigMap volcano-system/volcano-scheduler-configmap", Object: "ConfigMap/volcano-system/volcano-scheduler-configmap", ConfigMap: o.ConfigMaps[0], Key: "volcano-scheduler.conf"}, found)
}

// TestClusterThatNeedsNoConfiguration reads neither Deployments nor ConfigMaps.
func TestClusterThatNeedsNoConfiguration(t *testing.T) {
	for _, word := range []string{"/deployments", "configmap", "/own-conf"} {
		o, err := ReadCluster(t.Context(), apiServer(t, word, http.StatusForbidden), false, nil)
		require.NoError(t, err)
		assert.Equal(t, 3, o.Len())
	}
}

func TestUnreadablePriorityClasses(t *testing.T) {
	o, err := ReadCluster(t.Context(), apiServer(t, "/priorityclasses", http.StatusForbidden), true, nil)
	require.NoError(t, err)
	require.Len(t, o.Warnings, 1)
	assert.Contains(t, o.Warnings[0], "no permission to list priorityclasses.scheduling.k8s.io")
}
