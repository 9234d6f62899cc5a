package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/plugin/guard"
)

// deployments are the directories that users apply, and the installation of the demo.
var deployments = []string{"../deploy/drop-in", "../deploy/cards", "../cmd/demo/installation"}

// render returns the objects that kubectl apply -k sends.
func render(t *testing.T, directory string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := controlplane.Render(directory)
	require.NoError(t, err)
	return objects
}

// upstreamScheduler returns the objects of the scheduler in Volcano's own installation.
func upstreamScheduler(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := controlplane.VolcanoInstallation("volcano-scheduler")
	require.NoError(t, err)
	require.Len(t, objects, 6, "Volcano's manifest is not what it used to be")
	return objects
}

// find returns the object of a kind among others, as a T.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind {
			found := new(T)
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, found, true))
			return found
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// send applies objects on the server's side, as kubectl apply --server-side --force-conflicts does.
func (c *cluster) send(t *testing.T, objects []*unstructured.Unstructured, manager string, dryRun ...string) {
	t.Helper()
	require.NoError(t, c.Apply(t.Context(), objects, manager, dryRun...))
}

// TestDeployIsValid has the API server validate the objects of deploy/. It checks their flags and configurations with
// the scheduler.
func TestDeployIsValid(t *testing.T) {
	c := plane(t)
	help, _ := exec.Command(build(t, ours), "--help").CombinedOutput() // its exit status is 2
	for _, directory := range deployments {
		t.Run(filepath.Base(directory), func(t *testing.T) {
			objects := render(t, directory)
			c.send(t, objects, "test", metav1.DryRunAll)
			deployment := find[apps.Deployment](t, objects, "Deployment")
			for _, flag := range deployment.Spec.Template.Spec.Containers[0].Args {
				name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
				require.Regexp(t, `(?m)^ +(-\w, )?--?`+name+`\b`, string(help))
			}
		})
	}
	for _, directory := range deployments[1:] {
		configuration := find[corev1.ConfigMap](t, render(t, directory), "ConfigMap")
		require.NoError(t, guard.Check(configuration.Data["volcano-scheduler.conf"]))
		require.Empty(t, guard.Warnings(configuration.Data["volcano-scheduler.conf"]))
	}
	require.Empty(t, guard.Warnings(exampleConfiguration(t)))
}

