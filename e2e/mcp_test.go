package e2e

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMCP runs the live test of cmd/mcp, which is a module of its own, on a cluster with a job that waits.
func TestMCP(t *testing.T) {
	program := build(t, cardctl)
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	c.apply(t, "queue.yaml")
	c.submit(t, "asked-for-five", "cr-queue1", "NVIDIA-H200", 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	c.refused(t, "asked-for-five", insufficient("cr-queue1", "NVIDIA-H200", 5, 5, 3))

	command := exec.CommandContext(t.Context(), "go", "test", "-C", "../cmd/mcp", "-vet=off", "-count=1", "-v", "-run", "^TestLive$", ".")
	command.Env = append(os.Environ(), "GOFLAGS=", "CARDCTL="+program, "LIVE_KUBECONFIG="+c.Kubeconfig())
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "\n--- PASS: TestLive ", "it was skipped")
}
