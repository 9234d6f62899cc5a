package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// mostLoad is the largest load average of a minute per processor with which a measurement begins: building this
	// program causes some.
	mostLoad = 0.5
	// mostSpread is the part by which the slowest canary of a measurement may exceed the fastest one.
	mostSpread = 0.10
)

// quiet refuses measurements on a noisy machine.
type quiet struct {
	canary   func() time.Duration
	canaries []time.Duration
}

// begin refuses a machine that is busy.
func (q *quiet) begin(load float64, processors int) error {
	if most := mostLoad * float64(processors); load > most {
		return fmt.Errorf("the load average is %.2f, at most %.2f: nothing is measured on a busy machine", load, most)
	}
	return q.check()
}

// check refuses a machine that was faster or slower before.
func (q *quiet) check() error {
	q.canaries = append(q.canaries, q.canary())
	fastest := slices.Min(q.canaries)
	slowest := slices.Max(q.canaries)

	if spread := float64(slowest)/float64(fastest) - 1; spread > mostSpread {
		return fmt.Errorf("the same computation took from %s to %s, %.0f %% more, at most %.0f %%: "+
			"nothing is published of a noisy machine", fastest, slowest, 100*spread, 100*mostSpread)
	}
	return nil
}

// machineLoad returns the load average of a minute.
func machineLoad() (load float64, err error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &load)
	return load, err
}

// canary returns the median time of a fixed computation that keeps all processors busy, with a memory that no cache
// holds.
func canary() time.Duration {
	const runs = 21
	memory := make([][]uint64, runtime.GOMAXPROCS(0))
	for i := range memory {
		memory[i] = make([]uint64, 1<<21)
	}

	var times []time.Duration
	for range runs {
		var running sync.WaitGroup
		start := time.Now()
		for _, own := range memory {
			running.Add(1)
			go func() {
				defer running.Done()
				walk(own)
			}()
		}
		running.Wait()
		times = append(times, time.Since(start))
	}

	slices.Sort(times)
	return times[runs/2]
}

// walk reads and writes words of a memory in an order that no processor foresees.
func walk(memory []uint64) {
	at := uint64(1)
	for range 1 << 20 {
		at = at*6364136223846793005 + 1442695040888963407
		memory[at>>43] += at
	}
}
