package main

// ofOverrides are the mutations of windows of queues.
var ofOverrides = []mutant{
	{"once.at", "now.Before(o.from)", "!now.After(o.from)"},
	{"once.at", "now.Before(o.until)", "!now.After(o.until)"},
	{"day", "from.Before(until)", "true"},
	{"weekly.at", "!now.Before(from) && now.Before(until)", "now.After(from) && now.Before(until)"},
	{"weekly.at", "now.Before(change) && next.IsZero()", "now.Before(change)"},
	{"instant", "first.IsZero() || t.Before(first)", "first.IsZero() || first.Before(t)"},
	{"instant", "there == offset && ", "there != 1 && "},
	{"Overrides.Set", "if v.object == nil || !set {", "if true {"},
	{"Overrides.Set", "maps.Copy(all, v.object)", ""},
	{"Overrides.At", "next.IsZero() || change.Before(next)", "next.IsZero()"},
	{"parseWindow", "if len(w.sets) == 0 {", "if false {"},
	{"meet", "&& !start.Before(now)", ""},
	{"due", "now.Before(w.since) || ", ""},
	{"due", "!now.Before(w.next)", "now.After(w.next)"},
	{"object", "maps.Copy(merged, *list)", ""},
	{"windows.parse", "w.overrides, problems = overrides, overrides.Overlaps(now)", "problems = overrides.Overlaps(now)"},
	{"sameSpec", "q.Object == q.given && known.Object == known.given || ", "true || "},
	{"Info", "info.Queue, info.Weight = known.Object, known.Object.Spec.Weight", "info.Queue = known.Object"},
}
