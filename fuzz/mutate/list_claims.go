package main

// ofCardClaims are the mutations of resource claims on cards.
var ofCardClaims = []mutant{
	{"OfDevice", `strings.ReplaceAll(stringAttribute(driver, device, part.profile), "+", ".")`, "stringAttribute(driver, device, part.profile)"},
	{"CurrentSlices", "s.Spec.Pool.Generation == newest", "s.Spec.Pool.Generation <= newest"},
	{"shapeRequest.most", "!a.all && has < a.count", "false"},
	{"shapeRequest.most", "count = min(count, a.count)", "count = max(count, a.count)"},
	{"shapeRequest.most", "most[dim] = max(most[dim], count)", "most[dim] = count"},
	{"shape.find", "count := min(most[dim], left[dim]); count > 0", "count := most[dim]; count > 0"},
	{"query.read", "programs = append(programs, own...)", "_ = own"},
	{"shapeOf", "if e.AdminAccess != nil && *e.AdminAccess {", "if false {"},
	{"Claim.on", "case c.allocated != nil:", "case false:"},
	{"Claim.on", "case len(c.placed) > 0 && (c.named || c.node == node):", "case false:"},
	{"Claim.add", "if !known || has.card == \"\" {", "if known = true; known {"},
	{"readAllocation", "result.AdminAccess == nil || !*result.AdminAccess", "true"},
	{"consumed", "part = max(part,", "part = min(part,"},
	{"fitClaim", "!slices.Contains(p.selector.Dims, of.dim)", "false"},
	{"fitClaim", "if n.unnamed != nil {", "if false {"},
	{"Session.Uses", "p.claims.placed() || ", ""},
	{"Job.Placed", `len(j.allocated)+len(j.terminating) > 0 || slices.ContainsFunc(j.sharing, func(task *api.TaskInfo) bool { return task.NodeName != "" })`,
		"len(j.allocated)+len(j.terminating) > 0"},
	{"chargeSharedClaims", "&& !s.cards.Occupied(user.task)", ""},
	{"LeavingClaims", "leaving[of] == has.References", "false"},
	{"Rule.FitNode", "len(own) > 0", "false"},
	{"Guarantees.compare", "quantity = levels[i]", "quantity = levels[0*i]"},
	{"EnqueueableClaim", "ix.DeviceClaim(p, claim).References > 0", "false"},
	{"Session.FitsClaims", "s.tasks[i].(ClaimRule); ok {", "s.tasks[i].(ClaimRule); ok && false {"},
}
