package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// preflown has the fields of a report of cardctl preflight that the test reads.
type preflown struct {
	Verdict string
	Checks  []struct{ Name, Result, Message string }
}

// results has the results of the checks by their names.
func (r preflown) results() map[string]string {
	all := map[string]string{}
	for _, c := range r.Checks {
		all[c.Name] = c.Result
	}
	return all
}

// preflight runs cardctl preflight.
func preflight(t *testing.T, kubeconfig string, arguments ...string) (status int, r preflown, stderr string) {
	t.Helper()
	arguments = append([]string{"preflight", "-o", "json", "--kubeconfig", kubeconfig}, arguments...)
	command := exec.Command(build(t, cardctl), arguments...)
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), err)
	if out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), &r), out.String())
	}
	return command.ProcessState.ExitCode(), r, errOut.String()
}

// TestPreflight runs cardctl preflight on a cluster with Volcano's own installation: once with all rights, and once as
// a user who may list only nodes.
func TestPreflight(t *testing.T) {
	c := plane(t, "nodes.yaml")
	install(t, c)
	_, r, stderr := preflight(t, c.Kubeconfig())
	require.Len(t, r.Checks, 11, stderr)
	found := r.results()
	for _, name := range []string{"volcano", "flags", "actions", "nodes", "queues", "jobs", "evictions"} {
		assert.Equal(t, "ok", found[name], "%+v", r.Checks)
	}
	assert.Equal(t, "note", found["plugin"])
	assert.Equal(t, "unknown", found["kubernetes"], "the control plane is built without a version")

	_, kubeconfig := layFor(t, c, c.user(t, "preflight", listing("nodes"), nil))
	_, r, stderr = preflight(t, kubeconfig)
	require.Len(t, r.Checks, 11, stderr)
	found = r.results()
	for _, name := range []string{"volcano", "flags", "plugin", "helm", "queues", "jobs", "evictions"} {
		assert.Equal(t, "unknown", found[name], "%+v", r.Checks)
	}
	assert.Equal(t, "ok", found["nodes"], "%+v", r.Checks)

	status, _, stderr := preflight(t, c.Kubeconfig(), "--server", "https://127.0.0.1:1")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "error: the cluster https://127.0.0.1:1 cannot be reached: connection refused")
}

// TestPreflightHelm installs Volcano with its chart, and edits the configuration in the cluster. Preflight finds the
// edit that the next helm upgrade would reset.
func TestPreflightHelm(t *testing.T) {
	c := plane(t, "nodes.yaml")
	h := newHelm(t, c.Kubeconfig())
	t.Cleanup(func() { c.removeChart(t) })
	h.run(t, append([]string{"install", "volcano", "--take-ownership"}, chartOfVolcano(t)...)...)
	_, r, stderr := preflight(t, c.Kubeconfig())
	assert.Equal(t, "ok", r.results()["helm"], "%+v %s", r.Checks, stderr)

	maps := c.Kube.CoreV1().ConfigMaps(volcanoNamespace)
	configMap, err := maps.Get(t.Context(), "volcano-scheduler-configmap", metav1.GetOptions{})
	require.NoError(t, err)
	for key, text := range configMap.Data {
		configMap.Data[key] = strings.Replace(text, "- name: overcommit\n", "", 1)
	}
	_, err = maps.Update(t.Context(), configMap, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, r, stderr = preflight(t, c.Kubeconfig())
	assert.Equal(t, "note", r.results()["helm"], "%+v %s", r.Checks, stderr)
}
