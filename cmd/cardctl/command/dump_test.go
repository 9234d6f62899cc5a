package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
)

var keptDump = flag.String("dump", "", "keep the large dump of BenchmarkExplainDump in this file")

// writeDump writes a cluster as "kubectl get -o json" does.
func writeDump(tb testing.TB, path string, c workload.Cluster) {
	tb.Helper()
	file, err := os.Create(path)
	require.NoError(tb, err)
	defer file.Close()
	out := bufio.NewWriter(file)
	first := true
	write := func(object runtime.Object, apiVersion, kind string) {
		text, err := json.Marshal(object)
		require.NoError(tb, err)
		if !first {
			_, _ = out.WriteString(",\n")
		}
		first = false
		_, _ = out.WriteString(`{"apiVersion":"` + apiVersion + `","kind":"` + kind + `",`)
		_, _ = out.Write(text[1:])
	}
	_, _ = out.WriteString(`{"apiVersion":"v1","items":[`)
	for _, n := range c.Nodes {
		write(cluster.Node(n), "v1", "Node")
	}
	for _, q := range c.Queues {
		queue := &v1beta1.Queue{}
		require.NoError(tb, scheme.Scheme.Convert(cluster.Queue(q, ""), queue, nil))
		write(queue, "scheduling.volcano.sh/v1beta1", "Queue")
	}
	for _, j := range c.Jobs {
		podGroup := &v1beta1.PodGroup{}
		require.NoError(tb, scheme.Scheme.Convert(&cluster.PodGroup(j).PodGroup, podGroup, nil))
		write(podGroup, "scheduling.volcano.sh/v1beta1", "PodGroup")
		for _, t := range j.Tasks {
			pod := cluster.Pod(j.Name, t)
			switch t.Status {
			case workload.TaskRunning:
				pod.Status.Phase = v1.PodRunning
			case workload.TaskSucceeded:
				pod.Status.Phase = v1.PodSucceeded
			}
			write(pod, "v1", "Pod")
		}
	}
	_, _ = out.WriteString(`],"kind":"List"}`)
	require.NoError(tb, out.Flush())
}

// run runs cardctl and returns its exit code and its output.
func run(stdin string, arguments ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: bytes.NewBufferString(stdin), Out: &out, ErrOut: &errOut}
	code = Run(context.Background(), "cardctl", arguments, streams)
	return code, out.String(), errOut.String()
}

// BenchmarkExplainDump explains a dump of 5,000 nodes and 100,000 pods. Half of the pods wait.
func BenchmarkExplainDump(b *testing.B) {
	path := *keptDump
	if path == "" {
		path = filepath.Join(b.TempDir(), "dump.json")
	}
	writeDump(b, path, workload.L.MakeCards(1))
	conf := filepath.Join(b.TempDir(), "conf")
	require.NoError(b, os.WriteFile(conf, []byte(openConfiguration), 0o600))
	b.ReportAllocs()
	for b.Loop() {
		code, out, errOut := run("", "explain", "-f", path, "--scheduler-conf", conf)
		require.Equal(b, 0, code, errOut)
		require.NotEmpty(b, out)
	}
}

// openConfiguration is a tree in which queues have no bound of cpu and memory that
// they do not set.
const openConfiguration = `
actions: "enqueue, allocate, reclaim, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: capacity-card
    enableHierarchy: true
    arguments: {unsetCapability: unlimited}
- plugins:
  - name: predicates
  - name: nodeorder
`
