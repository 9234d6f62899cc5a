package intake

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// gone finds what the jobs have that the nodes of the session do not give
// (any more). The zero gone is ready.
//
// Pods are few on such nodes, and a task has to be looked at to know its node. So gone looks at tasks only when a node
// has left since the session before, when the tree has changed, since a queue that exists again brings its jobs back,
// and when annotations have, since cards may begin to count, or when drivers publish other devices. It looks in each
// session from then on until nothing is gone.
type gone struct {
	charges, request fastres.Vector
	ending           fastres.Vector      // the part of charges that is of pods which are being deleted
	some             bool                // charges are of some task
	nodes            map[string]struct{} // those of the session before, nil at first
	tree             *index.Tree         // that of the session before, nil at first
}

// resize gives the vectors a length. What was found for another is not known any more.
func (g *gone) resize(length int) {
	if g.charges.Len() != length {
		*g = gone{charges: fastres.NewVector(length), ending: fastres.NewVector(length), request: fastres.NewVector(length)}
	}
}

// find sets charges to what queues are charged for pods on nodes that the
// session does not have, and for cards that their nodes do not state any more.
func (g *gone) find(ssn *framework.Session, jobs []*api.JobInfo, session *Session) {
	left, moved := g.update(ssn), g.tree != session.tree || session.cards.QuotasChanged()
	g.tree = session.tree
	if !left && !moved && !g.some && !session.cards.Holding() && !session.cards.DevicesChanged() {
		return
	}
	g.charges.Reset()
	g.ending.Reset()
	g.some = false
	for _, job := range jobs {
		q := session.tree.Lookup(string(job.Queue))
		if q == index.None || session.tree.Broken(q) != nil {
			continue
		}
		for _, task := range job.Tasks {
			if api.AllocatedStatus(task.Status) || session.cards.Occupied(task) {
				g.add(ssn, session, q, task)
			}
		}
	}
}

// update records the nodes of the session, and reports whether some of those before
// have left.
func (g *gone) update(ssn *framework.Session) (left bool) {
	for name := range g.nodes {
		if _, ok := ssn.Nodes[name]; !ok {
			left = true
			break
		}
	}
	if g.nodes != nil && !left && len(g.nodes) == len(ssn.Nodes) {
		return false
	}
	g.nodes = make(map[string]struct{}, len(ssn.Nodes))
	for name := range ssn.Nodes {
		g.nodes[name] = struct{}{}
	}
	return left
}

// add adds the charge of one task, as far as its node does not give it. A task that is
// being deleted is charged for its cards alone.
func (g *gone) add(ssn *framework.Session, session *Session, q index.Queue, task *api.TaskInfo) {
	_, there := ssn.Nodes[task.NodeName]
	pod, _ := session.SetTask(g.request, q, task)
	if !there && api.AllocatedStatus(task.Status) {
		g.charges.Add(g.request)
		g.some = true
	}
	node := session.cards.NodeOf(task)
	for r := range session.cards.RequestsOn(pod, task.NodeName) {
		for d, amount := range r.On(node) {
			if !session.cards.Gone(task.NodeName, r, d) {
				continue
			}
			session.cards.Add(g.charges, d, amount)
			g.some = true
			if session.cards.Occupied(task) {
				session.cards.Add(g.ending, d, amount)
			}
		}
	}
}
