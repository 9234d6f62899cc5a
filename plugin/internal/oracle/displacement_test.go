package oracle_test

import (
	"cmp"
	"slices"

	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// reservation returns the terms of a job's reservation: its minimum, the resources that it has, and the requests of its
// gated tasks.
func (m *oracleSession) reservation(job *api.JobInfo) (min, placed, gated oracle.Amounts) {
	gated = oracle.Amounts{}
	for _, task := range job.Tasks {
		if task.SchGated {
			gated = gated.Plus(m.resource(task.Resreq))
		}
	}
	return m.resource(job.GetMinResources()), m.resource(job.Allocated), gated
}

// admits reports whether the rules of admission let a job of a queue that takes jobs in.
func (m *oracleSession) admits(o *oracle.Oracle, n *oracle.Holders, job *api.JobInfo) bool {
	name := string(job.Queue)
	min, placed, _ := m.reservation(job)
	lacks := min.Minus(placed)
	fits := o.Enqueueable(name, lacks) == "" || m.returns() && o.EnqueueableWith(m.returning(o), name, lacks, oracle.Amounts{}) == ""
	counted := o.CountsRefuse(name)
	return counted == oracle.CountRefusal{} && fits && n.Admits(name, testbed.HoldersOf(job), lacks).Queue == ""
}

// returns reports whether resources that reclaim can take back do not count against admission. The session has no
// plugin that lets preempt take anything.
func (m *oracleSession) returns() bool {
	given, set := m.given[arguments.AdmitReclaimable]
	return conf.EnabledActionMap["reclaim"] && (given == true || !set && m.Own.Variant.Name == session.Name)
}

// returning says who gives something back.
func (m *oracleSession) returning(o *oracle.Oracle) oracle.Returns {
	return oracle.Returns{
		Gives: func(leaf string) bool {
			queue := m.Queues[api.QueueID(leaf)]
			return queue == nil || queue.Reclaimable()
		},
		Fenced: o.HasFence,
	}
}

// withdraw takes back the reservation for a job that is Inqueue.
func (m *oracleSession) withdraw(o *oracle.Oracle, n *oracle.Holders, job *api.JobInfo) {
	name := string(job.Queue)
	o.LeaveJob(name)
	if job.PodGroup.Spec.MinResources == nil || m.overdue(job) {
		return
	}
	min, placed, gated := m.reservation(job)
	n.Withdraw(name, testbed.HoldersOf(job), min.Minus(placed).Minus(gated))
}

// holdsPromise reports whether a job may lose its place to another one: it is Inqueue, none of
// its pods has a node, and all queues above it are open.
func (m *oracleSession) holdsPromise(job *api.JobInfo) bool {
	for _, name := range m.oracle.Path(string(job.Queue)) {
		if queue := m.Queues[api.QueueID(name)]; queue != nil && !slices.Contains([]scheduling.QueueState{scheduling.QueueStateOpen, ""}, queue.Queue.Status.State) {
			return false
		}
	}
	for _, task := range job.Tasks {
		if task.Status != api.Pending {
			return false
		}
	}
	return job.PodGroup.Status.Phase == scheduling.PodGroupInqueue
}

// displaces reports whether a job may displace the promises of others.
func (m *oracleSession) displaces(job *api.JobInfo) bool {
	queue := m.Queues[job.Queue]
	return queue != nil && queue.Queue.Annotations[policy.OrderKey] == "displace"
}

// inPlaceOf returns the jobs that lose their places so that a refused job is admitted, none if it is not admitted. The
// job is admitted if the rules would admit it without all jobs of a lower priority. The most important of these jobs
// keep their places where they can.
func (m *oracleSession) inPlaceOf(job *api.JobInfo) (losers []*api.JobInfo) {
	if !m.displaces(job) {
		return nil
	}
	for _, other := range m.SortedJobs() {
		if other.Queue == job.Queue && other.Priority < job.Priority && m.holdsPromise(other) {
			losers = append(losers, other)
		}
	}
	admitted := func(without []*api.JobInfo) bool {
		o := m.oracle.Clone()
		n := m.holders.Clone(o)
		for _, each := range without {
			m.withdraw(o, n, each)
		}
		return m.admits(o, n, job)
	}
	if !admitted(losers) {
		return nil
	}
	slices.SortFunc(losers, func(x, y *api.JobInfo) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.UID, y.UID))
	})
	for _, other := range slices.Clone(losers) {
		fewer := slices.DeleteFunc(slices.Clone(losers), func(each *api.JobInfo) bool { return each == other })
		if admitted(fewer) {
			losers = fewer
		}
	}
	return losers
}

// displace takes back the reservations for some jobs.
func (m *oracleSession) displace(losers []*api.JobInfo) {
	for _, each := range losers {
		m.withdraw(m.oracle, m.holders, each)
	}
}

// compareDisplaced checks which of the admitted jobs are not admitted any more.
func (m *oracleSession) compareDisplaced(before, losers []*api.JobInfo) {
	for _, job := range before {
		lost := job.PodGroup.Status.Phase != scheduling.PodGroupInqueue
		require.Equal(m.t, slices.Contains(losers, job), lost, "job %s of priority %d loses its place", job.Name, job.Priority)
	}
}

// inqueueJobs returns the jobs that are Inqueue.
func (m *oracleSession) inqueueJobs() []*api.JobInfo {
	return slices.DeleteFunc(m.SortedJobs(), func(job *api.JobInfo) bool { return job.PodGroup.Status.Phase != scheduling.PodGroupInqueue })
}

// compareRefusal compares the reason and the queue of a refusal by a count.
func (m *oracleSession) compareRefusal(job *api.JobInfo, takes bool) {
	want := m.oracle.CountsRefuse(string(job.Queue))
	if takes && want != (oracle.CountRefusal{}) {
		reason := m.Own.Admit.Reason(job)
		if reason == nil && m.displaces(job) {
			return // it displaces another one
		}
		require.Equal(m.t, want, oracle.CountRefusal{Reason: string(reason.Rule), Queue: reason.Queue})
	}
}
