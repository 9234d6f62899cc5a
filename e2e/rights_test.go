package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	"sigs.k8s.io/yaml"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/status"
)

// right is one verb on one resource.
type right struct{ group, resource, verb string }

func (r right) String() string { return r.verb + " " + r.resource }

// rights are all that rules permit.
func rights(rules []rbac.PolicyRule) (all []right) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{group, resource, verb})
				}
			}
		}
	}
	return all
}

// without returns rules that do not permit one right.
func without(rules []rbac.PolicyRule, r right) (left []rbac.PolicyRule) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				verbs := slices.Clone(rule.Verbs)
				if group == r.group && resource == r.resource {
					verbs = slices.DeleteFunc(verbs, func(verb string) bool { return verb == r.verb })
				}
				if len(verbs) > 0 {
					left = append(left, rbac.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs, ResourceNames: rule.ResourceNames})
				}
			}
		}
	}
	return left
}

// refused matches the complaint of a program that lacks a right, in the words of the program or of the API server.
func refused(r right) string {
	return fmt.Sprintf(`(no permission to|cannot) %s [^\n]*(?i:%s)`, r.verb, strings.TrimSuffix(r.resource, "s"))
}

// TestEachRightOfTheViewIsNeeded takes one verb on one resource away from the role of deploy/view at a time. The server
// then names the missing right. Clients of later releases get a list with the watch, if the API server can send it so.
// They need the right to list only for resources that they do not watch.
func TestEachRightOfTheViewIsNeeded(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.scheduleInstalled(t)
	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	guest := c.user(t, "guest", listing(listQueues, "nodes", "pods"), nil)
	rules := find[rbac.ClusterRole](t, render(t, "../deploy/view"), "ClusterRole").Rules
	all, withWatch := rights(rules), features.FeatureGates().Enabled(features.WatchListClient)
	for i, r := range all {
		if r.verb == "list" && withWatch && slices.Contains(all, right{r.group, r.resource, "watch"}) {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			_, kubeconfig := layFor(t, c, c.user(t, fmt.Sprintf("view-%d", i), without(rules, r), nil))
			p := servePages(t, "--authenticate", "--kubeconfig", kubeconfig)
			eventually(t, func(collect *assert.CollectT) {
				said := p.log(t)
				for _, path := range []string{"/health", "/queues", "/lending"} {
					_, text, err := p.get(path, guest)
					assert.NoError(collect, err)
					said += text
				}
				assert.Regexp(collect, refused(r), said)
			})
		})
	}
}

// TestEachRightOfThePluginsIsNeeded takes away, one at a time, verbs of Volcano's role that the plugins use and
// Volcano's scheduler does not. They are for the store, for events, and for notices on pods. The scheduler then names
// the missing right, and goes on.
func TestEachRightOfThePluginsIsNeeded(t *testing.T) {
	c := plane(t, "nodes.yaml")
	program := build(t, ours)
	configuration := strings.Replace(exampleConfiguration(t), "reclaimGangs: whole",
		"reclaimGangs: whole\n      fairShareHalfLife: 10h\n      stateSave: 1s", 1)
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/eviction-grace", "1h")
	c.queue(t, "steady", `{"NVIDIA-H200": 1}`)
	first := c.run(t, program, configuration)
	c.submit(t, "borrower", "training", rtx4090D, 8, func(job *batch.Job) {
		job.Spec.Tasks[0].Template.Annotations["volcano.sh/eviction-grace"] = "1h"
	})
	c.runs(t, "borrower", map[string]int{rtx4090D: 8}, 0)
	require.NoError(t, first.Kill())
	c.submit(t, "owner", "inference", rtx4090D, 1) // waits, so that a pod of training gets notice
	rules := find[rbac.ClusterRole](t, render(t, "../deploy/drop-in"), "ClusterRole").Rules
	maps := c.Kube.CoreV1().ConfigMaps("volcano-system")
	for i, r := range []right{
		{"", "pods", "patch"}, {"", "events", "create"}, {"", "events", "patch"},
		{"", "configmaps", "get"}, {"", "configmaps", "create"}, {"", "configmaps", "update"},
	} {
		t.Run(r.String(), func(t *testing.T) {
			require.Contains(t, rights(rules), r)
			named := regexp.MustCompile(refused(r))
			if r.verb == "create" { // an existing ConfigMap is updated
				err := maps.Delete(t.Context(), "capacity-card-usage", metav1.DeleteOptions{})
				require.True(t, err == nil || apierrors.IsNotFound(err), err)
			}
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			require.NoError(t, c.WriteKubeconfig(kubeconfig, c.Address, c.user(t, fmt.Sprintf("scheduler-%d", i), without(rules, r), nil)))
			p := c.run(t, program, configuration, "--kubeconfig="+kubeconfig)
			name := fmt.Sprintf("still-%d", i)
			c.submit(t, name, "steady", h200, 1) // so that there is usage to save
			c.runs(t, name, map[string]int{h200: 1}, 0)
			require.Eventually(t, func() bool { return named.MatchString(p.log(t)) }, patience, schedulePeriod, "the log should name %s", r)
			c.complete(t, name, 1)
		})
	}
}

