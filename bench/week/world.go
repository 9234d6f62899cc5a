package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
)

// The cluster: nodes with cards of one model, and three queues that lend to one another.
const (
	nodes        = 16
	cardsPerNode = 8
	step         = 10 * time.Minute // between two sessions
	week         = 7 * 24 * time.Hour
	gpu          = "nvidia.com/gpu"
	model        = "H"
)

// queues deserve the cluster together, and may borrow all of it.
var queues = []struct {
	name     string
	deserved int
	// perHour is the number of jobs that are submitted in an hour, at night and by day.
	night, day float64
	// hours is the typical runtime of a job.
	hours float64
}{
	{"serving", 64, 0.4, 2.6, 6},
	{"research", 40, 1.1, 0.8, 8},
	{"batch", 24, 2, 0.4, 5},
}

// job is a job that was submitted. Its pods run for the same time, each from its start.
type job struct {
	workload.Job
	created time.Duration
	runtime time.Duration
	gpus    int64
	ends    []time.Duration // by pod; 0 while it does not run
}

// world is the cluster in the course of a week.
type world struct {
	*rand.Rand
	now     time.Duration
	made    int
	jobs    []*job
	losses  losses
	restart bool // gang spares nothing, and the controller restarts a job that loses its minimum
}

// losses holds what reclaim has cost.
type losses struct {
	evictions, cards    int
	podHours, cardHours float64
}

// clone returns a copy of the world, which shares the source of chance.
func (w *world) clone() *world {
	c := *w
	c.jobs = make([]*job, len(w.jobs))
	for i, j := range w.jobs {
		own := *j
		own.Tasks, own.ends = slices.Clone(j.Tasks), slices.Clone(j.ends)
		c.jobs[i] = &own
	}
	return &c
}

// submit draws the jobs of a step.
func (w *world) submit() {
	hour := w.now.Hours()
	daylight := max(0, math.Sin((math.Mod(hour, 24)-8)/12*math.Pi)) // from 8:00 to 20:00
	for _, q := range queues {
		for expected := (q.night + (q.day-q.night)*daylight) * step.Hours(); w.Float64() < expected; expected-- {
			w.jobs = append(w.jobs, w.draw(q.name, q.hours))
		}
	}
}

// draw draws a job: a few large gangs, some elastic jobs, and many pods alone.
func (w *world) draw(queue string, hours float64) *job {
	w.made++
	n, gpus, minimum := 1, int64(1)<<w.IntN(3), 1
	switch kind := w.IntN(10); {
	case kind == 0:
		n, gpus = 2+w.IntN(3), 8
		minimum = n
	case kind < 4:
		n = 2 + w.IntN(7)
	}
	runtime := time.Duration(hours * float64(time.Hour) * math.Exp(w.NormFloat64()) / 2)
	j := &job{created: w.now, runtime: max(step, min(runtime, 48*time.Hour)), gpus: gpus, ends: make([]time.Duration, n)}
	j.Job = workload.Job{Name: fmt.Sprintf("j%05d", w.made), Queue: queue, Phase: workload.Pending, MinMember: int32(minimum),
		Priority: int32(w.IntN(2))}
	for i := range n {
		j.Tasks = append(j.Tasks, workload.Task{Name: fmt.Sprintf("%s-%d", j.Name, i), Status: workload.TaskPending,
			Request: workload.Resources{"cpu": 1000, gpu: gpus}, Annotations: map[string]string{card.NameKey: model}})
	}
	j.MinResources = workload.Resources{"cpu": 1000 * int64(minimum), gpu: gpus * int64(minimum)}
	return j
}

// end ends the pods whose time is over, and the jobs that have none left.
func (w *world) end() {
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool {
		for i := len(j.Tasks) - 1; i >= 0; i-- {
			if j.ends[i] > 0 && j.ends[i] <= w.now {
				j.Tasks, j.ends = slices.Delete(j.Tasks, i, i+1), slices.Delete(j.ends, i, i+1)
			}
		}
		j.MinMember = min(j.MinMember, int32(len(j.Tasks)))
		return len(j.Tasks) == 0
	})
}

// info returns the content of the scheduler's cache.
func (w *world) info() (*api.ClusterInfo, error) {
	c := workload.Cluster{}
	for i := range nodes {
		c.Nodes = append(c.Nodes, workload.Node{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{"nvidia.com/gpu.product": model},
			Allocatable: workload.Resources{"cpu": 128000, "memory": 1 << 40, "pods": 110, gpu: cardsPerNode}})
	}
	for _, q := range queues {
		c.Queues = append(c.Queues, workload.Queue{Name: q.name, Weight: 1, Annotations: map[string]string{
			card.QuotaKey:     fmt.Sprintf(`{"%s":%d}`, model, nodes*cardsPerNode),
			card.DeservedKey:  fmt.Sprintf(`{"%s":%d}`, model, q.deserved),
			card.GuaranteeKey: fmt.Sprintf(`{"%s":0}`, model),
		}})
	}
	for _, j := range w.jobs {
		c.Jobs = append(c.Jobs, j.Job)
	}
	info, err := cluster.Build(c, "")
	if err != nil {
		return nil, err
	}
	for _, j := range w.jobs { // Volcano's own order is by creation
		info.Jobs[api.JobID(cluster.Namespace+"/"+j.Name)].CreationTimestamp.Time = at(j.created)
	}
	return info, nil
}

// at is a time of the week.
func at(d time.Duration) time.Time { return time.Unix(1, 0).Add(d) }
