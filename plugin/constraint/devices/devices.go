// Package devices applies the quotas of device classes to the resource claims of pods.
package devices

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule charges queues for resource claims (quota.DeviceClaimsFit). Pods that are being deleted hold no
// claims any more, so no devices are earmarked, and the future accounts of devices are those of now.
type Rule struct {
	session *constraint.Session
	// held has the devices that this session reserves for the jobs that it admitted.
	held map[api.JobID]fastres.Vector
}

var (
	_ constraint.TaskRule = &Rule{}
	_ constraint.JobRule  = &Rule{}
	_ constraint.Account  = &Rule{}
	_ constraint.Watcher  = &Rule{}
	_ constraint.Reserver = &Rule{}
	_ constraint.Measurer = &Rule{}
)

// Open returns the rule, nil where no pod of the session has a claim on devices that some queue
// bounds.
func Open(s *constraint.Session) any {
	if !s.Intake.HasDeviceClaims() {
		return nil
	}
	return &Rule{s, map[api.JobID]fastres.Vector{}}
}

// Fit decides on the claims of a task. A refusal makes a.Request what the queue that refuses would
// be charged for them, where it may.
func (r *Rule) Fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	claims := r.session.Intake.DeviceClaims(a.Task)
	if len(claims) == 0 {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	v := quota.DeviceClaimsFit(b.Queues, r.session.Limit, r.session.Names, a.Queue, claims)
	if !v.OK() && a.Replace {
		a.Request.Reset()
		for _, claim := range claims {
			for _, of := range claim.Devices {
				a.Request.Set(of.Dim, quota.Added(b.Queues, v.Queue, claims, of.Dim))
			}
		}
	}
	return v
}

// Measure compares as Fit and AdmitJob do. The quantity is that of Fit, which the queue would be charged.
func (r *Rule) Measure(of *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	s := r.session
	if _, device := s.Names.Class(d); !device {
		return constraint.Shortfall{}
	}
	return s.Exceeded(of, quota.OverQuota, d, func(q index.Queue) (quota.Numbers, constraint.Against) {
		if of.Admission {
			return quota.EnqueueableDeviceNumbers(s.Index, s.Names, q, d, milli), constraint.Capability
		}
		return quota.DeviceClaimNumbers(of.Books.Queues, s.Limit, s.Names, q, d, milli), constraint.Capability
	})
}

// FitCard has nothing to say: a claim is no card.
func (r *Rule) FitCard(_ *quota.Books, a constraint.Ask, _ fastres.Dim, _ float64) quota.Verdict {
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

// Lacks has nothing to say: the request of a task on a node has no devices.
func (r *Rule) Lacks(*quota.Books, constraint.Ask, index.Queue, *api.TaskInfo, fastres.Dim, float64) bool {
	return false
}

// FitOwn has nothing to say: the request of a task has no devices.
func (r *Rule) FitOwn(_ *quota.Books, a constraint.Ask, _ fastres.Dim, _ float64) quota.Verdict {
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

// AdmitJob decides on the devices that a job lacks of its minimum. A refusal makes a.Minimum what
// it lacks.
func (r *Rule) AdmitJob(a constraint.JobAsk) quota.Verdict {
	frame := r.session.Frames.Open()
	defer frame.Close()
	missing := frame.Vector()
	r.setMissing(missing, a.Job)
	v := quota.EnqueueableDevices(r.session.Index, r.session.Names, a.Queue, missing)
	if !v.OK() {
		a.Minimum.CopyFrom(missing)
	}
	return v
}

// setMissing sets x to the devices of a job's minimum that it does not have yet.
func (r *Rule) setMissing(x fastres.Vector, job *api.JobInfo) {
	frame := r.session.Frames.Open()
	defer frame.Close()
	allocated := frame.Vector()
	r.session.Intake.SetDeviceMinimum(x, job)
	r.session.Intake.SetDevicesAllocated(allocated, job)
	x.Sub(allocated)
}

func (r *Rule) Charge(b *quota.Books, a constraint.Ask) {
	quota.ChargeDeviceClaims(b.Queues, a.Queue, r.session.Intake.DeviceClaims(a.Task))
}

func (r *Rule) Refund(b *quota.Books, a constraint.Ask, _ fastres.Vector) {
	quota.RefundDeviceClaims(b.Queues, a.Queue, r.session.Intake.DeviceClaims(a.Task))
}

func (r *Rule) Charged(a constraint.Ask)  { r.follow(a, quota.ChargeDeviceClaims) }
func (r *Rule) Refunded(a constraint.Ask) { r.follow(a, quota.RefundDeviceClaims) }

// follow changes the claims of a task. The dimensions of the devices become present in a.Request.
func (r *Rule) follow(a constraint.Ask, change func(quota.Accounts, index.Queue, []index.DeviceClaim)) {
	claims := r.session.Intake.DeviceClaims(a.Task)
	if len(claims) == 0 {
		return
	}
	change(r.session.Index, a.Queue, claims)
	r.session.Books.ChargedDeviceClaims(a.Queue, claims)
	for _, claim := range claims {
		for _, of := range claim.Devices {
			a.Request.Set(of.Dim, of.Quantity)
		}
	}
}

// Hold adds the devices that an admitted job lacks to inqueue.
func (r *Rule) Hold(a constraint.JobAsk) {
	missing := fastres.NewVector(r.session.Intake.Dims.Length())
	r.setMissing(missing, a.Job)
	r.held[a.Job.UID] = missing
	quota.PromiseDevices(r.session.Index, a.Queue, missing)
	a.Inqueue.Join(missing)
}

// Withdraw takes them back, if this session added them: those of earlier sessions do not count.
func (r *Rule) Withdraw(a constraint.JobAsk) (restore func()) {
	missing, held := r.held[a.Job.UID]
	if !held {
		return func() {}
	}
	quota.WithdrawDevices(r.session.Index, a.Queue, missing)
	a.Inqueue.Join(missing)
	return func() { quota.PromiseDevices(r.session.Index, a.Queue, missing) }
}
