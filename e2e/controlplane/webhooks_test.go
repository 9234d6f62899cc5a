package controlplane

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWebhooksOfTheChart renders all webhooks of Volcano's chart for another address.
func TestWebhooksOfTheChart(t *testing.T) {
	chart, err := VolcanoChart()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(chart, "templates", "webhooks.yaml"))
	require.NoError(t, err)
	objects, paths, err := renderWebhooks(string(text), "https://127.0.0.1:8443")
	require.NoError(t, err)
	assert.Contains(t, paths, "/jobs/mutate")
	assert.Contains(t, paths, "/queues/validate")
	for i, object := range objects {
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		require.NoError(t, err)
		require.NotEmpty(t, webhooks, object.GetName())
		for _, webhook := range webhooks {
			url, _, err := unstructured.NestedString(webhook.(map[string]any), "clientConfig", "url")
			require.NoError(t, err)
			assert.Equal(t, "https://127.0.0.1:8443"+paths[i], url)
			assert.NotContains(t, webhook.(map[string]any)["clientConfig"], "service")
		}
	}
}
