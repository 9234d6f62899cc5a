// Package cluster turns descriptions of package workload into the input of Volcano's
// scheduler: the objects, a cache that holds them, and sessions on it. Benchmarks,
// differential tests and session tests share it.
package cluster

import (
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// Namespace is the namespace of all jobs.
const Namespace = "default"

// List converts r for Kubernetes.
func List(r workload.Resources) v1.ResourceList {
	if r == nil {
		return nil
	}

	list := v1.ResourceList{}
	for name, amount := range r {
		switch name {
		case "cpu":
			list[v1.ResourceCPU] = *resource.NewMilliQuantity(amount, resource.DecimalSI)
		default:
			list[v1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
		}
	}

	return list
}

// Node makes a ready node.
func Node(n workload.Node) *v1.Node {
	list := List(n.Allocatable)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.Name,
			UID:         types.UID(n.Name),
			Labels:      n.Labels,
			Annotations: n.Annotations,
		},
		Status: v1.NodeStatus{
			Capacity: list, Allocatable: list,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// Queue makes a Queue object as the scheduler holds it. generation distinguishes
// objects of one name in different clusters.
func Queue(q workload.Queue, generation string) *scheduling.Queue {
	state := scheduling.QueueStateOpen
	if q.Closed {
		state = scheduling.QueueStateClosed
	}

	return &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: q.Name, UID: types.UID(q.Name + generation), Annotations: q.Annotations},
		Spec: scheduling.QueueSpec{
			Parent:     q.Parent,
			Priority:   q.Priority,
			Weight:     q.Weight,
			Capability: List(q.Capability),
			Deserved:   List(q.Deserved),
			Guarantee:  scheduling.Guarantee{Resource: List(q.Guarantee)},
		},
		Status: scheduling.QueueStatus{State: state},
	}
}

// PodGroup makes the PodGroup of a job.
func PodGroup(j workload.Job) *api.PodGroup {
	pg := &api.PodGroup{Version: api.PodGroupVersionV1Beta1}
	pg.Name = j.Name
	pg.Namespace = Namespace
	pg.UID = types.UID(Namespace + "/" + j.Name)
	pg.Annotations = j.Annotations

	pg.Spec.Queue = j.Queue
	pg.Spec.MinMember = j.MinMember
	pg.Status.Phase = scheduling.PodGroupPhase(j.Phase)

	if j.MinResources != nil {
		list := List(j.MinResources)
		pg.Spec.MinResources = &list
	}
	return pg
}

// QueueGate is the name of Volcano's queue allocation gate, and of the annotation that asks
// for it.
const QueueGate = "scheduling.volcano.sh/queue-allocation-gate"

// Pod makes the pod of a task.
func Pod(job string, t workload.Task) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      t.Name,
			Namespace: Namespace,
			UID:       types.UID(Namespace + "-" + t.Name),
			Annotations: map[string]string{
				v1beta1.KubeGroupNameAnnotationKey: job,
				v1beta1.PodPreemptable:             "true",
			},
		},
		Spec: v1.PodSpec{
			NodeName:   t.Node,
			Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: List(t.Request)}}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
	maps.Copy(pod.Annotations, t.Annotations)

	if len(t.Products) > 0 {
		pod.Spec.Affinity = affinity(t.Products)
	}
	if t.Created != 0 {
		pod.CreationTimestamp = metav1.Unix(t.Created, 0)
	}
	if t.Started != 0 {
		pod.Status.StartTime = &metav1.Time{Time: time.Unix(t.Started, 0)}
	}

	if t.QueueGated {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: QueueGate})
	}
	if t.Gated {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: "example.com/wait"})
	}
	return pod
}

// affinity restricts a pod to the nodes of some models.
func affinity(products []string) *v1.Affinity {
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: workload.ProductLabel, Operator: v1.NodeSelectorOpIn, Values: products},
	}}
	selector := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}
}

var statuses = map[workload.Status]api.TaskStatus{
	workload.TaskPending:   api.Pending,
	workload.TaskAllocated: api.Allocated,
	workload.TaskPipelined: api.Pipelined,
	workload.TaskBinding:   api.Binding,
	workload.TaskBound:     api.Bound,
	workload.TaskRunning:   api.Running,
	workload.TaskReleasing: api.Releasing,
	workload.TaskSucceeded: api.Succeeded,
	workload.TaskFailed:    api.Failed,
	workload.TaskUnknown:   api.Unknown,
}

// Build makes the content of a session.
func Build(c workload.Cluster, generation string) (*api.ClusterInfo, error) {
	info := &api.ClusterInfo{
		Nodes:  map[string]*api.NodeInfo{},
		Queues: map[api.QueueID]*api.QueueInfo{},
		Jobs:   map[api.JobID]*api.JobInfo{},
	}

	for _, n := range c.Nodes {
		info.Nodes[n.Name] = api.NewNodeInfo(Node(n))
		info.NodeList = append(info.NodeList, n.Name)
	}
	for _, q := range c.Queues {
		queue := api.NewQueueInfo(Queue(q, generation))
		info.Queues[queue.UID] = queue
	}

	for _, j := range c.Jobs {
		job := api.NewJobInfo(api.JobID(Namespace + "/" + j.Name))
		job.SetPodGroup(PodGroup(j))
		job.Priority = j.Priority
		for _, t := range j.Tasks {
			task, err := newTask(j, t)
			if err != nil {
				return nil, err
			}
			job.AddTaskInfo(task)
			if node := info.Nodes[t.Node]; node != nil {
				// A node that has become too small refuses a task that runs on it. The queue
				// of the task is charged nevertheless.
				_ = node.AddTask(task)
			}
		}
		info.Jobs[job.UID] = job
	}
	return info, nil
}

// newTask makes a task of a job.
func newTask(j workload.Job, t workload.Task) (*api.TaskInfo, error) {
	status, ok := statuses[t.Status]
	if !ok {
		return nil, fmt.Errorf("task %s: unknown status %q", t.Name, t.Status)
	}

	pod := Pod(j.Name, t)
	if j.Priority != 0 {
		pod.Spec.Priority = &j.Priority
	}
	task := api.NewTaskInfo(pod)
	task.Status = status
	return task, nil
}
