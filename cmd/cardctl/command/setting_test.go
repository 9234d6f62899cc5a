package command

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/capacity-card/capacity-card/plugin/settings"
)

// runSettings runs cardctl and returns its output and its exit code.
func runSettings(arguments ...string) (out, errOut string, code int) {
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &stdout, ErrOut: &stderr}
	code = Run(context.Background(), "cardctl", arguments, streams)
	return stdout.String(), stderr.String(), code
}

// TestExplainSettings lists all settings without reading a cluster, and refuses unknown names.
func TestExplainSettings(t *testing.T) {
	out, errOut, code := runSettings("explain", "setting", "-o", "json")
	require.Zero(t, code, errOut)
	var list struct {
		Kind  string
		Items []setting
	}
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	assert.Equal(t, "SettingList", list.Kind)
	assert.Len(t, list.Items, len(settings.All()))
	assert.Equal(t, "cardUnlimitedCpuMemory", list.Items[0].Name)

	for name, suggestion := range map[string]string{
		"inqeue-timeout":            `no setting "inqeue-timeout"; did you mean "inqueue-timeout"?`,
		"volcano.sh/inqeue-timeout": `no setting "volcano.sh/inqeue-timeout"; did you mean "volcano.sh/inqueue-timeout"?`,
	} {
		_, errOut, code := runSettings("explain", "setting", name, "-f", scene)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errOut, suggestion)
	}
}

// TestSchema expects a schema of the kinds with annotations.
func TestSchema(t *testing.T) {
	out, errOut, code := runSettings("schema")
	require.Zero(t, code, errOut)
	var schema struct {
		Dialect     string         `json:"$schema"`
		Definitions map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &schema))
	assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", schema.Dialect)
	assert.Len(t, schema.Definitions, 5)
}
