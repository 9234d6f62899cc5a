package intake

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// stock finds by how much the cards that queues can have differ from those that the nodes give:
//
//	stock of a node = max(gives − outside, held)
//
// held is the charge of queues for pods on the node. It exceeds the cards that the node gives if a device breaks
// while pods have all of them. outside has the cards of pods that no queue is charged for: pods of another scheduler
// or of a queue that does not exist, and untyped pods with untypedCards: ignore. Devices of resource claims are left
// out.
//
// The zero stock is ready.
type stock struct {
	// more and less are the differences of the stock from the cards that nodes give, above and below.
	more, less fastres.Vector
	moreThen   fastres.Vector // the gain of the stock once pods that are being deleted are gone; it may be negative
	parts      map[part]has   // where the stock differs from the node; kept across sessions
	others     map[api.JobID]index.Queue
	visited    int // pods that no queue is charged for

	nodes []seen     // with cards
	sums  []cardSums // by worker
}

// seen is a node with cards, and the findings about its pods.
type seen struct {
	info  *api.NodeInfo
	node  *cards.Node
	used  bool // pods have cards
	over  bool // more than the node gives
	going bool // some of them are being deleted
}

// cardSums holds the sums of the card resources of pods that are not being deleted.
type cardSums struct {
	ofJobs, onNodes float64
	uncharged       bool // there is a job that no queue is charged for
}

// part is a card of a node.
type part struct {
	node string
	dim  fastres.Dim
}

// has holds the quantities of a card on a node: the quantity that the node gives, and the quantities of pods.
type has struct {
	gives                 card.Milli
	outside, outsideGoing card.Milli // going: the part of the pods that are being deleted
	held, heldGoing       card.Milli
}

// now returns the stock of a card on a node.
func (h has) now() card.Milli { return max(h.gives-h.outside, h.held, 0) }

// then returns the stock once the pods that are being deleted are gone.
func (h has) then() card.Milli {
	return max(h.gives-(h.outside-h.outsideGoing), h.held-h.heldGoing, 0)
}

// resize gives the vectors a length.
func (s *stock) resize(length int) {
	if s.more.Len() != length {
		*s = stock{
			more:     fastres.NewVector(length),
			less:     fastres.NewVector(length),
			moreThen: fastres.NewVector(length),
		}
	}
}

// find compares the cards of nodes with the cards of pods. lost: there are pods of jobs on nodes that are gone.
func (s *stock) find(ssn *framework.Session, jobs []*api.JobInfo, session *Inputs, crew *crew, lost bool) {
	if s.parts == nil {
		s.parts = map[part]has{}
	}
	s.more.Reset()
	s.less.Reset()
	s.moreThen.Reset()
	clear(s.parts)
	s.visited = 0
	if session.cards == nil {
		return
	}

	s.findOthers(ssn, jobs, session)
	unready := session.cards.NodesBeside(ssn.Nodes)
	charged := s.see(ssn, jobs[:len(ssn.Jobs)], session, crew) && !lost && len(unready) == 0
	for _, n := range s.nodes {
		if n.used && (n.over || n.going || !charged) {
			s.addNode(ssn, session, n)
		}
	}

	clear(s.nodes) // so that the session can be garbage collected
	s.addUnready(jobs, session, unready)

	for at, h := range s.parts {
		if h.now() == h.gives && h.then() == h.gives {
			delete(s.parts, at)
			continue
		}

		session.cards.Add(s.more, at.dim, max(0, h.now()-h.gives))
		session.cards.Add(s.less, at.dim, max(0, h.gives-h.now()))
		session.cards.Add(s.moreThen, at.dim, h.then()-h.now())
	}
}

// see reads the sums that Volcano keeps for jobs and nodes. It reports whether queues are charged for all cards of
// pods that are not being deleted. That is so if queues are charged for all jobs, and the sum over jobs equals the
// sum over nodes. The answer only holds if all pods of jobs are on nodes of the session.
func (s *stock) see(ssn *framework.Session, jobs []*api.JobInfo, session *Inputs, crew *crew) (charged bool) {
	s.nodes = s.nodes[:0]
	for name, info := range ssn.Nodes {
		if node := session.cards.Node(name); node != nil && len(info.Tasks) > 0 {
			s.nodes = append(s.nodes, seen{info: info, node: node})
		}
	}

	n := len(s.nodes) + len(jobs)
	workers := workersFor(n, alone)
	s.sums = append(s.sums[:0], make([]cardSums, workers)...)
	crew.share(workers, n, func(worker, from, to int) {
		sum := &s.sums[worker]
		for i := from; i < to; i++ {
			if i < len(s.nodes) {
				sum.addNode(session, &s.nodes[i])
			} else {
				sum.addJob(session, jobs[i-len(s.nodes)])
			}
		}
	})

	var all cardSums
	for _, sum := range s.sums {
		all.ofJobs += sum.ofJobs
		all.onNodes += sum.onNodes
		all.uncharged = all.uncharged || sum.uncharged
	}
	return !all.uncharged && all.ofJobs == all.onNodes
}

func (s *cardSums) addNode(session *Inputs, n *seen) {
	used := session.cards.SumOf(n.info.Used)
	if used == 0 {
		return
	}

	going := session.cards.SumOf(n.info.Releasing)
	s.onNodes += used - going
	n.used = true
	n.going = going > 0
	n.over = session.cards.Overused(n.node, n.info)
}

func (s *cardSums) addJob(session *Inputs, job *api.JobInfo) {
	q := session.tree.Lookup(string(job.Queue))
	if q == index.None || session.tree.Broken(q) != nil || !session.cards.ChargesAll(q) {
		s.uncharged = true
		return
	}
	s.ofJobs += session.cards.SumOf(job.Allocated)
}

