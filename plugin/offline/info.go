package offline

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// NewInfo returns the content of a cache without objects.
func NewInfo() *api.ClusterInfo {
	return &api.ClusterInfo{
		Nodes:          map[string]*api.NodeInfo{},
		Queues:         map[api.QueueID]*api.QueueInfo{},
		Jobs:           map[api.JobID]*api.JobInfo{},
		NamespaceInfo:  map[api.NamespaceName]*api.NamespaceInfo{},
		RevocableNodes: map[string]*api.NodeInfo{},
		CSINodesStatus: map[string]*api.CSINodeStatusInfo{},
	}
}

// AddNode adds a node. Volcano's cache has none that is not ready.
func AddNode(info *api.ClusterInfo, node *v1.Node) {
	if n := api.NewNodeInfo(node); n.Ready() {
		info.Nodes[node.Name] = n
		info.NodeList = append(info.NodeList, node.Name)
	}
}

// AddJob adds a job with its pods, which take room on their nodes. The nodes must be there. A session writes into the
// job, so the job has a copy of the PodGroup.
func AddJob(info *api.ClusterInfo, id api.JobID, group *api.PodGroup, priority int32, pods []*v1.Pod) *api.JobInfo {
	job := api.NewJobInfo(id)
	job.SetPodGroup(group.Clone())
	job.Priority = priority

	for _, pod := range pods {
		task := NewTask(pod)
		job.AddTaskInfo(task)
		Occupy(info, task)
	}

	info.Jobs[id] = job
	return job
}

// NewTask makes a task of a pod. A session writes the node into the pods that it places, so a pod without a node is
// copied.
func NewTask(pod *v1.Pod) *api.TaskInfo {
	if pod.Spec.NodeName == "" {
		own := *pod
		pod = &own
	}
	return api.NewTaskInfo(pod)
}

// Occupy takes the room of a task on its node.
func Occupy(info *api.ClusterInfo, task *api.TaskInfo) {
	node := info.Nodes[task.NodeName]
	if node == nil || task.Status == api.Succeeded || task.Status == api.Failed {
		return
	}
	// A node that is too small refuses a running task. The queue of the task is charged all the same.
	_ = node.AddTask(task)
}

// Decision is the decision of a session about a pod.
type Decision int

// The decisions.
const (
	Nothing Decision = iota
	Placed           // the pod gets a node
	Evicted          // the pod is evicted from its node
	Waits            // the pod waits for a node from which other pods were evicted for it
)

// Decided returns the decision of a session about a pod that is not being deleted.
func Decided(pod *v1.Pod, task *api.TaskInfo) Decision {
	switch {
	case pod.Spec.NodeName == "" && (task.Status == api.Binding || task.Status == api.Bound):
		return Placed
	case pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && task.Status == api.Releasing:
		return Evicted
	case task.Status == api.Pipelined && task.EvictionOccurred:
		return Waits
	default:
		return Nothing
	}
}
