package replay

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// When a session opens, Volcano makes the node objects of kube-scheduler from all nodes and their pods, and copies the
// pods with nodes. This takes most of the time of a session, and nearly all objects are the same as in the session
// before. So a session opens on empty nodes and jobs. The first plugin fills them, and gives the session the objects of
// an earlier session that no session has changed since. BenchmarkReplay shows the gain.

// hidden has the parts of a node in the cache that Volcano does not see while a session opens.
type hidden struct {
	object *v1.Node
	tasks  map[api.TaskID]*api.TaskInfo
}

// empty empties the nodes and the jobs of the cache. fill fills them.
func (c *content) empty() {
	for name, own := range c.cached.Nodes {
		n := c.nodes[name]
		n.hidden = hidden{own.Node, own.Tasks}
		own.Node = n.bare
		own.Tasks = nil
	}

	for id, own := range c.cached.Jobs {
		j := c.jobs[id]
		j.hidden = own.TaskStatusIndex
		own.TaskStatusIndex = nil
	}
}

// fill fills the nodes and jobs of a session, and completes the objects that Volcano has made from empty ones.
func (c *content) fill(ssn *framework.Session) {
	fresh := map[string]*api.NodeInfo{}
	for name, own := range c.cached.Nodes {
		n := c.nodes[name]
		own.Node = n.hidden.object
		own.Tasks = n.hidden.tasks
		n.hidden = hidden{}
		if n.entry == nil {
			fresh[name] = own
		}
	}

	for name, entry := range framework.GenerateNodeMapAndSlice(fresh) {
		c.nodes[name].entry = entry
	}
	for name, n := range c.nodes {
		ssn.NodeMap[name] = n.entry
	}

	for id, own := range c.cached.Jobs {
		j := c.jobs[id]
		own.TaskStatusIndex = j.hidden
		j.hidden = nil
		for _, p := range j.pods {
			if task := own.Tasks[p.task.UID]; p.node != nil && api.AllocatedStatus(task.Status) {
				p.enlist(ssn.PodLister, task)
			}
		}
	}
}

// enlist lists the task of a pod as Volcano does. The copy of the pod's object lasts until a session changes the task.
func (p *pod) enlist(lister *framework.PodLister, task *api.TaskInfo) {
	if p.listed == nil || p.copied != task.Pod {
		p.listed = task.Pod.DeepCopy()
		p.copied = task.Pod
		p.listed.Spec.NodeName = task.NodeName
	}

	lister.Tasks[task.UID] = task
	lister.CachedPods[task.UID] = p.listed
	if framework.HaveAffinity(task.Pod) {
		lister.TaskWithAffinity[task.UID] = task
	}
}
