package question

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Placement is a waiting job that a scheduler admits, with its node if the scheduler chooses one.
type Placement struct{ Job, Node string }

// Scheduler makes a whole scheduler that has the world and has decided nothing yet. Then run makes it
// decide all waiting jobs. run calls mark after each decision. The last call ends the
// measurement: until run finds the scheduler idle, its work does not count.
type Scheduler func(w *World) (run func(mark func()) []Placement, err error)

// Decide measures a whole scheduler, once for a process. An operation is a waiting job that it
// decides. The admitted jobs are checked against the quotas of the world.
func Decide(b *testing.B, name string, prepare Scheduler) {
	w, err := read(*worlds, *queues)
	if err != nil {
		b.Fatal(err)
	}
	run, err := prepare(w)
	if err != nil {
		b.Fatal(err)
	}

	b.Run(fmt.Sprintf("queues=%d/impl=%s", *queues, name), func(b *testing.B) {
		runtime.GC() // of the objects of prepare
		var m meter
		before := take()
		placements := run(m.mark)
		spent := m.last.since(before)

		a, err := w.audit(placements)
		if err != nil {
			b.Fatal(err)
		}

		jobs := float64(len(w.Waiting))
		b.ReportAllocs()
		b.ReportMetric(float64(spent.wall.Nanoseconds())/jobs, "ns/op")
		b.ReportMetric(float64(spent.processor.Nanoseconds())/jobs, "cpu-ns/op")
		b.ReportMetric(float64(spent.bytes)/jobs, "B/op")
		b.ReportMetric(float64(spent.objects)/jobs, "allocs/op")
		b.ReportMetric(float64(len(placements)), "admitted")
		b.ReportMetric(float64(a.exceeded), "exceeded")
		b.ReportMetric(float64(a.left), "left")
		b.ReportMetric(float64(a.overfilled), "overfilled")
	})
}

// reading holds the time and the allocations of a process so far.
type reading struct {
	wall, processor time.Duration
	bytes, objects  uint64 // allocated
}

var started = time.Now()

// take reads without stopping the process, because it is called at each decision of a scheduler.
func take() reading {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}

	heap := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/heap/tiny/allocs:objects"},
	}
	metrics.Read(heap)

	return reading{
		wall:      time.Since(started),
		processor: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		bytes:     heap[0].Value.Uint64(),
		objects:   heap[1].Value.Uint64() + heap[2].Value.Uint64(),
	}
}

func (r reading) since(before reading) reading {
	return reading{
		wall:      r.wall - before.wall,
		processor: r.processor - before.processor,
		bytes:     r.bytes - before.bytes,
		objects:   r.objects - before.objects,
	}
}

// meter has the reading at the last decision. Schedulers may decide in several goroutines.
type meter struct {
	sync.Mutex
	last reading
}

func (m *meter) mark() {
	m.Lock()
	defer m.Unlock()
	m.last = take()
}
