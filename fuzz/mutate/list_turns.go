package main

// ofSoftQuotas are the mutations of soft quotas.
var ofSoftQuotas = []mutant{
	{"Soft.Reset", "max(bound, ix.Deserved.At(q, d), ix.Guarantee.At(q, d))", "bound"},
	{"Soft.Room", "min(s.Most(q, column), s.ix.RealCapability.At(q, d))", "s.Most(q, column)"},
	{"Soft.RollUp", "min(s.Room(q, c), s.waiting[at]+s.below[at])", "s.waiting[at]+s.below[at]"},
	{"Soft.Fits", "> s.Most(p, column) && !s.leaves", ">= s.Most(p, column) && !s.leaves"},
	{"Soft.leaves", " - s.wanted[s.at(p, column)]", ""},
	{"Soft.leaves", "bound = min(bound, s.available.Get(d))", ""},
	{"Soft.leaves", "others > 0 && b.Allocated(above)", "b.Allocated(above)"},
	{"Soft.leaves", "s.ix.Rooted() ||", ""},
	{"Soft.exceeds", "> s.Most(p, column)", ">= s.Most(p, column)"},
	{"Soft.TakesBack", "max(s.ix.Deserved.At(p, d), s.ix.Guarantee.At(p, d))", "s.ix.Guarantee.At(p, d)"},
	{"Soft.TakesBack", "return s.Within(b, to, from, column, gained)", "return true"},
	{"soft.Rule.Prepare", "!w.placed && w.amounts[c] <= room", "w.amounts[c] <= room"},
	{"soft.Rule.Prepare", "!w.placed && w.amounts[c] <= room", "!w.placed"},
	{"soft.Rule.note", "r.stale[a.Queue], r.changed = true, true", ""},
	{"soft.Rule.FitOwn", "quota.Verdict{Reason: quota.OverSoftQuota, Queue: a.Queue}", "quota.Verdict{Queue: a.Queue}"},
	{"soft.Rule.AllowLoan", "back = true", "back = false"},
	{"victimQueueOrder", "case l && !r:\n\t\t\treturn -1", "case l && !r:\n\t\t\treturn 1"},
	{"quota.compareRank", "if x.First != y.First {", "if false {"},
}

// ofTurns are the mutations of the order of jobs.
var ofTurns = []mutant{
	{"Compare", "byPriority && p.Priority != other.Priority", "p.Priority != other.Priority"},
	{"Compare", "p.Created.Compare(other.Created)", "other.Created.Compare(p.Created)"},
	{"HoldsBack", "t.Waits && !t.Over", "t.Waits"},
	{"HoldsBack", "now.Before(t.Began.Add(hold))", "!now.After(t.Began.Add(hold))"},
	{"HeldBack", "l.Complete ||", ""},
	{"HeldBack", "(by.Admitted || !l.Reserved)", "!l.Reserved"},
	{"Rule.read", "endTurn(job, r.session.Now, HoldOver, message)", ""},
	{"Rule.read", "endTurn(job, r.session.Now, Started, \"\")", ""},
	{"Rule.Prepare", "beginTurn(of.first, r.session.Now)", ""},
	{"Rule.Prepare", "i < len(of.jobs)-1", "i < len(of.jobs)"},
	{"Rule.turn", "t.Waits = possible &&", "t.Waits = (possible || true) &&"},
	{"Rule.turn", "v.Reason == quota.OverQuota ||", "true ||"},
	{"turns.Rule.AdmitJob", "r.Prepare(a.Queue); ", ""},
	{"turns.Rule.FitOwn", "return r.Fit(b, a)", "return quota.Verdict{Queue: a.Queue}"},
	{"turns.Rule.Hold", "r.changes++", ""},
	{"Rule.lacksQuota", "&& r.fit(q, tasks, alone)", "&& (r.fit(q, tasks, alone) || true)"},
	{"turnOf", "&& c.Reason != HoldOver", ""},
	{"Session.Judge", "s.decideIn(&s.memory.judged, minimum, job)", "s.decide(minimum, job)"},
	{"Session.mostOf", "bounds.At(p, share.Group)/share.Weight", "of+0*share.Weight"},
}
