package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestSightings follows the counts through the lives of pods.
func TestSightings(t *testing.T) {
	s := newSightings()
	pod := func(name, node string, phase corev1.PodPhase) *corev1.Pod {
		requests := corev1.ResourceList{gpu: resource.MustParse("4")}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{
				{Resources: corev1.ResourceRequirements{Requests: requests}}}},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	for _, step := range []struct {
		pod     *corev1.Pod
		deleted bool
		want    counts
	}{
		{pod("a", "", corev1.PodPending), false, counts{}},
		{pod("a", "n1", corev1.PodPending), false, counts{bound: 1, cards: 4}},
		{pod("b", "n1", corev1.PodRunning), false, counts{bound: 2, ran: 1, running: 1, cards: 8}},
		{pod("a", "n1", corev1.PodRunning), false, counts{bound: 2, ran: 2, running: 2, cards: 8}},
		{pod("a", "n1", corev1.PodRunning), false, counts{bound: 2, ran: 2, running: 2, cards: 8}},
		{pod("a", "n1", corev1.PodSucceeded), false, counts{bound: 2, ran: 2, running: 1, cards: 4}},
		{pod("a", "n1", corev1.PodSucceeded), true, counts{bound: 2, ran: 2, running: 1, cards: 4}},
		{pod("b", "n1", corev1.PodRunning), true, counts{bound: 2, ran: 2}},
		{pod("c", "", corev1.PodPending), true, counts{bound: 2, ran: 2}},
	} {
		s.see(step.pod, step.deleted)
		assert.Equal(t, step.want, s.counts(), "%s %s", step.pod.Name, step.pod.Status.Phase)
	}
}

// TestSummarize takes the figures of a run with three samples in the steady part.
func TestSummarize(t *testing.T) {
	began := time.Now()
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	v := &wave{
		bed: bed{seen: newSightings()}, began: began, result: &load.Run{},
		from: 10 * time.Second, until: 20 * time.Second,
	}
	for i, now := range []figures{
		{cpu: 5, cycles: tally{3, 6}, requests: map[string]tally{"GET": {1, 1}}},
		{
			cpu: 6, cycles: tally{4, 8}, opens: tally{4, 1},
			actions:  map[string]tally{"allocate": {4, 2}},
			requests: map[string]tally{"GET": {1, 1}},
		},
		{
			cpu: 7, cycles: tally{5, 8.5}, opens: tally{5, 1.25},
			actions:  map[string]tally{"allocate": {5, 2.25}},
			requests: map[string]tally{"GET": {1, 1}},
		},
		{
			cpu: 9, cycles: tally{7, 10.5}, opens: tally{7, 1.75},
			actions:  map[string]tally{"allocate": {7, 3}},
			requests: map[string]tally{"GET": {4, 2}, "POST": {2, 1}},
		},
		{cpu: 50, cycles: tally{8, 99}},
	} {
		require.NoError(t, v.measure([]time.Duration{5, 10, 15, 20, 25}[i]*time.Second, now))
	}
	v.bed.seen.submitted = map[string]time.Time{"early": at(5), "steady": at(11), "late": at(21)}
	v.bed.seen.pods = map[types.UID]*sighting{
		"1": {job: "early", created: at(6), bound: at(12), running: at(13)},
		"2": {job: "steady", created: at(12), bound: at(14), running: at(18)},
		"3": {job: "steady", created: at(14), bound: at(20), running: at(22)},
		"4": {job: "steady", created: at(15)},
		"5": {job: "late", created: at(21), bound: at(22), running: at(22)},
	}
	v.summarize()
	processors := v.result.Processors
	v.result.Processors, v.result.Served = nil, nil
	assert.Equal(t, &load.Run{
		From: 10, Until: 20, CPU: 3, Cycles: []float64{0.5, 1, 1}, Opens: []float64{0.25, 0.25, 0.25},
		Actions:   []load.Request{{Name: "allocate", Time: 1}},
		Requests:  []load.Request{{Name: "GET", Count: 3, Time: 1}, {Name: "POST", Count: 2, Time: 1}},
		Submitted: podsPerJob, Bound: 3, Running: []float64{7, 11},
		Stages: map[string]float64{load.Created: 2, load.Bound: 4, load.Started: 3},
	}, v.result)
	assert.Equal(t, 3.0, processors[load.Scheduler])
	assert.Contains(t, processors, load.Idle)
}

