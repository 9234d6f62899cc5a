package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// World is a cluster in memory that lasts for many cycles. As in a real cluster, an object keeps its address until it
// changes.
type World struct {
	Config
	Cycle     int
	Changed   bool // by the last cycle
	Edited    int  // the last cycle with deeds
	Away      int  // cycles for which the configuration is without the plugin
	Nodes     map[string]*Node
	Queues    map[string]*Queue
	Jobs      []*Job
	Orphans   []*Job           // jobs that are deleted, with pods that still terminate
	Pools     map[string]*Pool // devices that resource claims give, by node
	Claims    []*Claim
	Evicted   []string // the pods that were evicted
	Evictions []int    // by cycle
	History   []string // what happened

	// OnRestart is called at each start of the scheduler.
	OnRestart func()
	// OnPlaced is called for a pod that a session gives a node, and OnClaimed for one that waits for its victims on a
	// node.
	OnPlaced, OnClaimed func(j *Job, p *Pod, node string)
	// OnFollow is called for each job of a session, before its pods follow it.
	OnFollow func(j *Job, job *api.JobInfo)

	forgotten map[*v1.Pod]struct{} // by Volcano's cache, on nodes that were deleted and created again
	restarted bool                 // the scheduler, in this cycle
	waited    time.Duration        // in addition to the cycles
	made      int                  // objects that were made, for their UIDs
	informers informers.SharedInformerFactory
}

// Node is a node. A lost one stays known: its pods ran on its cards.
type Node struct {
	Spec   workload.Node
	Object *v1.Node
	Lost   bool
}

// Queue is a queue.
type Queue struct {
	Spec   QueueSpec
	Object *scheduling.Queue
}

// Job is a PodGroup and its pods.
type Job struct {
	Spec    JobSpec
	Group   *api.PodGroup
	Pods    []*Pod
	Leaving []*Pod   // terminating pods that their controller has replaced already
	Reasons string   // why the last session did not place it
	Waiting []string // the pods that wait for a node, and the node
}

// Pod is a pod. One that ended is replaced by a new one with the same name, unless it finished.
type Pod struct {
	Spec   PodSpec
	Object *v1.Pod
	Since  int // the cycle in which it got its node
	Ends   int // the cycle in which a terminating pod is gone
	born   int // how many pods with this number were there before
}

// New returns a world without objects.
func New(c Config) *World {
	return &World{
		Config:    c,
		Nodes:     map[string]*Node{},
		Queues:    map[string]*Queue{},
		Pools:     map[string]*Pool{},
		informers: informers.NewSharedInformerFactory(nil, 0),
	}
}

// Clock is the time of a cycle: a minute passes between two.
func (w *World) Clock() time.Time { return time.Unix(int64(60*w.Cycle), 0).Add(w.waited) }

// Informers have the nodes of the world.
func (w *World) Informers() informers.SharedInformerFactory { return w.informers }

// Note adds to the history.
func (w *World) Note(format string, args ...any) {
	w.History = append(w.History, fmt.Sprintf("cycle %d: ", w.Cycle)+fmt.Sprintf(format, args...))
}

// Job returns the job of a name, nil for none.
func (w *World) Job(name string) *Job {
	for _, j := range w.Jobs {
		if j.Spec.Name == name {
			return j
		}
	}
	return nil
}

func (w *World) uid(name string) types.UID {
	w.made++
	return types.UID(fmt.Sprintf("%s#%04d", name, w.made))
}

// ID is the key of a job in a session.
func (j *Job) ID() api.JobID { return api.JobID(j.Namespace() + "/" + j.Spec.Name) }

// All returns the pods of a job, with those that were replaced and are not gone yet.
func (j *Job) All() []*Pod { return slices.Concat(j.Pods, j.Leaving) }

// Namespace is the namespace of a job.
func (j *Job) Namespace() string { return cmp.Or(j.Spec.Namespace, cluster.Namespace) }

// Running returns the number of pods that have a node.
func (j *Job) Running() (n int) {
	for _, p := range j.Pods {
		if p.Placed() {
			n++
		}
	}
	return n
}

