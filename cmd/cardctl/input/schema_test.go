package input

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/plugin/release"
)

var update = flag.Bool("update", false, "write schemas.json")

// limits are the keywords of a schema that bound values.
var limits = []string{"minimum", "maximum", "minLength", "maxLength", "pattern", "enum", "minItems", "maxItems", "required"}

// bounded returns the part of a schema that bounds values, nil where it bounds none.
func bounded(node map[string]any) map[string]any {
	kept := map[string]any{}
	if node["x-kubernetes-int-or-string"] == true {
		return nil // a quantity, which the decoder checks
	}
	for _, key := range limits {
		if value, ok := node[key]; ok {
			kept[key] = value
		}
	}
	properties := map[string]any{}
	inner, _ := node["properties"].(map[string]any)
	for name, property := range inner {
		if b := bounded(property.(map[string]any)); b != nil && name != "template" && name != "status" {
			properties[name] = b
		}
	}
	if len(properties) > 0 {
		kept["properties"] = properties
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if each, ok := node[key].(map[string]any); ok {
			if b := bounded(each); b != nil {
				kept[key] = b
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// TestSchemas compares schemas.json with the CRDs of Volcano's module.
func TestSchemas(t *testing.T) {
	if release.Built() >= release.V115 {
		t.Skip("the file is that of the CRDs of v1.14.1")
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").Output()
	require.NoError(t, err)
	kinds := map[string]any{}
	for kind, name := range map[string]string{"Queue": "scheduling.volcano.sh_queues", "PodGroup": "scheduling.volcano.sh_podgroups", "Job": "batch.volcano.sh_jobs"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "config/crd/volcano/bases", name+".yaml"))
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		require.NoError(t, yaml.Unmarshal(text, &crd))
		require.Len(t, crd.Spec.Versions, 1)
		kinds[kind] = bounded(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
	want, err := json.MarshalIndent(kinds, "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	if *update {
		require.NoError(t, os.WriteFile("schemas.json", want, 0o644))
	}
	got, err := os.ReadFile("schemas.json")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run this test with -update")
}

// TestInvalidValues reads manifests that the API server refuses, and an object of a cluster.
func TestInvalidValues(t *testing.T) {
	const head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"
	for text, want := range map[string][]string{
		head + "metadata: {name: q}\nspec: {weight: 1}":                   nil,
		head + "metadata: {name: q, uid: u}\nspec: {weight: 0}":           nil,
		head + "metadata: {name: q}\nspec:\n  weight: 0":                  {"f:5: Queue/q: spec.weight: 0: should be greater than or equal to 1"},
		head + "metadata: {name: q}\nspec: {weight: 1, parent: Eng}":      {"f:4: Queue/q: spec.parent: \"Eng\": should match "},
		head + "metadata: {name: Team-A}\nspec: {weight: 1}":              {"f:3: Queue/Team-A: metadata.name: \"Team-A\": a lowercase RFC 1123 subdomain must consist of "},
		"apiVersion: v1\nkind: Node\nmetadata: {name: A_1}":               {"f:3: Node/A_1: metadata.name: "},
		head + "metadata: {name: q}\nspec: {priority: -1, weight: 70000}": {"spec.priority: -1: ", "spec.weight: 70000: "},
	} {
		o := New()
		o.decode(split("f", []byte(text)), nil)
		var got []string
		for _, p := range o.Invalid {
			got = append(got, p.String())
		}
		require.Len(t, got, len(want), "%s: %q", text, got)
		for _, each := range want {
			assert.Contains(t, strings.Join(got, "\n"), each)
		}
	}
}
