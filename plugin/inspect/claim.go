package inspect

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// Claim is the decision of the action reclaim about the pods of a job.
type Claim struct {
	Tasks []*api.TaskInfo // that the job lacks to its minimum, or one pod beyond it
	Fit   int             // the tasks that would have a node
	Found bool            // all of them would
	Takes []*api.TaskInfo // the victims, if all would

	// Refused is why the queue may not take from others, or which bound refuses the first task without a node. It is
	// nil if the nodes alone refuse.
	Refused *report.Reason
	Spared  []Spare
}

// Protector is the reason why a running pod is not evicted for a claim.
type Protector string

// The protectors of pods. A policy has its name in annotations.
const (
	ByMinimum   Protector = "minimum"       // its job needs it
	ByDeserved  Protector = "deserved"      // its queue has no more than it deserves
	ByGuarantee Protector = "guarantee"     // of its queue, or of an ancestor
	ByLending   Protector = "lending"       // another rule of lending, such as a soft quota
	ByClass     Protector = "service class" // of its job
	ByNotice    Protector = "notice"        // it has notice, for another job
	ByOthers    Protector = "plugin"        // another plugin of the scheduler
	ByQueue     Protector = "reclaimable"   // its queue has reclaimable: false
	ByPlace     Protector = "place"         // its queue does not reach the root
	ByPod       Protector = "preemptable"   // it has the annotation volcano.sh/preemptable: "false"
)

// Spare is a running pod that is not evicted.
type Spare struct {
	Task   *api.TaskInfo
	By     Protector
	Policy policy.Key // of a fence, a minimum runtime or a budget
	Queue  string     // the queue with the policy, otherwise the queue of the pod
	// Until is the time from which the policy does not protect the pod any more, the zero time if it is not known.
	Until time.Time
}

// protectors are the protectors that a plan knows completely.
var protectors = map[plan.Spared]Protector{
	plan.ByMinimum:   ByMinimum,
	plan.ByDeserved:  ByDeserved,
	plan.ByGuarantee: ByGuarantee,
	plan.ByLending:   ByLending,
	plan.ByOthers:    ByOthers,
}

// Claim returns the decision of reclaim about a job now, nil for a job that reclaim does not look at.
func (i Inspection) Claim(job *api.JobInfo) *Claim {
	s := i.s
	claim := s.Reclaim.ClaimOf(job)
	if claim == nil {
		return nil
	}

	c := &Claim{Tasks: claim.Tasks, Fit: claim.Fit, Found: claim.Found, Takes: claim.Victims}
	if claim.Refusal != nil {
		c.Refused = s.Explain.Explain(claim.Refusal)
	}

	to := s.QueueOf(claim.Tasks[0])
	for _, spare := range claim.Spared {
		c.Spared = append(c.Spared, i.spare(spare, to))
	}
	return c
}

// spare names the protector of a pod from the claim of a queue.
func (i Inspection) spare(spare reclaim.Spare, to index.Queue) Spare {
	s := i.s
	q := s.QueueOf(spare.Task)
	own := Spare{Task: spare.Task, By: protectors[spare.By], Queue: s.Index.Name(q)}

	switch {
	case spare.Kept:
		own.By = ByNotice
		own.Until = s.NoticeOf(q, spare.Task)
	case spare.By == plan.ByBudget:
		if tightest := s.Evictions.InForce().Tightest(q, to); tightest != nil {
			own.Queue = s.Index.Name(tightest.Queue)
			own.ofPolicy(tightest.Key)
			if tightest.Left() == 0 && !tightest.Loads {
				own.Until = tightest.Next
			}
		}
	case spare.By == plan.ByPolicy:
		i.nameProtection(&own, q, to)
	}
	return own
}

// nameProtection names the fence, the minimum runtime or the service class that protects a pod of a queue.
func (i Inspection) nameProtection(own *Spare, q, to index.Queue) {
	s := i.s
	fence := i.Fence(s.Index.Name(q), s.Index.Name(to))
	least := s.Intake.Policies(q).MinRuntime()
	ran := constraint.Ran(own.Task.Pod, s.Now)

	switch {
	case fence != "":
		own.Queue = fence
		own.ofPolicy(policy.ReclaimFence)
	case ran < least:
		own.ofPolicy(policy.MinRuntime)
		own.Until = s.Now.Add(least - ran)
	default:
		own.By = ByClass
	}
}

// ofPolicy makes a policy the protector.
func (s *Spare) ofPolicy(key policy.Key) {
	s.By = Protector(key.String())
	s.Policy = key
}

// Claimant returns the job that a task was evicted for in this session, "" if it was evicted for no job.
func (i Inspection) Claimant(task *api.TaskInfo) api.JobID { return i.s.Reclaim.ClaimantOf(task) }

// Announced is a running pod that is evicted for a job at the end of a notice.
type Announced struct {
	Task  *api.TaskInfo
	For   api.JobID
	Until time.Time
}

// Announced returns the pods that are kept as victims until their notices are over.
func (i Inspection) Announced() (all []Announced) {
	for task, until := range i.s.Reclaim.Kept() {
		all = append(all, Announced{Task: task, For: i.s.Reclaim.KeptFor(task), Until: until})
	}
	return all
}
