package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/plugin/release"
)

const installPage = "../docs/install.md"

// stands has the commands of docs/install.md that need more than a control plane:
//   - make prints its commands, and runs none. TestPush of packaging/ pushes images to a registry.
//   - git clone and helm repo do nothing, since they need the Internet.
//   - The chart of Volcano is the one of its module.
//   - kubectl logs prints the log of the container, since there is no kubelet.
const stands = `
make() { command make -n "$@" >/dev/null; }
git() { [ "$1" = clone ] || command git "$@"; }
helm() { [ "$1" = repo ] || command helm "${@/#volcano-sh\/volcano/$CHART}"; }
kubectl() { case "$*" in *" logs "*) cat "$LOG" ;; *) command kubectl "$@" ;; esac; }
`

// adoption is a cluster with Volcano's chart, and a terminal of somebody who follows docs/install.md.
type adoption struct {
	*cluster
	*helm
	terminal *terminal
	clone    string
	sections map[string][]string
	// ran has the blocks that were run.
	ran map[string]bool
}

// TestInstall follows docs/install.md with each of its two ways, and goes back. The cluster has Volcano's chart with
// values of a user, and a configuration that was edited in the cluster. Each command of the page is run by one of the
// two ways. The flags and all else that the user set stays. In the end, all objects of the chart are as before.
func TestInstall(t *testing.T) {
	runc(t)
	ran := map[string]bool{}
	for _, way := range []string{"Install with Helm", "Install with kubectl"} {
		t.Run(way, func(t *testing.T) { newAdoption(t, ran).follow(t, way) })
	}

	for heading, blocks := range shellBlocks(string(read(t, installPage))) {
		for _, block := range blocks {
			assert.True(t, ran[block], "no way runs the commands of %q:\n%s", heading, block)
		}
	}
}

// shellBlocks returns the shell commands of a page, by the headings of its sections.
func shellBlocks(page string) map[string][]string {
	blocks := map[string][]string{}
	for _, section := range strings.Split(page, "\n## ") {
		heading, body, _ := strings.Cut(section, "\n")
		for _, block := range fenced.FindAllStringSubmatch(body, -1) {
			if block[1] == "sh" {
				blocks[heading] = append(blocks[heading], block[2])
			}
		}
	}
	return blocks
}

// newAdoption installs Volcano with its chart and the values of a user.
func newAdoption(t *testing.T, ran map[string]bool) *adoption {
	t.Helper()
	c := plane(t, "nodes.yaml")
	a := &adoption{cluster: c, helm: newHelm(t, c.Kubeconfig()), ran: ran, sections: shellBlocks(string(read(t, installPage)))}
	require.NoError(t, c.StartDefaultScheduler(t.Context(), "cpu-1"))
	t.Cleanup(func() { c.removeChart(t) })
	chart := chartOfVolcano(t)
	a.helm.run(t, append([]string{"install", "volcano", "--take-ownership", "-f", "testdata/helm/own.yaml"}, chart...)...)

	a.clone = newClone(t)
	for name, program := range map[string]string{"kubectl": build(t, kubectl), "cardctl": build(t, cardctl), "helm": a.path} {
		require.NoError(t, os.Symlink(program, filepath.Join(a.clone, "bin", name)))
	}
	for _, directory := range []string{"deploy", "examples"} {
		copied := filepath.Join(a.clone, directory)
		require.NoError(t, os.Remove(copied))
		require.NoError(t, os.CopyFS(copied, os.DirFS(filepath.Join("..", directory))))
	}

	a.terminal = openTerminal(t, a.clone)
	a.types(t, fmt.Sprintf("export KUBECONFIG='%s' HOME='%s' PATH='%s/bin':$PATH\nCHART='%s'\nLOG=/dev/null\n%s",
		c.kubeconfigOfNamespace(t), a.home, a.clone, chart[0], stands))
	return a
}

// types runs commands, and returns their output.
func (a *adoption) types(t *testing.T, commands string) string {
	t.Helper()
	output, failed := a.terminal.run(t, commands)
	require.False(t, failed, "%s\n%s", commands, output)
	t.Logf("%s\n%s", commands, output)
	return output
}

// does runs a block of a section, and returns its output.
func (a *adoption) does(t *testing.T, heading string, block int) string {
	t.Helper()
	require.Less(t, block, len(a.sections[heading]), heading)
	commands := a.sections[heading][block]
	a.ran[commands] = true
	return a.types(t, commands)
}

// follow runs the commands of the page in their order, with Helm or with kubectl.
func (a *adoption) follow(t *testing.T, way string) {
	for _, heading := range []string{"Before you install anything", "Which Volcano", "Build and push the image", "Forks"} {
		for block := range a.sections[heading] {
			a.does(t, heading, block)
		}
	}
	a.editConfiguration(t)
	theirs := a.startUpstream(t)
	a.queue(t, "research", `{"NVIDIA-H200": 3}`)
	a.cpuJob(t, "before", "research", "1", "1Gi")
	a.runs(t, "before", map[string]int{"": 1}, 0)
	running := a.pods("before")[0]
	before, deployment := a.objects(t), a.deployed(t)

	a.changeConfiguration(t)
	a.fillValues(t)
	output := a.does(t, way, 0)
	assert.NotRegexp(t, `(?m)^[<>] +- --`, output, "a flag changes")
	assert.NotRegexp(t, `(?m)^> [A-Z ]+:`, output, "a heading of helm is no change")
	require.NoError(t, theirs.Stop())
	a.keeps(t, deployment)
	ours := a.startPod(t, buildImage(t, "vc-scheduler"), volcanoNamespace, a.deployed(t).Spec.Template.Spec)
	a.check(t, ours)

	a.goBack(t, way)
	ours.end(t)
	assert.Equal(t, before, a.objects(t), "the objects of the chart are not as before")
	a.startUpstream(t)
	a.queue(t, "sales", "{}")
	a.cpuJob(t, "after", "sales", "1", "1Gi")
	a.runs(t, "after", map[string]int{"": 1}, 0)
	require.Equal(t, running.UID, a.pods("before")[0].UID)
}

