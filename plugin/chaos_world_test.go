package plugin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/intake"
)

// world is a cluster in memory that lasts for many cycles, with one scheduler. As in a
// real cluster, an object keeps its address until it changes.
type world struct {
	*scenario
	cycle  int
	made   int // objects that were made, for their UIDs
	away   int // cycles for which the configuration is without the plugin
	nodes  map[string]*worldNode
	queues map[string]*worldQueue
	jobs   []*worldJob

	builder   *builder // the scheduler's: a restart replaces it
	informers informers.SharedInformerFactory
	history   []string // what happened
	seen      map[string]int
	changed   bool  // by the last cycle
	evictions []int // by cycle
	claims    []claimed
	marks     []mark
	edited    int            // the last cycle with acts
	filled    map[string]int // the cycle in which a node last got a pod
	loses     map[string]int // the cycle in which a queue last lost pods to reclaim
	// borrowsFirst is the last cycle in which a queue that lost pods deserved another one.
	borrowsFirst int
}

// worldNode is a node. A lost one stays known: its pods ran on its cards.
type worldNode struct {
	spec   workload.Node
	object *v1.Node
	lost   bool
}

// worldQueue is a queue.
type worldQueue struct {
	spec   queueSpec
	object *scheduling.Queue
	// good are the last valid values of the card annotations, as the scheduler knows
	// them: by key, nil for an annotation that is not there.
	good map[string]map[string]int64
	bad  bool // a value of an annotation is bad
	// policies are the last valid texts of policy annotations, by key.
	policies map[string]string
}

// worldJob is a PodGroup and its pods.
type worldJob struct {
	spec    jobSpec
	group   *api.PodGroup
	pods    []*worldPod
	leaving []*worldPod // terminating pods that their controller has replaced already
	promise promiseTime
	// orphaned: a session was without the job, because its queue did not exist.
	orphaned bool
}

// worldPod is a pod. One that ended is replaced by a new one with the same name, unless
// it finished.
type worldPod struct {
	spec   podSpec
	object *v1.Pod
	ends   int                  // the cycle in which a terminating pod is gone
	born   int                  // how many pods with this number were there before
	has    map[string]namedCard // since it has a node, by resource
}

// namedCard is the card that a pod has of a resource.
type namedCard struct {
	card string // "" for a resource that nothing names
	// sure: a node named it while the cards of the pod counted, so the scheduler
	// remembers it.
	sure bool
	// doubt: the scheduler may have seen another name before.
	doubt bool
}

func newWorld(s *scenario) *world {
	w := &world{scenario: s, nodes: map[string]*worldNode{}, queues: map[string]*worldQueue{},
		seen: map[string]int{}, filled: map[string]int{}, loses: map[string]int{}, informers: informers.NewSharedInformerFactory(nil, 0)}
	w.start()
	return w
}

// start starts the scheduler anew.
func (w *world) start() {
	for _, v := range []arguments.Variant{cardBuilder.variant, capacityBuilder.variant, proportionBuilder.variant} {
		if v.Name == w.plugin {
			w.builder = &builder{variant: v, now: w.clock}
		}
	}
}

func (w *world) note(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf("cycle %d: ", w.cycle)+fmt.Sprintf(format, args...))
}

func (w *world) job(name string) *worldJob {
	for _, j := range w.jobs {
		if j.spec.name == name {
			return j
		}
	}
	return nil
}

func (w *world) uid(name string) types.UID {
	w.made++
	return types.UID(fmt.Sprintf("%s#%04d", name, w.made))
}

func (d submitJob) apply(w *world) {
	if w.job(d.spec.name) != nil {
		return
	}
	s := d.spec
	j := &worldJob{spec: s}
	described := workload.Job{Name: s.name, Queue: s.queue, Phase: workload.Pending, MinMember: int32(s.minMember), MinResources: s.minResources}
	described.Annotations = map[string]string{}
	if s.cardRequest != "" {
		described.Annotations[card.RequestKey] = s.cardRequest
	}
	if s.service != "" {
		described.Annotations[policy.ServiceTypeKey] = s.service
	}
	j.group = cluster.PodGroup(described)
	j.group.CreationTimestamp = metav1.Unix(int64(w.cycle), 0)
	if !s.later {
		j.create(w)
	}
	w.jobs = append(w.jobs, j)
}

// create creates the pods of a job.
func (j *worldJob) create(w *world) {
	for _, spec := range j.spec.pods {
		j.pods = append(j.pods, &worldPod{spec: spec})
		j.replace(w, len(j.pods)-1)
	}
}

// all returns the pods of a job, with those that were replaced and are not gone yet.
func (j *worldJob) all() []*worldPod { return slices.Concat(j.pods, j.leaving) }

