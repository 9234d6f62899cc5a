package main

// mutants are the breakages, by what they break.
var mutants = []mutant{
	// Comparisons and sums.
	{"fastres/compare.go", "q > 0 && used.quantity[d]+q > limit.quantity[d]", "q > 0 && used.quantity[d]+q >= limit.quantity[d]"},
	{"fastres/compare.go", "q > 0 && q+used.quantity[d]+promised.quantity[d]-returnable.quantity[d] > limit.quantity[d]",
		"q > 0 && q+used.quantity[d]+promised.quantity[d] > limit.quantity[d]"},
	{"fastres/compare.go", "x-y < MinResource && y-x < MinResource", "x-y < 1 && y-x < 1"},
	{"fastres/compare.go", "const ignored uint64 = 1 << Pods", "const ignored uint64 = 0"},
	{"fastres/compare.go", "future >= MinResource || bound >= MinResource", "future >= MinResource && bound >= MinResource"},
	{"fastres/compare.go", "if Dim(d) <= Memory && bound.quantity[d] < MinResource {", "if bound.quantity[d] < MinResource {"},
	{"fastres/vector.go", "x.quantity[d] = max(0, x.quantity[d]-y.quantity[d])", "x.quantity[d] -= y.quantity[d]"},

	// The tree and what-ifs.
	{"index/tree.go", "b.broken[c] = b.broken[p]", "b.broken[c] = nil"},
	{"index/tree.go", "t.broken[q], t.parent[q] = b.nodes[i], b.broken[i], None", "t.broken[q], t.parent[q] = b.nodes[i], nil, None"},
	{"index/ledger.go", "for l.born[s] > moment {", "for false {"},
	{"index/ledger.go", "l.seen = true\n", "\n"},
	{"index/overlay.go", "c.rows = o.rows.Clone()", "c.rows = o.rows"},
	{"index/accounts.go", "ix.Elastic.Row(int(p)).Add(ix.Elastic.Row(int(q)))", ""},
	{"index/accounts.go", "ix.allocated.reset(n, ix.dims)", "if ix.session == 0 {\n\t\tix.allocated.reset(n, ix.dims)\n\t}"},

	// Bounds.
	{"quota/capability.go", "guarantee.RaiseTo(reserved)", "guarantee.CapTo(reserved)"},
	{"quota/capability.go", "capability.InheritFrom(ix.Capability.Row(int(p)))", ""},
	{"quota/capability.go", "bound.SetExceeded(ix.RealCapability.Row(int(p)), ix.Reserved.Row(int(p)))", "bound.CopyFrom(ix.RealCapability.Row(int(p)))"},
	{"quota/capability.go", "bound.Add(ix.Guarantee.Row(int(q)))\n\t\tbound.CapTo(capability)\n\t}\n}\n\n// propagate", "bound.CapTo(capability)\n\t}\n}\n\n// propagate"},
	{"quota/capability.go", "bound.SetExceeded(ix.RealCapability.Row(int(p)), ix.Reserved.Row(int(p)))\n\t\tbound.Add(ix.Guarantee.Row(int(q)))\n\t\tbound.CapTo(capability)",
		"bound.SetExceeded(ix.RealCapability.Row(int(p)), ix.Reserved.Row(int(p)))\n\t\tbound.Add(ix.Guarantee.Row(int(q)))"},
	{"quota/capability.go", "l.ZeroLeaf && ix.IsLeaf(q)", "l.ZeroLeaf"},
	{"quota/capability.go", "deserved.CapTo(bound)", ""},
	{"quota/capability.go", "deserved.RaiseTo(ix.Guarantee.Row(q))", ""},
	{"quota/capability.go", "if capability.Get(d) <= 0 {", "if capability.Get(d) < 0 {"},

	// Admission.
	{"quota/allocatable.go", "for _, p := range a.Path(q) {", "for _, p := range a.Path(q)[:1] {"},
	{"quota/enqueue.go", "for _, p := range ix.Path(q) {\n\t\ti := int(p)", "for _, p := range ix.Path(q)[:1] {\n\t\ti := int(p)"},
	{"quota/enqueue.go", "for _, p := range ix.Path(q) {\n\t\tix.Inqueue", "for _, p := range ix.Path(q)[:1] {\n\t\tix.Inqueue"},
	{"quota/enqueue.go", "dst.SetExceeded(min, allocated)", "dst.CopyFrom(min)"},
	{"quota/enqueue.go", "dst.Sub(gated)", ""},
	{"quota/verdict.go", "case !t.IsLeaf(q):", "case false:"},
	{"quota/verdict.go", "case t.Broken(q) != nil:", "case false:"},

	// Charges, refunds, shares.
	{"quota/charge.go", "for _, p := range a.Path(q) {\n\t\ta.Mutable(p).Add(request)", "for _, p := range a.Path(q)[:1] {\n\t\ta.Mutable(p).Add(request)"},
	{"quota/charge.go", "for _, p := range a.Path(q) {\n\t\ta.Mutable(p).Sub(scratch)", "for _, p := range a.Path(q)[:1] {\n\t\ta.Mutable(p).Sub(scratch)"},
	{"quota/charge.go", "a.Mutable(p).Sub(scratch)", "a.Mutable(p).Sub(request)"},
	{"quota/charge.go", "if a.IsLeaf(q) {", "if true {"},
	{"quota/share.go", "for _, p := range ix.Path(q) {", "for _, p := range ix.Path(q)[:1] {"},
	{"quota/share.go", "return 1", "return 0"},

	// Order.
	{"quota/order.go", "return first(lLeaf)", "return first(rLeaf)"},
	{"quota/order.go", "below := commonLevel(ix, l, r) + 1", "below := commonLevel(ix, l, r)"},
	{"quota/order.go", "return cmp.Compare(commonLevel(ix, r, preemptor), commonLevel(ix, l, preemptor))", "return 0"},
	{"quota/order.go", "return first(l)\n\t}\n\treturn 0", "return first(!l)\n\t}\n\treturn 0"},

	// Taking from others.
	{"quota/preempt.go", "case !fastres.Fits(allocated, request, ix.RealCapability.Row(i)):", "case false:"},
	{"quota/preempt.go", "!fastres.FitsSomewhere(", "!fastres.Fits("},
	{"quota/reclaim.go", "if !victim.IntersectsRequest(reclaimer) {", "if !victim.Intersects(reclaimer) {"},
	{"quota/reclaim.go", "if !v.ix.Guarantee.Row(int(q)).LessEqual(v.rest) {", "if !v.ix.Guarantee.Row(int(q)).LessEqual(allocated) {"},
	{"quota/reclaim.go", "victim.Intersects(deserved) && ", ""},
	{"quota/reclaim.go", "allocated.CopyFrom(v.rest)", ""},
	{"quota/reclaim.go", "func (v *Victims) Begin() { v.call++ }", "func (v *Victims) Begin() { v.call = 1 }"},
	{"quota/reclaim.go", "return v.allocated(q).Get(d) <= v.ix.Deserved", "return v.allocated(q).Get(d) < v.ix.Deserved"},
	{"quota/weights.go", "deserved.RaiseTo(d.ix.Guarantee.Row(q))", ""},
	{"quota/weights.go", "d.increased.Reset()\n", "\n"},
	{"quota/weights.go", "w.Weight = max(0, w.Weight)", ""},

	// Cards.
	{"quota/cards.go", "for _, p := range a.Path(q) {", "for _, p := range a.Path(q)[:1] {"},
	{"quota/cards.go", "for _, p := range ix.Path(q) {\n\t\ti := int(p)", "for _, p := range ix.Path(q)[:1] {\n\t\ti := int(p)"},
	{"quota/cards.go", "- ix.Elastic.Row(i).Get(d)", ""},
	{"quota/cards.go", "case after > ix.Deserved.Row(int(q)).Get(d):", "case false:"},
	{"quota/cards.go", "for _, p := range toPath[:len(toPath)-common] {", "for _, p := range toPath[:0] {"},
	{"quota/cards.go", "for _, p := range toPath[:len(toPath)-common] {", "for _, p := range toPath {"},
	{"quota/assign.go", "room = math.Floor(bound", "room = math.Ceil(bound"},
	{"quota/assign.go", "if a.least(o.cell) >= n.size {", "if a.least(o.cell) > n.size {"},
	{"quota/assign.go", "a.cells[c.above].asked += max(0, min(c.asked, c.room))", "a.cells[c.above].asked += min(c.asked, c.room)"},

	// Sessions.
	{"plugin/hooks.go", "if queue.Queue.Status.State != scheduling.QueueStateOpen {", "if queue.Queue.Status.State == scheduling.QueueStateUnknown {"},
	{"plugin/hooks.go", "o.victims.Begin()\n", "\n"},
	{"plugin/hooks.go", "quota.RefreshShare(o.ix, q, o.share)", ""},
	{"plugin/hooks.go", "return int(rp) - int(lp)", "return int(lp) - int(rp)"},
	{"plugin/hooks.go", "o.ix.Broken(q) != nil || forCards", "forCards"},
	{"plugin/hooks.go", "forCards && !o.mayFree(to, cards, q, task)", "false"},
	{"plugin/hooks.go", "o.own.placed.without(allocated)", ""},
	{"plugin/hooks.go", "o.set(allocated, job.Allocated)\n", "allocated.Reset()\n"},
	{"plugin/tally.go", "return placed >= int(job.PodGroup.Spec.MinMember)", "return true"},
	{"plugin/tally.go", "t.rest.SetExceeded(t.placed, t.min)", "t.rest.CopyFrom(t.placed)"},
	{"plugin/tally.go", "case scheduling.PodGroupInqueue:\n\t\treturn true", "case scheduling.PodGroupInqueue:\n\t\treturn placed == 0"},
	{"plugin/tally.go", "o.promises = append(o.promises, t.promises...)", ""},
	{"plugin/session.go", "|| o.cards != nil && o.cards.counts[q]", ""},
	{"plugin/session.go", "x == y || x.UID == y.UID && x.Generation == y.Generation && x.Generation != 0", "x == y || x.UID == y.UID"},
	{"plugin/session.go", "mended.Spec.Parent = rootName", ""},
	{"plugin/simulate.go", "if !ok || !w.Valid() {", "if !ok {"},
	{"plugin/simulate.go", "on == \"\" && node != nil", "false"},
	{"plugin/resources.go", "x.Set(fastres.CPU, max(0, r.MilliCPU))", "x.Set(fastres.CPU, r.MilliCPU)"},
	{"plugin/resources.go", "if q.CmpInt64(math.MaxInt64/1000) <= 0 {", "if true {"},
	{"plugin/arguments.go", "value > 0 && !math.IsInf(value, 0)", "value != 0 && !math.IsInf(value, 0)"},

	// Cards in sessions.
	{"plugin/cards.go", "return !ch.mixed && (len(ch.resources) == 0 || slices.Contains(ch.resources, r))", "return !ch.mixed"},
	{"plugin/cards.go", "} else if all == nil || c.untyped == ignore {", "} else if all == nil {"},
	{"plugin/cards.go", "n.missed.Store(true)", ""},
	{"plugin/cards_nodes.go", "changed = changed || n.object != nil\n", "\n"},
	{"plugin/cards_queues.go", "if milli, had := was[d]; had {", "if milli, had := was[d]; had && false {"},
	{"plugin/cards_queues.go", "milli = min(milli, quota)", ""},
	{"plugin/cards_queues.go", "if bounded || o.ix.IsLeaf(q) {", "if bounded {"},
	{"plugin/cards_queues.go", "c.requoted = true\n", "\n"},
	{"plugin/cards_jobs.go", "left := max(0, max(0, k.min-k.placed)-k.gated)", "left := max(0, k.min-k.gated)"},
	{"plugin/cards_jobs.go", "keep -= kept", ""},
	{"plugin/cards_jobs.go", "return task.Status == api.Succeeded || task.Status == api.Failed", "return false"},
	{"plugin/cards_hooks.go", "case !ok || !slices.Contains(p.dims, nc.dim):", "case !ok:"},
	{"plugin/cards_hooks.go", "p.milli = o.cards.takes(d, n, nc.dim)", ""},
	{"plugin/cards_hooks.go", "* o.nodeOrderWeight", ""},
	{"plugin/cards_hooks.go", "if o.cards == nil || task.Status != api.Allocated && task.Status != api.Pipelined {", "if o.cards == nil || task.Status != api.Allocated {"},
	{"plugin/cards_hooks.go", "delete(o.missed, task.UID)", ""},
	{"plugin/cards_enqueue.go", "o.dropBrokenPromises()\n", "\n"},
}
