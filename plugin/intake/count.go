package intake

import (
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// countAll counts some jobs. A job without an existing queue counts nowhere.
func (t *tally) countAll(jobs []*api.JobInfo) {
	for _, job := range jobs {
		if q := t.tree.Lookup(string(job.Queue)); q != index.None {
			t.count(q, t.holders.cellOf(q, job.UID), job)
		}
	}
}

// count adds one job of q to the accounts of the cell at:
//
//	request = allocated + pending
//	elastic = max(0, allocated − min)
//	inqueue = max(0, min − allocated − gated), of an admitted job
//
// Volcano keeps the sums over a job's tasks. So count only visits tasks where some are neither allocated nor pending,
// and where gates or cards matter.
//
// Upstream: capacity/capacity.go, buildQueueAttrs.
func (t *tally) count(q, at index.Queue, job *api.JobInfo) {
	allocated, pending := CountTasks(job)
	reserved := t.hasReservation(q, job, allocated)
	t.jobs[at]++
	if t.admitted != nil && InProgress(job) {
		t.admitted[at]++
	}
	if t.devices {
		t.findDeviceClaims(q, job)
	}
	counted := t.cards.Counted(q)
	if counted {
		t.countCards(q, at, job, reserved)
	}

	reserves := reserved && HasMinimum(job)
	if allocated == 0 && pending == len(job.Tasks) {
		t.reader.add(t.request.Row(at), job.TotalRequest)
		if counted {
			t.job.ExemptPending(t.request.Row(at))
		}
		if !reserves {
			return
		}
	}

	t.reader.setMinimum(t.min, job)
	if counted {
		t.job.ExemptMinimum(t.cards, t.min)
	}
	t.countPlaced(at, job, allocated, counted)
	if pending < len(job.Tasks) {
		t.countPending(at, job, counted)
	}
	if reserves {
		t.addReservation(at, job, allocated, counted)
	}
}

// countPlaced adds the allocated tasks of a job. It sets t.placed to the sum of their requests.
func (t *tally) countPlaced(at index.Queue, job *api.JobInfo, allocated int, counted bool) {
	t.placed.Reset()
	if allocated == 0 {
		return
	}

	t.reader.add(t.placed, job.Allocated)
	if counted {
		t.job.ExemptAllocated(t.placed)
	}
	t.allocated.Row(at).Add(t.placed)
	t.request.Row(at).Add(t.placed)

	t.excess.SetExceeded(t.placed, t.min)
	t.elastic.Row(at).Add(t.excess)
}

// countPending adds the pending tasks of a job with other tasks.
func (t *tally) countPending(at index.Queue, job *api.JobInfo, counted bool) {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		t.reader.add(t.request.Row(at), task.Resreq)
	}
	if counted {
		t.job.ExemptPending(t.request.Row(at))
	}
}

// addReservation adds the reservation of a job.
func (t *tally) addReservation(at index.Queue, job *api.JobInfo, allocated int, counted bool) {
	t.gated.Reset()
	if !counted || t.job.HasGates() {
		t.reader.setGated(t.gated, t.job.Gates, job, allocated)
	}
	if counted {
		t.job.ExemptGated(t.gated)
	}

	quota.Reservation(t.excess, t.min, t.placed, t.gated)
	t.inqueue.Row(at).Add(t.excess)
}

// findDeviceClaims finds the tasks of a job that have resource claims.
func (t *tally) findDeviceClaims(q index.Queue, job *api.JobInfo) {
	for _, task := range job.Tasks {
		if release.HasDeviceClaims(task) {
			t.deviceUsers = append(t.deviceUsers, deviceUser{q, task})
		}
	}
}