// replace replaces a pod by a new one, which is pending. A pod that was replaced before it is
// gone has another name than the new one.
func (j *worldJob) replace(w *world, i int) {
	spec, born := j.pods[i].spec, j.pods[i].born
	task := workload.Task{Name: fmt.Sprintf("%s-%d", j.spec.name, i), Request: spec.requests, Gated: spec.gated}
	if w.eager && j.pods[i].object != nil {
		born++
		task.Name += fmt.Sprintf("-%d", born)
	}
	if spec.cards != "" {
		task.Annotations = map[string]string{card.NameKey: spec.cards}
	}
	pod := cluster.Pod(j.spec.name, task)
	pod.UID = w.uid(pod.Name)
	pod.CreationTimestamp = metav1.NewTime(w.clock())
	pod.Spec.Priority = &j.spec.priority
	if j.spec.owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: j.spec.owner, Name: j.spec.name}}
	}
	if spec.kept {
		pod.Annotations[v1beta1.PodPreemptable] = "false"
	}
	j.pods[i] = &worldPod{spec: spec, object: pod, born: born}
}

// update replaces the object of a pod by a changed copy.
func (p *worldPod) update(change func(*v1.Pod)) {
	own := p.object.DeepCopy()
	change(own)
	p.object = own
}

func (p *worldPod) finished() bool {
	return p.object.Status.Phase == v1.PodSucceeded || p.object.Status.Phase == v1.PodFailed
}

// placed reports whether the pod has a node and still runs there.
func (p *worldPod) placed() bool {
	return p.object.Spec.NodeName != "" && !p.finished()
}

// evict makes a pod of a job terminate, for which an eager controller creates another one at once.
func (j *worldJob) evict(w *world, i int) {
	p := j.pods[i]
	p.ends = w.cycle + 1 + w.grace
	p.update(func(pod *v1.Pod) {
		pod.DeletionTimestamp = &metav1.Time{Time: w.clock().Add(time.Duration(w.grace) * time.Minute)}
	})
	if w.eager {
		j.leaving = append(j.leaving, p)
		j.replace(w, i)
	}
}

func (d removeJob) apply(w *world) {
	w.jobs = slices.DeleteFunc(w.jobs, func(j *worldJob) bool { return j.spec.name == d.job })
}

func (d scaleJob) apply(w *world) {
	j := w.job(d.job)
	if j == nil || len(j.pods) == 0 {
		return
	}
	for len(j.pods) < d.pods {
		j.pods = append(j.pods, &worldPod{spec: j.pods[len(j.pods)-1].spec})
		j.replace(w, len(j.pods)-1)
	}
	j.pods = j.pods[:d.pods]
}

func (d finishPod) apply(w *world) {
	j := w.job(d.job)
	if j == nil || d.pod >= len(j.pods) || j.pods[d.pod].object.Status.Phase != v1.PodRunning {
		return
	}
	j.pods[d.pod].update(func(pod *v1.Pod) {
		pod.DeletionTimestamp = nil
		if pod.Status.Phase = v1.PodSucceeded; d.failed {
			pod.Status.Phase = v1.PodFailed
		}
	})
	j.pods[d.pod].has = nil
}

