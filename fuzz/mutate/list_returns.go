package main

// ofReturns are those of what reclaim and preempt can take back for jobs that wait for admission, and of the minimum of
// jobs.
var ofReturns = []mutant{
	{"Returns.Read", "ix.IsLeaf(q) && !g.Leaf(q) || g.Fenced(q)", "g.Fenced(q)"},
	{"Returns.Read", "ix.IsLeaf(q) && !g.Leaf(q) || g.Fenced(q)", "ix.IsLeaf(q) && !g.Leaf(q)"},
	{"Returns.Read", "max(r.deserved(q, d), ix.Guarantee.At(q, d))", "r.deserved(q, d)"},
	{"Returns.Read", "more = min(more, r.ofChildren.At(q, d))", "_ = d"},
	{"Returns.held", " - r.ix.Elastic.At(q, d)", ""},
	{"Returns.deserved", "sum += share.Of(deserved.Get(card))", ""},
	{"RaiseAll", "more.RaiseTo(r.surplus.Row(q))", ""},
	{"RaiseAll", "below.Add(preempted(q))", ""},
	{"Raise", "r.bounds.Row(p).CopyFrom(r.widest.Row(p))", "_ = p"},
	{"Returns.raise", " && !r.fenced(path[level-1])", ""},
	{"bound", "bound = min(bound, r.deserved(path[k], d))", ""},
	{"bound", " - r.surplus.At(path[i-1], d)", ""},

	{"openReturns", "with.Reclaimable && (s.returns.reclaims || s.returns.preempts)", "s.returns.reclaims || s.returns.preempts"},
	{"readReturns", "return s.returns.reclaims && ", "return "},
	{"readReturns", "s.Intake.Policies(q).ReclaimFence()", "false"},
	{"prune", "s.raiseForReservations()", ""},
	{"preemptedFor", "!s.returns.preempts || !mayPreempt(job)", "!mayPreempt(job)"},
	{"victimsFor", "task.Preemptable && !s.Spares(task)", "task.Preemptable"},
	{"addPreempted", "charge.SetExceeded(freed, elastic)", "charge.CopyFrom(freed)"},
	{"exemptParts", "minimum.Set(d, 0)", ""},

	{"ChooseMinimum", "left -= n", ""},
	{"shareMinimum", "g.min = min(g.min, left[resource])", ""},
	{"shareMinimum", "left[resource] -= g.min", ""},
	{"Session.admitted", "a.Cards.UseChosen(s.Cards, s.chosen.chosen)", ""},
}
