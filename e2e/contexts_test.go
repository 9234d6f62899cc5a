package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestContexts reads two contexts of one control plane, and a context of an API server that does not answer.
func TestContexts(t *testing.T) {
	program := build(t, cardctl)
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	c.apply(t, "queue.yaml")
	c.submit(t, "asked-for-five", "cr-queue1", "NVIDIA-H200", 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	c.refused(t, "asked-for-five", insufficient("cr-queue1", "NVIDIA-H200", 5, 5, 3))

	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	require.NoError(t, err)
	admin := config.Contexts[config.CurrentContext]
	broken := config.Clusters[admin.Cluster].DeepCopy()
	broken.Server = "https://127.0.0.1:1"
	config.Clusters["broken"] = broken
	config.Contexts = map[string]*clientcmdapi.Context{
		"east":   admin,
		"west":   admin.DeepCopy(),
		"broken": {Cluster: "broken", AuthInfo: admin.AuthInfo},
	}
	config.CurrentContext = ""
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	run := func(arguments ...string) (code int, stdout, stderr string) {
		t.Helper()
		common := []string{"--kubeconfig", kubeconfig, "--scheduler-conf", filepath.Join(examples, "scheduler.conf.yaml")}
		command := exec.Command(program, append(arguments, common...)...)
		var out, errOut bytes.Buffer
		command.Stdout, command.Stderr = &out, &errOut
		_ = command.Run() // the exit code is compared
		return command.ProcessState.ExitCode(), out.String(), errOut.String()
	}

	const isAway = "error: cluster broken: the cluster https://127.0.0.1:1 cannot be reached: connection refused"
	for _, test := range []struct {
		arguments string
		want      []string // words of rows
	}{
		{"cards", []string{"east NVIDIA-H200 1 7 ", "west NVIDIA-H200 1 7 ", "(total) NVIDIA-H200 2 14 "}},
		{"top", []string{"CLUSTER QUEUE SHARE", "east ", "west "}},
		{"explain", []string{"CLUSTER NAMESPACE JOB", "east ", "west ", "OverQuota"}},
		{"explain job asked-for-five", []string{"Cluster east: Job: ", "Cluster west: Job: "}},
		{"usage", []string{"Cluster east:", "Cluster west:"}},
		{"audit", []string{"Cluster east:", "Cluster west:"}},
	} {
		code, out, stderr := run(append(strings.Fields(test.arguments), "--contexts", "east,west")...)
		assert.Zero(t, code, stderr)
		words := strings.Join(strings.Fields(out), " ")
		for _, want := range test.want {
			assert.Contains(t, words, want, test.arguments)
		}

		code, out, stderr = run(append(strings.Fields(test.arguments), "--contexts", "broken,east")...)
		assert.Equal(t, 1, code, test.arguments)
		assert.NotContains(t, out, "broken", test.arguments)
		assert.Contains(t, out, "east", test.arguments)
		assert.Contains(t, stderr, isAway, test.arguments)
	}

	code, out, stderr := run("cards", "--contexts", "east,broken", "-o", "json")
	assert.Equal(t, 1, code, stderr)
	var all struct {
		Cards    []struct{ Cluster, Card string }
		Clusters []struct{ Cluster, Error string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	require.NotEmpty(t, all.Cards)
	assert.Equal(t, "east", all.Cards[0].Cluster)
	require.Len(t, all.Clusters, 2)
	assert.Contains(t, all.Clusters[1].Error, "cannot be reached")
}
