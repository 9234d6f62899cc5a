package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// lead returns one sentence: the resource that a job lacks and the queue without room for it, or that it does not
// wait. Events have other words for the same numbers: they are for logs, and have one language.
func lead(lang string, f *explain.Finding) string {
	switch f.State {
	case explain.Finished:
		return say(lang, "the job has ended")
	case explain.Running:
		return say(lang, "runs, with %d of %d pods on nodes", f.Pods.Placed, f.Pods.Total)
	case explain.Startable:
		return say(lang, "nothing refuses it: the next cycle places its pods")
	}

	text := refusal(lang, f)
	room := f.Pods.Placed + f.Pods.Fit
	if f.Pods.Fit > 0 && room < f.Pods.Minimum {
		return say(lang, "%s (%d of the %d pods that it needs to start have room)", text, room, f.Pods.Minimum)
	}
	return text
}

// refusal says why a job waits.
func refusal(lang string, f *explain.Finding) string {
	all := Shortages(f)
	if len(all) == 0 {
		words := translate(lang, rule(f.Rule))
		if f.Level == "" {
			return words
		}
		return say(lang, "%s: %s", f.Level, words)
	}

	s := all[0]
	if f.Reason.Cards != "" {
		// One card of the list is enough.
		s = slices.MinFunc(all, func(a, b report.Shortage) int { return cmp.Compare(a.Total-a.Bound, b.Total-b.Bound) })
	}

	switch rule := cmp.Or(s.Rule, f.Rule); rule {
	case report.TooManyJobs:
		admitted := number(s.Total - s.Requested)
		return say(lang, "%s has as many admitted jobs as it may have: %s of %s", s.Queue, admitted, number(s.Bound))
	case report.OverBudget:
		left := format.CardHours(max(0, s.Bound-s.Total+s.Requested))
		return say(lang, "%s has %s of %s card-hours of %s left", s.Queue, left, format.CardHours(s.Bound), s.Resource)
	case report.Guaranteed, report.Earmarked, report.HeldForFairShare, report.OverSoftQuota:
		needs := quantity(lang, s.Resource, s.Requested)
		return say(lang, "needs %s; %s: %s", needs, s.Queue, translate(lang, rules[rule]))
	}
	if untyped(f, s) {
		return say(lang, "needs %s of any card; no quota of %s has room", number(f.Reason.Requested), s.Queue)
	}
	return shortage(lang, f, s)
}

// untyped reports whether the pods of a job name no card: its reason names their resource, and a shortage a card.
func untyped(f *explain.Finding, s report.Shortage) bool {
	cards := f.Reason.Cards
	return cards != "" && s.Cards == "" && !slices.Contains(strings.Split(cards, "|"), s.Resource)
}

// Shortages returns the bounds that a job does not fit under. It prefers the bounds for all pods that the job needs to
// start.
func Shortages(f *explain.Finding) []report.Shortage {
	if f.Reason == nil {
		return nil
	}

	if len(f.Bounds) > 0 {
		return f.Bounds
	}
	return f.Reason.Shortages
}

// shortage states the missing amount below a bound, and the used amount.
func shortage(lang string, f *explain.Finding, s report.Shortage) string {
	needs := more(lang, s.Resource, s.Total-s.Bound)
	used := max(0, s.Total-s.Requested)
	amount := func(x float64) string { return explain.Amount(s.Resource, x) }

	switch full := used >= s.Bound; {
	case s.Bound == 0:
		return say(lang, "needs %s; %s may have none", quantity(lang, s.Resource, s.Total), s.Queue)
	case s.Namespace != "":
		return say(lang, "needs %s; in %s, namespace %s has %s of %s",
			needs, s.Queue, s.Namespace, amount(used), amount(s.Bound))
	case s.Holder.Key != "":
		return say(lang, "needs %s; in %s, %s has %s of %s",
			needs, s.Queue, holder(lang, s.Holder), amount(used), amount(s.Bound))
	case full && f.Rule == report.OverDeserved:
		return say(lang, "needs %s; %s has its deserved amount, %s of %s",
			needs, s.Queue, amount(used), amount(s.Bound))
	case full:
		return say(lang, "needs %s; %s is full, %s of %s", needs, s.Queue, amount(used), amount(s.Bound))
	}
	return say(lang, "needs %s; %s has %s of %s left", needs, s.Queue, amount(s.Bound-used), amount(s.Bound))
}

// quantity returns a quantity of a resource with its unit.
func quantity(lang, resource string, quantity float64) string {
	amount := explain.Amount(resource, quantity)

	switch {
	case resource == "memory":
		return say(lang, "%s of memory", amount)
	case resource == "cpu" && quantity == 1:
		return say(lang, "%s core", amount)
	case resource == "cpu":
		return say(lang, "%s cores", amount)
	}
	return amount + " " + resource
}

// more returns a missing quantity with its unit.
func more(lang, resource string, quantity float64) string {
	amount := explain.Amount(resource, quantity)

	switch {
	case resource == "memory":
		return say(lang, "%s more memory", amount)
	case resource == "cpu" && quantity == 1:
		return say(lang, "%s more core", amount)
	case resource == "cpu":
		return say(lang, "%s more cores", amount)
	}
	return say(lang, "%s more %s", amount, resource)
}

// inShort states the number of pods of a job that run and wait. It is "" for nil.
func inShort(lang string, f *explain.Finding) string {
	switch {
	case f == nil:
		return ""
	case f.State == explain.Finished || f.Pods.Total == 0:
		// A job has no pods before its controller creates them.
		return translate(lang, string(f.State))
	case f.Pods.Waiting == 0:
		return say(lang, "runs with %d", f.Pods.Placed)
	case f.Pods.Placed == 0:
		return say(lang, "waits with %d", f.Pods.Waiting)
	}
	return say(lang, "runs with %d, waits with %d", f.Pods.Placed, f.Pods.Waiting)
}

// say is translate for the texts of this file, which a test finds by its name.
func say(lang, text string, arguments ...any) string { return translate(lang, text, arguments...) }

// holder names the user, the group or the label that a limit counts jobs of.
func holder(lang string, h report.Holder) string {
	switch label, isLabel := strings.CutPrefix(h.Key, "label:"); {
	case isLabel && h.Value == "":
		return say(lang, "jobs without the label %s", label)
	case isLabel:
		return say(lang, "label %s", label+"="+h.Value)
	case h.Key == "group" && h.Value == "":
		return translate(lang, "jobs without a group")
	case h.Key == "group":
		return say(lang, "group %s", h.Value)
	case h.Value == "":
		return translate(lang, "jobs without a user")
	}
	return say(lang, "user %s", h.Value)
}
