package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// helm is the program helm. Its caches are in a directory of the test.
type helm struct{ path, kubeconfig, home string }

func newHelm(t *testing.T, kubeconfig string) *helm {
	t.Helper()
	path, err := filepath.Abs("../bin/tools/helm")
	require.NoError(t, err)
	command := exec.Command("go", "build", "-C", "../packaging/tools/helm", "-o", path, "helm.sh/helm/v3/cmd/helm")
	command.Env = append(os.Environ(), "GOFLAGS=")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return &helm{path, kubeconfig, t.TempDir()}
}

func (h *helm) command(arguments ...string) *exec.Cmd {
	command := exec.Command(h.path, arguments...)
	command.Env = append(os.Environ(), "HOME="+h.home, "KUBECONFIG="+h.kubeconfig, "HELM_NAMESPACE="+volcanoNamespace)
	return command
}

// run returns the output of helm.
func (h *helm) run(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := h.command(arguments...).CombinedOutput()
	require.NoError(t, err, "helm %s: %s", strings.Join(arguments, " "), output)
	return string(output)
}

// refuses returns the output of helm when it fails.
func (h *helm) refuses(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := h.command(arguments...).CombinedOutput()
	require.Error(t, err, "helm %s: %s", strings.Join(arguments, " "), output)
	return string(output)
}

// ofRelease are the objects of a manifest that helm prints.
func ofRelease(t *testing.T, manifest string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for _, document := range strings.Split(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects
}

// deployed is the Deployment of the scheduler as the API server has it.
func (c *cluster) deployed(t *testing.T) *apps.Deployment {
	t.Helper()
	deployment, err := c.Kube.AppsV1().Deployments(volcanoNamespace).Get(t.Context(), "volcano-scheduler", metav1.GetOptions{})
	require.NoError(t, err)
	return deployment
}

// stopDeployment scales the scheduler to zero, as docs/deploy.md says, and returns when it has no pods.
func (c *cluster) stopDeployment(t *testing.T) {
	t.Helper()
	_, err := c.Kube.AppsV1().Deployments(volcanoNamespace).Patch(t.Context(), "volcano-scheduler", types.MergePatchType,
		[]byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}, "scale")
	require.NoError(t, err)
	c.until(t, func() string {
		if len(c.pods("volcano-scheduler")) > 0 {
			return "the scheduler still has pods"
		}
		return ""
	})
}

// startUpstream starts Volcano's own scheduler with the literal arguments of its Deployment. It is not in a container,
// so that its configuration is in another directory and it gets a kubeconfig.
func (c *cluster) startUpstream(t *testing.T) *process {
	t.Helper()
	arguments := c.deployed(t).Spec.Template.Spec.Containers[0].Args
	configuration, err := c.Kube.CoreV1().ConfigMaps(volcanoNamespace).Get(t.Context(), "volcano-scheduler-configmap", metav1.GetOptions{})
	require.NoError(t, err)
	directory := t.TempDir()
	writeVolume(t, directory, configuration.Data)
	for i := range arguments {
		arguments[i] = strings.Replace(arguments[i], "=/volcano.scheduler/", "="+directory+"/", 1)
	}
	return c.runWith(t, build(t, upstreams), arguments...)
}

// chartOfVolcano is Volcano's own chart. Its controllers and webhooks are off, because the control plane runs them
// already.
func chartOfVolcano(t *testing.T) []string {
	t.Helper()
	module, err := controlplane.VolcanoModule()
	require.NoError(t, err)
	return []string{filepath.Join(module, "installer/helm/chart/volcano"), "--set", "custom.controller_enable=false,custom.admission_enable=false"}
}

// removeChart removes the objects that the charts leave, except the definitions of Volcano's resources, which other
// tests need.
func (c *cluster) removeChart(t *testing.T) {
	t.Helper()
	ctx, foreground := context.Background(), metav1.DeletePropagationForeground
	err := c.Kube.AppsV1().Deployments(volcanoNamespace).Delete(ctx, "volcano-scheduler", metav1.DeleteOptions{PropagationPolicy: &foreground})
	require.True(t, err == nil || apierrors.IsNotFound(err), err)
	require.NoError(t, c.Kube.CoreV1().Secrets(volcanoNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "owner=helm"}))
}

