package constraint

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Draft is the future accounts of a session without some tasks, such as victims that are only considered. It is for one
// goroutine.
type Draft struct {
	quota.Books
	session          *Session
	queues, holders  quota.Draft
	markable         marked // the accounts of queues
	request, scratch fastres.Vector
}

// marked is accounts that return to an earlier state.
type marked interface {
	Mark() int
	Undo(mark int)
}

// Without returns a draft without some tasks. A task without a node or a queue changes nothing.
func (s *Session) Without(tasks []*api.TaskInfo) *Draft {
	d := &Draft{}
	d.Begin(s, nil)
	for _, task := range tasks {
		d.Remove(task)
	}
	return d
}

// Begin starts a draft in memory that is used again. queues are the accounts of queues without the victims of a
// question, nil for a draft of the future.
func (d *Draft) Begin(s *Session, queues *quota.Victims) {
	d.session = s
	d.Books = s.Books.Future

	if queues == nil {
		d.queues.Begin(s.Books.Future.Queues)
		d.Books.Queues = &d.queues
		d.markable = &d.queues
	} else {
		d.Books.Queues = queues
		d.markable = queues
	}
	if d.Books.Holders != nil {
		d.holders.Begin(s.Books.Future.Holders)
		d.Books.Holders = &d.holders
	}

	if length := s.Intake.Dims.Length(); d.request.Len() != length {
		d.request = fastres.NewVector(length)
		d.scratch = fastres.NewVector(length)
	}
}

// End lets go of the session, so that it can be garbage collected.
func (d *Draft) End() { d.session = nil }

// Remove refunds a task on all its accounts.
func (d *Draft) Remove(task *api.TaskInfo) {
	q := d.session.QueueOf(task)
	if q == index.None || !api.AllocatedStatus(task.Status) {
		return
	}
	a := d.session.AskOn(q, task, task.NodeName, d.request)
	d.session.RefundAll(&d.Books, a, d.scratch)
}

// RemoveBeside refunds a task of q on all its accounts except the accounts of queues. charge is the charge of q for it.
// A task that terminates is not charged in the future: other tasks may have its claims.
func (d *Draft) RemoveBeside(q index.Queue, task *api.TaskInfo, charge fastres.Vector) {
	if !api.AllocatedStatus(task.Status) {
		return
	}
	a := Ask{Task: task, Queue: q, Request: charge}
	d.session.RefundBeside(&d.Books, a, d.scratch)
}

// Mark returns the present state of the accounts of queues and of holders.
func (d *Draft) Mark() (queues, holders int) { return d.markable.Mark(), d.holders.Mark() }

// Undo returns to a state of Mark.
func (d *Draft) Undo(queues, holders int) {
	d.markable.Undo(queues)
	d.holders.Undo(holders)
}
