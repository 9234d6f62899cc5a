package main

// ofJobOrder are the mutations of the order of jobs.
var ofJobOrder = []mutant{
	{"Compare", "byPriority && p.Priority != other.Priority", "p.Priority != other.Priority"},
	{"Compare", "p.Created.Compare(other.Created)", "other.Created.Compare(p.Created)"},
	{"HoldsBack", "e.Waits && !e.Over", "e.Waits"},
	{"HoldsBack", "now.Before(e.Began.Add(hold))", "!now.After(e.Began.Add(hold))"},
	{"HeldBack", "l.Complete ||", ""},
	{"HeldBack", "(by.Admitted || !l.Reserved)", "!l.Reserved"},
	{"Rule.read", "endHold(job, r.session.Now, HoldOver, message)", ""},
	{"Rule.read", "endHold(job, r.session.Now, Started, \"\")", ""},
	{"joborder.Rule.Prepare", "beginHold(of.first, r.session.Now)", ""},
	{"joborder.Rule.Prepare", "i < len(of.jobs)-1", "i < len(of.jobs)"},
	{"Rule.state", "t.Waits = possible &&", "t.Waits = (possible || true) &&"},
	{"Rule.state", "v.Reason == quota.OverQuota ||", "true ||"},
	{"joborder.Rule.AdmitJob", "r.Prepare(a.Queue)", ""},
	{"joborder.Rule.FitOwn", "return r.Fit(b, a)", "return quota.Verdict{Queue: a.Queue}"},
	{"joborder.Rule.Hold", "r.changes++", ""},
	{"Rule.lacksQuota", "&& r.fit(q, tasks, alone)", "&& (r.fit(q, tasks, alone) || true)"},
	{"earlierOf", "&& c.Reason != HoldOver", ""},
	{"Session.Judge", "s.decideIn(&s.memory.judged, minimum, job)", "s.decide(minimum, job)"},
	{"LimitRefuses", "v.Reason.OfHolder() ||", ""},
	{"LimitRefuses", "|| v.Reason == quota.OverBudget", ""},
	{"Session.mostOf", "bounds.At(p, share.Group)/share.Weight", "of+0*share.Weight"},
}
