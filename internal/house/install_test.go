package house

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
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

// TestPatchKeepsWhatIsSet applies deploy/patch to a Deployment with flags, feature gates,
// tolerations, a node selector and a pull secret of a user. Only the image and the strategy change.
func TestPatchKeepsWhatIsSet(t *testing.T) {
	theirs := volcanoScheduler(t)
	pod := &theirs.Spec.Template.Spec
	flags := []string{"--feature-gates=DynamicResourceAllocation=false", "--scheduler-name=batch"}
	pod.Containers[0].Args = append(pod.Containers[0].Args, flags...)
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
	var chosen map[string]map[string]any
	require.NoError(t, yaml.UnmarshalStrict([]byte(filled), &chosen))

	var defaults map[string]map[string]any
	require.NoError(t, yaml.Unmarshal(read(t, filepath.Join(chart(t), "values.yaml")), &defaults))
	require.Len(t, chosen["basic"], 4)
	for section, of := range chosen {
		for name := range of {
			assert.Contains(t, defaults[section], name, "the chart has no value %s.%s", section, name)
		}
	}
}

// chart is the directory of Volcano's chart.
func chart(t *testing.T) string {
	t.Helper()
	return filepath.Join(volcanoSources(t), "installer/helm/chart/volcano")
}

// TestInstallChangesTheConfiguration applies the changes that docs/install.md shows to Volcano's own configuration. The
// scheduler accepts the result without a warning.
func TestInstallChangesTheConfiguration(t *testing.T) {
	var changes string
	for _, block := range fenced.FindAllStringSubmatch(section(t, "docs/install.md", "## Change the configuration"), -1) {
		if block[1] == "" {
			changes = regexp.MustCompile(`(?m) +#.*$`).ReplaceAllString(block[2], "")
		}
	}
	volcanos := string(read(t, filepath.Join(chart(t), "config/volcano-scheduler.conf")))
	configuration := changed(t, volcanos, changes)

	require.Contains(t, configuration, "- name: capacity-card")
	require.NotContains(t, configuration, "- name: proportion")
	plugin.Register()
	require.NoError(t, guard.Check(configuration), configuration)
	require.Empty(t, guard.Warnings(configuration), configuration)
}

// changed applies changes to a text. A change begins with a space where the text has the line, and
// with + or - where the line is new or goes. Lines of the text between them stay.
func changed(t *testing.T, text, changes string) string {
	t.Helper()
	left := strings.Split(text, "\n")
	var result []string
	for change := range strings.Lines(changes) {
		line := strings.TrimRight(change[1:], "\n")
		if change[0] == '+' {
			result = append(result, line)
			continue
		}

		at := slices.Index(left, line)
		require.GreaterOrEqual(t, at, 0, "the text has no line %q there", line)
		result = append(result, left[:at]...)
		if change[0] == ' ' {
			result = append(result, line)
		}
		left = left[at+1:]
	}
	return strings.Join(append(result, left...), "\n")
}

// configurations are the files that pages show.
var configurations = map[string]string{"docs/cards.md": "examples/cards/scheduler.conf.yaml"}

// TestConfigurationsOnPages expects each whole list of tiers on a page to have the plugin predicates. Without it, pods
// are placed without regard to taints, selectors and volumes. If a page shows a file, its first list is the list of the
// file.
func TestConfigurationsOnPages(t *testing.T) {
	tiers := regexp.MustCompile(`(?m)^tiers:$`)
	shown := map[string]string{}
	for _, page := range allPages(t) {
		for _, block := range fenced.FindAllStringSubmatch(string(read(t, page)), -1) {
			if block[1] != "yaml" || !tiers.MatchString(block[2]) {
				continue
			}
			assert.Contains(t, block[2], "- name: predicates\n", "%s has tiers without predicates", page)
			if shown[page] == "" {
				shown[page] = block[2]
			}
		}
	}

	for page, file := range configurations {
		var source corev1.ConfigMap
		require.NoError(t, yaml.Unmarshal(read(t, file), &source))
		assert.YAMLEq(t, source.Data["volcano-scheduler.conf"], shown[page], "%s does not show %s", page, file)
	}
}

// TestManifestsNameTheVersion expects the manifests, the chart and the values to name the version of the first section of the
// changelog: someone who has the source of a release applies them as they are.
func TestManifestsNameTheVersion(t *testing.T) {
	found := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(string(read(t, "CHANGELOG.md")))
	require.NotNil(t, found)
	version := found[1]
	for path, line := range map[string]string{
		"deploy/drop-in/kustomization.yaml":      "newTag: v" + version + "-volcano-v1.14.1\n",
		"deploy/view/kustomization.yaml":         "newTag: v" + version + "-volcano-v1.14.1\n",
		"deploy/helm/values.yaml":                "scheduler_image_name: volcano/vc-scheduler-v" + version + "\n",
		"deploy/charts/capacity-card/Chart.yaml": "\nversion: " + version + "\nappVersion: v" + version + "\n",
	} {
		assert.Contains(t, string(read(t, path)), line, path)
	}
}