// Finished reports whether the pod has succeeded or failed.
func (p *Pod) Finished() bool {
	return p.Object.Status.Phase == v1.PodSucceeded || p.Object.Status.Phase == v1.PodFailed
}

// Placed reports whether the pod has a node and still runs there.
func (p *Pod) Placed() bool { return p.Object.Spec.NodeName != "" && !p.Finished() }

// update replaces the object of a pod by a changed copy.
func (p *Pod) update(change func(*v1.Pod)) {
	own := p.Object.DeepCopy()
	change(own)
	p.Object = own
}

// Parent returns the parent of a queue, "" for the root.
func (w *World) Parent(queue string) string {
	if queue == index.RootName {
		return ""
	}
	if q := w.Queues[queue]; q != nil && q.Spec.Parent != "" {
		return q.Spec.Parent
	}
	return index.RootName
}

// Path returns a queue and its ancestors, nil for a queue that does not exist or does not reach the root.
func (w *World) Path(queue string) []string {
	if w.Queues[queue] == nil && queue != index.RootName {
		return nil
	}

	if !w.Tree {
		return []string{queue}
	}

	path := []string{queue}
	for queue != index.RootName {
		next := w.Parent(queue)
		if next != index.RootName && w.Queues[next] == nil || slices.Contains(path, next) {
			if w.FromAnnotations() {
				return []string{path[0], index.RootName}
			}
			return nil
		}
		path = append(path, next)
		queue = next
	}

	return path
}

// FromAnnotations reports whether annotations define the tree.
func (w *World) FromAnnotations() bool { return w.Arguments["hierarchyFrom"] == "annotation" }

// place writes the annotations that define the tree.
func (w *World) place() {
	if !w.FromAnnotations() {
		return
	}

	for _, name := range slices.Sorted(maps.Keys(w.Queues)) {
		path := slices.Clone(w.Path(name))
		slices.Reverse(path)

		q, text := w.Queues[name], strings.Join(path, "/")
		if name != index.RootName && q.Object.Annotations[index.PathKey] != text {
			q.Object = q.Object.DeepCopy()
			if q.Object.Annotations == nil {
				q.Object.Annotations = map[string]string{}
			}
			q.Object.Annotations[index.PathKey] = text
		}
	}
}

// Begin lets the time between two cycles pass: pods start and end, deeds happen, and controllers create the pods of
// admitted jobs.
func (w *World) Begin(deeds ...Deed) {
	w.Cycle++
	w.Changed = false
	for _, j := range slices.Concat(w.Jobs, w.Orphans) {
		w.kubelet(j)
	}
	w.Orphans = slices.DeleteFunc(w.Orphans, func(j *Job) bool { return len(j.Leaving) == 0 })

	for _, d := range deeds {
		d.apply(w)
		w.Note("%s", d)
		w.Edited = w.Cycle
	}

	if w.restarted {
		clear(w.forgotten) // a cache that is new reads all pods
		w.restarted = false
	}

	w.place()
	for _, j := range w.Jobs {
		if len(j.Pods) == 0 && j.Group.Status.Phase != scheduling.PodGroupPending && j.Spec.Later {
			j.create(w)
			w.Changed = true
		}
	}

	w.serveClaims()
}

// kubelet starts the pods of a job that have a node, and ends the terminating pods that are due. The controller
// replaces these.
func (w *World) kubelet(j *Job) {
	remaining := len(j.Leaving)
	j.Leaving = slices.DeleteFunc(j.Leaving, func(p *Pod) bool { return p.Ends <= w.Cycle })
	w.Changed = w.Changed || len(j.Leaving) < remaining

	for i, p := range j.Pods {
		switch {
		case p.Object.DeletionTimestamp != nil && p.Ends <= w.Cycle && !p.Finished():
			j.replace(w, i)
			w.Changed = true

		case p.Object.Spec.NodeName != "" && p.Object.Status.Phase == v1.PodPending &&
			p.Object.DeletionTimestamp == nil && !p.Spec.Bound:
			p.update(func(pod *v1.Pod) {
				pod.Status.Phase = v1.PodRunning
				pod.Status.StartTime = &metav1.Time{Time: w.Clock()}
			})
		}
	}
}

