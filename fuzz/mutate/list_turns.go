package main

// ofTurns are the mutations of the order of jobs.
var ofTurns = []mutant{
	{"JobPlace.Compare", "byPriority && p.Priority != other.Priority", "p.Priority != other.Priority"},
	{"JobPlace.Compare", "p.Created.Compare(other.Created)", "other.Created.Compare(p.Created)"},
	{"HoldsBack", "t.Waits && !t.Over", "t.Waits"},
	{"HoldsBack", "now.Before(t.Began.Add(hold))", "!now.After(t.Began.Add(hold))"},
	{"HeldBack", "l.Complete ||", ""},
	{"HeldBack", "(by.Admitted || !l.Reserved)", "!l.Reserved"},
	{"turns.Rule.read", "endTurn(job, r.session.Now, HoldOver, message)", ""},
	{"turns.Rule.read", "endTurn(job, r.session.Now, Started, \"\")", ""},
	{"turns.Rule.Prepare", "beginTurn(of.first, r.session.Now)", ""},
	{"turns.Rule.Prepare", "i < len(of.jobs)-1", "i < len(of.jobs)"},
	{"turns.Rule.turn", "t.Waits = possible &&", "t.Waits ="},
	{"turns.Rule.turn", "v.Reason == quota.OverQuota ||", "true ||"},
	{"turns.Rule.AdmitJob", "r.Prepare(a.Queue); ", ""},
	{"turns.Rule.FitOwn", "return r.Fit(b, a)", "return quota.Verdict{Queue: a.Queue}"},
	{"turns.Rule.Hold", "r.changes++", ""},
	{"lacksQuota", "&& r.fit(q, tasks, alone)", ""},
	{"turnOf", "&& c.Reason != HoldOver", ""},
	{"Judge", "s.decideIn(&s.memory.judged, minimum, job)", "s.decide(minimum, job)"},
	{"mostOf", "bounds.At(p, share.Group)/share.Weight", "fastres.MaxQuantity"},
}
