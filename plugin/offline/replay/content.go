package replay

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// node is a node with its pods.
type node struct {
	object *v1.Node
	cards  map[v1.ResourceName]string
	pods   []*pod
	dirty  bool         // its entry in the cache is out of date
	bare   *v1.Node     // only the name
	entry  fwk.NodeInfo // the entry in sessions, nil if it is out of date
	hidden hidden

	machine int // one number for all nodes that differ only in their names
}

// content holds the nodes, queues and jobs of the scheduler's cache between sessions. Sessions write into it. Objects
// that they touch are rebuilt before the next session.
type content struct {
	nodes  map[string]*node
	order  []string // of the nodes
	queues []*scheduling.Queue
	jobs   map[api.JobID]*job
	tasks  map[api.TaskID]*pod
	cached *api.ClusterInfo
}

func newContent(nodes []*v1.Node, queues []*scheduling.Queue, labels card.Labels) *content {
	c := &content{
		nodes:  map[string]*node{},
		queues: queues,
		jobs:   map[api.JobID]*job{},
		tasks:  map[api.TaskID]*pod{},
		cached: offline.NewInfo(),
	}

	for _, object := range nodes {
		n := &node{object: object, cards: map[v1.ResourceName]string{}, dirty: true, bare: &v1.Node{}}
		n.bare.Name = object.Name
		for _, found := range card.OnNode(object, labels).Cards {
			n.cards[found.Resource] = found.Name
		}

		if api.NewNodeInfo(object).Ready() {
			c.nodes[object.Name] = n
			c.order = append(c.order, object.Name)
		}
	}

	slices.Sort(c.order)
	machines(c.nodes)
	return c
}

// touch notes that a session has changed a task.
func (c *content) touch(task *api.TaskInfo) {
	if n := c.nodes[task.NodeName]; n != nil {
		n.dirty = true
	}
	if j := c.jobs[task.Job]; j != nil {
		j.dirty = true
	}
	if p := c.tasks[task.UID]; p != nil {
		p.listed = nil
	}
}

// remove forgets a job that has ended.
func (c *content) remove(j *job) {
	delete(c.jobs, j.id)
	delete(c.cached.Jobs, j.id)
	for _, p := range j.pods {
		delete(c.tasks, p.task.UID)
	}
}

// snapshot returns the input of a session. Jobs that wait are always rebuilt, because sessions write the reason into
// them.
func (c *content) snapshot() *api.ClusterInfo {
	for name, n := range c.nodes {
		if !n.dirty {
			continue
		}

		own := api.NewNodeInfo(n.object)
		for _, p := range n.pods {
			_ = own.AddTask(p.task) // it has room: a session has placed the pod there
		}
		c.cached.Nodes[name] = own
		n.dirty = false
		n.entry = nil
	}

	for id, j := range c.jobs {
		if !j.dirty && !j.waits() {
			continue
		}

		own := api.NewJobInfo(id)
		own.SetPodGroup(j.group.Clone())
		own.Priority = j.Priority
		own.CreationTimestamp = j.group.CreationTimestamp
		for _, p := range j.pods {
			own.AddTaskInfo(p.own())
		}
		c.cached.Jobs[id] = own
		j.dirty = false
	}

	info := offline.NewInfo()
	info.Nodes = maps.Clone(c.cached.Nodes)
	info.Jobs = maps.Clone(c.cached.Jobs)
	info.NodeList = c.order
	for _, q := range c.queues {
		info.Queues[api.QueueID(q.Name)] = api.NewQueueInfo(q)
	}

	c.empty()
	return info
}

// recorder is the cache of the sessions. It records the decisions of a session.
type recorder struct {
	*offline.Cache
	bound, evicted []*api.TaskInfo
}

// EventRecorder returns a recorder that keeps nothing.
func (r *recorder) EventRecorder() record.EventRecorder { return &record.FakeRecorder{} }

// begin gives the cache its content for the next session.
func (r *recorder) begin(info *api.ClusterInfo) {
	r.Renew(info)
	r.bound = nil
	r.evicted = nil
}

// AddBindTask records that a task gets its node.
func (r *recorder) AddBindTask(bind *cache.BindContext) error {
	r.bound = append(r.bound, bind.TaskInfo)
	return nil
}

// Evict records an eviction.
func (r *recorder) Evict(task *api.TaskInfo, _ string) error {
	r.evicted = append(r.evicted, task)
	return nil
}
