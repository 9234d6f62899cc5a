package intake

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// gone finds the resources of jobs that the nodes of the session do not give (any more). The zero gone is ready.
//
// Only a few pods are on such nodes, but each task must be looked at to find them. So gone looks at tasks only after
// one of these changes, and then in each session until nothing is gone:
//
//   - a node has left;
//   - the tree has changed: a queue that exists again brings its jobs back;
//   - annotations have changed: cards may begin to count;
//   - drivers publish other devices.
type gone struct {
	charges, request fastres.Vector
	ending           fastres.Vector // the part of charges for pods that are being deleted
	some             bool           // there is a charge
	tree             *index.Tree    // of the session before, nil at first
}

// resize gives the vectors a length. It forgets everything if they had another one.
func (g *gone) resize(length int) {
	if g.charges.Len() != length {
		*g = gone{
			charges: fastres.NewVector(length),
			ending:  fastres.NewVector(length),
			request: fastres.NewVector(length),
		}
	}
}

// find sets charges to the charges of queues for pods on nodes that the session does not have, and for cards that the
// nodes do not state any more. left: a node has left.
func (g *gone) find(ssn *framework.Session, jobs []*api.JobInfo, session *Inputs, left bool) {
	moved := g.tree != session.tree || session.cards.QuotasChanged()
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

// add adds the charge of one task, as far as its node does not give it. A task that is being deleted is only charged
// for its cards.
func (g *gone) add(ssn *framework.Session, session *Inputs, q index.Queue, task *api.TaskInfo) {
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