// Info returns the content of the scheduler's cache.
func (w *World) Info() *api.ClusterInfo {
	info := offline.NewInfo()
	for _, name := range slices.Sorted(maps.Keys(w.Nodes)) {
		if n := w.Nodes[name]; !n.Lost {
			offline.AddNode(info, n.Object)
		}
	}

	if n := len(info.NodeList); n > 0 {
		info.NodeList = slices.Concat(info.NodeList[w.Order%n:], info.NodeList[:w.Order%n])
	}

	for name, q := range w.Queues {
		info.Queues[api.QueueID(name)] = api.NewQueueInfo(q.Object)
		if q.Spec.Hollow && w.Away == 0 { // Volcano panics on it
			info.Queues[api.QueueID(name)].Queue = nil
		}
	}

	for _, j := range w.Jobs {
		var pods []*v1.Pod
		for _, p := range j.All() {
			pods = append(pods, p.Object)
		}

		job := offline.AddJob(info, j.ID(), j.Group, j.Spec.Priority, pods)
		job.CreationTimestamp = j.Group.CreationTimestamp
		if info.Queues[job.Queue] == nil {
			delete(info.Jobs, job.UID) // Volcano's cache drops a job without a queue
		}
	}

	for _, j := range w.Orphans {
		for _, p := range j.Leaving {
			offline.Occupy(info, offline.NewTask(p.Object))
		}
	}

	for pod := range w.forgotten {
		if node := info.Nodes[pod.Spec.NodeName]; node != nil && node.Tasks[api.PodKey(pod)] != nil {
			node.RemoveTask(offline.NewTask(pod))
		}
	}

	return info
}

// Follow carries out the decisions of a session.
func (w *World) Follow(jobs map[api.JobID]*api.JobInfo) {
	evictions := len(w.Evicted)
	for _, j := range w.Jobs {
		job := jobs[j.ID()]
		if job == nil {
			continue
		}

		was := j.Group.Status.Phase
		j.Group.Status = job.PodGroup.Status
		j.Reasons = job.JobFitErrors
		j.Waiting = nil
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			j.Waiting = append(j.Waiting, task.Name+":"+task.NodeName)
		}

		if is := j.Group.Status.Phase; is != was {
			w.Changed = true
			w.Note("%s is %s, was %s", j.Spec.Name, is, was)
		}
		if w.OnFollow != nil {
			w.OnFollow(j, job)
		}

		for i, p := range j.Pods {
			if task := job.Tasks[api.TaskID(p.Object.UID)]; task != nil {
				w.carryOut(j, i, task)
			}
		}
	}

	w.Evictions = append(w.Evictions, len(w.Evicted)-evictions)
}

// carryOut carries out the decision of a session about a pod.
func (w *World) carryOut(j *Job, i int, task *api.TaskInfo) {
	p := j.Pods[i]
	switch offline.Decided(p.Object, task) {
	case offline.Evicted:
		w.Note("%s is evicted from %s", task.Name, p.Object.Spec.NodeName)
		w.Evicted = append(w.Evicted, task.Name)
		j.evict(w, i)
		w.Changed = true

	case offline.Placed:
		if w.OnPlaced != nil {
			w.OnPlaced(j, p, task.NodeName)
		}
		p.update(func(pod *v1.Pod) { pod.Spec.NodeName = task.NodeName })
		p.Since = w.Cycle
		w.assign(p)
		w.Note("%s runs on %s", task.Name, task.NodeName)
		w.Changed = true

	case offline.Waits:
		w.Note("%s waits for %s, others were evicted for it", task.Name, task.NodeName)
		if w.OnClaimed != nil {
			w.OnClaimed(j, p, task.NodeName)
		}
		if p.Object.Status.NominatedNodeName != task.NodeName {
			p.update(func(pod *v1.Pod) { pod.Status.NominatedNodeName = task.NodeName })
		}
	}
}

// Terminating reports whether a pod is being deleted.
func (w *World) Terminating() bool {
	for _, j := range slices.Concat(w.Jobs, w.Orphans) {
		for _, p := range j.All() {
			if p.Object.DeletionTimestamp != nil && !p.Finished() {
				return true
			}
		}
	}

	return false
}
