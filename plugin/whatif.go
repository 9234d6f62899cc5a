package plugin

import (
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// whatIf is the snapshot of a task in its cycle state. Volcano clones cycle states
// and simulates on each clone from its own goroutine, so each clone has its own
// vectors.
type whatIf struct {
	overlay         index.Overlay
	holders         *index.Overlay // nil where no queue limits the holders of jobs
	guarantees      *quota.Guarantees
	request, refund fastres.Vector // made at the first simulation
	books           quota.Books    // the accounts above, from then on
	begun           bool           // the accounts are those of the future

	// Of the task that PrePredicate prepared; clones have none.
	task  *api.TaskInfo
	queue index.Queue
	pod   *cards.PodRequest
	leave []fastres.Dim // the cards that it should leave to the rest of its gang
}

// Clone returns an independent what-if (fwk.StateData).
func (w *whatIf) Clone() fwk.StateData {
	clone := &whatIf{overlay: w.overlay.Clone(), guarantees: w.guarantees, begun: w.begun}
	if w.holders != nil {
		holders := w.holders.Clone()
		clone.holders = &holders
	}
	return clone
}
