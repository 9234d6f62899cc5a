package plugin

import (
	"slices"
	"unicode/utf8"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/quota"
)

// longest is how many bytes of a name that somebody made up are shown.
const longest = 200

// shorten cuts a name that is too long to be read.
func shorten(name string) string {
	if len(name) <= longest {
		return name
	}
	cut := longest
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…"
}

// cardsOf names the cards of a part, "" for none: the list as the pod has it, or
// the resource of a pod that names none.
func (o *session) cardsOf(p part) string {
	switch {
	case p.choice == nil:
		return ""
	case p.named:
		return shorten(p.names.String())
	}
	return string(o.cards.resourceName(p.choice.resources[0]))
}

// explainCards fills in what a reason says of cards, in whole cards.
func (o *session) explainCards(reason *Reason, r refusal) {
	reason.Cards, reason.named, reason.Requested = o.cardsOf(r.part), r.part.named, r.part.milli/1000
	switch {
	case r.Reason == quota.ResourceMismatch:
		reason.Resource = string(o.cards.resourceName(r.part.want.resource))
		return
	case r.Reason == quota.MixedResources || r.Reason == quota.UntypedPod:
		return
	case len(r.part.names) == 0:
		reason.Rule = NamelessCards
		return
	case r.shared:
		if shortage, exceeded := o.sharedShortage(r); exceeded {
			reason.Shortages = []Shortage{shortage}
			return
		}
	}
	for _, name := range r.part.names {
		d, ok := o.names.LookupCard(name)
		if shortage, exceeded := o.oneCard(r, name, d, ok); exceeded {
			reason.Shortages = append(reason.Shortages, shortage)
		}
	}
}

// oneCard says where on the path one card is refused.
func (o *session) oneCard(r refusal, name string, d fastres.Dim, known bool) (s Shortage, exceeded bool) {
	milli := r.part.milli
	s = Shortage{Queue: o.ix.Name(r.Queue), Resource: shorten(name), Requested: milli / 1000, Total: milli / 1000, Against: "capability"}
	if !known {
		return s, true
	}
	path, bounds := o.ix.Path(r.Queue), o.limit
	if r.Reason == quota.OverDeserved {
		path, bounds, s.Against = path[:1], &o.ix.Deserved, "deserved"
	}
	for _, p := range path {
		sum, bound := milli+o.used(r, p, d), bounds.Row(p).Get(d)
		if sum > bound {
			s.Queue, s.Total, s.Bound = o.ix.Name(p), sum/1000, bound/1000
			return s, true
		}
	}
	return s, false
}

// sharedShortage adds up the cards of a choice, and what was promised to others
// that can take nothing else.
func (o *session) sharedShortage(r refusal) (s Shortage, exceeded bool) {
	sum, bound := r.part.milli, 0.0
	for _, d := range r.part.dims {
		sum += o.used(r, r.Queue, d)
		bound += o.ix.RealCapability.Row(r.Queue).Get(d)
	}
	for _, p := range o.promises {
		if slices.Contains(o.ix.Path(p.Queue), r.Queue) && subset(p.Cards, r.part.dims) {
			sum += p.Size * float64(p.Count)
		}
	}
	return Shortage{
		Queue: o.ix.Name(r.Queue), Resource: o.cardsOf(r.part), Against: "capability",
		Requested: r.part.milli / 1000, Total: sum / 1000, Bound: bound / 1000,
	}, sum > bound
}

func subset(cards, of []fastres.Dim) bool {
	return !slices.ContainsFunc(cards, func(d fastres.Dim) bool { return !slices.Contains(of, d) })
}
