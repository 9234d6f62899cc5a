package cards

import (
	"fmt"
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// shared reports whether the queue states any share.
func (q *queue) shared() bool {
	return slices.ContainsFunc(q.shares[:], func(shares map[fastres.Dim]card.Share) bool { return len(shares) > 0 })
}

// textOf returns an annotation that states amounts, as shares where there are some, "" for none.
func textOf(names *index.Names, amounts map[fastres.Dim]card.Milli, shares map[fastres.Dim]card.Share) string {
	if len(amounts) == 0 {
		return ""
	}

	var all []card.Amount
	for d, amount := range amounts {
		stated := card.Amount{Name: names.Name(d), Cards: int64(amount.Cards())}
		if share, is := shares[d]; is {
			stated.Share = &share
		}
		all = append(all, stated)
	}
	return card.WriteAmounts(all)
}

// parse reads one annotation, and reports whether it is wrong. A key with an invalid value keeps its last good value,
// which is in before.
func (q *queue) parse(names *index.Names, a annotation, text string, before *queue) (wrong bool) {
	amounts, problems := card.ParseAmounts(text)
	q.stated[a] = map[fastres.Dim]card.Milli{}
	for _, amount := range amounts {
		d := names.InternCard(amount.Name)
		q.stated[a][d] = card.Cards(amount.Cards)
		if amount.Share != nil {
			q.setShare(a, d, *amount.Share)
		}
	}

	for _, p := range problems {
		kept := ""
		switch d, ok := names.LookupCard(p.Key); {
		case p.Key == "": // of the whole text
			q.stated[a] = maps.Clone(before.stated[a])
			q.shares[a] = maps.Clone(before.shares[a])
			if len(before.stated[a]) > 0 {
				kept = "; the last good value stays in force"
			}
		case ok:
			kept = q.keep(a, d, before)
		}

		q.problems = append(q.problems, fmt.Sprintf("annotation %s: %s%s", annotationKeys[a], p, kept))
	}
	return len(problems) > 0
}

// keep takes the last good value of a card from before, if there is one, and returns the end of a message that says so.
func (q *queue) keep(a annotation, d fastres.Dim, before *queue) string {
	amount, had := before.stated[a][d]
	if !had {
		return ""
	}

	q.stated[a][d] = amount
	last := amount.String()
	if share, is := before.shares[a][d]; is {
		q.setShare(a, d, share)
		last = share.String()
	}
	return fmt.Sprintf("; the last good value, %s, stays in force", last)
}

// setShare sets the share of a card.
func (q *queue) setShare(a annotation, d fastres.Dim, share card.Share) {
	if q.shares[a] == nil {
		q.shares[a] = map[fastres.Dim]card.Share{}
	}
	q.shares[a][d] = share
}
