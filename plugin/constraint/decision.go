package constraint

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Question asks whether a task may have a node.
type Question struct {
	Task  *api.TaskInfo
	Queue index.Queue
	// Node is the node, nil for any node. Questions about a node are safe for many goroutines.
	Node *api.NodeInfo
	// Placed: Volcano has placed the task on Node, and waits for the last check.
	Placed bool
	// As are the accounts to decide with, nil for the accounts of the session (reclaim.Rules.BooksFor).
	As *quota.Books
	// Request is memory for the request of the task. Only questions about any node need it, and a Placed task that
	// waits for others to end.
	Request fastres.Vector
}

// Answer says whether a task may have a node, and why not. Session.Refusal adds the numbers: most answers have none.
type Answer struct {
	// Ask is the request that the rules compared. The memory of its Request is from the question.
	Ask
	Books *quota.Books // with which the rules decided, nil where the queue takes no tasks
	Fit   cards.NodeFit
	// Whole: the rules decided on Request, and for cards on any card of a list. Otherwise they decided on the cards of
	// the node.
	Whole bool
}

// OK reports whether the task may have the node.
func (a *Answer) OK() bool { return a.Fit.Reason == cards.NodeFits }

// Refuse makes the answer a refusal for a reason.
func (a *Answer) Refuse(why cards.NodeReason, v quota.Verdict) {
	a.Fit.Reason = why
	a.Fit.Verdict = v
}

// Refusal returns what refuses a task, with the comparisons that decided. Its verdict is Admitted where no rule
// refuses. The result is memory of the frame. With the zero Frame, Refusal is safe for many goroutines.
func (s *Session) Refusal(f Frame, a *Answer) *Refusal {
	asked := Refusal{Task: a.Task, Job: a.Task.Job, Queue: a.Queue, Books: a.Books}
	if a.Whole {
		asked.Allocation = true
		asked.Request = a.Request
	}
	return s.Refused(f, asked, cards.Outcome{Verdict: a.Fit.Verdict, Request: a.Fit.Request})
}
