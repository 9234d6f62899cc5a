package question

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"
)

var (
	worlds = flag.String("worlds", "", "directory of the worlds")
	queues = flag.Int("queues", 10, "leaves of the world to measure")
)

// Engine answers the questions about one world. A function is nil if the engine has no form of the
// question. Jobs are places in Waiting. Pairs and reclaims are places in the lists of the world.
type Engine struct {
	Open    func()               // makes the state that the other answers read, as at the start of a scheduling cycle
	Renew   func()               // replaces the objects that Open reads, as the scheduler's cache does
	Event   func(job int)        // keeps accounts up to date between cycles: a job of this request starts, and ends
	Fits    func(job int) bool   // may the job be charged now, at every level
	Charge  func(job int)        // charges a waiting job, and every queue above its own
	Refund  func(job int)        // takes it back
	First   func(pair int) bool  // does the first queue of the pair come first
	Victims func(r int) []string // the queues of the jobs that may be evicted for it, of the first victim first
	WhatIf  func(r int) bool     // does it fit once the jobs are gone; everything is as before afterwards
}

// Prepare makes the objects of an API server. Then make builds the state of the engine
// from them, up to the first answer.
type Prepare func(w *World) (make func() *Engine, err error)

// Measure puts all questions to an engine. The metric "asked" counts the answers, and "differ" counts
// the answers that differ from the world.
func Measure(b *testing.B, name string, prepare Prepare) {
	w, err := read(*worlds, *queues)
	if err != nil {
		b.Fatal(err)
	}
	build, err := prepare(w)
	if err != nil {
		b.Fatal(err)
	}
	m := measurement{b, fmt.Sprintf("/queues=%d/impl=%s", *queues, name), w}

	before := heap()
	e := build()
	if e.Open != nil {
		e.Open()
	}
	kept := float64(heap() - before)

	m.run("keep", true, func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(kept, "kept-B")
	})

	m.open(e)
	m.jobs("event", e.Event != nil, func(i int) { e.Event(i) })
	m.answers("fits", e.Fits != nil, len(w.Waiting), func(i int) bool {
		return e.Fits(i) == w.Waiting[i].Fits
	})
	m.jobs("charge", e.Charge != nil, func(i int) {
		e.Charge(i)
		e.Refund(i)
	})
	m.answers("order", e.First != nil, len(w.Pairs), func(i int) bool { return e.First(i) })
	m.answers("victims", e.Victims != nil, len(w.Reclaims), func(i int) bool {
		return w.correct(i, e.Victims(i))
	})
	m.answers("what-if", e.WhatIf != nil, len(w.Reclaims), func(i int) bool { return e.WhatIf(i) })

	if wrong := w.wrong(e); wrong > 0 {
		b.Fatalf("%d answers differ after the measurement", wrong)
	}
	runtime.KeepAlive(w)
}

type measurement struct {
	*testing.B
	suffix string
	*World
}

func (m measurement) run(question string, has bool, f func(b *testing.B)) {
	if has {
		m.Run("of="+question+m.suffix, f)
	}
}

// open measures Open, and Open of objects that it has not read before.
func (m measurement) open(e *Engine) {
	m.run("open", e.Open != nil, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Open()
		}
	})

	m.run("open-anew", e.Renew != nil, func(b *testing.B) {
		var spent time.Duration
		for b.Loop() {
			e.Renew()

			start := time.Now()
			e.Open()
			spent += time.Since(start)
		}

		b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/op")
	})
}

// answers measures a question for one case after the other.
func (m measurement) answers(question string, has bool, cases int, correct func(i int) bool) {
	m.run(question, has, func(b *testing.B) {
		differ := 0
		for i := range cases {
			if !correct(i) {
				differ++
			}
		}

		b.ReportAllocs()
		i := 0
		for b.Loop() {
			correct(i)
			i++
			if i == cases {
				i = 0
			}
		}

		b.ReportMetric(float64(differ), "differ")
		b.ReportMetric(float64(cases), "asked")
	})
}

// jobs measures a call for one waiting job after the other. Only jobs that fit count.
func (m measurement) jobs(question string, has bool, call func(i int)) {
	m.run(question, has, func(b *testing.B) {
		var fit []int
		for i, j := range m.Waiting {
			if j.Fits {
				fit = append(fit, i)
			}
		}

		b.ReportAllocs()
		i := 0
		for b.Loop() {
			call(fit[i])
			i++
			if i == len(fit) {
				i = 0
			}
		}
	})
}

// correct reports whether there are victims, and all of them are jobs of the queue above
// deserved.
func (w *World) correct(reclaim int, victims []string) bool {
	for _, queue := range victims {
		if queue != w.Reclaims[reclaim].From {
			return false
		}
	}
	return len(victims) > 0
}

// wrong counts the waiting jobs with an answer that differs from the world.
func (w *World) wrong(e *Engine) (n int) {
	if e.Fits == nil {
		return 0
	}

	for i, j := range w.Waiting {
		if e.Fits(i) != j.Fits {
			n++
		}
	}
	return n
}

// heap returns the bytes that are reachable.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