// TestHelm converts an installation of Volcano's chart with values that docs/install.md describes, and goes back with
// helm rollback. The image runs in containers as in the rendered Deployment: literal arguments, user, volumes, two
// replicas. Running pods keep running.
func TestHelm(t *testing.T) {
	runc(t)
	c := plane(t, "nodes.yaml")
	layout, h := buildImage(t, "vc-scheduler"), newHelm(t, c.Kubeconfig())
	t.Cleanup(func() { c.removeChart(t) })
	h.run(t, append([]string{"install", "volcano", "--take-ownership"}, chartOfVolcano(t)...)...)
	original := c.deployed(t)
	theirs := c.startUpstream(t)
	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	c.cpuJob(t, "before", "research", "1", "1Gi")
	c.runs(t, "before", map[string]int{"": 1}, 0)
	before := c.pods("before")[0]

	c.stopDeployment(t)
	require.NoError(t, theirs.Stop())
	upgrade := append([]string{"upgrade", "volcano", "-f", "testdata/helm/values.yaml"}, chartOfVolcano(t)...)
	h.run(t, append(upgrade, "--dry-run=server")...)
	h.run(t, upgrade...)
	now := c.deployed(t)
	require.EqualValues(t, 2, *now.Spec.Replicas)
	pod := now.Spec.Template.Spec
	require.Equal(t, "docker.io/capacitycard/vc-scheduler-v0.1.0:v1.14.1", pod.Containers[0].Image)
	require.Contains(t, pod.Containers[0].Args, "2>&1", "the chart passes this to the program, not to a shell")

	leader := c.startPod(t, layout, volcanoNamespace, pod)
	leader.logs(t, "uccessfully acquired lease")
	standby := c.startPod(t, layout, volcanoNamespace, pod)
	standby.logs(t, "ttempting to acquire leader lease")
	c.submit(t, "during", "research", h200, 4)
	c.runs(t, "during", map[string]int{h200: 3}, 1)
	c.says(t, "during", insufficient("research", h200, 1, 4, 3))
	require.NotContains(t, strings.ToLower(leader.readLog(t)), "forbidden")

	c.stopDeployment(t)
	leader.end(t)
	standby.end(t)
	h.run(t, "rollback", "volcano", "1")
	back := c.deployed(t)
	require.Equal(t, original.Spec.Template, back.Spec.Template)
	require.Equal(t, original.Spec.Replicas, back.Spec.Replicas)
	c.startUpstream(t)
	// For Volcano's proportion, research now has more than it deserves.
	c.queue(t, "sales", "{}")
	c.cpuJob(t, "after", "sales", "1", "1Gi")
	c.runs(t, "after", map[string]int{"": 1}, 0)
	require.Equal(t, before.UID, c.pods("before")[0].UID)
	require.Equal(t, before.Spec.NodeName, c.pods("before")[0].Spec.NodeName)
}

// ownChart assembles the chart of this repository, as make charts does.
func ownChart(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	output, err := exec.Command(packaging(t), "charts", "-source", "..", "-o", directory).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return filepath.Join(directory, "capacity-card")
}

const allOfTheChart = "podDisruptionBudget.enabled=true,serviceMonitor.enabled=true,prometheusRule.enabled=true,view.enabled=true,viewer.subjects[0].kind=Group,viewer.subjects[0].name=gpu-users"

// TestChart lints the chart and compares its objects with the objects of the kustomize directories.
func TestChart(t *testing.T) {
	h, chart := newHelm(t, os.DevNull), ownChart(t)
	require.Contains(t, h.run(t, "lint", "--strict", chart), "0 chart(s) failed")
	require.Contains(t, h.run(t, "lint", "--strict", chart, "--set", allOfTheChart), "0 chart(s) failed")
	for _, wrong := range []string{"admission.action=Refuse", "serviceMonitor.interval=often", "viewer.subject=x", "dashboard.enabled=maybe", "view.resources.limits.memory=much", "view.service.port=0", "view.extraArgs[0]=x"} {
		require.Contains(t, h.refuses(t, "template", "x", chart, "--set", wrong), "values don't meet the specifications of the schema", wrong)
	}
	objects := ofRelease(t, h.run(t, "template", "x", chart, "--set", allOfTheChart, "--no-hooks"))
	for directory, same := range map[string]map[string]string{
		"../deploy/admission":                {"ValidatingAdmissionPolicy": "spec", "ValidatingAdmissionPolicyBinding": "spec"},
		"../deploy/cardctl":                  {"ClusterRole": "rules"},
		"../deploy/observability":            {"ConfigMap": "data"},
		"../deploy/observability/prometheus": {"PrometheusRule": "spec", "ServiceMonitor": "spec"},
		"../deploy/view-metrics":             {"ServiceMonitor": "spec"},
		"../deploy/view": {"ServiceAccount": "", "ClusterRole": "rules", "ClusterRoleBinding": "subjects", "Deployment": "spec", "Service": "spec",
			"NetworkPolicy": "spec"},
	} {
		kustomized := render(t, directory)
		require.Len(t, kustomized, len(same))
		for kind, field := range same {
			theirs := only(t, kustomized, kind)
			mine := named(t, objects, kind, theirs.GetName())
			assert.Equal(t, theirs.GetNamespace(), mine.GetNamespace())
			assert.Equal(t, normal(t, theirs.Object[field]), normal(t, mine.Object[field]), "%s of %s", field, kind)
		}
	}
	budget := only(t, objects, "PodDisruptionBudget")
	assert.Equal(t, normal(t, only(t, render(t, "../deploy/drop-in"), "PodDisruptionBudget").Object["spec"]), normal(t, budget.Object["spec"]))
	require.Len(t, objects, 15, "the objects above, the ClusterRoleBinding of the viewers, and the PodDisruptionBudget of deploy/drop-in")
	view := h.run(t, "template", "x", chart, "--show-only", "templates/view.yaml", "--set", "view.enabled=true,view.certificateSecret=own,view.resources.limits.memory=3Gi,cardctl.tag=v9,view.extraArgs[0]=--interval=5s,"+
		"view.service.type=LoadBalancer,view.service.port=8443,view.nodeSelector.pool=system,view.priorityClassName=system-cluster-critical")
	for _, line := range []string{"image: ghcr.io/capacity-card/cardctl:v9", "secretName: own", "memory: 3Gi", "value: 2764MiB", "- --interval=5s",
		"type: LoadBalancer", "port: 8443", "pool: system", "priorityClassName: system-cluster-critical"} {
		require.Contains(t, view, " "+line+"\n")
	}
	require.Empty(t, ofRelease(t, h.run(t, "template", "x", chart, "--no-hooks", "--set",
		"dashboard.enabled=false,admission.enabled=false,viewer.enabled=false")))
}

