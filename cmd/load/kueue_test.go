package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
)

func podOf(job, name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{batch.JobNameKey: job},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// TestEnder ends pods, and counts the jobs that have ended.
func TestEnder(t *testing.T) {
	running := podOf("small-1", "a", corev1.PodRunning)
	evicted := podOf("small-2", "b", corev1.PodRunning)
	kube := fake.NewClientset(running)
	e := newEnder(t.Context(), kube, []workload.Arrival{{Job: workload.Job{Name: "small-1"}}, {Job: workload.Job{Name: "small-2"}}})

	e.end(running)
	e.end(evicted)
	assert.Empty(t, e.failed, "a pod that is gone was evicted")

	ended, err := kube.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.PodSucceeded, ended.Status.Phase)

	e.see(ended)
	e.see(ended)
	e.see(podOf("small-2", "c", corev1.PodFailed))
	n, _ := e.count()
	assert.Equal(t, 1, n)
	assert.True(t, e.ended["small-1"])
}

// TestWaits counts the time until the first pod of a job runs: a pod that replaces an evicted one does not count.
func TestWaits(t *testing.T) {
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	s := newSightings()
	s.submitted = map[string]time.Time{"small-1": at(0), "small-2": at(1), "large-1": at(2)}
	s.pods = map[types.UID]*sighting{
		"a": {job: "small-1", running: at(3)},
		"b": {job: "small-1", running: at(90)},
		"c": {job: "small-2", running: at(6)},
		"d": {job: "large-1"},
	}
	assert.Equal(t, map[string]float64{"small": 4}, s.waits())
}

// TestKueueTable has the rate of the jobs that ended, until the last one, or in the limit.
func TestKueueTable(t *testing.T) {
	runs := []load.Result{
		{Scheduler: "upstream", Total: 5, Left: 50, Waits: map[string]float64{"small": 3}},
		{Scheduler: "ours", Total: 10, Waits: map[string]float64{"small": 2}},
	}
	table := peerReport{report{&load.Report{Setting: load.Setting{Pods: 100, Limit: 20}, Runs: runs}}, kueue}.Table()
	assert.Contains(t, table, "| all jobs, s | not reached | 10.0 |\n")
	assert.Contains(t, table, "| jobs, per second | 2.50 | 10.0 |\n")
	assert.Contains(t, table, "| small, s | 3.00 | 2.00 |\n")
}
