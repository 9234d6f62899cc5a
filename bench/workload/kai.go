package workload

import "fmt"

// KAINodes is the number of nodes of KAI Scheduler's scale tests.
const KAINodes = 500

// kaiGPUs is the number of GPUs of a node.
const kaiGPUs = 8

// The queues of KAIScale.
const (
	kaiBorrower = "borrower" // deserves nothing
	kaiOwner    = "owner"    // deserves all GPUs
)

// KAIScale is the workload of KAI Scheduler's scale tests (test/e2e/scale/kwok_test.go of 2026) in the terms of
// Volcano: jobs of a queue that deserves nothing fill the nodes, and a queue that deserves all GPUs takes them back.
type KAIScale struct {
	Nodes int // of 8 GPUs
}

// Cluster returns the nodes and the queues.
func (k KAIScale) Cluster() Cluster {
	room := Resources{"cpu": 64_000, "memory": 512 << 30, "pods": 110, gpu: kaiGPUs}
	return Cluster{Hierarchy: true, Nodes: equalNodes(k.Nodes, room), Queues: []Queue{
		{Name: "root", Weight: 1},
		{Name: kaiBorrower, Parent: "root", Weight: 1, Deserved: Resources{gpu: 0}},
		{Name: kaiOwner, Parent: "root", Weight: 1, Deserved: Resources{gpu: int64(k.gpus())}},
	}}
}

// Fill returns a job for each GPU, of the queue that deserves nothing.
func (k KAIScale) Fill() []Job { return k.single("fill", kaiBorrower) }

// Many returns a job for each GPU, of the queue that deserves all of them.
func (k KAIScale) Many() []Job { return k.single("many", kaiOwner) }

// Gang returns a job of the queue that deserves all GPUs: as many pods as half of the nodes, with all GPUs of a node
// each.
func (k KAIScale) Gang() Job { return gang("gang", kaiOwner, k.Nodes/2, Resources{gpu: kaiGPUs}) }

// gpus is the number of GPUs of all nodes.
func (k KAIScale) gpus() int { return k.Nodes * kaiGPUs }

// single returns a job of one pod with one GPU for each GPU of the cluster.
func (k KAIScale) single(name, queue string) (jobs []Job) {
	for i := range k.gpus() {
		jobs = append(jobs, gang(fmt.Sprintf("%s-%04d", name, i), queue, 1, Resources{gpu: 1}))
	}
	return jobs
}

// gang returns a job with pods that start together, each with the request.
func gang(name, queue string, pods int, request Resources) Job {
	j := Job{Name: name, Queue: queue, Phase: Pending, MinMember: int32(pods)}
	for i := range pods {
		j.Tasks = append(j.Tasks, Task{
			Name:    fmt.Sprintf("%s-%d", name, i),
			Request: request,
			Status:  TaskPending,
		})
	}
	return j
}
