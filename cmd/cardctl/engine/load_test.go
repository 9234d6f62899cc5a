package engine

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func jobText(name, tasks string) string {
	return "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " + name + "}\nspec: {tasks: [" + tasks + "]}\n"
}

func deploymentText(name, metadata string, replicas int) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s%s}\nspec: {replicas: %d, template: {spec: {schedulerName: volcano}}}\n", name, metadata, replicas)
}

// TestTooManyPods makes no pods of workloads that have too many, and makes the pods of all other workloads.
func TestTooManyPods(t *testing.T) {
	many := fmt.Sprint(math.MaxInt32)
	w := build(t,
		jobText("replicas", "{replicas: "+many+"}"),
		jobText("tasks", strings.Repeat("{replicas: 1000},", 200)),
		jobText("minimum", "{replicas: 1, minAvailable: "+many+"}"),
		jobText("minimums", "{replicas: 1, minAvailable: "+many+"},{replicas: 1, minAvailable: "+many+"}"),
		jobText("ended", "{replicas: 1, minAvailable: "+many+"}")+"status: {state: {phase: Completed}}\n",
		jobText("wide", "{replicas: 1000, template: {metadata: {annotations: {a: "+strings.Repeat("x", 1<<20)+"}}}}"),
		jobText("small", "{replicas: 3}"), jobText("none", "{replicas: 0}"),
		deploymentText("many", "", math.MaxInt32), deploymentText("few", "", 2),
		deploymentText("negative", ", uid: u", math.MinInt32),
	)
	pods := map[string]int{}
	for _, g := range w.Groups {
		pods[g.Owner] = len(g.Pods) + len(g.Coming)
	}
	assert.Equal(t, map[string]int{"Job/small": 3, "Job/none": 0, "Deployment/few": 2}, pods)
	var out []string
	for _, o := range w.LeftOut {
		out = append(out, o.Kind+" "+o.GetName())
	}
	assert.ElementsMatch(t, []string{"Job replicas", "Job tasks", "Job minimum", "Job minimums", "Job ended", "Job wide", "Deployment many"}, out)
	assert.Contains(t, w.LeftOut[0].String(), "Job default/wide: its 1000 pods are left out")
}

// TestManyPodsOfOneGroup has a job with too many pods and an existing PodGroup. The job gets no pods, as in a cluster.
func TestManyPodsOfOneGroup(t *testing.T) {
	w := build(t, jobText("j", "{replicas: 2000000000}")+"status: {state: {phase: Pending}}\n",
		"apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: j}\nspec: {minMember: 2000000000}\nstatus: {phase: Inqueue}\n")
	require.Len(t, w.Groups, 1)
	assert.Equal(t, "Job/j", w.Groups[0].Owner)
	assert.Empty(t, w.Groups[0].Pods)
	assert.Len(t, w.LeftOut, 1)
}

// TestTheLargestAreLeftOut has more pods than are made, of workloads that have few each.
func TestTheLargestAreLeftOut(t *testing.T) {
	w := build(t, jobText("a", "{replicas: 60000}"), jobText("b", "{replicas: 50001}"), deploymentText("c", "", 49999))
	require.Len(t, w.LeftOut, 1)
	assert.Equal(t, "a", w.LeftOut[0].GetName())
}

// TestPodsShareTheirTemplate makes pods of a template of many containers without a copy of it for each.
func TestPodsShareTheirTemplate(t *testing.T) {
	text := jobText("j", "{replicas: 1000, template: {spec: {containers: ["+strings.Repeat("{name: c},", 1000)+"]}}}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := build(t, text)
	runtime.ReadMemStats(&after)
	require.Len(t, w.Groups[0].Coming, 1000)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20), "1000 copies of 1000 containers have a gigabyte")
	first, last := w.Groups[0].Coming[0], w.Groups[0].Coming[999]
	assert.Equal(t, []string{"j-default0-0", "default/j-default0-0", "j-default0-999", "default/j-default0-999"},
		[]string{first.Name, string(first.UID), last.Name, string(last.UID)})
}

// TestLoads saturate, and have no negative parts.
func TestLoads(t *testing.T) {
	var l Load
	of := func(n int32) *int32 { return &n }
	l.AddDeployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: of(math.MinInt32)}})
	assert.Equal(t, Load{}, l)
	l.AddJob(&batch.Job{Spec: batch.JobSpec{Tasks: []batch.TaskSpec{{Replicas: -7, MinAvailable: of(-8)}, {Replicas: 2, MinAvailable: of(3)}}}})
	assert.Equal(t, int64(3), l.Pods)
	l.Bytes = math.MaxInt64 - 1
	l.AddDeployment(&appsv1.Deployment{})
	assert.Equal(t, Load{Pods: 4, Bytes: math.MaxInt64}, l)
	assert.True(t, l.Exceeds(Load{Pods: 4, Bytes: 1}))
	assert.False(t, l.Exceeds(l))
	assert.Equal(t, int32(math.MaxInt32), sum(math.MaxInt32, 1))
	assert.Equal(t, int32(math.MinInt32), sum(math.MinInt32, -1))
}
