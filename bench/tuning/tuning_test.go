package tuning

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestDeployed compares the configuration of deploy/ with the configuration of the page.
func TestDeployed(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/cards/configuration.yaml")
	require.NoError(t, err)
	var deployed struct{ Data map[string]string }
	require.NoError(t, yaml.Unmarshal(raw, &deployed))
	want, got := map[string]any{}, map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(deployed.Data["volcano-scheduler.conf"]), &want))
	require.NoError(t, yaml.Unmarshal([]byte(Setting{nodeOrder: packing}.Configuration()), &got))
	assert.Equal(t, want, got)
}

// TestPageHasTheSettings finds the arguments, the flags and the variable of the recommended setting on the page.
func TestPageHasTheSettings(t *testing.T) {
	page, err := os.ReadFile("../../docs/tuning.md")
	require.NoError(t, err)
	for _, line := range append(append(Tuned.nodeOrder, Tuned.predicates...), Tuned.Flags()...) {
		assert.Contains(t, string(page), line)
	}
	assert.Contains(t, string(page), `{name: GOGC, value: "`+strings.TrimPrefix(Tuned.Environment()[0], "GOGC=")+`"}`)
}
