package input

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// installed answers as the API server of a cluster with Volcano, which Helm has installed. It refuses paths that contain
// a word.
type installed struct {
	refused string
	status  int
	secrets string
}

func (i installed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if i.refused != "" && strings.Contains(r.URL.Path, i.refused) {
		w.WriteHeader(i.status)
		return
	}

	answers := map[string]string{
		"/version": `{"major":"1","minor":"34","gitVersion":"v1.34.1"}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"batch.volcano.sh"},{"name":"apps"}]}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` +
			`{"metadata":{"name":"s","namespace":"v"},"spec":{"template":{"spec":{"containers":[{"name":"s","image":"x/vc-scheduler:v1.14.1","args":["--scheduler-conf=/c/a.conf"],` +
			`"volumeMounts":[{"name":"c","mountPath":"/c"}]}],"volumes":[{"name":"c","configMap":{"name":"conf"}}]}}}},` +
			`{"metadata":{"name":"c","namespace":"v"},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x/vc-controller-manager:v1.14.0"}]}}}},` +
			`{"metadata":{"name":"web","namespace":"w"},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx"}]}}}}]}`,
		"/api/v1/namespaces/v/configmaps/conf": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"conf","namespace":"v",` +
			`"annotations":{"meta.helm.sh/release-name":"volcano","meta.helm.sh/release-namespace":"h"}},"data":{"a.conf":"tiers: []"}}`,
		"/api/v1/namespaces/h/secrets": `{"kind":"SecretList","apiVersion":"v1","items":[` + i.secrets + `]}`,
	}
	_, _ = w.Write([]byte(answers[r.URL.Path]))
}

// secretOf stores a release as Helm does.
func secretOf(t *testing.T, release *HelmRelease) string {
	t.Helper()
	text, err := json.Marshal(release)
	require.NoError(t, err)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())

	data, err := json.Marshal(map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))})
	require.NoError(t, err)
	return `{"metadata":{"name":"sh.helm.release.v1.volcano.v3","namespace":"h"},"data":` + string(data) + `}`
}

func TestReadInstallation(t *testing.T) {
	old := secretOf(t, &HelmRelease{Name: "volcano", Namespace: "h", Revision: 2})
	latest := secretOf(t, &HelmRelease{Name: "volcano", Namespace: "h", Revision: 3, Manifest: "kind: ConfigMap"})
	server := httptest.NewServer(installed{secrets: latest + "," + old})
	defer server.Close()

	i, err := ReadInstallation(t.Context(), &rest.Config{Host: server.URL})
	require.NoError(t, err)
	assert.Empty(t, i.Lacks)
	assert.Equal(t, "v1.34.1", i.Kubernetes)
	assert.Equal(t, []string{"", "batch.volcano.sh", "apps"}, i.Groups)
	require.Len(t, i.Schedulers, 1)
	assert.Equal(t, "x/vc-scheduler:v1.14.1", i.Schedulers[0].Container.Image)
	require.Len(t, i.Others, 1)
	assert.Equal(t, "controllers", i.Others[0].Name)
	assert.Equal(t, "tiers: []", i.Configuration.Text)
	assert.Equal(t, "conf", i.ConfigMap.Name)
	assert.Equal(t, &HelmRelease{Name: "volcano", Namespace: "h", Revision: 3, Manifest: "kind: ConfigMap"}, i.Release)
}

// TestInstallationLacks expects the reason for each part that cannot be read, and the others.
func TestInstallationLacks(t *testing.T) {
	for name, test := range map[string]struct {
		server installed
		part   Part
		want   string
	}{
		"deployments": {installed{"/deployments", http.StatusForbidden, ""}, DeploymentsPart, "no permission to list deployments.apps in all namespaces of "},
		"ConfigMap":   {installed{"/configmaps", http.StatusForbidden, ""}, ConfigurationPart, "no permission to get the ConfigMap v/conf of "},
		"secrets":     {installed{"/secrets", http.StatusForbidden, ""}, ReleasePart, "no permission to list secrets in the namespace h of "},
		"no release":  {installed{}, ReleasePart, "there is no Secret of the release volcano in the namespace h"},
		"bad secret":  {installed{secrets: `{"metadata":{"name":"x","namespace":"h"},"data":{"release":"IQ=="}}`}, ReleasePart, "the Secret h/x cannot be read: illegal base64"},
		"groups":      {installed{"/apis", http.StatusInternalServerError, ""}, GroupsPart, "the API groups of the server cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.server)
			defer server.Close()
			i, err := ReadInstallation(t.Context(), &rest.Config{Host: server.URL})
			require.NoError(t, err)
			assert.Contains(t, i.Lacks[test.part], test.want)
			assert.Equal(t, "v1.34.1", i.Kubernetes)
		})
	}
}

// TestNoInstallation fails where the cluster does not answer.
func TestNoInstallation(t *testing.T) {
	server := httptest.NewServer(installed{"/version", http.StatusUnauthorized, ""})
	defer server.Close()
	_, err := ReadInstallation(t.Context(), &rest.Config{Host: server.URL})
	assert.ErrorContains(t, err, "does not accept these credentials")
	_, err = ReadInstallation(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"})
	assert.ErrorContains(t, err, "cannot be reached")
}

// TestInstallationOfFiles expects the parts that files do not have to be unknown.
func TestInstallationOfFiles(t *testing.T) {
	o, err := ReadFiles([]string{"../../../examples/preflight"}, false, nil, nil)
	require.NoError(t, err)
	i := o.Installation()
	require.Len(t, i.Schedulers, 1)
	assert.Len(t, i.Others, 2)
	assert.Equal(t, "volcano-scheduler-configmap", i.ConfigMap.Name)
	for _, part := range []Part{KubernetesPart, GroupsPart, ReleasePart} {
		assert.Contains(t, i.Lacks[part], "the files do not have ")
	}
	assert.Len(t, i.Lacks, 3)
}
