package replay

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

// epoch is the time of the first submission. It is not 0, which objects take for no time.
var epoch = time.Unix(1_000_000_000, 0)

// job is a job that was submitted and has not ended.
type job struct {
	trace.Job
	id       api.JobID
	group    *api.PodGroup
	list     card.List
	resource v1.ResourceName // of the cards, empty for none
	pods     []*pod
	running  int
	ended    int // pods that have run for their time
	begun    bool
	dirty    bool // its entry in the cache is out of date
	hidden   map[api.TaskStatus]api.TasksMap
}

// pod is a pod of a job. After an eviction it is a new pod with the same name.
type pod struct {
	*job
	number int
	life   int // the number of starts and evictions: an end of an earlier life does not count
	task   *api.TaskInfo
	node   *node // nil while it waits
	since  time.Duration
	over   bool

	written time.Duration // the time of the checkpoint in its object
	done    time.Duration // the work of earlier lives that is not lost
	listed  *v1.Pod       // the copy of copied that sessions list, nil for none
	copied  *v1.Pod
}

// newJob makes the objects of a job.
func (r *run) newJob(spec *trace.Job) *job {
	j := &job{Job: *spec, id: api.JobID(spec.Namespace + "/" + spec.Name), dirty: true}
	if j.Cards > 0 {
		j.list = r.stock.list(spec)
		j.resource = r.stock[j.list[0]].Resource
	}

	requests := r.requests(j)
	minimum := v1.ResourceList{}
	for name, quantity := range requests {
		quantity.Mul(int64(j.Minimum))
		minimum[name] = quantity
	}

	g := &api.PodGroup{Version: api.PodGroupVersionV1Beta1}
	g.Name = j.Name
	g.Namespace = j.Namespace
	g.UID = types.UID(j.id)
	g.Annotations = map[string]string{}
	g.CreationTimestamp = metav1.NewTime(epoch.Add(j.Submit))
	g.Spec.Queue = j.Queue
	g.Spec.MinMember = int32(j.Minimum)
	g.Spec.MinResources = &minimum
	g.Status.Phase = scheduling.PodGroupPending
	j.group = g

	for i := range j.Pods {
		p := &pod{job: j, number: i}
		p.task = api.NewTaskInfo(p.object(requests))
		j.pods = append(j.pods, p)
	}
	return j
}

// requests returns the requests of a pod. A pod without any requests a core, because Volcano schedules pods without
// requests in another way.
func (r *run) requests(j *job) v1.ResourceList {
	list := v1.ResourceList{}
	if j.CPU > 0 || j.Cards == 0 && j.Memory == 0 {
		list[v1.ResourceCPU] = *resource.NewMilliQuantity(max(j.CPU, 1), resource.DecimalSI)
	}
	if j.Memory > 0 {
		list[v1.ResourceMemory] = *resource.NewQuantity(j.Memory, resource.BinarySI)
	}
	if j.Cards > 0 {
		list[j.resource] = *resource.NewQuantity(j.Cards, resource.DecimalSI)
	}
	return list
}

// object makes a new pod that waits.
func (p *pod) object(requests v1.ResourceList) *v1.Pod {
	annotations := map[string]string{v1beta1.KubeGroupNameAnnotationKey: p.Name, v1beta1.PodPreemptable: "true"}
	if len(p.list) > 0 {
		annotations[card.NameKey] = p.list.String()
	}

	resources := v1.ResourceRequirements{Requests: requests, Limits: requests}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              fmt.Sprintf("%s-%d", p.Name, p.number),
			Namespace:         p.Namespace,
			UID:               p.uid(),
			Annotations:       annotations,
			CreationTimestamp: p.group.CreationTimestamp,
		},
		Spec: v1.PodSpec{
			SchedulerName: "volcano",
			Priority:      &p.Priority,
			Containers:    []v1.Container{{Name: "main", Resources: resources}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

func (p *pod) uid() types.UID { return types.UID(fmt.Sprintf("%s-%d#%d", p.id, p.number, p.life)) }

// change replaces the object of a pod with a changed copy.
func (p *pod) change(how func(*v1.Pod)) {
	own := *p.task.Pod
	how(&own)
	p.task = api.NewTaskInfo(&own)
}

// own returns a task of the pod for a session. The session writes into it and, if the pod waits, into its object.
func (p *pod) own() *api.TaskInfo {
	task := p.task.Clone()
	if p.node == nil && !p.over {
		object := *p.task.Pod
		task.Pod = &object
	}
	return task
}

// waits reports whether some pod of the job has no node.
func (j *job) waits() bool { return j.running+j.ended < j.Pods }

// lacks returns the number of cards that the job needs next: for its minimum or, beyond the minimum, for one pod.
func (j *job) lacks() float64 {
	return float64(int64(max(1, j.Minimum-j.running-j.ended)) * j.Cards)
}
