package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"syscall"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/cmd/internal/families"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// figures are the metrics of a scheduler.
type figures struct {
	cpu, memory float64 // seconds so far, bytes
	cycles      tally
	opens       tally // of the sessions, by the quota plugin
	actions     map[string]tally
	requests    map[string]tally // to the API server, by method
}

// tally is the number of events of a kind so far, and the time that they took, in seconds.
type tally struct{ count, time float64 }

// minus returns the differences since an earlier look.
func (t tally) minus(earlier tally) tally {
	return tally{t.count - earlier.count, t.time - earlier.time}
}

func (t tally) plus(more tally) tally { return tally{t.count + more.count, t.time + more.time} }

// read reads the metrics of a scheduler.
func read(ctx context.Context, process *controlplane.Process) (f figures, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading the scheduler's metrics: %w", err)
		}
	}()

	text, err := families.Open(ctx, process.Metrics)
	if err != nil {
		return f, err
	}
	defer text.Close()
	return readFigures(text)
}

// readFigures reads metrics in the text format.
func readFigures(text io.Reader) (figures, error) {
	read, err := families.Read(text)
	if err != nil {
		return figures{}, err
	}

	f := figures{actions: map[string]tally{}, requests: map[string]tally{}}
	for _, m := range read["process_cpu_seconds_total"].GetMetric() {
		f.cpu = m.GetCounter().GetValue()
	}
	for _, m := range read["process_resident_memory_bytes"].GetMetric() {
		f.memory = m.GetGauge().GetValue()
	}
	for _, m := range read["volcano_e2e_scheduling_latency_milliseconds"].GetMetric() {
		f.cycles = observed(m, 1000)
	}
	for _, m := range read["volcano_plugin_scheduling_latency_milliseconds"].GetMetric() {
		plugin := families.Label(m, "plugin")
		ours := plugin == capacity || plugin == capacityCard
		if ours && families.Label(m, "OnSession") == "OnSessionOpen" {
			f.opens = observed(m, 1000)
		}
	}

	for _, m := range read["volcano_action_scheduling_latency_milliseconds"].GetMetric() {
		f.actions[families.Label(m, "action")] = observed(m, 1000)
	}
	for _, m := range read["rest_client_request_duration_seconds"].GetMetric() {
		verb := families.Label(m, "verb")
		f.requests[verb] = f.requests[verb].plus(observed(m, 1))
	}
	return f, nil
}

// served counts the requests that the API server of this process has served, by the verb and the resource. Watches do
// not end.
func served() (map[string]tally, error) {
	gathered, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}

	i := slices.IndexFunc(gathered, func(f *dto.MetricFamily) bool {
		return f.GetName() == "apiserver_request_duration_seconds"
	})
	if i < 0 {
		return nil, nil // no request so far
	}
	return servedOf(gathered[i]), nil
}

// servedOf adds up the requests of a verb for a resource.
func servedOf(durations *dto.MetricFamily) map[string]tally {
	requests := map[string]tally{}
	for _, m := range durations.GetMetric() {
		verb := families.Label(m, "verb")
		name := families.Label(m, "resource")
		if verb == "WATCH" || name == "" {
			continue
		}

		if part := families.Label(m, "subresource"); part != "" {
			name += "/" + part
		}

		requests[verb+" "+name] = requests[verb+" "+name].plus(observed(m, 1))
	}
	return requests
}

// since lists the requests that were made since an earlier look, by name.
func since(now, earlier map[string]tally) (requests []load.Request) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if more := now[name].minus(earlier[name]); more.count > 0 {
			requests = append(requests, load.Request{Name: name, Count: more.count, Time: thousandths(more.time)})
		}
	}
	return requests
}

// observed returns the content of a histogram. A second has that many of its units.
func observed(m *dto.Metric, units float64) tally {
	return tally{float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum() / units}
}

// own is the processor time of this process so far, in seconds.
func own() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("reading the usage of this process: %w", err)
	}

	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime), nil
}

// machine returns the time of all processors so far, in seconds, and the idle part of it.
func machine() (all, idle float64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	return readMachine(string(text))
}

// readMachine reads the first line of /proc/stat, in hundredths of a second: user, nice, system, idle, iowait, irq,
// softirq, steal. Stolen time counts neither as used nor as idle.
func readMachine(text string) (all, idle float64, err error) {
	var name string
	var t [8]float64 // 3 and 4 are idle, 7 is stolen
	_, err = fmt.Sscan(text, &name, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7])
	if err != nil || name != "cpu" {
		return 0, 0, fmt.Errorf("reading /proc/stat: %q %w", name, err)
	}

	idle = (t[3] + t[4]) / 100
	return (t[0]+t[1]+t[2]+t[5]+t[6])/100 + idle, idle, nil
}
