package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/capacity-card/capacity-card/bench/load"
)

const (
	// mostLoad is the largest load average of a minute per processor with which a measurement begins: building this
	// program causes some.
	mostLoad = 0.5
	// mostSpread is the part by which a canary may exceed the fastest one. Neighbors of a virtual machine slow its
	// processors down by 40 %. A program that shares a processor doubles the time.
	mostSpread = 0.5
)

// idle refuses a machine that is busy.
func idle(load float64, processors int) error {
	if most := mostLoad * float64(processors); load > most {
		return fmt.Errorf("the load average is %.2f, at most %.2f: nothing is measured on a busy machine", load, most)
	}
	return nil
}

// quiet finds noisy rounds by a canary: a computation that takes the same time on a quiet machine. The zero quiet finds
// none.
type quiet struct {
	canary  func() time.Duration
	fastest time.Duration
	slowest time.Duration // of the rounds that are not noisy
	last    time.Duration
	refused int // noisy rounds
}

// beginQuiet returns a quiet of this machine, and refuses a busy one.
func beginQuiet() (*quiet, error) {
	average, err := load.Average()
	if err != nil {
		return nil, err
	}
	if err := idle(average, runtime.NumCPU()); err != nil {
		return nil, err
	}
	return newQuiet(canary), nil
}

// newQuiet returns a quiet before the first round.
func newQuiet(canary func() time.Duration) *quiet {
	first := canary()
	return &quiet{canary: canary, fastest: first, slowest: first}
}

// rounds measures n rounds, and returns their raw output. A noisy round is measured again: there are at most as many
// noisy rounds as others.
func (q *quiet) rounds(n int, measure func(to io.Writer, round int) error) ([]byte, error) {
	var all bytes.Buffer
	for round := 0; round < n; {
		before := all.Len()
		if err := measure(&all, round); err != nil {
			return nil, err
		}

		if !q.noisy() {
			round++
			continue
		}

		if q.refused > n {
			return nil, fmt.Errorf("%d rounds were noisy: nothing is published of this machine", q.refused)
		}
		fmt.Fprintf(os.Stderr, "the same computation took %s after this round, at best %s: it is measured again\n",
			q.last, q.fastest)
		all.Truncate(before)
	}
	return all.Bytes(), nil
}

// noisy reports whether the machine is too slow at the end of a round.
func (q *quiet) noisy() bool {
	if q.canary == nil {
		return false
	}

	q.last = q.canary()
	q.fastest = min(q.fastest, q.last)
	if float64(q.last) > float64(q.fastest)*(1+mostSpread) {
		q.refused++
		return true
	}

	q.slowest = max(q.slowest, q.last)
	return false
}

// spread returns the part by which the slowest canary exceeds the fastest one, "unknown" without canaries.
func (q *quiet) spread() string {
	if q.canary == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f %%", 100*(float64(q.slowest)/float64(q.fastest)-1))
}

// canary returns the time of a fixed computation of about a second that keeps all processors busy.
func canary() time.Duration {
	start := time.Now()

	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Add(1)
		go func() {
			defer running.Done()
			walk(make([]uint64, 1<<15)) // 256 KiB: a processor has them for itself
		}()
	}
	running.Wait()
	return time.Since(start)
}

// walk reads and writes words of a memory in an order that no processor foresees.
func walk(memory []uint64) {
	at := uint64(1)
	for range 1 << 29 {
		at = at*6364136223846793005 + 1442695040888963407
		memory[at>>49] += at
	}
}
