package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// preflown has the fields of a report of cardctl preflight that the test reads.
type preflown struct {
	Verdict string
	Checks  []struct{ Name, Result, Message string }
}

// TestPreflight runs cardctl preflight on a cluster with Volcano's own installation: once with all rights, and once as a
// user who may list nothing but nodes.
func TestPreflight(t *testing.T) {
	program := build(t, cardctl)
	c := plane(t, "nodes.yaml")
	install(t, c)
	run := func(kubeconfig string, arguments ...string) (status int, r preflown, stderr string) {
		t.Helper()
		arguments = append([]string{"preflight", "-o", "json", "--kubeconfig", kubeconfig}, arguments...)
		command := exec.Command(program, arguments...)
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
	results := func(r preflown) map[string]string {
		all := map[string]string{}
		for _, c := range r.Checks {
			all[c.Name] = c.Result
		}
		return all
	}

	version, err := c.Kube.Discovery().ServerVersion()
	require.NoError(t, err)
	_, r, stderr := run(c.Kubeconfig())
	require.Len(t, r.Checks, 11, stderr)
	found := results(r)
	for _, name := range []string{"kubernetes", "flags", "actions", "helm", "nodes"} {
		assert.Equal(t, "ok", found[name], "%+v", r.Checks)
	}
	assert.Equal(t, "note", found["plugin"])
	assert.Equal(t, version.GitVersion, r.Checks[2].Message)
	for _, each := range r.Checks {
		assert.NotEqual(t, "unknown", each.Result, "%+v", each)
	}

	_, kubeconfig := layFor(t, c, c.user(t, "preflight", listing("nodes"), nil))
	_, r, stderr = run(kubeconfig)
	require.Len(t, r.Checks, 11, stderr)
	found = results(r)
	for _, name := range []string{"volcano", "flags", "plugin", "helm", "queues", "jobs", "evictions"} {
		assert.Equal(t, "unknown", found[name], "%+v", r.Checks)
	}
	assert.Equal(t, "ok", found["kubernetes"])
	assert.Equal(t, "ok", found["nodes"])

	status, _, stderr := run(c.Kubeconfig(), "--server", "https://127.0.0.1:1")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "error: the cluster https://127.0.0.1:1 cannot be reached: connection refused")
}