// TestDeployAllowsWhatVolcanoDoes compares the role with the role of the same name in Volcano's installation. One role
// serves all releases, so with an older release it permits more.
func TestDeployAllowsWhatVolcanoDoes(t *testing.T) {
	role, original := find[rbac.ClusterRole](t, render(t, "../deploy/drop-in"), "ClusterRole"), find[rbac.ClusterRole](t, upstreamScheduler(t), "ClusterRole")
	require.Equal(t, original.Name, role.Name)
	added := rbac.PolicyRule{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims/binding"}, Verbs: []string{"update", "patch"}}
	if !slices.ContainsFunc(original.Rules, func(rule rbac.PolicyRule) bool { return slices.Contains(rule.Resources, added.Resources[0]) }) {
		original.Rules = append(original.Rules, added)
	}
	require.ElementsMatch(t, original.Rules, role.Rules)
}

// install puts Volcano's own scheduler into the cluster, as its manifest does. No kubelet runs its pods.
func install(t *testing.T, c *cluster) {
	t.Helper()
	c.send(t, upstreamScheduler(t), "volcano")
	t.Cleanup(func() {
		ctx, foreground := context.Background(), metav1.DeletePropagationForeground
		err := c.Kube.AppsV1().Deployments(volcanoNamespace).Delete(ctx, "volcano-scheduler", metav1.DeleteOptions{PropagationPolicy: &foreground})
		require.True(t, err == nil || apierrors.IsNotFound(err), err)
	})
}

// TestDeployConverts applies deploy/ over Volcano's own installation, even with its Deployment still there, and goes
// back as docs/deploy.md says.
func TestDeployConverts(t *testing.T) {
	c := plane(t)
	install(t, c)
	c.send(t, render(t, "../deploy/cards"), "kubectl")
	now, err := c.Kube.AppsV1().Deployments(volcanoNamespace).Get(t.Context(), "volcano-scheduler", metav1.GetOptions{})
	require.NoError(t, err)
	want := find[apps.Deployment](t, render(t, "../deploy/cards"), "Deployment").Spec
	require.Equal(t, want.Template.Spec.Containers[0].Args, now.Spec.Template.Spec.Containers[0].Args)
	require.Equal(t, want.Template.Spec.Containers[0].Image, now.Spec.Template.Spec.Containers[0].Image)
	require.Zero(t, now.Spec.Strategy.RollingUpdate.MaxSurge.IntValue())
	require.EqualValues(t, 2, *now.Spec.Replicas)
	require.Len(t, now.Spec.Template.Spec.Containers, 1)

	require.NoError(t, c.Kube.AppsV1().Deployments(volcanoNamespace).Delete(t.Context(), "volcano-scheduler", metav1.DeleteOptions{}))
	c.send(t, upstreamScheduler(t), "volcano")
	now, err = c.Kube.AppsV1().Deployments(volcanoNamespace).Get(t.Context(), "volcano-scheduler", metav1.GetOptions{})
	require.NoError(t, err)
	original := find[apps.Deployment](t, upstreamScheduler(t), "Deployment").Spec
	require.Equal(t, original.Template.Spec.Containers[0].Args, now.Spec.Template.Spec.Containers[0].Args)
	require.Equal(t, original.Template.Spec.Volumes[0].ConfigMap.Name, now.Spec.Template.Spec.Volumes[0].ConfigMap.Name)
	require.Nil(t, now.Spec.Template.Spec.Containers[0].LivenessProbe)
	configuration, err := c.Kube.CoreV1().ConfigMaps(volcanoNamespace).Get(t.Context(), "volcano-scheduler-configmap", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, find[corev1.ConfigMap](t, upstreamScheduler(t), "ConfigMap").Data, configuration.Data)
}

// TestDeployed runs the scheduler with the flags and the configuration of deploy/cards, and with no more rights than
// its service account has. It has to bind, evict, report and lead, and to be refused nothing.
func TestDeployed(t *testing.T) {
	c := plane(t, "nodes.yaml")
	install(t, c)
	objects := render(t, "../deploy/cards")
	objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Deployment" })
	c.send(t, objects, "kubectl")

	token, err := c.Kube.CoreV1().ServiceAccounts(volcanoNamespace).CreateToken(t.Context(), "volcano-scheduler", &authentication.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	directory := t.TempDir()
	kubeconfig := filepath.Join(directory, "kubeconfig")
	require.NoError(t, c.WriteKubeconfig(kubeconfig, c.Address, token.Status.Token))
	for name, text := range find[corev1.ConfigMap](t, objects, "ConfigMap").Data {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600))
	}
	flags := find[apps.Deployment](t, render(t, "../deploy/cards"), "Deployment").Spec.Template.Spec.Containers[0].Args
	for i := range flags {
		flags[i] = strings.Replace(flags[i], "=/volcano.scheduler/", "="+directory+"/", 1)
	}
	p := c.runWith(t, build(t, ours), append(flags, "--kubeconfig="+kubeconfig)...)

	c.apply(t, "queue-lending.yaml")
	c.submit(t, "batch-9", "training", rtx4090D, 9)
	c.runs(t, "batch-9", map[string]int{rtx4090D: 8}, 1)
	c.says(t, "batch-9", insufficient("training", rtx4090D, 1, 9, 8))
	c.submit(t, "service-3", "inference", rtx4090D, 3, gang)
	c.runs(t, "service-3", map[string]int{rtx4090D: 3}, 0)
	c.runs(t, "batch-9", map[string]int{rtx4090D: 5}, 4)
	c.setQuota(t, "inference", `{"NVIDIA-GeForce-RTX-4090-D": 3.5}`)
	c.warned(t, "inference", "volcano.sh/card.quota")
	c.submit(t, "late-9", "training", rtx4090D, 9, gang, requesting(`{"NVIDIA-GeForce-RTX-4090-D": 9}`))
	c.refusedFor(t, "late-9", "Queue <training> has insufficient <NVIDIA-GeForce-RTX-4090-D> quota")
	p.measures(t, `volcano_queue_allocated_scalar_resources{queue_name="training",resource="NVIDIA-GeForce-RTX-4090-D"} 5000`)
	require.NotContains(t, strings.ToLower(p.log(t)), "forbidden")
}

// TestDockerfile compares the Dockerfile with the Deployment and with the image that packaging builds: one user, one
// program, the files that it needs. Its bases have their registry, so that no engine has to guess it.
func TestDockerfile(t *testing.T) {
	pod := find[apps.Deployment](t, render(t, "../deploy/drop-in"), "Deployment").Spec.Template.Spec
	text := string(read(t, "../deploy/Dockerfile"))
	require.Contains(t, text, fmt.Sprintf("\nUSER %d:%d\n", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup))
	require.Contains(t, text, "\nENTRYPOINT [\"/vc-scheduler\"]\n")
	require.Empty(t, pod.Containers[0].Command)
	require.Contains(t, text, "RUN CGO_ENABLED=0 go build -trimpath ")
	require.Contains(t, text, "mkdir -m 1777 /root/image/tmp")
	require.Contains(t, text, "ca-certificates.crt")
	bases := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(text, -1)
	require.Len(t, bases, 2)
	require.Regexp(t, `^docker\.io/library/golang:`, bases[0][1])
	require.Equal(t, "scratch", bases[1][1])
}
