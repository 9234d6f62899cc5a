package release

//lint:file-ignore U1000 a fallback is unused with the releases that have the declaration

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// queueInfo is a queue of any release.
type queueInfo struct {
	*api.QueueInfo
	absentQueue
}

type absentQueue struct{ absentNamespaced }

// absentNamespaced stands in for what queues have where a NamespaceQueue can be one: its source, and the fields of both
// kinds.
type absentNamespaced struct {
	Scope           string
	Namespace       string
	Parent          api.QueueID
	Capability      v1.ResourceList
	Guarantee       scheduling.Guarantee
	Deserved        v1.ResourceList
	ReclaimableFlag *bool
	Priority        int32
	State           scheduling.QueueState
	NamespaceQueue  *absentNamespaceQueue
}

type absentNamespaceQueue struct{ metav1.ObjectMeta }

// namespaceScope is the scope of a NamespaceQueue, api.NamespaceQueueScope.
const namespaceScope = "namespace"

// KnowsNamespaceQueues reports whether queues can be NamespaceQueues.
func KnowsNamespaceQueues() bool {
	q := &queueInfo{QueueInfo: &api.QueueInfo{}}
	return &q.Parent != &q.absentNamespaced.Parent
}

// NamespaceQueue returns the metadata of the NamespaceQueue that is a queue, nil for any other queue. They are for
// reading.
func NamespaceQueue(info *api.QueueInfo) *metav1.ObjectMeta {
	if source := (queueInfo{QueueInfo: info}).NamespaceQueue; source != nil {
		return &source.ObjectMeta
	}
	return nil
}

// QueueObject returns the Queue object that stands for a NamespaceQueue, nil for any other queue. Its name is the ID of
// the queue, "namespace/name", and so is that of its parent. No Queue has a namespace, so that of the object tells
// what it stands for. It shares lists with the queue.
func QueueObject(info *api.QueueInfo) *scheduling.Queue {
	q := queueInfo{QueueInfo: info}
	if q.NamespaceQueue == nil {
		return nil
	}
	object := &scheduling.Queue{ObjectMeta: q.NamespaceQueue.ObjectMeta, Spec: scheduling.QueueSpec{
		Weight: info.Weight, Parent: string(q.Parent), Priority: q.Priority, Reclaimable: q.ReclaimableFlag,
		Capability: q.Capability, Deserved: q.Deserved, Guarantee: q.Guarantee,
	}}
	object.Name, object.Status.State = string(info.UID), q.State
	return object
}

// NewQueueInfo returns the queue of an object. One with a namespace, such as QueueObject returns, stands for a
// NamespaceQueue, where the release knows these.
func NewQueueInfo(object *scheduling.Queue) *api.QueueInfo {
	info := api.NewQueueInfo(object)
	if object.Namespace == "" || !KnowsNamespaceQueues() {
		return info
	}
	q := queueInfo{QueueInfo: info}
	q.Scope, q.Namespace = namespaceScope, object.Namespace
	info.Name = strings.TrimPrefix(object.Name, object.Namespace+"/")
	info.Weight = 1
	info.Hierarchy = ""
	info.Weights = ""
	info.Queue = nil
	setNew(&q.NamespaceQueue)
	q.NamespaceQueue.ObjectMeta = object.ObjectMeta
	q.NamespaceQueue.Name = info.Name
	return info
}

// setNew sets a pointer to a new value of a type that some releases lack.
func setNew[T any](p **T) { *p = new(T) }

// Parent returns the parent of a queue that may be a NamespaceQueue, as Volcano walks up when it closes a session. ""
// is the root. Before NamespaceQueues Volcano reads the Queue object, and Parent returns "".
func Parent(info *api.QueueInfo) api.QueueID { return queueInfo{QueueInfo: info}.Parent }

// SetParent sets what Parent returns, in one session.
func SetParent(info *api.QueueInfo, parent api.QueueID) {
	q := queueInfo{QueueInfo: info}
	q.Parent = parent
}

// absentAccounting stands in for the queues and jobs that sessions know beside those that they schedule.
type absentAccounting struct {
	AccountingQueues map[api.QueueID]*api.QueueInfo
	AccountingJobs   map[api.JobID]*api.JobInfo
}

// AccountingQueues returns all queues, with those that the session does not schedule: NamespaceQueues that are not open
// and ready, or are below a queue that is not. It is nil before NamespaceQueues.
func AccountingQueues(ssn *framework.Session) map[api.QueueID]*api.QueueInfo {
	return session{Session: ssn}.AccountingQueues
}

// AccountingJobs returns the jobs of these queues. It is nil before NamespaceQueues.
func AccountingJobs(ssn *framework.Session) map[api.JobID]*api.JobInfo {
	return session{Session: ssn}.AccountingJobs
}

// clusterInfo is the content of a cache of any release.
type clusterInfo struct {
	*api.ClusterInfo
	absentContent
}

type absentContent struct{ absentAccounting }

// SetAccounting sets what AccountingQueues and AccountingJobs return of a session on this content.
func SetAccounting(info *api.ClusterInfo, queues map[api.QueueID]*api.QueueInfo, jobs map[api.JobID]*api.JobInfo) {
	c := clusterInfo{ClusterInfo: info}
	c.AccountingQueues, c.AccountingJobs = queues, jobs
}
