package reserve

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// cpuMemory is a sum of cpu and memory, in the units of api.Resource.
type cpuMemory struct{ cpu, memory float64 }

func (a *cpuMemory) add(r *api.Resource) {
	a.cpu += max(0, r.MilliCPU)
	a.memory += max(0, r.Memory)
}

// subtractFrom subtracts a from a sum that includes it.
func (a cpuMemory) subtractFrom(x fastres.Vector) {
	x.Set(fastres.CPU, max(0, x.Get(fastres.CPU)-a.cpu))
	x.Set(fastres.Memory, max(0, x.Get(fastres.Memory)-a.memory))
}

// addCPUMemory adds the cpu and memory of a task where pods with cards are exempt from quotas of both.
func (j *Job) addCPUMemory(task *api.TaskInfo, withCards bool) {
	if !withCards {
		if !finished(task) {
			j.plain.add(task.Resreq)
		}
		return
	}

	switch {
	case api.AllocatedStatus(task.Status):
		j.exemptAllocated.add(task.Resreq)
	case task.Status == api.Pending:
		j.exemptPending.add(task.Resreq)
		if j.Gates.Gated(task) {
			j.exemptGated.add(task.Resreq)
		}
	}
}

// ExemptAllocated subtracts exempt cpu and memory from a sum over the allocated pods of the job.
func (j *Job) ExemptAllocated(x fastres.Vector) { j.exemptAllocated.subtractFrom(x) }

// ExemptPending subtracts exempt cpu and memory from a sum over the pending pods of the job.
func (j *Job) ExemptPending(x fastres.Vector) { j.exemptPending.subtractFrom(x) }

// ExemptGated subtracts exempt cpu and memory from a sum over the pods of the job with scheduling gates.
func (j *Job) ExemptGated(x fastres.Vector) { j.exemptGated.subtractFrom(x) }

// ExemptMinimum lowers cpu and memory of the job's minimum to the sum over its pods without cards, if
// pods with cards are exempt.
func (j *Job) ExemptMinimum(s *cards.Snapshot, minimum fastres.Vector) {
	if !s.UnlimitedCPUMemory() || !j.hasCards {
		return
	}

	minimum.Set(fastres.CPU, min(minimum.Get(fastres.CPU), j.plain.cpu))
	minimum.Set(fastres.Memory, min(minimum.Get(fastres.Memory), j.plain.memory))
}
