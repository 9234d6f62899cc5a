package main

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// processors measures the users of the machine's processors from its start to its end.
type processors struct {
	profile        bytes.Buffer
	own, all, idle float64 // at the start
}

// watchProcessors starts the measurement. Only one can run at a time.
func watchProcessors() (*processors, error) {
	p := &processors{}
	var err error

	p.own, err = own()
	if err != nil {
		return nil, err
	}

	p.all, p.idle, err = machine()
	if err != nil {
		return nil, err
	}
	return p, pprof.StartCPUProfile(&p.profile)
}

// end returns the seconds that each user had. The scheduler's are known from its metrics.
func (p *processors) end(scheduler float64) (map[string]float64, error) {
	pprof.StopCPUProfile()
	mine, err := own()
	if err != nil {
		return nil, err
	}

	all, idle, err := machine()
	if err != nil {
		return nil, err
	}

	mine -= p.own
	all -= p.all
	idle -= p.idle
	users, err := components(p.profile.Bytes())
	if err != nil {
		return nil, err
	}

	// The profile gives the shares of the users in the time of this process.
	sampled := total(users)
	for user := range users {
		users[user] *= mine / sampled
	}

	users[load.Scheduler] = scheduler
	users[load.Idle] = idle
	users[load.Others] = max(0, all-idle-mine-scheduler)

	for user := range users {
		users[user] = thousandths(users[user])
	}
	return users, nil
}

// components returns the seconds of the parts of the control plane in a profile of this process.
func components(raw []byte) (map[string]float64, error) {
	read, err := profile.ParseData(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}

	users := map[string]float64{}
	for _, sample := range read.Sample {
		user := load.Harness
		switch label := sample.Label[controlplane.ComponentLabel]; {
		case len(label) > 0:
			user = label[0]
		case collects(sample):
			user = load.Collector
		}

		users[user] += float64(sample.Value[1]) / 1e9 // nanoseconds; the first value counts samples
	}
	return users, nil
}

// collects reports whether a sample is of a goroutine that frees memory.
func collects(sample *profile.Sample) bool {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			for _, name := range []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"} {
				if line.Function != nil && strings.HasPrefix(line.Function.Name, name) {
					return true
				}
			}
		}
	}
	return false
}