// TestCardStatus runs the scheduler with cardStatus. Without the right to patch queues, it names the right and goes on.
// With the role of deploy/status, each queue has the numbers that cardctl top prints, and the next write is a minute
// away.
func TestCardStatus(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.policy(t)
	program := build(t, ours)
	configuration := strings.Replace(exampleConfiguration(t), "reclaimGangs: whole", "reclaimGangs: whole\n      cardStatus: 1m", 1)
	rules := find[rbac.ClusterRole](t, render(t, "../deploy/drop-in"), "ClusterRole").Rules
	schedule := func(name string, rules []rbac.PolicyRule) *process {
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		require.NoError(t, c.WriteKubeconfig(kubeconfig, c.Address, c.user(t, name, rules, nil)))
		return c.run(t, program, configuration, "--kubeconfig="+kubeconfig)
	}
	statusOf := func(queue string) string {
		object, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), queue, metav1.GetOptions{})
		require.NoError(t, err)
		return object.Annotations[card.StatusKey]
	}

	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	p := schedule("without", rules)
	named := regexp.MustCompile(refused(right{"", "queues", "patch"}))
	require.Eventually(t, func() bool { return named.MatchString(p.log(t)) }, patience, schedulePeriod)
	c.submit(t, "runs", "research", h200, 2)
	c.runs(t, "runs", map[string]int{h200: 2}, 0)
	c.submit(t, "waits", "research", h200, 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	c.refused(t, "waits", insufficient("research", h200, 5, 6, 3)) // one of the two pods is beyond the minimum
	require.Empty(t, statusOf("research"))
	require.NoError(t, p.Kill())

	role, _, _ := bytes.Cut(read(t, "../deploy/status/role.yaml"), []byte("\n---\n"))
	var more rbac.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(role, &more))
	p = schedule("with", append(slices.Clone(rules), more.Rules...))
	command := exec.Command(build(t, cardctl), "top", "-o", "json", "--kubeconfig", c.Kubeconfig(),
		"--scheduler-conf", filepath.Join(examples, "scheduler.conf.yaml"))
	printed, err := command.Output()
	require.NoError(t, err)
	var top struct {
		Version string
		Items   []struct {
			Name string `json:"queue"`
			status.Queue
		}
	}
	require.NoError(t, json.Unmarshal(printed, &top))
	assert.Equal(t, status.Version, top.Version)
	for _, listed := range top.Items {
		require.Eventually(t, func() bool { return statusOf(listed.Name) != "" }, patience, schedulePeriod, listed.Name)
		t.Log(listed.Name, statusOf(listed.Name))
		var got status.Queue
		require.NoError(t, json.Unmarshal([]byte(statusOf(listed.Name)), &got))
		listed.Version = top.Version
		listed.Resources = slices.DeleteFunc(listed.Resources, func(h status.Holding) bool { return !h.Card })
		assert.Equal(t, listed.Queue, got, listed.Name)
	}
	assert.NotContains(t, p.log(t), "cardStatus: annotation")
}

// TestRightsInOneNamespace asks as a user who may list the objects of one namespace. cardctl explain answers with the
// messages of the scheduler in that namespace, and the first page of the server has the jobs of the namespace.
func TestRightsInOneNamespace(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.scheduleInstalled(t)
	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	c.submit(t, "runs", "research", h200, 2)
	c.runs(t, "runs", map[string]int{h200: 2}, 0)
	c.submit(t, "asks-for-five", "research", h200, 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	words := insufficient("research", h200, 5, 6, 3) // one of the two pods is beyond the minimum
	c.refused(t, "asks-for-five", words)

	member := c.user(t, "member", nil, listing("pods", "events", "podgroups.scheduling.volcano.sh"))
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, c.WriteKubeconfig(kubeconfig, c.Address, member))
	explain := func(arguments ...string) (stdout, stderr string, err error) {
		command := exec.Command(build(t, cardctl), append([]string{"explain", "--kubeconfig", kubeconfig}, arguments...)...)
		var out, errOut bytes.Buffer
		command.Stdout, command.Stderr = &out, &errOut
		err = command.Run()
		return out.String(), errOut.String(), err
	}

	stdout, stderr, err := explain("-n", c.namespace, "job", "asks-for-five")
	require.NoError(t, err, stderr)
	assert.Contains(t, stdout, words)
	assert.Contains(t, stdout, "(condition OverQuota)")
	assert.Contains(t, stdout, "1 of 1 jobs of namespace "+c.namespace+" that wait in queue research")
	assert.Contains(t, stderr, "ClusterRole capacity-card-viewer (deploy/cardctl) shows it")
	stdout, stderr, err = explain("-n", c.namespace)
	require.NoError(t, err, stderr)
	assert.Contains(t, stdout, "Job/asks-for-five")
	assert.NotContains(t, stdout, "Job/runs")
	_, stderr, err = explain()
	require.Error(t, err)
	assert.Contains(t, stderr, "cardctl explain -n NAMESPACE")

	p, _ := c.serveDeployed(t)
	eventually(t, func(collect *assert.CollectT) {
		status, text, err := p.get("/", member)
		assert.NoError(collect, err)
		assert.Equal(collect, http.StatusOK, status)
		for _, part := range []string{"Your jobs", "asks-for-five", "runs", "explain -n " + c.namespace, "capacity-card-viewer"} {
			assert.Contains(collect, text, part)
		}
	})
	p.answers(t, "/queues", member, http.StatusForbidden)
}

// TestServeWithoutRights names in the log and on the page the objects that the server may not list.
func TestServeWithoutRights(t *testing.T) {
	c := plane(t, "nodes.yaml")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, c.WriteKubeconfig(kubeconfig, c.Address, c.user(t, "nobody", nil, nil)))
	p := servePages(t, "--kubeconfig", kubeconfig)
	eventually(t, func(collect *assert.CollectT) {
		_, page, err := p.get("/", "")
		assert.NoError(collect, err)
		for _, text := range []string{p.log(t), page} {
			assert.Regexp(collect, "no permission to list any of nodes, pods, queues.scheduling.volcano.sh.* the ClusterRole capacity-card-viewer", text)
		}
	})
}
