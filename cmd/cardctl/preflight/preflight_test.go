package preflight

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin"
)

const examples = "../../../examples/"

// subject reads the cluster of examples/cardctl with Volcano's own scheduler, and Kubernetes v1.34.1.
func subject(t *testing.T) *Subject {
	t.Helper()
	var files []string
	for _, name := range []string{"cardctl/nodes.yaml", "cardctl/queues.yaml", "cardctl/jobs.yaml", "preflight"} {
		files = append(files, filepath.Join(examples, name))
	}
	objects, err := input.ReadFiles(files, false, nil, nil)
	require.NoError(t, err)
	require.Empty(t, objects.Problems)

	s := &Subject{Installation: objects.Installation(), Objects: objects, Nodes: objects.Nodes, Plugin: plugin.Name}
	s.Kubernetes = "v1.34.1"
	s.Groups = append([]string{"apps"}, needed...)
	s.Lacks = map[input.Part]string{}
	return s
}

// text returns a check as one text.
func (c Check) text() string {
	lines := []string{string(c.Result) + ": " + c.Message}
	for _, d := range c.Details {
		lines = append(lines, "- "+d.String())
	}
	for _, line := range c.Do {
		lines = append(lines, "do: "+line)
	}
	return strings.Join(lines, "\n")
}

// scheduler returns the container of the scheduler.
func (s *Subject) scheduler() *v1.Container { return s.Schedulers[0].Container }

func TestVolcano(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Subject)
		want   []string
	}{
		"one version":     {func(*Subject) {}, []string{"ok: scheduler, controllers, webhooks v1.14.1"}},
		"mixed versions":  {func(s *Subject) { s.Others[0].Container.Image = "x/vc-controller-manager:v1.13.2" }, []string{"note: controllers v1.13.2; scheduler, webhooks v1.14.1: the components have different versions", "--version 1.14.1 "}},
		"no topology":     {func(s *Subject) { s.Groups = s.Groups[:3] }, []string{"stop: ", "the API server has no kinds of topology.volcano.sh", "do: kubectl get crd"}},
		"groups unknown":  {func(s *Subject) { s.Groups, s.Lacks[input.GroupsPart] = nil, "no answer" }, []string{"ok: ", "; CRDs: no answer"}},
		"no right":        {func(s *Subject) { s.Schedulers, s.Lacks[input.DeploymentsPart] = nil, "no permission" }, []string{"unknown: no permission"}},
		"a tag of a fork": {func(s *Subject) { s.scheduler().Image = "x/vc-scheduler:main" }, []string{"note: ", "scheduler x/vc-scheduler:main"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t)
			test.change(s)
			text := s.checkVolcano().text()
			for _, want := range test.want {
				assert.Contains(t, text, want)
			}
		})
	}
}

func TestImage(t *testing.T) {
	for image, want := range map[string]string{
		"docker.io/volcanosh/vc-scheduler:v1.14.1":                 "ok: vc-scheduler:RELEASE-volcano-v1.14.1 fits: make image",
		"registry:5000/vc-scheduler:v1.15.1":                       "vc-scheduler:RELEASE-volcano-v1.15.1 fits: make image VOLCANO=1.15.1",
		"volcanosh/vc-scheduler:v1.14.3-amd64":                     "fits: git clone --depth 1 --branch v1.14.3 ",
		"volcanosh/vc-scheduler:1.15.0":                            "fits: git clone --depth 1 --branch v1.15.0 ",
		"volcanosh/vc-scheduler:v1.13.1":                           "stop: no image fits Volcano v1.13.1: upgrade Volcano first\ndo: helm upgrade volcano volcano-sh/volcano -n volcano-system --version 1.14.4 ",
		"volcanosh/vc-scheduler:v1.14.0":                           "stop: no image fits Volcano v1.14.0",
		"volcanosh/vc-scheduler:v1.16.0":                           "note: Volcano v1.16.0 is newer than what is tested, v1.15.1",
		"volcanosh/vc-scheduler:latest":                            "unknown: the image volcanosh/vc-scheduler:latest does not say its version",
		"volcanosh/vc-scheduler@sha256:1.2.3":                      "unknown: ",
		"ghcr.io/c/vc-scheduler:v0.1.0-volcano-v1.14.1":            "ok: the scheduler runs an image of this project already",
		"registry.example.com/volcano/vc-scheduler-v0.1.0:v1.14.1": "ok: the scheduler runs an image of this project already",
	} {
		t.Run(image, func(t *testing.T) {
			s := subject(t)
			s.scheduler().Image = image
			assert.Contains(t, s.checkImage().text(), want)
		})
	}
}

