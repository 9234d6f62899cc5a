package capacitycard_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/guard"
)

// fenced is a block of a page, with its language.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// volcanoScheduler is the Deployment of the scheduler in Volcano's own manifest.
func volcanoScheduler(t *testing.T) *apps.Deployment {
	t.Helper()
	manifest := string(read(t, filepath.Join(volcanoSources(t), "installer/volcano-development.yaml")))
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		deployment := &apps.Deployment{}
		if strings.Contains(document, "kind: Deployment") {
			require.NoError(t, yaml.Unmarshal([]byte(document), deployment))
		}
		if deployment.Name == "volcano-scheduler" {
			return deployment
		}
	}
	t.Fatal("Volcano's manifest has no scheduler")
	return nil
}

// TestPatchKeepsWhatIsSet applies deploy/patch to a Deployment with flags, feature gates, tolerations, a node selector and a
// pull secret of a user. Only the image and the strategy change.
func TestPatchKeepsWhatIsSet(t *testing.T) {
	theirs := volcanoScheduler(t)
	pod := &theirs.Spec.Template.Spec
	pod.Containers[0].Args = append(pod.Containers[0].Args, "--feature-gates=DynamicResourceAllocation=false", "--scheduler-name=batch")
	pod.Tolerations = []corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}}
	pod.NodeSelector = map[string]string{"pool": "system"}
	pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "theirs"}}
	before, err := json.Marshal(theirs)
	require.NoError(t, err)

	text := strings.Replace(string(read(t, "deploy/patch/scheduler.yaml")), "image: IMAGE", "image: ours", 1)
	patch, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	after, err := strategicpatch.StrategicMergePatch(before, patch, apps.Deployment{})
	require.NoError(t, err)
	got := &apps.Deployment{}
	require.NoError(t, json.Unmarshal(after, got))

	want := theirs.DeepCopy()
	want.Spec.Strategy = apps.DeploymentStrategy{Type: apps.RecreateDeploymentStrategyType}
	want.Spec.Template.Spec.Containers[0].Image = "ours"
	assert.Equal(t, want, got)
}

// TestHelmValues expects deploy/helm/values.yaml to set nothing, and to name values that Volcano's chart has.
func TestHelmValues(t *testing.T) {
	text := string(read(t, "deploy/helm/values.yaml"))
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &values))
	require.Empty(t, values, "a value that nobody filled in names an image that does not exist")

	filled := regexp.MustCompile(`(?m)^# ((?:basic|custom):|  \w+: .*)$`).ReplaceAllString(text, "$1")
	defaults, chosen := map[string]map[string]any{}, map[string]map[string]any{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(filled), &chosen))
	require.NoError(t, yaml.Unmarshal(read(t, filepath.Join(volcanoSources(t), "installer/helm/chart/volcano/values.yaml")), &defaults))
	require.Len(t, chosen["basic"], 4)
	for section, of := range chosen {
		for name := range of {
			assert.Contains(t, defaults[section], name, "the chart has no value %s.%s", section, name)
		}
	}
}

// TestInstallChangesTheConfiguration applies the changes that docs/install.md shows to Volcano's own configuration. The
// scheduler accepts what they make, without a warning.
func TestInstallChangesTheConfiguration(t *testing.T) {
	section := section(t, "docs/install.md", "## Change the configuration")
	var changes string
	for _, block := range fenced.FindAllStringSubmatch(section, -1) {
		if block[1] == "" {
			changes = block[2]
		}
	}
	comment := regexp.MustCompile(` +#.*`)
	lines := strings.Split(string(read(t, filepath.Join(volcanoSources(t), "installer/helm/chart/volcano/config/volcano-scheduler.conf"))), "\n")
	var changed []string
	for change := range strings.Lines(changes) {
		change = comment.ReplaceAllString(strings.TrimRight(change, "\n"), "")
		if strings.HasPrefix(change, "+") {
			changed = append(changed, change[1:])
			continue
		}
		for {
			require.NotEmpty(t, lines, "Volcano's configuration has no line %q there", change[1:])
			line := lines[0]
			lines = lines[1:]
			if line == change[1:] {
				break
			}
			changed = append(changed, line)
		}
		if strings.HasPrefix(change, " ") {
			changed = append(changed, change[1:])
		}
	}
	configuration := strings.Join(append(changed, lines...), "\n")
	plugin.Register()
	require.Contains(t, configuration, "- name: capacity-card")
	require.NotContains(t, configuration, "- name: proportion")
	require.NoError(t, guard.Check(configuration), configuration)
	require.Empty(t, guard.Warnings(configuration), configuration)
}

// configurations are the blocks of pages that are the configuration of a file, and no others are.
var configurations = map[string]string{"docs/cards.md": "examples/cards/scheduler.conf.yaml"}

// TestConfigurationsOnPages expects each page with a configuration and the manifests of a file to show that file, and each whole
// list of tiers to have the plugin predicates: without it, pods are placed without regard to taints, selectors and volumes.
func TestConfigurationsOnPages(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range allPages(t) {
		for _, block := range fenced.FindAllStringSubmatch(string(read(t, page)), -1) {
			if block[1] != "yaml" || !regexp.MustCompile(`(?m)^tiers:$`).MatchString(block[2]) {
				continue
			}
			assert.Contains(t, block[2], "- name: predicates\n", "%s has a list of tiers without predicates:\n%s", page, block[2])
			file, ok := configurations[page]
			if !ok || shown[page] {
				continue
			}
			shown[page] = true
			var source corev1.ConfigMap
			require.NoError(t, yaml.Unmarshal(read(t, file), &source))
			var want, got any
			require.NoError(t, yaml.Unmarshal([]byte(source.Data["volcano-scheduler.conf"]), &want))
			require.NoError(t, yaml.Unmarshal([]byte(block[2]), &got))
			assert.Equal(t, want, got, "%s does not show the configuration of %s", page, file)
		}
	}
	assert.Len(t, shown, len(configurations))
}
