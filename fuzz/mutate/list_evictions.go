package main

// ofEvictions are the mutations of what becomes of a cluster between an eviction and the start of
// the pod that it is for.
var ofEvictions = []mutant{
	// What will be.
	{"quota/future.go", "f.Mutable(q).Sub(terminating)", ""},
	{"quota/future.go", "func(row fastres.Vector) { row.Add(request) }", "func(row fastres.Vector) {}"},
	{"quota/future.go", "func(row fastres.Vector) { row.Sub(refund) }", "func(row fastres.Vector) {}"},
	{"quota/future.go", "a.Mutable(index.Queue(q)).CopyFrom(f.rows.Row(int(row)))", ""},
	{"quota/classes.go", "v.base.Allocated(p)", "v.ix.Allocated(p)"},
	{"quota/preempt.go", "fastres.FitsSomewhere(a.Allocated(p)", "fastres.FitsSomewhere(ix.Allocated(p)"},
	{"quota/cards.go", "if a.Allocated(q).Get(d)+quantity > bound.At(q, d) {", "if ix.Allocated(q).Get(d)+quantity > bound.At(q, d) {"},
	{"quota/guarantees.go", "(from == index.None || slices.Contains(g.ix.Path(from), p))", "from == index.None"},
	{"plugin/claim.go", "s.future.queues.Allocated(p).Get(d)+c.charge.Get(d)", "s.ix.Allocated(p).Get(d)+c.charge.Get(d)"},
	{"plugin/claim.go", "|| s.future.guarantees.Lacks(s.future.queues, c.queue, q, d, milli) ||", "||"},
	{"plugin/claim.go", "request += kept.Get(name)", ""},
	{"plugin/claim.go", "request -= victim.Resreq.Get(name)", ""},
	{"plugin/namespaces.go", "s.future.namespaces.Allocated(p).Get(d)+c.charge.Get(d)", "ix.Allocated(p).Get(d)+c.charge.Get(d)"},
	{"plugin/namespaces.go", "s.memory.futureOfNamespaces.Charged(at, v.request)", ""},
	{"plugin/namespaces.go", "s.memory.futureOfNamespaces.Refunded(at, v.refund)", ""},

	// Earmarks.
	{"plugin/earmarks.go", "quota.Charge(&m.future, e.queue, e.charge)", ""},
	{"plugin/earmarks.go", "s.both.then = &s.future", ""},
	{"plugin/earmarks.go", "case s.evictedFor(task):\n\t\treturn s.futureFor(task)", "case false:"},
	{"plugin/earmarks.go", "if e.placed != \"\" || e.task.Job != task.Job {\n\t\t\tcontinue\n\t\t}\n\t\tif without", "if true {\n\t\t\tcontinue\n\t\t}\n\t\tif without"},
	{"plugin/earmarks.go", "if spent != nil {", "if false {"},
	{"plugin/earmarks.go", "if e.placed == task.UID {", "if false {"},
	{"plugin/earmarks.go", "return e.placed == \"\" && e.task.UID == task.UID", "return false"},
	{"plugin/earmarks.go", "kept.Add(e.task.InitResreq)", ""},
	{"plugin/earmarks.go", "task.EvictionOccurred = true // so", "// so"},
	{"plugin/earmarks.go", "r.Ended(job.UID, e.task.UID)", ""},
	{"plugin/gangs.go", "if eviction.Job != nil && s.beginGang(eviction.Job) {", "if eviction.Job != nil && s.beginGang(eviction.Job) && false {"},
	{"plugin/admission.go", "v = forOthers(s.fitsRequest(a.then, q, task, request, complete))", "_ = 0"},
	{"plugin/admission.go", "v = forOthers(s.fitsCardIn(a.then, q, task, d, milli))", "_ = 0"},
	{"plugin/placement.go", "!s.leavesEarmarks(task, node, false)", "false"},
	{"plugin/events.go", "a = s.futureFor(task)", "_ = a"},
	{"plugin/earmark/earmark.go", "task.Status != api.Pending ||", ""},
	{"plugin/earmark/earmark.go", "|| !c.equal(claimOf(task, c.node))", ""},
	{"plugin/earmark/earmark.go", "case task.Status != api.Releasing:", "case false:"},
	{"plugin/earmark/earmark.go", "if now.Sub(until) > Patience {", "if false {"},
	{"plugin/earmark/earmark.go", "r.quiet = now", ""},
	{"plugin/earmark/earmark.go", "r.recover(ssn, now)", ""},
	{"plugin/earmark/earmark.go", "job == nil || job.Queue != r.queue", "job == nil"},

	// Plans.
	{"plugin/plans.go", "} else if s.admitsWithout(c, with) {", "} else {"},
	{"plugin/plans.go", "if s.settings.rules.OrderVictims && s.makesRoom(c, node, nil) {", "if false {"},
	{"plugin/plans.go", "s.shiftFuture(p.rest, false)", ""},
	{"plugin/plans.go", "if !s.ssn.JobPipelined(job) {", "if false {"},
	{"plugin/plans.go", "s.ssn.Evict(victim, \"reclaim\")", "error(nil)"},
	{"plugin/plans.go", "task.EvictionOccurred = true", ""},
	{"plugin/eviction.go", "|| len(s.plans) > 0 && s.planned(task)", ""},
	{"plugin/eviction.go", "victims = s.inOrder(&c, victims)", ""},
	{"plugin/plans.go", "s.ssn.Reclaimable(&question, tasks)", "tasks"},
	{"plugin/starving.go", "if job.IsStarving() {", "if false {"},
	{"plugin/starving.go", "!s.waits(task) &&", ""},
}