func TestKubernetes(t *testing.T) {
	for name, test := range map[string]struct {
		version, gates, want string
	}{
		"served":        {"v1.34.1", "", "ok: v1.34.1"},
		"a vendor":      {"v1.35.0-eks-1234", "", "ok: v1.35.0-eks-1234"},
		"not served":    {"v1.33.4", "", "ok: v1.33.4, without dynamic resource allocation"},
		"a build":       {"v1.30.2+k3s1", "DynamicResourceAllocation=false", "ok: "},
		"the gate":      {"v1.33.4", "X=true,DynamicResourceAllocation=true", "stop: v1.33.4 does not serve resource.k8s.io/v1"},
		"newer":         {"v1.37.0", "", "note: v1.37.0 is newer than what is tested"},
		"not read":      {"", "", "unknown: no answer\ndo: kubectl version"},
		"not a version": {"main", "", "unknown: the version main"},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t)
			s.Kubernetes = test.version
			s.Lacks[input.KubernetesPart] = "no answer"
			s.scheduler().Args = append(s.scheduler().Args, "--feature-gates="+test.gates)
			assert.Contains(t, s.checkKubernetes().text(), test.want)
		})
	}
}

func TestFlags(t *testing.T) {
	replicas := func(flags ...string) func(*Subject) {
		return func(s *Subject) {
			s.Schedulers[0].Deployment.Spec.Replicas = ptr.To[int32](2)
			s.scheduler().Args = flags
		}
	}
	flag := func(values ...string) func(*Subject) {
		return func(s *Subject) { s.scheduler().Args = append(s.scheduler().Args, values...) }
	}
	for name, test := range map[string]struct {
		change func(*Subject)
		want   []string
	}{
		"of the chart":   {func(*Subject) {}, []string{"ok: --schedule-period=1s --leader-elect=false and all other flags stay as they are"}},
		"none":           {func(s *Subject) { s.scheduler().Args = nil }, []string{"ok: all flags stay as they are"}},
		"the gates":      {flag("--feature-gates=A=true", "--scheduler-name", "volcano"), []string{"--scheduler-name=volcano", "--feature-gates=A=true"}},
		"shared objects": {flag("--plugins-dir=/plugins"), []string{"stop: ", "- --plugins-dir loads shared objects", "do: compile your plugins"}},
		"a shell":        {func(s *Subject) { s.scheduler().Command = []string{"sh", "-c"} }, []string{"stop: ", "the container runs sh"}},
		"the program":    {func(s *Subject) { s.scheduler().Command = []string{"/vc-scheduler"} }, []string{"ok: "}},
		"replicas":       {replicas("--leader-elect", "--leader-elect=False"), []string{"note: ", "2 replicas decide at once", "--leader-elect=true"}},
		"the default":    {replicas("--schedule-period=1s"), []string{"ok: --schedule-period=1s and all"}},
		"elections":      {replicas("--leader-elect=false", "--leader-elect", "-v=3"), []string{"ok: --leader-elect=false,true and all"}},
		"two schedulers": {func(s *Subject) { s.Schedulers = append(s.Schedulers, s.Schedulers[0]) }, []string{"stop: ", "2 Deployments run the scheduler volcano"}},
		"another name":   {func(s *Subject) { s.scheduler().Name = "main" }, []string{"note: ", "its container main", "deploy/patch/scheduler.yaml"}},
		"read-only": {func(s *Subject) {
			s.scheduler().SecurityContext = &v1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true)}
		}, []string{"stop: ", "the root file system is read-only", "emptyDir at /tmp"}},
		"read-only with a volume": {func(s *Subject) {
			s.scheduler().SecurityContext = &v1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true)}
			s.scheduler().VolumeMounts = append(s.scheduler().VolumeMounts, v1.VolumeMount{MountPath: "/tmp/"})
		}, []string{"ok: "}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t)
			test.change(s)
			text := s.checkDeployment().text()
			for _, want := range test.want {
				assert.Contains(t, text, want)
			}
		})
	}
}

// configured returns a configuration with actions and a quota plugin in the second tier.
func configured(actions, name, more string) string {
	return fmt.Sprintf("actions: %q\ntiers:\n- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]\n"+
		"- plugins: [{name: %s%s}, {name: predicates}]\n", actions, name, more)
}

