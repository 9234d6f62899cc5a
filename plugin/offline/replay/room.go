package replay

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// In a backlog, most of the time of a session goes into the pods of jobs that no node has cards for: Volcano asks all
// nodes about each of them. If nobody is evicted, such a pod gets nothing, and the reasons in its job are not measured.
// So the replay refuses it before nodes are asked. BenchmarkReplay shows the gain.

// room counts the free cards of nodes in a session.
type room struct {
	stale   bool
	nodes   map[shape]map[int64]int // how many nodes have so many free cards, 1 or more
	refused int                     // pods, in all sessions
}

// shape is a card and the resource by which pods request it.
type shape struct {
	card     string
	resource v1.ResourceName
}

// hasRoom reports whether the nodes of the session have as many free cards as the job of a task needs to go on.
func (o *order) hasRoom(task *api.TaskInfo) bool {
	p, own := o.content.tasks[task.UID], o.Jobs[task.Job]
	if p == nil || p.Cards == 0 || own == nil {
		return true
	}
	if o.room.stale {
		o.countRoom()
	}

	lacks := max(1, int64(own.MinAvailable-own.ReadyTaskNum()-own.WaitingTaskNum()))
	for _, name := range p.job.list {
		for free, nodes := range o.room.nodes[shape{name, p.resource}] {
			lacks -= free / p.Cards * int64(nodes)
		}
	}

	if lacks > 0 {
		o.room.refused++
	}
	return lacks <= 0
}

// countRoom counts the free cards of all nodes.
func (o *order) countRoom() {
	o.room.stale = false
	if o.room.nodes == nil {
		o.room.nodes = map[shape]map[int64]int{}
	}
	for _, nodes := range o.room.nodes {
		clear(nodes)
	}

	for _, n := range o.content.nodes {
		own := o.Nodes[n.object.Name]
		for resource, name := range n.cards {
			free := freeOf(own, resource)
			if free <= 0 {
				continue
			}

			s := shape{name, resource}
			if o.room.nodes[s] == nil {
				o.room.nodes[s] = map[int64]int{}
			}
			o.room.nodes[s][free]++
		}
	}
}
