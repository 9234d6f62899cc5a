package bench

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// The hooks that Volcano calls for each task, job or queue, through the session. With impl=none the hook is a stub that
// decides nothing, so the cost is the cost of Volcano's dispatch.

// BenchmarkAllocatable checks a task that may be placed.
func BenchmarkAllocatable(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) { measure(b, theLarge(b), allocatable, theLarge(b).comparedWithNone()...) })
}

func allocatable(b *testing.B, s *bed) func() bool {
	s.open(b)
	queue, task := s.queue(s.waits), s.task(s.waits, 0)
	return func() bool { return s.Allocatable(queue, task) }
}

// BenchmarkJobEnqueueable checks a job that is admitted.
func BenchmarkJobEnqueueable(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) { measure(b, theLarge(b), jobEnqueueable, theLarge(b).comparedWithNone()...) })
}

// jobEnqueueable has the job request very little, because upstream charges it
// with every question, and would soon refuse.
func jobEnqueueable(b *testing.B, s *bed) func() bool {
	s.open(b)
	job := s.job(s.waits)
	min := job.PodGroup.Spec.MinResources
	little := resource.MustParse("1m")
	job.PodGroup.Spec.MinResources = &v1.ResourceList{v1.ResourceCPU: little, v1.ResourceMemory: little, gpu: little}
	b.Cleanup(func() { job.PodGroup.Spec.MinResources = min })
	return func() bool { return s.JobEnqueueable(job) }
}

// BenchmarkPreemptive checks a queue that may take from others for a task.
func BenchmarkPreemptive(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) {
		measure(b, theLarge(b), preemptive, theLarge(b).comparedWithNone()...)
	})
}

func preemptive(b *testing.B, s *bed) func() bool {
	s.open(b)
	queue, tasks := s.queue(s.waits), []*api.TaskInfo{s.task(s.waits, 0)}
	ask := release.Preemptive(s.Session)
	return func() bool { return ask(queue, tasks...) }
}

// BenchmarkQueueOrder compares two leaves.
func BenchmarkQueueOrder(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) {
		var answers []bool
		measure(b, theLarge(b), func(b *testing.B, s *bed) func() bool {
			s.open(b)
			l, r := s.queue(s.waits), s.queue(s.stuck)
			want := s.QueueOrderFn(l, r)
			if s.QueueOrderFn(r, l) == want {
				b.Fatal("the queues have no order")
			}
			if s.name != none.name {
				answers = append(answers, want)
			}
			if len(answers) == 2 && answers[0] != answers[1] {
				b.Fatal("the implementations disagree")
			}
			return func() bool { return s.QueueOrderFn(l, r) == want }
		}, theLarge(b).comparedWithNone()...)
	})
}

// BenchmarkReclaimable has the plugin choose victims among 100 candidates.
func BenchmarkReclaimable(b *testing.B) {
	b.Run("shape=L/candidates=100", func(b *testing.B) { measure(b, theLarge(b), reclaimable(100), theLarge(b).compared()...) })
}

func reclaimable(candidates int) operation {
	var answers [][]string
	return func(b *testing.B, s *bed) func() bool {
		s.open(b)
		reclaimer := s.task(s.waits, 0)
		from := s.tasks(s.reclaimees, 2)
		if len(from) < candidates {
			b.Fatalf("%d candidates", len(from))
		}
		from = from[:candidates]
		victims := slices.Sorted(slices.Values(names(s.Reclaimable(reclaimer, from)))) // v1.15 orders them by UIDs
		if len(victims) == 0 {
			b.Fatal("no victims")
		}
		if answers = append(answers, victims); !slices.Equal(victims, answers[0]) {
			i := 0
			for i < min(len(victims), len(answers[0])) && victims[i] == answers[0][i] {
				i++
			}
			b.Fatalf("the implementations disagree: %d and %d victims, of which the first %d are the same", len(answers[0]), len(victims), i)
		}
		return func() bool { return len(s.Reclaimable(reclaimer, from)) == len(victims) }
	}
}

// reclaimees returns running jobs of other queues than one: one of a queue that has more than
// it deserves, one of any other, and so on.
func reclaimees(c workload.Cluster, than string) []workload.Job {
	deserved, used := map[string]int64{}, map[string]int64{}
	for _, q := range c.Queues {
		deserved[q.Name] = q.Deserved[gpu]
	}
	for _, j := range c.Jobs {
		if j.Phase == workload.Running {
			used[j.Queue] += gpus(j) * int64(len(j.Tasks))
		}
	}
	var over, under, turns []workload.Job
	for _, j := range c.Jobs {
		switch {
		case j.Phase != workload.Running || j.Queue == than || gpus(j) == 0:
		case used[j.Queue] > deserved[j.Queue]+int64(len(j.Tasks)):
			over = append(over, j)
		default:
			under = append(under, j)
		}
	}
	for i := range under {
		if i < len(over) {
			turns = append(turns, over[i])
		}
		turns = append(turns, under[i])
	}
	return turns
}

func names(tasks []*api.TaskInfo) []string {
	var names []string
	for _, t := range tasks {
		names = append(names, t.Name)
	}
	return names
}

// BenchmarkEvent has a task taken away and placed again: two events, with the
// metrics that they set.
func BenchmarkEvent(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) { measure(b, theLarge(b), event, theLarge(b).compared()...) })
}

func event(b *testing.B, s *bed) func() bool {
	s.open(b)
	h := lastHandler(s.Session)
	e := &framework.Event{Task: s.tasks(s.neighbours, 1)[0]}
	queue, task := s.queue(s.stuck), s.task(s.stuck, 0)
	before := s.Allocatable(queue, task)
	h.DeallocateFunc(e)
	between := s.Allocatable(queue, task)
	h.AllocateFunc(e)
	if before || !between || s.Allocatable(queue, task) {
		b.Fatal("the events were not counted")
	}
	return func() bool {
		h.DeallocateFunc(e)
		h.AllocateFunc(e)
		return true
	}
}

// lastHandler returns the event handler that was registered last. Volcano calls handlers while it updates jobs and
// nodes, and this update takes longer than the handlers.
func lastHandler(ssn *framework.Session) *framework.EventHandler {
	field := reflect.ValueOf(ssn).Elem().FieldByName("eventHandlers")
	handlers := *(*[]*framework.EventHandler)(unsafe.Pointer(field.UnsafeAddr()))
	return handlers[len(handlers)-1]
}
