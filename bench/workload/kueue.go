package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// KueueRunner is the workload of Kueue's performance runner (test/performance/scheduler/configs/baseline of v0.17.0) in
// the terms of Volcano: 15,000 jobs of a pod, in 30 queues below 5 cohorts. A queue deserves 20 CPUs and can borrow 100
// more. A cohort has the CPUs that its queues deserve.
type KueueRunner struct {
	Part int // one of so many jobs; 1: all
}

// KueueClass is a size of jobs. Each queue has a number of them, one after an interval.
type KueueClass struct {
	Name     string
	Jobs     int
	Interval time.Duration
	Runs     time.Duration
	CPUs     int64
	Priority int32
}

// KueueClasses are the sizes, as the runner describes them.
var KueueClasses = []KueueClass{
	{"small", 350, 100 * time.Millisecond, 200 * time.Millisecond, 1, 50},
	{"medium", 100, 500 * time.Millisecond, 500 * time.Millisecond, 5, 100},
	{"large", 50, 1200 * time.Millisecond, time.Second, 20, 200},
}

const (
	kueueCohorts    = 5
	kueueQueues     = 6 // of a cohort
	kueueNominal    = 20
	kueueBorrowing  = 100
	kueueNodes      = 60 // of 32 CPUs, more than the quotas: Kueue's runner has no nodes
	kueueCPUsOfNode = 32
)

// Make returns the cluster, and the jobs in the order in which they arrive.
func (k KueueRunner) Make() (Cluster, []Arrival) {
	room := Resources{"cpu": 1000 * kueueCPUsOfNode, "memory": 1 << 40, "pods": 1000}
	c := Cluster{Hierarchy: true, Nodes: equalNodes(kueueNodes, room), Queues: []Queue{{Name: "root", Weight: 1}}}

	var arrivals []Arrival
	for i := range kueueCohorts {
		all := Resources{"cpu": 1000 * kueueQueues * kueueNominal}
		cohort := fmt.Sprintf("cohort-%d", i)
		c.Queues = append(c.Queues, Queue{Name: cohort, Parent: "root", Weight: 1, Deserved: all, Capability: all})

		for j := range kueueQueues {
			queue := fmt.Sprintf("%s-queue-%d", cohort, j)
			c.Queues = append(c.Queues, Queue{
				Name: queue, Parent: cohort, Weight: 1,
				Deserved:   Resources{"cpu": 1000 * kueueNominal},
				Capability: Resources{"cpu": 1000 * (kueueNominal + kueueBorrowing)},
			})
			arrivals = append(arrivals, k.arrivals(queue)...)
		}
	}

	slices.SortStableFunc(arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return c, arrivals
}

// arrivals returns the jobs of a queue.
func (k KueueRunner) arrivals(queue string) (arrivals []Arrival) {
	for _, class := range KueueClasses {
		for i := range class.Jobs / k.Part {
			name := fmt.Sprintf("%s-%s-%03d", class.Name, queue, i)
			request := Resources{"cpu": 1000 * class.CPUs}
			arrivals = append(arrivals, Arrival{
				At:   time.Duration(i) * class.Interval,
				Runs: class.Runs,
				Job: Job{
					Name:      name,
					Queue:     queue,
					Phase:     Pending,
					MinMember: 1,
					Priority:  class.Priority,
					Tasks:     []Task{{Name: name, Request: request, Status: TaskPending}},
				},
			})
		}
	}
	return arrivals
}
