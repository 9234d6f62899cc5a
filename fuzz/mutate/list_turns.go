package main

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