func TestConfiguration(t *testing.T) {
	const usual = "enqueue, allocate, backfill"
	for name, test := range map[string]struct {
		text, plugin, next string
		want               []string
	}{
		"proportion":   {configured(usual, "proportion", ""), plugin.Name, "", []string{"note: proportion is in tier 2; capacity-card goes into tier 1", "do: remove from tier 2: - name: proportion", "do: add at the end of tier 1: - name: capacity-card\nok: enqueue, allocate, backfill"}},
		"a tree":       {configured(usual, "capacity", ", enableHierarchy: true"), plugin.Name, "", []string{"- name: capacity-card with enableHierarchy: true"}},
		"arguments":    {configured(usual, "capacity", ", enableHierarchy: true, arguments: {reclaimGangs: whole}"), plugin.Name, "", []string{"- name: capacity-card with enableHierarchy: true and the arguments of capacity"}},
		"the image":    {configured(usual, "capacity", ""), plugin.CapacityName, "", []string{"ok: capacity is in tier 2, and stays"}},
		"own":          {configured(usual, "proportion", ""), plugin.Name, configured(usual, "capacity-card", ""), []string{"ok: proportion is in tier 2; capacity-card is in tier 2 in next.conf"}},
		"order":        {configured("reclaim, enqueue", "capacity", ""), plugin.Name, "", []string{"stop: ", "the scheduler does not start", "set actions: "}},
		"unknown":      {configured(usual, "proportion}, {name: ours", ""), plugin.Name, "", []string{"stop: ", "no such plugin is registered: ours", "left out of the checks below: ours"}},
		"a key":        {configured(usual, "proportion}, {name: binpack, enabledX: true", ""), plugin.CapacityName, "", []string{"note: "}},
		"no plugin":    {"actions: allocate\ntiers:\n- plugins: [{name: gang}]\n", plugin.Name, "", []string{"stop: the scheduler configuration has no quota plugin", "unknown: "}},
		"not readable": {"tiers: 3", plugin.Name, "", []string{"stop: the scheduler configuration: ", "unknown: "}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t)
			s.Configuration.Text = test.text
			s.Plugin = test.plugin
			if test.next != "" {
				next, err := engine.Configure(test.next)
				require.NoError(t, err)
				next.Given = &input.Configuration{Text: test.next, Origin: "next.conf"}
				s.Next = next
			}

			_, _, checks := s.checkConfiguration()
			require.Len(t, checks, 2)
			text := checks[0].text() + "\n" + checks[1].text()
			for _, want := range test.want {
				assert.Contains(t, text, want)
			}
		})
	}
}

// TestUpstream has Volcano's own plugin decide only where it does in the cluster.
func TestUpstream(t *testing.T) {
	s := subject(t)
	now, next, _ := s.checkConfiguration()
	assert.True(t, now.Upstream)
	assert.False(t, next.Upstream)

	s.Plugin = plugin.ProportionName
	now, next, _ = s.checkConfiguration()
	assert.True(t, now.Upstream)
	assert.False(t, next.Upstream)

	s.scheduler().Image = "x/vc-scheduler:v0.1.0-volcano-v1.14.1"
	now, _, _ = s.checkConfiguration()
	assert.False(t, now.Upstream)
}

func TestHelm(t *testing.T) {
	stored := func(s *Subject) *input.HelmRelease {
		text, err := os.ReadFile(filepath.Join(examples, "preflight/volcano.yaml"))
		require.NoError(t, err)
		return &input.HelmRelease{Name: "volcano", Namespace: "volcano-system", Revision: 3, Manifest: "---\n" + string(text)}
	}
	for name, test := range map[string]struct {
		change func(*Subject)
		want   []string
	}{
		"the same": {func(*Subject) {}, []string{"ok: release volcano, revision 3, is what the cluster has"}},
		"spaces": {func(s *Subject) {
			s.Release.Manifest = strings.Replace(s.Release.Manifest, "- name: gang\n", "- name: gang  \n", 1)
		}, []string{"ok: "}},
		"edited": {func(s *Subject) {
			s.edit("- name: overcommit\n", "")
		}, []string{"note: release volcano, revision 3, differs", "-  - name: overcommit", "do: with each helm upgrade: --set-file"}},
		"a new image": {func(s *Subject) { s.scheduler().Image = "ours" }, []string{"note: ", "-docker.io/volcanosh/vc-scheduler:v1.14.1\n+ours"}},
		"a flag":      {func(s *Subject) { s.scheduler().Args = append(s.scheduler().Args, "--x") }, []string{"note: ", "+--x"}},
		"forbidden": {func(s *Subject) { s.Release, s.Lacks[input.ReleasePart] = nil, "no permission to list secrets" },
			[]string{"unknown: no permission to list secrets\ndo: helm get manifest volcano -n volcano-system"}},
		"not Helm's":   {func(s *Subject) { s.ConfigMap.Annotations = nil }, []string{"ok: the ConfigMap belongs to no release"}},
		"no ConfigMap": {func(s *Subject) { s.ConfigMap, s.Lacks[input.ConfigurationPart] = nil, "none" }, []string{"unknown: none"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t)
			s.Release = stored(s)
			test.change(s)
			text := s.checkHelm().text()
			for _, want := range test.want {
				assert.Contains(t, text, want)
			}
		})
	}
}