func (d openGates) apply(w *world) {
	if j := w.job(d.job); j != nil {
		for _, p := range j.pods {
			if p.spec.gated = false; len(p.object.Spec.SchedulingGates) > 0 {
				p.update(func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
			}
		}
	}
}

func (d editGroup) apply(w *world) {
	if j := w.job(d.job); j != nil {
		j.spec.minMember, j.spec.minResources = d.minMember, d.minResources
		list := cluster.List(d.minResources)
		j.group.Spec.MinMember, j.group.Spec.MinResources = int32(d.minMember), &list
	}
}

func (d setQueue) apply(w *world) {
	object := cluster.Queue(d.spec.queue, "")
	if d.spec.unreclaimable {
		object.Spec.Reclaimable = new(bool)
	}
	q := w.queues[d.spec.queue.Name]
	if q == nil {
		q = &worldQueue{good: map[string]map[string]int64{}}
		object.UID, object.Generation = w.uid(object.Name), 1
		w.queues[object.Name] = q
	} else {
		object.UID, object.Generation = q.object.UID, q.object.Generation
		if !reflect.DeepEqual(object.Spec, q.object.Spec) {
			object.Generation++ // annotations and status have none
		}
	}
	q.spec, q.object = d.spec, object
}

func (d deleteQueue) apply(w *world) { delete(w.queues, d.queue) }

func (d setNode) apply(w *world) {
	w.nodes[d.node.Name] = &worldNode{spec: d.node, object: cluster.Node(d.node)}
	_ = w.informers.Core().V1().Nodes().Informer().GetStore().Add(w.nodes[d.node.Name].object)
}

func (d loseNode) apply(w *world) {
	if n := w.nodes[d.node]; n != nil {
		n.lost = true
		_ = w.informers.Core().V1().Nodes().Informer().GetStore().Delete(n.object)
	}
}

func (d replacePods) apply(w *world) {
	if n := w.nodes[d.node]; n == nil || !n.lost {
		return
	}
	for _, j := range w.jobs {
		j.leaving = slices.DeleteFunc(j.leaving, func(p *worldPod) bool { return p.object.Spec.NodeName == d.node })
		for i, p := range j.pods {
			if p.object.Spec.NodeName == d.node && !p.finished() {
				j.replace(w, i)
			}
		}
	}
}

func (restart) apply(w *world) {
	w.start()
	for _, q := range w.queues {
		q.good, q.policies = map[string]map[string]int64{}, nil
	}
	for _, j := range w.jobs {
		for _, p := range j.all() {
			p.has = nil
		}
	}
}

func (d leave) apply(w *world) { w.away = d.cycles }

func (renew) apply(w *world) {
	for _, n := range w.nodes {
		if !n.lost {
			n.object = n.object.DeepCopy()
			_ = w.informers.Core().V1().Nodes().Informer().GetStore().Update(n.object)
		}
	}
	for _, q := range w.queues {
		q.object = q.object.DeepCopy()
	}
}

// cardResources are the resources of cards in random worlds.
var cardResources = []string{gpuName, migName, mpsName, npuName}

const (
	migName = "nvidia.com/mig-1g.10gb"
	mpsName = "nvidia.com/gpu.shared"
	npuName = "huawei.com/Ascend910"
)

// resourceOf returns the resource of a card in random worlds.
func resourceOf(name string) string {
	switch {
	case strings.Contains(name, "mig"):
		return migName
	case strings.Contains(name, "mps"):
		return mpsName
	case name == "N":
		return npuName
	}
	return gpuName
}

// cardOf returns the card that a resource of a node is, "" where the labels do not say.
func cardOf(n workload.Node, resource string) string {
	product, npu := n.Labels["nvidia.com/gpu.product"], n.Labels["huawei.com/Ascend910.product"]
	if resource == npuName {
		return npu
	}
	if product == "" {
		return ""
	}
	switch _, has := n.Allocatable[resource]; {
	case resource == gpuName:
		return product
	case resource == migName && has:
		return product + "/mig-1g.10gb-mixed"
	case resource == mpsName && has && n.Labels["nvidia.com/gpu.replicas"] != "":
		return product + "/mps-80g*1/4"
	}
	return ""
}

// hold determines the cards that a pod has on a node. What a node named stays. Where no
// node names one, a pod has a card that it names itself. Which one is not sure: that
// depends on the cards that the scheduler knows.
func (w *world) hold(p *worldPod, node string, counted bool) {
	if p.has == nil {
		p.has = map[string]namedCard{}
	}
	for _, resource := range cardResources {
		before, had := p.has[resource]
		if p.spec.requests[resource] == 0 || before.sure && counted {
			continue // while cards do not count in its queue, the scheduler forgets
		}
		first, _, _ := strings.Cut(p.spec.cards, "|")
		now := namedCard{card: first, doubt: first != "" || !w.isCardResource(resource)}
		if n := w.nodes[node]; n != nil && !n.lost && cardOf(n.spec, resource) != "" {
			now = namedCard{card: cardOf(n.spec, resource), sure: counted}
		}
		if had && (before.doubt || before.card != "" && before.card != now.card) {
			now.doubt = true
		}
		p.has[resource] = now
	}
}

// isCardResource reports whether a node has a card with this resource. Otherwise the
// scheduler may not know that it is one.
func (w *world) isCardResource(resource string) bool {
	for _, n := range w.nodes {
		if !n.lost && cardOf(n.spec, resource) != "" {
			return true
		}
	}
	return false
}

// unsure reports whether it is not certain what a pod is charged for.
func (p *worldPod) unsure() bool {
	for _, has := range p.has {
		if has.doubt {
			return true
		}
	}
	return false
}

// parent returns the parent of a queue, "" for the root.
func (w *world) parent(queue string) string {
	if queue == index.RootName {
		return ""
	}
	if q := w.queues[queue]; q != nil && q.spec.queue.Parent != "" {
		return q.spec.queue.Parent
	}
	return index.RootName
}

// path returns a queue and its ancestors, nil for a queue that does not exist or does not
// reach the root.
func (w *world) path(queue string) []string {
	if w.queues[queue] == nil && queue != index.RootName {
		return nil
	}
	if !w.hierarchy {
		return []string{queue}
	}
	path := []string{queue}
	for queue != index.RootName {
		next := w.parent(queue)
		if next != index.RootName && w.queues[next] == nil || slices.Contains(path, next) {
			if w.fromAnnotations() {
				return []string{path[0], index.RootName}
			}
			return nil
		}
		path, queue = append(path, next), next
	}
	return path
}

// fromAnnotations reports whether annotations define the tree.
func (w *world) fromAnnotations() bool {
	return w.arguments[arguments.HierarchyFrom] == string(intake.HierarchyFromAnnotation)
}

func (w *world) leaf(queue string) bool {
	if w.hierarchy {
		for _, name := range slices.Sorted(maps.Keys(w.queues)) {
			if path := w.path(name); name != queue && len(path) > 1 && path[1] == queue {
				return false
			}
		}
	}
	return true
}

// place writes the annotations that define the tree.
func (w *world) place() {
	if !w.fromAnnotations() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.queues)) {
		path := slices.Clone(w.path(name))
		slices.Reverse(path)
		q, text := w.queues[name], strings.Join(path, "/")
		if name != index.RootName && q.object.Annotations[index.PathKey] != text {
			q.object = q.object.DeepCopy()
			if q.object.Annotations == nil {
				q.object.Annotations = map[string]string{}
			}
			q.object.Annotations[index.PathKey] = text
		}
	}
}