// countCards adds the cards of one job of q to the accounts of the cell at. reserved: the rest of the minimum of the
// job is reserved.
func (t *tally) countCards(q, at index.Queue, job *api.JobInfo, reserved bool) {
	t.job.Read(t.cards, job, t.cards.CollectingReader(&t.newPods))
	t.visited += len(job.Tasks)
	for _, task := range t.job.Sharing() {
		t.sharing = append(t.sharing, deviceUser{q, task})
	}

	if !t.job.HasCards() {
		return
	}

	t.noteCards(q, job)
	t.job.AddAllocated(t.cards, t.allocated.Row(at))
	t.job.AddAllocated(t.cards, t.request.Row(at))
	for _, x := range []fastres.Vector{t.allocated.Row(at), t.request.Row(at), t.terminating.Row(at)} {
		t.job.AddTerminating(t.cards, x)
	}

	t.job.AddPending(t.cards, t.request.Row(at))
	t.job.AddElastic(t.cards, t.elastic.Row(at))

	if !reserved {
		t.waiting[at] = t.waiting[at] || job.IsPending()
		return
	}

	t.reserveCards(q, at, job)
}

// noteCards notes the facts about a job with cards that the session needs.
func (t *tally) noteCards(q index.Queue, job *api.JobInfo) {
	if t.session.budgeted != nil && t.session.budgeted[q] && announces(job, t.job.Tasks()) {
		t.announced = append(t.announced, job)
	}
	if t.job.Placed() {
		t.onNodes = append(t.onNodes, job)
	}
	if t.session.settings.FairShare.On {
		for _, list := range t.job.Lists() {
			t.lists = append(t.lists, List{q, list})
		}
	}
}

// reserveCards adds the reservation of a job's cards. A reservation that several cards can satisfy is kept apart.
func (t *tally) reserveCards(q, at index.Queue, job *api.JobInfo) {
	inqueue := t.inqueue.Row(at)
	t.demands = t.job.AppendReservation(t.demands[:0], t.cards, q)
	before := len(t.reservations)
	t.reservations = reserve.Split(t.reservations, job, t.demands, func(d fastres.Dim, milli float64) {
		t.cards.Add(inqueue, d, card.Milli(milli))
	})

	if !t.session.Open(q) {
		t.reservations = t.reservations[:before] // they keep nothing from other queues
	}
}

// CountTasks returns the number of tasks of a job with an allocated status (api.AllocatedStatus), and the number of
// pending tasks.
func CountTasks(job *api.JobInfo) (allocated, pending int) {
	// Most jobs have all their tasks in one status.
	tasks := job.TaskStatusIndex
	running := len(tasks[api.Running])
	if running == len(job.Tasks) {
		return running, 0
	}

	pending = len(tasks[api.Pending])
	if pending == len(job.Tasks) {
		return 0, pending
	}

	return running + len(tasks[api.Bound]) + len(tasks[api.Binding]) + len(tasks[api.Allocated]), pending
}

// HasMinimum reports whether a job states minimum resources.
func HasMinimum(job *api.JobInfo) bool {
	return job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil
}

// announces reports whether a job or any of its pods may announce a runtime.
func announces(job *api.JobInfo, tasks []*api.TaskInfo) bool {
	if job.PodGroup != nil && job.PodGroup.Annotations[policy.ExpectedRuntimeKey] != "" {
		return true
	}
	return slices.ContainsFunc(tasks, func(task *api.TaskInfo) bool {
		return task.Pod.Spec.ActiveDeadlineSeconds != nil || task.Pod.Annotations[policy.ExpectedRuntimeKey] != ""
	})
}

// InProgress reports whether a job is admitted and has not ended: it is Inqueue, Running or Unknown. Unknown means that
// some of its pods run and others have no node.
func InProgress(job *api.JobInfo) bool {
	if job.PodGroup == nil {
		return false
	}

	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue, scheduling.PodGroupRunning, scheduling.PodGroupUnknown:
		return true
	}
	return false
}

// admitted reports whether a job may have a reservation for the rest of its minimum: it is Inqueue, or Running with at
// least minMember allocated tasks. A job that has lost tasks forever reserves nothing, such as a Spark job without its
// driver.
func admitted(job *api.JobInfo, allocated int) bool {
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue:
		return true
	case scheduling.PodGroupRunning:
		return allocated >= int(job.PodGroup.Spec.MinMember)
	}
	return false
}
