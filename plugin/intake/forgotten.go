package intake

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// forgotten finds the pods that Volcano does not have on their node. If a Node is deleted and created again, the
// cache of Volcano has none of the pods that run there until each of them changes. Their room would be given to
// others. So the nodes of a session get these pods back. The zero forgotten is ready.
//
// DIVERGES: upstream forgets such pods (cache/event_handlers.go, RemoveNode and AddOrUpdateNode).
type forgotten struct {
	nodes map[string]struct{}      // created again, and not searched yet
	tasks map[api.TaskID]api.JobID // missing on their nodes
}

// restore adds to the nodes of a session the tasks that they lack.
func (f *forgotten) restore(ssn *framework.Session, session *Inputs, jobs []*api.JobInfo) {
	if session.cards == nil {
		*f = forgotten{} // all nodes are new when cards count again
		return
	}

	for name := range session.cards.NodesAnew() {
		if f.nodes == nil {
			f.nodes = map[string]struct{}{}
			f.tasks = map[api.TaskID]api.JobID{}
		}
		f.nodes[name] = struct{}{}
	}

	if len(f.nodes) > 0 {
		f.search(ssn, session, jobs)
	}

	for id, uid := range f.tasks {
		job := ssn.Jobs[uid]
		if job == nil || job.Tasks[id] == nil {
			delete(f.tasks, id)
			continue
		}

		task := job.Tasks[id]
		node := ssn.Nodes[task.NodeName]
		switch {
		case node == nil: // it is not ready
		case !misses(node, task):
			delete(f.tasks, id)
		default:
			_ = node.AddTask(task) // only a task that is being bound to a node without room is refused
		}
	}
}

// search finds the tasks that are missing on the nodes that were created again.
func (f *forgotten) search(ssn *framework.Session, session *Inputs, jobs []*api.JobInfo) {
	created := map[string]*api.NodeInfo{}
	for name := range f.nodes {
		stated := session.cards.Node(name)
		if stated == nil {
			delete(f.nodes, name) // it is gone again
			continue
		}

		// The session may not have the new node yet, or still have the old one.
		node := ssn.Nodes[name]
		if node != nil && node.Node != nil && node.Node.UID == stated.UID() {
			created[name] = node
			delete(f.nodes, name)
		}
	}

	if len(created) == 0 {
		return
	}

	for _, job := range jobs {
		for id, task := range job.Tasks {
			if node := created[task.NodeName]; node != nil && misses(node, task) {
				f.tasks[id] = job.UID
			}
		}
	}
}

// misses reports whether a node does not have a task that runs there.
func misses(node *api.NodeInfo, task *api.TaskInfo) bool {
	if !api.AllocatedStatus(task.Status) && task.Status != api.Releasing {
		return false
	}
	_, has := node.Tasks[api.PodKey(task.Pod)]
	return !has
}
