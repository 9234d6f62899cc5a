package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cardctl is the operator's tool, as a process of its own: it opens sessions, and the scheduler of this process should
// not notice.
const cardctl = "github.com/capacity-card/capacity-card/cmd/cardctl"

// explained has the fields of an explanation that the test reads.
type explained struct {
	State, Stage, Rule, Level, Message string
	Pods                               struct{ Placed, Waiting int }
}

// TestCardctl runs the operator's tool on a cluster with a running scheduler, and compares its output with the messages
// of the scheduler.
func TestCardctl(t *testing.T) {
	program := build(t, cardctl)
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	run := func(arguments ...string) (status int, stdout, stderr string) {
		t.Helper()
		common := []string{"--kubeconfig", c.Kubeconfig(), "--scheduler-conf", filepath.Join(examples, "scheduler.conf.yaml")}
		command := exec.Command(program, append(arguments, common...)...)
		var out, errOut bytes.Buffer
		command.Stdout, command.Stderr = &out, &errOut
		err := command.Run()
		var exit *exec.ExitError
		require.True(t, err == nil || errors.As(err, &exit), err)
		return command.ProcessState.ExitCode(), out.String(), errOut.String()
	}
	explain := func(job string) explained {
		t.Helper()
		status, stdout, stderr := run("explain", "job", job, "-o", "json")
		require.Zero(t, status, stderr)
		var list struct{ Items []explained }
		require.NoError(t, json.Unmarshal([]byte(stdout), &list), stdout)
		require.Len(t, list.Items, 1, stdout)
		return list.Items[0]
	}

	c.apply(t, "queue.yaml")
	c.submit(t, "asked-for-five", "cr-queue1", "NVIDIA-H200", 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	words := insufficient("cr-queue1", "NVIDIA-H200", 5, 5, 3)
	c.refused(t, "asked-for-five", words)
	refused := explain("asked-for-five")
	assert.Equal(t, []string{"Waiting", "enqueue", "OverQuota", "cr-queue1", words},
		[]string{refused.State, refused.Stage, refused.Rule, refused.Level, refused.Message})
	assert.Equal(t, 5, refused.Pods.Waiting, "the pods that it has not got yet")

	c.deploy(t, "explained", "cr-queue1", "NVIDIA-H200", 4)
	c.runs(t, "explained", map[string]int{"NVIDIA-H200": 3}, 1)
	words = insufficient("cr-queue1", "NVIDIA-H200", 1, 4, 3)
	c.says(t, "explained", words)
	waiting := explain("explained")
	assert.Equal(t, []string{"Waiting", "allocate", "OverQuota", "cr-queue1", words},
		[]string{waiting.State, waiting.Stage, waiting.Rule, waiting.Level, waiting.Message})
	assert.Equal(t, 3, waiting.Pods.Placed)
	assert.Equal(t, 1, waiting.Pods.Waiting)

	status, stdout, stderr := run("cards")
	require.Zero(t, status, stderr)
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "NVIDIA-H200 1 7 3 4 3 3 0")
	status, stdout, stderr = run("top", "--once")
	require.Zero(t, status, stderr)
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "NVIDIA-H200 3 3 0 3 [####################]")
	status, stdout, _ = run("validate")
	assert.Equal(t, 1, status, "asked-for-five can never run")
	assert.Contains(t, stdout, "asked-for-five")

	status, stdout, stderr = run("simulate", "--set", "queue/cr-queue1:cards.NVIDIA-H200=4")
	require.Zero(t, status, stderr)
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "Running 3, Waiting 1 Running 4")
	c.runs(t, "explained", map[string]int{"NVIDIA-H200": 3}, 1)

	c.setQuota(t, "cr-queue1", `{"NVIDIA-H200": 7}`) // the most that the share will be
	c.runs(t, "explained", map[string]int{"NVIDIA-H200": 4}, 0)
	c.setQuota(t, "cr-queue1", `{"NVIDIA-H200": "50%"}`)
	shares := func(want string) {
		t.Helper()
		status, stdout, stderr := run("top", "--once", "-o", "wide")
		require.Zero(t, status, stderr)
		assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "cr-queue1 card.quota NVIDIA-H200 "+want+" cr-queue1")
	}
	shares("50% = 3")
	c.scale(t, "explained", 5)
	c.runs(t, "explained", map[string]int{"NVIDIA-H200": 4}, 1)
	status, stdout, stderr = run("explain", "job", "explained")
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, `raise volcano.sh/card.quota of "NVIDIA-H200" (50% = 3) of queue cr-queue1 to 5`)
	more := nodeOf(t, "h200-1")
	more.Name = "h200-more"
	more.Labels["kubernetes.io/hostname"] = more.Name
	c.create(t, more)
	c.runs(t, "explained", map[string]int{"NVIDIA-H200": 5}, 0)
	shares("50% = 7")

	status, stdout, stderr = run("explain", "--as", "nobody")
	assert.Equal(t, 2, status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "error: no permission to list nodes in all namespaces")
	status, stdout, stderr = run("explain", "--server", "https://127.0.0.1:1")
	assert.Equal(t, 2, status)
	assert.Empty(t, stdout)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.Contains(t, stderr, "error: the cluster https://127.0.0.1:1 cannot be reached: connection refused")
}
