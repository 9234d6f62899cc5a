package admit

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// bounds are the bounds of admission, which are raised for one job at a time (quota.Returns).
type bounds interface {
	// Raise raises the bounds for a job of q, and reports whether anything is given back to it. preempted is the
	// resources that preempt can take for the job.
	Raise(q index.Queue, preempted fastres.Vector) (some bool)
	// Lower makes the bounds plain.
	Lower()
}

// question is a job of a queue, with the resources that preempt can take for it.
type question struct {
	job       *api.JobInfo
	queue     index.Queue
	preempted fastres.Vector
}

// raising is the question for which the bounds of admission are raised. The zero question stands for none.
//
//	           ask                   suspend
//	┌───────┐ ───────▶ ┌──────────┐ ────────▶ ┌───────────┐
//	│ plain │          │  raised  │           │ suspended │
//	└───────┘ ◀─────── └──────────┘ ◀──────── └───────────┘
//	           answer                resume
//
// A rule may ask about another job while the bounds are raised: the question is suspended then. If the other job is
// refused, too, its question is asked within the suspended one.
type raising struct {
	bounds   bounds
	question question
}

// asks reports whether a question is open: raised or suspended.
func (r *raising) asks() bool { return r.question.job != nil }

// ask raises the bounds for a question, and reports whether anything is given back. answer ends the question; it needs
// the outer one.
func (r *raising) ask(q question) (outer question, some bool) {
	outer = r.question
	r.question = q
	return outer, r.bounds.Raise(q.queue, q.preempted)
}

// answer ends a question. The bounds are raised for the outer question again; without one, they are plain.
func (r *raising) answer(outer question) {
	r.question = outer
	r.settle()
}

// suspend makes the bounds plain until resume, if a question is open.
func (r *raising) suspend() {
	if r.asks() {
		r.bounds.Lower()
	}
}

// resume raises the bounds for the question that is open, if any.
func (r *raising) resume() {
	if r.asks() {
		r.bounds.Raise(r.question.queue, r.question.preempted)
	}
}

// settle raises the bounds for the question that is open. Without one, it makes them plain.
func (r *raising) settle() {
	r.bounds.Lower()
	r.resume()
}
