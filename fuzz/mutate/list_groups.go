package main

// ofGroups are the mutations of groups of cards.
var ofGroups = []mutant{
	{"AddCard", "x.Increase(s.Group, s.Of(quantity))", "x.Increase(s.Group, quantity)"},
	{"Group.Of", "w.Pattern == name", "false"},
	{"Weight.of", "math.Floor(x/weightUnit) * weightUnit", "x"},
	{"Weight.meets", "w.Pattern == pattern ||", ""},
	{"sliceOf", "return slice{share: 1 / replicas}", "return slice{}"},
	{"groups.set", "group = before[name]", "_ = before"},
	{"groups.resolve", "!slices.Contains(overlapping, name)", "len(overlapping) >= 0"},
	{"byGroups", "math.Ceil(float64(amount)/share.Weight)", "math.Floor(float64(amount)/share.Weight)"},
	{"byGroups", "if !s.registry.groups.disjoint[share.Group] {", "if false {"},
	{"AddBounds", "&& !group:", ":"},
	{"AddBounds", "case group && !s.registry.groups.disjoint[d], !bounded && ix.IsLeaf(q):", "case !bounded && ix.IsLeaf(q):"},
	{"fitsCard", "share.Of(milli)", "milli"},
	{"Session.deserves", "s.Index.Deserved.Row(q).Has(share.Group)", "false"},
	{"Session.keeps", "&& s.keepsGroups(q, d)", ""},
	{"fitsUnder", "p.request.Get(s.Group)+s.Of(amount) >", "s.Of(amount) >"},
	{"skipLooseSides", "c.load > c.room", "c.load > 2*c.room"},
	{"fitsSides", "a.cells[side].load > a.cells[side].room", "false"},
	{"Assigner.excess", "taken <= a.cells[side].room", "true"},
	{"Assigner.take", "a.cells[u.side].room -= u.weight * amount", "_ = u"},
	{"fitGroups", "if !l.below(ix, q, s.Group, sum, groupRoom) {", "if false {"},
	{"EachGroupOn", "sum += other.Quantity", "sum = other.Quantity"},
	{"EachGroupOn", "s.cardsOn(p, node) < 2", "true"},
}
