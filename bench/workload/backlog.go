package workload

import (
	"fmt"
	"time"
)

// Backlog is the workload with which Volcano measures its cache of unschedulable jobs
// (docs/design/unschedulable-job-cache.md of 2026). Jobs of four pods arrive at 100 a second for 15 seconds, behind
// jobs that no node can run.
type Backlog struct {
	Part int // one of so many jobs; 1: all
}

// Backlogs are the numbers of jobs that wait.
var Backlogs = []int{0, 1000, 5000}

const (
	backlogNodes    = 100
	backlogArrivals = 1500
	backlogInterval = 10 * time.Millisecond
	backlogPods     = 4   // of a job that arrives
	backlogCPU      = 500 // of a pod, in thousandths; the nodes have room for all. Volcano does not state it
)

// Cluster returns the nodes, and a queue without bounds.
func (b Backlog) Cluster() Cluster {
	return oneQueue(backlogNodes, Resources{"cpu": 32_000, "memory": 256 << 30, "pods": 110})
}

// Waiting returns a number of jobs of a pod that no node can run.
func (b Backlog) Waiting(jobs int) (all []Job) {
	for i := range jobs / b.Part {
		all = append(all, gang(fmt.Sprintf("waits-%04d", i), freeQueue, 1, Resources{"cpu": 100_000}))
	}
	return all
}

// Arrivals returns the jobs that the nodes can run, in the order in which they arrive. They do not end.
func (b Backlog) Arrivals() (all []Arrival) {
	for i := range backlogArrivals / b.Part {
		job := gang(fmt.Sprintf("job-%04d", i), freeQueue, backlogPods, Resources{"cpu": backlogCPU})
		all = append(all, Arrival{At: time.Duration(i) * backlogInterval, Job: job})
	}
	return all
}
