package plugin

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// fitsClaims applies the rule of allocation to the resource claims of a task of q. If they do
// not fit, it sets request to what the queue that refuses would be charged for them.
func (s *session) fitsClaims(a quota.Accounts, q index.Queue, request fastres.Vector, task *api.TaskInfo) quota.Verdict {
	claims := s.intake.Claims(task)
	if len(claims) == 0 {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	v := quota.ClaimsFit(a, s.limit, &s.memory.names, q, claims)
	if !v.OK() {
		request.Reset()
		for _, claim := range claims {
			for _, of := range claim.Devices {
				request.Set(of.Dim, quota.Added(a, v.Queue, claims, of.Dim))
			}
		}
	}
	return v
}

// fitsClaimsWithout reports whether the quotas allow the claims of a task of q once others are
// gone. Those that are being deleted hold no claims any more. It is safe for many goroutines.
func (s *session) fitsClaimsWithout(q index.Queue, task *api.TaskInfo, gone []*api.TaskInfo) bool {
	claims := s.intake.Claims(task)
	if len(claims) == 0 {
		return true
	}
	without := s.ix.WhatIf()
	for _, other := range gone {
		if from := s.queueOf(other); from != index.None && api.AllocatedStatus(other.Status) {
			quota.RefundClaims(&without, from, s.intake.Claims(other))
		}
	}
	return quota.ClaimsFit(&without, s.limit, &s.memory.names, q, claims).OK()
}

// changeClaims charges q, and all its ancestors, for the claims of a task, or refunds them. The
// dimensions of the devices become present in changed.
func (s *session) changeClaims(q index.Queue, task *api.TaskInfo, charge bool, changed fastres.Vector) {
	claims := s.intake.Claims(task)
	if len(claims) == 0 {
		return
	}
	if charge {
		quota.ChargeClaims(s.ix, q, claims)
	} else {
		quota.RefundClaims(s.ix, q, claims)
	}
	for _, claim := range claims {
		for _, of := range claim.Devices {
			changed.Set(of.Dim, of.Quantity)
		}
	}
}

// fitsDevices applies the rule of enqueue to the devices of a job of q. It sets minimum to the
// part of its minimum of devices that the job does not have yet.
func (s *session) fitsDevices(minimum fastres.Vector, q index.Queue, job *api.JobInfo) quota.Verdict {
	s.setMissingDevices(minimum, job)
	return quota.EnqueueableDevices(s.ix, &s.memory.names, q, minimum)
}

// promiseDevices adds the devices of a job that is admitted to inqueue of q.
func (s *session) promiseDevices(q index.Queue, job *api.JobInfo) {
	if !s.intake.HasClaims() {
		return
	}
	v := &s.memory.vectors
	s.setMissingDevices(v.reservation, job)
	quota.PromiseDevices(s.ix, q, v.reservation)
	s.memory.metrics.PublishInqueue(q, v.reservation)
}

func (s *session) setMissingDevices(x fastres.Vector, job *api.JobInfo) {
	s.intake.SetDeviceMinimum(x, job)
	allocated := s.memory.vectors.allocated
	s.intake.SetDevicesAllocated(allocated, job)
	x.Sub(allocated)
}

// DeviceProblems returns the quotas of device classes of a queue that have no effect with a
// plugin of this package and its arguments.
func DeviceProblems(name string, arguments framework.Arguments, capability, deserved, guarantee v1.ResourceList) []intake.DeviceProblem {
	for _, b := range []*builder{cardBuilder, capacityBuilder, proportionBuilder} {
		if b.variant.name == name {
			with, _ := parseArguments(b.variant, arguments)
			return with.bounds.Devices.Problems(capability, deserved, guarantee)
		}
	}
	return nil
}

// warnDevices records an event on each queue whose quotas of devices have no effect, again when
// they change.
func (s *session) warnDevices() {
	for _, queue := range s.intake.Queues {
		if queue == nil {
			continue
		}
		p, spec := objects.Problems{Queue: queue.Queue}, &queue.Queue.Spec
		for _, problem := range s.settings.bounds.Devices.Problems(spec.Capability, spec.Deserved, spec.Guarantee.Resource) {
			p.Texts = append(p.Texts, problem.String())
		}
		s.warnQueue(ofDevices, p, report.BadDeviceQuota)
	}
}