// findOthers finds the queues of the jobs that the session does not have.
func (s *stock) findOthers(ssn *framework.Session, jobs []*api.JobInfo, session *Inputs) {
	s.others = nil
	for _, job := range jobs[len(ssn.Jobs):] {
		if s.others == nil {
			s.others = map[api.JobID]index.Queue{}
		}
		s.others[job.UID] = session.tree.Lookup(string(job.Queue))
	}
}

// queueOf returns the queue that is charged for a task, None for none.
func (s *stock) queueOf(ssn *framework.Session, session *Inputs, task *api.TaskInfo) index.Queue {
	q := index.None
	if job := ssn.Jobs[task.Job]; job != nil {
		q = session.tree.Lookup(string(job.Queue))
	} else if other, known := s.others[task.Job]; known {
		q = other
	}

	if q != index.None && session.tree.Broken(q) != nil {
		return index.None
	}
	return q
}

// addNode adds up the cards of the pods on a node. The charges of queues only matter where pods have more cards than
// the node gives.
func (s *stock) addNode(ssn *framework.Session, session *Inputs, n seen) {
	node := n.node
	for _, task := range n.info.Tasks {
		if !api.AllocatedStatus(task.Status) && task.Status != api.Releasing || !session.cards.UsesNode(node, task) {
			continue
		}

		pod := session.cards.Read(task)
		charged := session.cards.CountedIn(s.queueOf(ssn, session, task), pod)
		if n.over && (api.AllocatedStatus(task.Status) || session.cards.Occupied(task)) {
			s.holdAll(session, node, charged, task)
		}

		outside := false
		for d, amount := range session.cards.Uncharged(pod, charged, node) {
			at := part{n.info.Name, d}
			h := s.on(session, at)
			h.outside += amount
			if task.Status == api.Releasing {
				h.outsideGoing += amount
			}
			s.parts[at] = h
			outside = true
		}

		if outside {
			s.visited++
		}
	}
}

// holdAll adds the cards of a node that a queue is charged for a pod.
func (s *stock) holdAll(session *Inputs, node *cards.Node, charged *cards.PodRequest, task *api.TaskInfo) {
	for r := range session.cards.Requests(charged) {
		if r.FromClaim() {
			continue
		}
		for d, amount := range r.On(node) {
			if session.cards.Gone(task.NodeName, r, d) {
				continue
			}

			at := part{task.NodeName, d}
			h := s.on(session, at)
			h.held += amount
			if task.Status == api.Releasing {
				h.heldGoing += amount
			}
			s.parts[at] = h
		}
	}
}

// on returns the known quantities of a card on a node.
func (s *stock) on(session *Inputs, at part) has {
	h, known := s.parts[at]
	if !known {
		h.gives = session.cards.GivesOf(at.node, at.dim)
	}
	return h
}

// addUnready adds the pods on nodes with cards that the session does not have: Volcano leaves a node out of the session
// while its pods request more than it gives.
func (s *stock) addUnready(jobs []*api.JobInfo, session *Inputs, unready map[string]*cards.Node) {
	if len(unready) == 0 {
		return
	}

	for _, job := range jobs {
		q := session.tree.Lookup(string(job.Queue))
		if q == index.None || session.tree.Broken(q) != nil {
			continue
		}

		for _, task := range job.Tasks {
			node := unready[task.NodeName]
			if node != nil && (api.AllocatedStatus(task.Status) || session.cards.Occupied(task)) {
				s.holdAll(session, node, session.cards.CountedIn(q, session.cards.Read(task)), task)
			}
		}
	}
}

// differs reports whether the stock of any card differs from the quantity that its node gives.
func (s *stock) differs() bool { return len(s.parts) > 0 }

// ChargeCards follows a charge for the cards of a task of q on its node (sign 1), or a refund (sign -1), in the cards
// that are available now and then. A card that no node gives is available as long as the task has it.
func (s *Inputs) ChargeCards(q index.Queue, task *api.TaskInfo, sign card.Milli) {
	charge := func(h *has, amount card.Milli) { h.held += sign * amount }
	s.followCards(q, task, sign, has.now, charge, s.Available, s.AvailableThen)
}

// EndCards follows a task of q that will end, in the cards that are available then. Its queue keeps the charge now.
func (s *Inputs) EndCards(q index.Queue, task *api.TaskInfo) {
	end := func(h *has, amount card.Milli) { h.heldGoing += amount }
	s.followCards(q, task, -1, has.then, end, s.AvailableThen)
}

// followCards applies a change to each card of a task of q, where the node gives the card. It adds the change of a
// quantity of the stock to the available cards, and all of a card that the node does not give.
func (s *Inputs) followCards(q index.Queue, task *api.TaskInfo, sign card.Milli, quantity func(has) card.Milli,
	apply func(h *has, amount card.Milli), available ...fastres.Vector) {
	if !s.Gone {
		return
	}

	node := s.cards.NodeOf(task)
	for r := range s.cards.RequestsOn(s.cards.PodRequest(q, task.Pod), task.NodeName) {
		for d, amount := range r.On(node) {
			change := sign * amount
			if !s.cards.Gone(task.NodeName, r, d) {
				change = s.stock.change(part{task.NodeName, d}, r, quantity, func(h *has) { apply(h, amount) })
			}

			for _, x := range available {
				s.cards.Add(x, d, change)
			}
		}
	}
}

// change changes the charges for a card of a node, where they decide on the stock. It returns the change of a quantity
// of the stock.
func (s *stock) change(at part, r cards.Request, quantity func(has) card.Milli, apply func(*has)) card.Milli {
	h, differs := s.parts[at]
	if !differs || r.FromClaim() {
		return 0
	}

	before := quantity(h)
	apply(&h)
	s.parts[at] = h
	return quantity(h) - before
}
