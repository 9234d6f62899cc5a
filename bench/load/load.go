// Package load has the results of "make load": both schedulers on a real API server.
package load

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
)

// Schedulers are the schedulers that are compared, in the order of the tables.
var Schedulers = []string{"upstream", "ours"}

// MainRelease is the release of Volcano that go.mod names. The pages are about it, and have a
// table for each other release.
const MainRelease = "v1.14.1"

// Setting describes a measurement: its command, its load and its machine. Times are in seconds.
type Setting struct {
	Command string  `json:"command"`
	Volcano string  `json:"volcano,omitempty"` // the release that all schedulers are built with
	Nodes   int     `json:"nodes"`
	Cards   int     `json:"cards,omitempty"` // whole cards of the nodes
	Pods    int     `json:"pods"`
	Queues  int     `json:"queues"`
	Waiting int     `json:"waiting,omitempty"` // jobs that wait for quota all the time
	Rounds  int     `json:"rounds"`
	Limit   float64 `json:"limit,omitempty"` // how long a scheduler may take for the pods of a burst
	// Duration is from the first wave to the end of the last. After Grace, pods that do not run yet are left.
	Duration float64 `json:"duration,omitempty"`
	Grace    float64 `json:"grace,omitempty"`
	Go       string  `json:"go"`
	CPU      string  `json:"cpu"`
	CPUs     int     `json:"cpus"`
	Load     float64 `json:"load"` // the machine's load average of a minute when it began, 0 if it is unknown
}

// Measured holds the results of runs of schedulers.
type Measured[R interface{ scheduler() string }] struct {
	Setting
	Runs []R `json:"runs"`
}

// The scenarios.
type (
	Report = Measured[Result] // all jobs are there at once, and never end
	Waves  = Measured[Run]    // jobs arrive in waves, and end
)

// Result holds the measurements of one scheduler in one round. Times are in seconds.
type Result struct {
	Scheduler string  `json:"scheduler"`
	Round     int     `json:"round"`
	Total     float64 `json:"total"`          // from the first submission to the last binding, or to the limit
	Left      int     `json:"left,omitempty"` // pods that did not run within the limit
	// Running holds the time from the submission of a job until its pod ran, for each pod in order. Bound holds the
	// time from the submission of the first job until a pod had a node.
	Running []float64 `json:"running"`
	Bound   []float64 `json:"bound"`
	CPU     float64   `json:"cpu"`    // of the scheduler in that time
	Memory  float64   `json:"memory"` // of the scheduler at its most, resident, in bytes
	Cycles  float64   `json:"cycles"` // scheduling cycles in that time, and their time in all
	Cycling float64   `json:"cycling"`
	// Opened counts nodes with only idle cards that got pods, Listed pods that list cards, and First pods that got the
	// first card of their list.
	Opened int `json:"opened,omitempty"`
	Listed int `json:"listed,omitempty"`
	First  int `json:"first,omitempty"`
	// Waits has the mean time from the submission of a job until it ran first, by the size of jobs (Kueue's runner).
	Waits map[string]float64 `json:"waits,omitempty"`
	// Steps has the time of each step that a scheduler completed within the limit.
	Steps map[string]float64 `json:"steps,omitempty"`
}

// Reach notes that a step took a time in seconds, unless the time is infinite.
func (r *Result) Reach(step string, took float64) {
	if math.IsInf(took, 1) {
		return
	}

	if r.Steps == nil {
		r.Steps = map[string]float64{}
	}
	r.Steps[step] = took
}

// Step returns how long a step took in seconds: infinite if it was not completed within the limit.
func (r Result) Step(name string) float64 {
	if took, reached := r.Steps[name]; reached {
		return took
	}
	return math.Inf(1)
}

// Read reads results.
func Read[R interface{ scheduler() string }](path string) (*Measured[R], error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	m := &Measured[R]{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}

	return m, nil
}

// Values returns a figure of each round of a scheduler, sorted.
func (m *Measured[R]) Values(scheduler string, figure func(R) float64) (values []float64) {
	for _, run := range m.Runs {
		if run.scheduler() == scheduler {
			values = append(values, figure(run))
		}
	}

	slices.Sort(values)
	return values
}

func (r Result) scheduler() string { return r.Scheduler }

// Percentile returns the smallest of sorted values that a share of them does not exceed.
func Percentile(sorted []float64, share float64) float64 {
	return percentileOf(sorted, len(sorted), share)
}

// Latency returns the time from submission to running that a share of the pods does not exceed. It is infinite if
// fewer pods ran.
func (r Result) Latency(share float64) float64 {
	return percentileOf(r.Running, len(r.Running)+r.Left, share)
}

// percentileOf returns the smallest of sorted values that a share of n values does not exceed. It is infinite if there
// are too few values.
func percentileOf(sorted []float64, n int, share float64) float64 {
	if i := max(0, int(math.Ceil(share*float64(n)))-1); i < len(sorted) {
		return sorted[i]
	}
	return math.Inf(1)
}

// Throughput returns the number of pods bound per second.
func (r Result) Throughput() float64 { return float64(len(r.Bound)) / r.Total }

// Average returns the load average of the machine in the last minute.
func Average() (average float64, err error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}

	_, err = fmt.Sscan(string(text), &average)
	return average, err
}