// holdAll determines the cards of the pods that run.
func (w *world) holdAll() {
	for _, j := range w.jobs {
		j.orphaned = j.orphaned || w.queues[j.spec.queue] == nil
		for _, p := range j.all() {
			if !p.placed() {
				continue
			}
			w.hold(p, p.object.Spec.NodeName, w.counted(j.spec.queue))
			if w.queues[j.spec.queue] == nil && unchecked(outlivesQueue) {
				for resource, has := range p.has {
					has.sure = false
					p.has[resource] = has
				}
			}
		}
	}
}

// begin lets the time between two cycles pass: pods start and end, and the acts of the
// cycle happen.
func (w *world) begin(acts []act) {
	w.cycle++
	for _, j := range w.jobs {
		remaining := len(j.leaving)
		j.leaving = slices.DeleteFunc(j.leaving, func(p *worldPod) bool { return p.ends <= w.cycle })
		w.changed = w.changed || len(j.leaving) < remaining
		for i, p := range j.pods {
			switch {
			case p.object.DeletionTimestamp != nil && p.ends <= w.cycle && !p.finished():
				j.replace(w, i)
				w.changed = true
			case p.object.Spec.NodeName != "" && p.object.Status.Phase == v1.PodPending && p.object.DeletionTimestamp == nil:
				p.update(func(pod *v1.Pod) {
					pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &metav1.Time{Time: w.clock()}
				})
			}
		}
	}
	for _, a := range acts {
		if a.cycle == w.cycle {
			a.deed.apply(w)
			w.note("%s", a.deed)
			w.edited = w.cycle
		}
	}
	w.place()
	if w.away == 0 {
		w.readAnnotations()
		w.holdAll()
		w.watchPromises()
	}
	for _, j := range w.jobs {
		if len(j.pods) == 0 && j.group.Status.Phase != scheduling.PodGroupPending && j.spec.later {
			j.create(w)
			w.changed = true
		}
	}
}

// info returns what the scheduler's cache holds.
func (w *world) info() *api.ClusterInfo {
	info := &api.ClusterInfo{
		Nodes: map[string]*api.NodeInfo{}, Queues: map[api.QueueID]*api.QueueInfo{}, Jobs: map[api.JobID]*api.JobInfo{},
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if n := w.nodes[name]; !n.lost {
			info.Nodes[name] = api.NewNodeInfo(n.object)
			info.NodeList = append(info.NodeList, name)
		}
	}
	for name, q := range w.queues {
		if info.Queues[api.QueueID(name)] = api.NewQueueInfo(q.object); q.spec.hollow && w.away == 0 { // Volcano panics on it
			info.Queues[api.QueueID(name)].Queue = nil
		}
	}
	for _, j := range w.jobs {
		job := api.NewJobInfo(api.JobID(cluster.Namespace + "/" + j.spec.name))
		job.SetPodGroup(j.group.Clone())
		job.Namespace = j.namespace()
		job.Priority = j.spec.priority
		job.CreationTimestamp = j.group.CreationTimestamp
		for _, p := range j.all() {
			pod := p.object
			if pod.Spec.NodeName == "" {
				own := *pod // a session writes the node of a pod that it places
				pod = &own
			}
			task := api.NewTaskInfo(pod)
			task.Namespace = job.Namespace
			job.AddTaskInfo(task)
			if node := info.Nodes[task.NodeName]; node != nil && !p.finished() {
				_ = node.AddTask(task)
			}
		}
		if info.Queues[job.Queue] != nil {
			info.Jobs[job.UID] = job // Volcano's cache drops a job whose queue is gone
		}
	}
	return info
}