// editConfiguration edits the ConfigMap in the cluster, so that it differs from Helm's.
func (a *adoption) editConfiguration(t *testing.T) {
	t.Helper()
	maps := a.Kube.CoreV1().ConfigMaps(volcanoNamespace)
	configMap, err := maps.Get(t.Context(), "volcano-scheduler-configmap", metav1.GetOptions{})
	require.NoError(t, err)
	text := configMap.Data["volcano-scheduler.conf"]
	edited := strings.Replace(text, "- name: binpack", "- name: binpack\n    arguments:\n      binpack.weight: 5", 1)
	require.NotEqual(t, text, edited)
	configMap.Data["volcano-scheduler.conf"] = edited
	_, err = maps.Update(t.Context(), configMap, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// changeConfiguration changes the lines of the quota plugin, as the page shows.
func (a *adoption) changeConfiguration(t *testing.T) {
	t.Helper()
	const heading = "Change the configuration"
	a.does(t, heading, 0)
	path := filepath.Join(a.clone, "volcano-scheduler.conf")
	text := strings.NewReplacer(
		"  - name: conformance\n", "  - name: conformance\n  - name: capacity-card\n",
		"  - name: overcommit\n", "",
		"  - name: proportion\n", "",
	).Replace(string(read(t, path)))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for block := 1; block < len(a.sections[heading]); block++ {
		a.does(t, heading, block)
	}
}

// fillValues fills in the image and the registry in deploy/helm/values.yaml.
func (a *adoption) fillValues(t *testing.T) {
	t.Helper()
	path := filepath.Join(a.clone, "deploy/helm/values.yaml")
	filled := regexp.MustCompile(`(?m)^# (basic:|  (?:scheduler_image_name|image_tag_version|image_registry): .*)$`)
	text := filled.ReplaceAllString(string(read(t, path)), "$1")
	if release.Built() >= release.V115 {
		text = strings.Replace(text, "image_tag_version: v1.14.1", "scheduler_image_tag_version: v1.15.1", 1)
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// keeps expects a Deployment with another image and another strategy, and nothing else that changed.
func (a *adoption) keeps(t *testing.T, before *apps.Deployment) {
	t.Helper()
	now, want := a.deployed(t).Spec, before.Spec.DeepCopy()
	image := now.Template.Spec.Containers[0].Image
	assert.Contains(t, image, "registry.example.com/volcano/vc-scheduler")
	want.Strategy = apps.DeploymentStrategy{Type: apps.RecreateDeploymentStrategyType}
	want.Template.Spec.Containers[0].Image = image
	assert.Equal(t, *want, now)
}

// check runs the commands of the section that checks the new scheduler.
func (a *adoption) check(t *testing.T, ours *container) {
	t.Helper()
	const heading = "Check"
	ours.logs(t, "built with Volcano")
	a.types(t, "LOG='"+filepath.Join(ours.directory, "log")+"'")
	a.types(t, "sed -i s/NVIDIA-L40S/NVIDIA-H200/g examples/quickstart/*")
	assert.Contains(t, a.does(t, heading, 0), "successfully rolled out")

	commands := a.sections[heading][1]
	a.ran[commands] = true
	a.expectQuota(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{
		Name: "team-a", Annotations: map[string]string{"volcano.sh/card.quota": `{"NVIDIA-H200": 3}`},
	}})
	lines := strings.SplitAfter(strings.TrimSpace(commands), "\n")
	a.types(t, lines[0])
	a.runs(t, "first", map[string]int{h200: 2}, 0)
	a.refusedFor(t, "too-big", insufficient("team-a", h200, 5, 7, 3))
	for _, line := range lines[1:] {
		a.types(t, line)
	}
	a.does(t, heading, 2)
}

// goBack runs the commands of the section for the way.
func (a *adoption) goBack(t *testing.T, way string) {
	t.Helper()
	const heading = "Go back"
	blocks := a.sections[heading]
	require.Len(t, blocks, 3)
	if way == "Install with Helm" {
		a.does(t, heading, 0)
		restored, _, _ := strings.Cut(blocks[1], "\n")
		a.types(t, restored)
	} else {
		a.does(t, heading, 1)
	}
	a.types(t, "kubectl -n volcano-system rollout status deployment volcano-scheduler")
	a.does(t, heading, 2)
}

// objects returns the objects of Volcano's chart in the cluster, without the fields that count their changes.
func (a *adoption) objects(t *testing.T) []map[string]any {
	t.Helper()
	get := exec.Command(build(t, kubectl), "get", "--kubeconfig", a.Kubeconfig(), "-o", "json", "-f", "-")
	get.Stdin = strings.NewReader(a.helm.run(t, "get", "manifest", "volcano"))
	output, err := get.Output()
	require.NoError(t, err)
	var list struct{ Items []map[string]any }
	require.NoError(t, json.Unmarshal(output, &list))
	require.NotEmpty(t, list.Items)
	for _, item := range list.Items {
		delete(item, "status")
		for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
			unstructured.RemoveNestedField(item, "metadata", field)
		}
		unstructured.RemoveNestedField(item, "metadata", "annotations", "deployment.kubernetes.io/revision")
	}
	return list.Items
}
