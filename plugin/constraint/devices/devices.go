// Package devices applies the quotas of device classes to the resource claims of pods.
package devices

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// rule charges queues for resource claims (quota.DeviceClaimsFit). Pods that are being deleted hold no claims any more,
// so no devices are earmarked, and the future accounts of devices equal the present ones.
type rule struct {
	session *constraint.Session
	// held has the devices that this session reserves for the jobs that it admitted.
	held map[api.JobID]fastres.Vector
}

// Open returns the hooks, nil where no pod of the session has a claim on devices that a queue bounds.
func Open(s *constraint.Session) *constraint.Hooks {
	if !s.Intake.HasDeviceClaims() {
		return nil
	}
	return (&rule{s, map[api.JobID]fastres.Vector{}}).hooks()
}

// hooks returns the hooks of quotas of device classes.
func (r *rule) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      r.admitJob,
		Hold:          r.hold,
		Withdraw:      r.withdraw,
		Fit:           r.fit,
		FitCard:       nil, // a claim is no card
		FitOwn:        nil, // the request of a task has no devices
		Lacks:         nil, // victims are chosen by what tasks request, without devices
		MayTake:       nil, // for the same reason
		Charge:        r.charge,
		Refund:        r.refund,
		Charged:       func(a constraint.Ask) { r.follow(a, quota.ChargeDeviceClaims) },
		Refunded:      func(a constraint.Ask) { r.follow(a, quota.RefundDeviceClaims) },
		CompareQueues: nil, // deserved has no devices
		Measure:       r.measure,
	}
}

// fit decides on the claims of a task. Where a rule may replace a.Request (Replace), a refusal sets it to the charge
// of the queue that refuses.
func (r *rule) fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	claims := r.session.Intake.DeviceClaims(a.Task)
	if len(claims) == 0 {
		return constraint.Admitted(a.Queue)
	}

	v := quota.DeviceClaimsFit(b.Queues, r.session.Limit, r.session.Names, a.Queue, claims)
	if v.OK() || !a.Replace {
		return v
	}

	a.Request.Reset()
	for _, claim := range claims {
		for _, device := range claim.Devices {
			a.Request.Set(device.Dim, quota.Added(b.Queues, v.Queue, claims, device.Dim))
		}
	}
	return v
}

// measure compares as fit and admitJob do. The quantity is the charge of the queue.
func (r *rule) measure(refusal *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	s := r.session
	if _, device := s.Names.Class(d); !device {
		return constraint.Shortfall{}
	}

	return s.Exceeded(refusal, quota.OverQuota, d, func(q index.Queue) (quota.Numbers, constraint.Against) {
		if refusal.Admission {
			return quota.EnqueueableDeviceNumbers(s.Index, s.Names, q, d, milli), constraint.Capability
		}
		return quota.DeviceClaimNumbers(refusal.Books.Queues, s.Limit, s.Names, q, d, milli), constraint.Capability
	})
}

// admitJob decides on the devices that a job lacks of its minimum. A refusal makes a.Minimum these devices.
func (r *rule) admitJob(a constraint.JobAsk) quota.Verdict {
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
func (r *rule) setMissing(x fastres.Vector, job *api.JobInfo) {
	frame := r.session.Frames.Open()
	defer frame.Close()
	allocated := frame.Vector()

	r.session.Intake.SetDeviceMinimum(x, job)
	r.session.Intake.SetDevicesAllocated(allocated, job)
	x.Sub(allocated)
}

func (r *rule) charge(b *quota.Books, a constraint.Ask) {
	quota.ChargeDeviceClaims(b.Queues, a.Queue, r.session.Intake.DeviceClaims(a.Task))
}

func (r *rule) refund(b *quota.Books, a constraint.Ask, _ fastres.Vector) {
	quota.RefundDeviceClaims(b.Queues, a.Queue, r.session.Intake.DeviceClaims(a.Task))
}

// follow charges or refunds the claims of a task.
func (r *rule) follow(a constraint.Ask, change func(quota.Accounts, index.Queue, []index.DeviceClaim)) {
	claims := r.session.Intake.DeviceClaims(a.Task)
	if len(claims) == 0 {
		return
	}

	change(r.session.Index, a.Queue, claims)
	r.session.Books.ChargedDeviceClaims(a.Queue, claims)

	// The dimensions of the devices become present, for the metrics.
	for _, claim := range claims {
		for _, device := range claim.Devices {
			a.Request.Set(device.Dim, device.Quantity)
		}
	}
}

// hold adds the devices that an admitted job lacks to inqueue.
func (r *rule) hold(a constraint.JobAsk) {
	missing := fastres.NewVector(r.session.Intake.Dims.Length())
	r.setMissing(missing, a.Job)
	r.held[a.Job.UID] = missing

	quota.PromiseDevices(r.session.Index, a.Queue, missing)
	a.Inqueue.Join(missing)
}

// withdraw takes the devices back, if this session added them: promises of earlier sessions do not count.
func (r *rule) withdraw(a constraint.JobAsk) (restore func()) {
	missing, held := r.held[a.Job.UID]
	if !held {
		return func() {}
	}

	quota.WithdrawDevices(r.session.Index, a.Queue, missing)
	a.Inqueue.Join(missing)
	return func() { quota.PromiseDevices(r.session.Index, a.Queue, missing) }
}
