package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

func TestReadFigures(t *testing.T) {
	f, err := readFigures(strings.NewReader(`# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1e+08
# TYPE volcano_e2e_scheduling_latency_milliseconds histogram
volcano_e2e_scheduling_latency_milliseconds_sum 2500
volcano_e2e_scheduling_latency_milliseconds_count 2
# TYPE volcano_plugin_scheduling_latency_milliseconds histogram
volcano_plugin_scheduling_latency_milliseconds_sum{plugin="capacity-card",OnSession="OnSessionOpen"} 30
volcano_plugin_scheduling_latency_milliseconds_count{plugin="capacity-card",OnSession="OnSessionOpen"} 3
volcano_plugin_scheduling_latency_milliseconds_sum{plugin="capacity-card",OnSession="OnSessionClose"} 70
volcano_plugin_scheduling_latency_milliseconds_count{plugin="capacity-card",OnSession="OnSessionClose"} 2
volcano_plugin_scheduling_latency_milliseconds_sum{plugin="gang",OnSession="OnSessionOpen"} 50
volcano_plugin_scheduling_latency_milliseconds_count{plugin="gang",OnSession="OnSessionOpen"} 3
# TYPE volcano_action_scheduling_latency_milliseconds histogram
volcano_action_scheduling_latency_milliseconds_sum{action="allocate"} 1500
volcano_action_scheduling_latency_milliseconds_count{action="allocate"} 2
# TYPE rest_client_request_duration_seconds histogram
rest_client_request_duration_seconds_sum{host="a",verb="POST"} 1.5
rest_client_request_duration_seconds_count{host="a",verb="POST"} 10
rest_client_request_duration_seconds_sum{host="b",verb="POST"} 0.5
rest_client_request_duration_seconds_count{host="b",verb="POST"} 1
`))
	require.NoError(t, err)
	assert.Equal(t, figures{
		cpu: 12.5, memory: 1e8, cycles: tally{2, 2.5}, opens: tally{3, 0.03},
		actions:  map[string]tally{"allocate": {2, 1.5}},
		requests: map[string]tally{"POST": {11, 2}},
	}, f)
}

func TestReadMachine(t *testing.T) {
	all, idle, err := readMachine("cpu  100 20 30 4000 500 6 7 800 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	require.NoError(t, err)
	assert.Equal(t, 45.0, idle, "idle, and waiting for disks")
	assert.InDelta(t, 46.63, all, 1e-9, "not what a virtual machine does not get")
	_, _, err = readMachine("intr 1 2 3 4 5 6 7 8\n")
	assert.ErrorContains(t, err, "/proc/stat")
}

// TestComponents reads a profile with samples that have the label of a stage, with one of the memory
// management, and with one of neither.
func TestComponents(t *testing.T) {
	functions := []*profile.Function{
		{ID: 1, Name: "net/http.(*conn).serve"},
		{ID: 2, Name: "runtime.gcBgMarkWorker.func2"},
	}
	var locations []*profile.Location
	for _, f := range functions {
		locations = append(locations, &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}})
	}
	sample := func(location int, milliseconds int64, label ...string) *profile.Sample {
		s := &profile.Sample{Location: locations[location : location+1], Value: []int64{1, milliseconds * 1e6}}
		if label != nil {
			s.Label = map[string][]string{controlplane.ComponentLabel: label}
		}
		return s
	}
	made := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   functions, Location: locations,
		Sample: []*profile.Sample{
			sample(0, 1500, "etcd"), sample(0, 500, "etcd"),
			sample(0, 250), sample(1, 125), sample(1, 1000, "kubelet"),
		},
	}
	var raw bytes.Buffer
	require.NoError(t, made.Write(&raw))
	users, err := components(raw.Bytes())
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"etcd": 2, "kubelet": 1, load.Harness: 0.25, load.Collector: 0.125}, users)
	_, err = components([]byte("no profile"))
	assert.ErrorContains(t, err, "reading the profile")
}

func TestServed(t *testing.T) {
	metric := func(count uint64, seconds float64, labels ...string) *dto.Metric {
		m := &dto.Metric{Histogram: &dto.Histogram{SampleCount: &count, SampleSum: &seconds}}
		for i := 0; i < len(labels); i += 2 {
			m.Label = append(m.Label, &dto.LabelPair{Name: &labels[i], Value: &labels[i+1]})
		}
		return m
	}
	earlier := map[string]tally{"POST pods/binding": {1, 0.5}, "POST pods": {3, 1}}
	now := servedOf(&dto.MetricFamily{Metric: []*dto.Metric{
		metric(2, 1, "verb", "POST", "resource", "pods", "subresource", "binding", "scope", "namespace"),
		metric(3, 1, "verb", "POST", "resource", "pods", "subresource", "binding", "scope", "resource"),
		metric(3, 1, "verb", "POST", "resource", "pods", "subresource", ""),
		metric(9, 1, "verb", "WATCH", "resource", "pods", "subresource", ""),
		metric(9, 1, "verb", "GET", "resource", "", "subresource", "/readyz"),
	}})
	assert.Equal(t, map[string]tally{"POST pods/binding": {5, 2}, "POST pods": {3, 1}}, now)
	assert.Equal(t, []load.Request{{Name: "POST pods/binding", Count: 4, Time: 1.5}}, since(now, earlier))
}