// edit changes the configuration in the cluster.
func (s *Subject) edit(old, new string) {
	s.Configuration.Text = strings.Replace(s.Configuration.Text, old, new, 1)
	s.ConfigMap.Data[s.Configuration.Key] = s.Configuration.Text
}

func TestNodes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Subject)
		want   []string
	}{
		"labels":       {func(*Subject) {}, []string{"ok: 5 nodes, cards: Ascend910B, NVIDIA-H200, "}},
		"no label":     {func(s *Subject) { delete(s.Nodes[0].Labels, "nvidia.com/gpu.product") }, []string{"note: ", "; 1 problems of labels", "- h200-1: nvidia.com/gpu has no card name", "do: kubectl label node h200-1 nvidia.com/gpu.product=CARD"}},
		"misspelt":     {func(s *Subject) { s.relabel(0, "nvidia.com/gpu.prodct", "NVIDIA-H200") }, []string{`did you mean "nvidia.com/gpu.prodct"?`}},
		"two names":    {func(s *Subject) { s.Nodes[4].Labels["node.kubernetes.io/npu.chip.name"] = "910B3" }, []string{"- ascend-1: huawei.com/Ascend910 has two names: huawei.com/Ascend910.product=Ascend910B and node.kubernetes.io/npu.chip.name=910B3"}},
		"a slice":      {func(s *Subject) { s.Nodes[1].Labels["nvidia.com/mig-1g.18gb.product"] = "NVIDIA-H200-MIG-1g.18gb" }, []string{"ok: "}},
		"like names":   {func(s *Subject) { s.Nodes[2].Labels["nvidia.com/gpu.product"] = "Nvidia_H200" }, []string{"- NVIDIA-H200 and Nvidia_H200 are different cards"}},
		"no cards":     {func(s *Subject) { s.Nodes = []*v1.Node{{}} }, []string{"note: none of 1 nodes has a card"}},
		"not readable": {func(s *Subject) { s.NodesLack = "no permission to list nodes" }, []string{"unknown: no permission to list nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t)
			test.change(s)
			text := s.checkNodes(nil).text()
			for _, want := range test.want {
				assert.Contains(t, text, want)
			}
		})
	}
}

// relabel replaces the label of the card of a node.
func (s *Subject) relabel(node int, label, card string) {
	delete(s.Nodes[node].Labels, "nvidia.com/gpu.product")
	s.Nodes[node].Labels[label] = card
}

// TestLimited expects the first ten names, and the number of the others.
func TestLimited(t *testing.T) {
	names := strings.Split("abcdefghijkl", "")
	assert.Equal(t, names[:10], limited(names[:10]))
	assert.Equal(t, "… (2 more)", limited(names)[10])
}

// TestRun expects the worst result of a check as the verdict, and unknown checks where the objects are not known.
func TestRun(t *testing.T) {
	s := subject(t)
	report, err := Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, Note, report.Verdict)
	assert.Equal(t, 11, len(report.Checks))
	assert.Contains(t, report.Summary(), "nothing stops the change to capacity-card; ")

	s = subject(t)
	s.ObjectsLack = "no permission to list pods"
	s.scheduler().Image = "volcanosh/vc-scheduler:v1.12.0"
	report, err = Run(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, Stop, report.Verdict)
	assert.Equal(t, 4, report.Count(Unknown), "the objects, and what Helm stores")
	assert.Contains(t, report.Summary(), "do not change to capacity-card yet: 1 checks stop it; ")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, subject(t))
	assert.ErrorIs(t, err, context.Canceled)
}
