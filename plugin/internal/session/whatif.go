package session

import (
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// whatIf is the snapshot of a task in its cycle state. Volcano takes one for each task and keeps it until the session
// ends, but simulates for few of them. So a simulation is made at the first use.
type whatIf struct {
	queues     index.Version
	holders    index.Version // not read if no queue limits the holders of jobs
	simulation *simulation   // nil before the first use
}

// simulation has the accounts that simulations change. Volcano clones cycle states and simulates on each clone from its
// own goroutine, so each clone has its own.
type simulation struct {
	quota.Draft          // of the snapshot
	begun           bool // the accounts of the future have been copied
	request, refund fastres.Vector
}

// Clone returns an independent what-if (fwk.StateData). Clones are for simulations.
func (w *whatIf) Clone() fwk.StateData {
	clone := &struct { // one allocation
		whatIf whatIf
		own    simulation
	}{whatIf: whatIf{queues: w.queues, holders: w.holders}}

	clone.whatIf.simulation = &clone.own
	if s := w.simulation; s != nil && s.begun {
		clone.own.begun = true
		clone.own.CopyFrom(&s.Draft)
	}

	return &clone.whatIf
}

// prepared is the task that PrePredicate prepared last, with its snapshot.
type prepared struct {
	whatIf
	task  *api.TaskInfo
	queue index.Queue
	pod   *cards.PodRequest
	leave []fastres.Dim // the cards that it should leave to the rest of its gang

	refused report.OtherCards
}
