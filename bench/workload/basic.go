package workload

import "fmt"

// Basic is the workload SchedulingBasic/5000Nodes of Kubernetes' scheduler_perf (test/integration/scheduler_perf/misc):
// pods that each node can run. In place of a pod, there is a job of one pod.
type Basic struct{}

const (
	basicNodes = 5000
	basicPods  = 1000
)

// Cluster returns the nodes, and a queue without bounds.
func (Basic) Cluster() Cluster {
	return oneQueue(basicNodes, Resources{"cpu": 4_000, "memory": 32 << 30, "pods": 110})
}

// First returns the jobs that run before the time counts.
func (Basic) First() []Job { return basicJobs("first") }

// Measured returns the jobs that are measured.
func (Basic) Measured() []Job { return basicJobs("job") }

func basicJobs(prefix string) (all []Job) {
	for i := range basicPods {
		request := Resources{"cpu": 100, "memory": 500 << 20}
		all = append(all, gang(fmt.Sprintf("%s-%04d", prefix, i), freeQueue, 1, request))
	}
	return all
}

// freeQueue is a queue without bounds.
const freeQueue = "work"

// oneQueue returns a cluster of equal nodes with a queue without bounds.
func oneQueue(nodes int, room Resources) Cluster {
	return Cluster{Hierarchy: true, Nodes: equalNodes(nodes, room), Queues: []Queue{
		{Name: "root", Weight: 1},
		{Name: freeQueue, Parent: "root", Weight: 1},
	}}
}

// equalNodes returns n nodes with the same room.
func equalNodes(n int, room Resources) (all []Node) {
	for i := range n {
		all = append(all, Node{Name: fmt.Sprintf("node-%04d", i), Allocatable: room})
	}
	return all
}