// TestJobOfWaves makes the same job for both kinds of quotas.
func TestJobOfWaves(t *testing.T) {
	task := workload.Task{
		Request:     workload.Resources{gpu: 2},
		Annotations: map[string]string{"volcano.sh/card.name": "A"},
	}
	made := job(workload.Job{
		Name:        "job",
		Annotations: map[string]string{"volcano.sh/card.request": `{"A":2}`},
		Tasks:       []workload.Task{task},
	}, 90*time.Second)
	template := made.Spec.Tasks[0].Template
	assert.Equal(t, `{"A":2}`, made.Annotations["volcano.sh/card.request"])
	assert.Equal(t, task.Annotations, template.Annotations)
	assert.Equal(t, []string{"sleep", "90"}, template.Spec.Containers[0].Command)
	assert.Nil(t, template.Spec.Affinity)

	task = workload.Task{Request: workload.Resources{gpu: 2}, Products: []string{"A", "B"}}
	template = job(workload.Job{Tasks: []workload.Task{task}}, 0).Spec.Tasks[0].Template
	assert.Empty(t, template.Annotations)
	assert.Empty(t, template.Spec.Containers[0].Command)
	terms := template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	assert.Equal(t, []string{"A", "B"}, terms[0].MatchExpressions[0].Values)
}

var sampleSetting = load.Setting{Duration: 600, Grace: 120, Rounds: 1, CPUs: 2, Cards: 100}

// sampleWaves has a round of each scheduler; upstream's did not run all pods.
var sampleWaves = wavesReport{&load.Waves{Setting: sampleSetting, Runs: []load.Run{
	{
		Scheduler: "upstream", From: 10, Until: 20, Bound: 5, Left: 4, Submitted: 4, CPU: 1,
		Running:  []float64{1, 2, 8},
		Cycles:   []float64{1, 2},
		Opens:    []float64{0.5},
		Actions:  []load.Request{{Name: "allocate", Time: 1.5}},
		Stages:   map[string]float64{load.Created: 1, load.Bound: 2, load.Started: 3},
		Requests: []load.Request{{Name: "POST", Count: 4, Time: 2}},
		Served:   []load.Request{{Name: "PUT jobs/status", Count: 20, Time: 2}},
		Processors: map[string]float64{
			load.Scheduler: 1, "kube-apiserver": 1, "etcd": 1, "kubelet": 0.5, load.Others: 0.5, load.Idle: 4,
		},
		Samples: []load.Sample{
			{At: 10, Submitted: 40, Bound: 30, Cards: 20},
			{At: 20, Submitted: 60, Bound: 35, Cards: 60},
		},
	},
	sampleRun("capacity"), sampleRun("capacity-card"),
}}}

func sampleRun(name string) load.Run {
	return load.Run{
		Scheduler: name, From: 10, Until: 20, Ended: 630, Submitted: 2,
		Running:    []float64{1, 2},
		Cycles:     []float64{1},
		Opens:      []float64{0},
		Processors: map[string]float64{load.Idle: 1},
		Samples:    []load.Sample{{At: 10}, {At: 20, Bound: 20}},
	}
}

func TestWavesTables(t *testing.T) {
	for table, want := range map[string][]string{
		sampleWaves.Table(): {
			"| 99 %, s | not reached | 2.00 | 2.00 |\n",
			"| pods that had not run 2 minutes after the last wave | 4.00 | 0 | 0 |\n",
			"| longest cycle, s | 2.00 | 1.00 | 1.00 |\n",
		},
		sampleWaves.Costs(): {
			"| cpu of the scheduler, ms per pod | 200 |",
			"| cpu of the API server and etcd, ms per pod | 400 |",
			"| pods for which all processors suffice, per second | 2.86 |",
			"| pods for which allocate suffices, per second | 3.33 |",
		},
	} {
		for _, line := range want {
			require.Contains(t, table, line)
		}
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.01234: "0.0123", 1: "1.00", 12.34: "12.3", 1234: "1234", math.Inf(1): "not reached",
	} {
		assert.Equal(t, want, digits(x))
	}
}

func TestWords(t *testing.T) {
	for seconds, want := range map[float64]string{
		1.5: "1.5 s", 30: "30 s", 60: "a minute", 90: "90 s", 600: "10 minutes",
	} {
		assert.Equal(t, want, words(seconds))
	}
}

func TestUnknownScenario(t *testing.T) {
	require.ErrorContains(t, choices{scenario: "tides", rounds: 1}.run(t.Context()), `there is no scenario "tides"`)
}
