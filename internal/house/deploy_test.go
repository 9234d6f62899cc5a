package house

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// manifests returns the objects of a kind in the YAML files that git lists for a pattern, by their
// file and name.
func manifests[T any](t *testing.T, kind, pattern string) map[string]*T {
	t.Helper()
	listed, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", pattern).Output()
	require.NoError(t, err)
	found := map[string]*T{}
	for file := range strings.FieldsSeq(string(listed)) {
		if strings.Contains(file, "/templates/") {
			continue
		}
		for document := range bytes.SplitSeq(read(t, file), []byte("\n---\n")) {
			var head struct {
				Kind     string
				Metadata struct{ Name string }
			}
			require.NoError(t, yaml.Unmarshal(document, &head), file)
			if head.Kind != kind {
				continue
			}
			object := new(T)
			require.NoError(t, yaml.UnmarshalStrict(document, object), file)
			found[file+" "+head.Metadata.Name] = object
		}
	}
	return found
}

// TestGoMemoryLimits expects each GOMEMLIMIT to leave some of the container's limit of memory. If the garbage collector
// began only at the limit, the kernel would end the process.
func TestGoMemoryLimits(t *testing.T) {
	limits := 0
	for name, deployment := range manifests[apps.Deployment](t, "Deployment", "deploy/*.yaml") {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			for _, variable := range container.Env {
				if variable.Name != "GOMEMLIMIT" {
					continue
				}
				limits++
				number, found := strings.CutSuffix(variable.Value, "MiB")
				require.True(t, found, "%s: GOMEMLIMIT is %q", name, variable.Value)
				has, err := strconv.Atoi(number)
				require.NoError(t, err, name)
				share := float64(has<<20) / float64(container.Resources.Limits.Memory().Value())
				require.InDelta(t, 0.9, share, 0.02, "%s: GOMEMLIMIT is %.2f of the limit", name, share)
			}
		}
	}
	require.Equal(t, 2, limits, "the scheduler and the view have one")
}

// TestProxyExample expects the example of a proxy to fit to deploy/view, and its parts to each other.
func TestProxyExample(t *testing.T) {
	const example = "examples/view/oauth2-proxy.yaml"
	proxy := manifests[apps.Deployment](t, "Deployment", example)[example+" oauth2-proxy"]
	service := manifests[corev1.Service](t, "Service", example)[example+" oauth2-proxy"]
	ingress := manifests[networking.Ingress](t, "Ingress", example)[example+" capacity-card-view"]
	view := manifests[corev1.Service](t, "Service", "deploy/view/*.yaml")["deploy/view/service.yaml capacity-card-view"]
	pages := manifests[apps.Deployment](t, "Deployment", "deploy/view/*.yaml")["deploy/view/deployment.yaml capacity-card-view"]

	pod := proxy.Spec.Template.Spec
	flags := pod.Containers[0].Args
	require.Contains(t, flags, "--upstream=https://"+view.Name+"."+proxy.Namespace+".svc")
	require.EqualValues(t, 443, view.Spec.Ports[0].Port, "the upstream has no port")
	require.Contains(t, flags, "--pass-authorization-header=true")
	require.Equal(t, pages.Spec.Template.Spec.Volumes[0].Secret.SecretName, pod.Volumes[0].Secret.SecretName)
	require.Equal(t, pod.Containers[0].VolumeMounts[0].MountPath, pod.Containers[0].Env[2].Value)

	require.Equal(t, proxy.Spec.Template.Labels, service.Spec.Selector)
	require.Equal(t, pod.Containers[0].Ports[0].Name, service.Spec.Ports[0].TargetPort.StrVal)
	rule := ingress.Spec.Rules[0]
	require.Contains(t, flags, "--redirect-url=https://"+rule.Host+"/oauth2/callback")
	require.True(t, slices.Contains(ingress.Spec.TLS[0].Hosts, rule.Host))
	backend := rule.HTTP.Paths[0].Backend.Service
	require.Equal(t, service.Name, backend.Name)
	require.Equal(t, service.Spec.Ports[0].Name, backend.Port.Name)
}

// TestRolesReadAllUsage expects the roles of cardctl to permit the ConfigMaps of a history with four parts, in both
// sets that saves take in turn.
func TestRolesReadAllUsage(t *testing.T) {
	record := usage.Record{Queues: map[string]usage.QueueRecord{}}
	noise := rand.New(rand.NewPCG(1, 1))
	for range 60_000 { // names that do not compress
		record.Queues[fmt.Sprintf("%x%x", noise.Uint64(), noise.Uint64())+"-of-a-long-history"] = usage.QueueRecord{Usage: []float64{noise.Float64()}}
	}
	stored := &store.Stored{Record: store.Record{Record: record}}
	var names []string
	for range 2 {
		all, err := store.Write(types.NamespacedName{Name: "capacity-card-usage"}, stored, "x")
		require.NoError(t, err)
		require.Greater(t, len(all), 3)
		for _, part := range all[:4] {
			names = append(names, part.Name)
		}
		stored.Set = all[0].Data["set"]
	}
	roles := manifests[rbac.ClusterRole](t, "ClusterRole", "deploy/*.yaml")
	for _, name := range []string{"deploy/view/role.yaml capacity-card-view", "deploy/cardctl/clusterrole.yaml capacity-card-viewer"} {
		require.Contains(t, roles, name)
		at := slices.IndexFunc(roles[name].Rules, func(r rbac.PolicyRule) bool { return slices.Contains(r.Resources, "configmaps") })
		require.Subset(t, roles[name].Rules[at].ResourceNames, names, name)
	}
}