// only returns the only object of a kind.
func only(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	return named(t, objects, kind, "")
}

// named returns the only object of a kind with a name, or with any if it is empty.
func named(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == kind && (name == "" || object.GetName() == name) {
			found = append(found, object)
		}
	}
	require.Len(t, found, 1, "%s %s", kind, name)
	return found[0]
}

// cardctlImage is the image of cardctl with its tag. A release of the chart has another tag.
var cardctlImage = regexp.MustCompile(`(cardctl):v[^"]+`)

// normal is a value without the spaces at the ends of its lines and texts, which YAML writes in several ways.
func normal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	text = cardctlImage.ReplaceAll(text, []byte("$1"))
	return strings.ReplaceAll(string(text), `\n"`, `"`)
}

// TestChartInstalled installs the chart: its policy is in force, and its test, which runs in the image of cardctl with
// the permissions that the chart gives it, passes.
func TestChartInstalled(t *testing.T) {
	runc(t)
	c := plane(t, "nodes.yaml")
	h, chart, layout := newHelm(t, c.Kubeconfig()), ownChart(t), buildImage(t, "cardctl")
	c.send(t, render(t, "../deploy/cards"), "kubectl")
	t.Cleanup(func() { c.removeChart(t) })
	notes := h.run(t, "install", "capacity-card", chart, "--take-ownership") // of objects that pages apply with kubectl
	t.Cleanup(func() { c.removePolicy(t) })
	require.Contains(t, notes, "helm test capacity-card -n volcano-system")
	c.awaitPolicy(t, t.Context(), true)
	require.ErrorContains(t, c.admits(t.Context(), map[string]string{quotaKey: `{"NVIDIA-H200": 2.5}`}), `"NVIDIA-H200": 2.5`)

	c.runTest(t, h, layout)

	h.run(t, "uninstall", "capacity-card")
	c.awaitPolicy(t, t.Context(), false)
	_, err := c.Kube.RbacV1().ClusterRoles().Get(t.Context(), "capacity-card-viewer", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
}

// runTest runs helm test, and the pod that it creates as kube-scheduler and the kubelet would.
func (c *cluster) runTest(t *testing.T, h *helm, layout string) {
	t.Helper()
	test := h.command("test", "capacity-card", "--timeout", patience.String())
	var output bytes.Buffer
	test.Stdout, test.Stderr = &output, &output
	require.NoError(t, test.Start())
	var pod *corev1.Pod
	c.until(t, func() string {
		at := slices.IndexFunc(c.pods(""), func(pod *corev1.Pod) bool { return pod.Name == "capacity-card-test" })
		if at < 0 {
			return "the test has no pod yet"
		}
		pod = c.pods("")[at]
		return ""
	})
	require.Equal(t, "ghcr.io/capacity-card/cardctl:v0.1.0-volcano-v1.14.1", pod.Spec.Containers[0].Image)
	require.NoError(t, c.Kube.CoreV1().Pods(pod.Namespace).Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "cpu-1"},
	}, metav1.CreateOptions{}))
	m := c.startPod(t, layout, pod.Namespace, pod.Spec)
	m.finishes(t)
	require.Contains(t, m.readLog(t), " 0 errors, ")
	c.until(t, func() string {
		done, err := c.CompletePods(t.Context(), pod.Namespace, "app.kubernetes.io/name=capacity-card")
		require.NoError(t, err)
		if done == 0 {
			return "the pod of the test does not run yet"
		}
		return ""
	})
	require.NoError(t, test.Wait(), "%s", &output)
	require.Contains(t, output.String(), "Phase:          Succeeded")
}
