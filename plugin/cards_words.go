package plugin

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/quota"
)

// longest is how many bytes of a name that somebody made up are shown.
const longest = 200

// few is how many cards are told of one by one to a pod that names none.
const few = 2

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

// cardWords say why cards are refused, in whole cards.
func (o *session) cardWords(r refusal) string {
	cards := o.cardsOf(r.part)
	switch {
	case r.Reason == quota.MixedCards:
		return fmt.Sprintf("Cards <%s> are asked for with different resource names, so no pod can take one or the other", cards)
	case r.Reason == quota.OtherCards:
		return fmt.Sprintf("Pod asks for <%s>, which is not what the cards <%s> are asked for with",
			o.cards.resourceName(r.part.want.resource), cards)
	case r.Reason == quota.UnnamedCards:
		return fmt.Sprintf("Pod asks for <%s> but names no card: set the annotation %s", cards, card.NameKey)
	case len(r.part.names) == 0:
		return fmt.Sprintf("Nobody has a quota of <%s>: the nodes that have it lack the labels that tell which card it is", cards)
	case r.shared:
		if words := o.sharedWords(r); words != "" {
			return words
		}
	}
	var each []string
	for _, name := range r.part.names {
		d, ok := o.names.LookupCard(name)
		if words := o.oneCard(r, name, d, ok); words != "" {
			each = append(each, words)
		}
	}
	if !r.part.named && len(each) > few {
		return fmt.Sprintf("Queue <%s> has insufficient quota of every <%s> card: requested <%s>",
			o.ix.Name(r.Queue), cards, number(r.part.milli/1000))
	}
	if len(each) == 0 { // no number tells: it is about a what-if, or how pods would have to be placed
		return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>", o.ix.Name(r.Queue), cards, number(r.part.milli/1000))
	}
	return strings.Join(each, "; ")
}

// oneCard says where on the path one card is refused, "" for nowhere.
func (o *session) oneCard(r refusal, name string, d fastres.Dim, known bool) string {
	milli := r.part.milli
	if !known {
		return insufficient(o.ix.Name(r.Queue), shorten(name), number(milli/1000), number(milli/1000), "capability", "0")
	}
	path, bounds, word := o.ix.Path(r.Queue), o.limit, "capability"
	if r.Reason == quota.OverDeserved {
		path, bounds, word = path[:1], &o.ix.Deserved, "deserved"
	}
	for _, p := range path {
		sum, bound := milli+o.used(r, p, d), bounds.Row(int(p)).Get(d)
		if sum > bound {
			return insufficient(o.ix.Name(p), shorten(name), number(milli/1000), number(sum/1000), word, number(bound/1000))
		}
	}
	return ""
}

// sharedWords add up the cards of a choice, and what was promised to others that
// can take nothing else; "" if the sum would fit.
func (o *session) sharedWords(r refusal) string {
	sum, bound := r.part.milli, 0.0
	for _, d := range r.part.dims {
		sum += o.used(r, r.Queue, d)
		bound += o.ix.RealCapability.Row(int(r.Queue)).Get(d)
	}
	for _, p := range o.promises {
		if slices.Contains(o.ix.Path(p.Queue), r.Queue) && subset(p.Cards, r.part.dims) {
			sum += p.Size * float64(p.Count)
		}
	}
	if sum <= bound {
		return ""
	}
	return insufficient(o.ix.Name(r.Queue), o.cardsOf(r.part), number(r.part.milli/1000), number(sum/1000), "capability", number(bound/1000))
}

func subset(cards, of []fastres.Dim) bool {
	return !slices.ContainsFunc(cards, func(d fastres.Dim) bool { return !slices.Contains(of, d) })
}
