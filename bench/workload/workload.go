// Package workload describes clusters for benchmarks, differential tests and
// demonstrations: queues, nodes, jobs and tasks as plain data, made from a seed,
// so that every run sees the same cluster. It knows nothing of Volcano; package
// cluster turns a description into a session.
package workload

import "maps"

// Resources is an amount per resource name: cpu in milliCPU, memory in bytes,
// everything else in units. A name with 0 is present.
type Resources map[string]int64

// Clone returns an independent copy; nil stays nil.
func (r Resources) Clone() Resources { return maps.Clone(r) }

// Cluster is everything a scheduling session sees.
type Cluster struct {
	Hierarchy bool // the queues form a tree
	Nodes     []Node
	Queues    []Queue
	Jobs      []Job
}

// Node is a machine.
type Node struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Allocatable Resources
}

// Queue is a Queue object.
type Queue struct {
	Name, Parent string
	Annotations  map[string]string
	Priority     int32
	Weight       int32
	Closed       bool

	Capability, Deserved, Guarantee Resources
}

// Phase is the phase of a job's PodGroup.
type Phase string

// The phases of PodGroups.
const (
	Pending   Phase = "Pending"
	Inqueue   Phase = "Inqueue"
	Running   Phase = "Running"
	Unknown   Phase = "Unknown"
	Completed Phase = "Completed"
)

// Job is a PodGroup with its pods.
type Job struct {
	Name, Queue  string
	Phase        Phase
	MinMember    int32
	MinResources Resources // nil: not set
	Priority     int32     // of the job and its pods; 0: not set
	Annotations  map[string]string
	Tasks        []Task
}

// Status is the status of a task in Volcano's cache or session.
type Status string

// The statuses of tasks. Tasks without a node may have no status.
const (
	TaskPending   Status = "Pending"
	TaskAllocated Status = "Allocated"
	TaskPipelined Status = "Pipelined"
	TaskBinding   Status = "Binding"
	TaskBound     Status = "Bound"
	TaskRunning   Status = "Running"
	TaskReleasing Status = "Releasing"
	TaskSucceeded Status = "Succeeded"
	TaskFailed    Status = "Failed"
	TaskUnknown   Status = "Unknown"
)

// Task is a pod.
type Task struct {
	Name        string
	Annotations map[string]string
	Request     Resources
	Products    []string // the models of nodes that the pod is restricted to by node affinity; nil: any
	Status      Status
	Node        string
	Gated       bool  // has a scheduling gate, so is Pending
	QueueGated  bool  // has Volcano's queue allocation gate, so is Pending
	Created     int64 // when it was created, in Unix seconds; 0: not known
	Started     int64 // when it began to run, in Unix seconds; 0: not known
}
