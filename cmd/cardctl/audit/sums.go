package audit

import (
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
	"github.com/capacity-card/capacity-card/index/card"
)

// The texts of findings about sums and groups.
const (
	overQuotaText = "the quotas of %d queues below it add up to %s, more than its quota of %s"
	overNodesText = "the quotas of %d queues below it add up to %s, more than the %s of the nodes"
	overBothText  = "the quotas of %d queues below it add up to %s, more than its quota of %s and the %s of the nodes"
	allLeavesText = "the quotas of all %d leaf queues add up to %s, more than the %s of the nodes"
	overlapText   = "the groups %s and %s have cards in common (%s): " +
		"they bound, and what queues deserve or are guaranteed of them has no effect"
	overlapAnyText = "the groups %s and %s can have cards in common: " +
		"they bound, and what queues deserve or are guaranteed of them has no effect"
)

// sums finds quotas of siblings, or of all leaf queues, that add up to more than the quota above them or the nodes. It
// includes the issues of validate about sums.
func (a *auditor) sums(checks *validate.Result) {
	for _, s := range checks.Sums {
		overQuota := s.Quota != nil && s.Quotas > *s.Quota
		overNodes := s.Nodes != nil && s.Quotas > *s.Nodes
		sum := explain.Amount(s.Card, s.Quotas)
		f := Finding{
			Check:    SumOfQuotas,
			Queue:    s.Queue,
			Resource: s.Card,
			Basis:    Configuration,
			Amount:   &s.Quotas,
			Used:     s.Nodes,
		}
		if overQuota {
			f.Used = s.Quota
		}

		switch {
		case s.Queue == "":
			if overNodes && !hasEqual(checks.Sums, s) {
				a.add(f, allLeavesText, s.Queues, sum, explain.Amount(s.Card, *s.Nodes))
			}
		case overQuota && overNodes:
			a.add(f, overBothText, s.Queues, sum, explain.Amount(s.Card, *s.Quota), explain.Amount(s.Card, *s.Nodes))
		case overQuota:
			a.add(f, overQuotaText, s.Queues, sum, explain.Amount(s.Card, *s.Quota))
		case overNodes:
			a.add(f, overNodesText, s.Queues, sum, explain.Amount(s.Card, *s.Nodes))
		}
	}

	a.takeOver(SumOfQuotas, validate.Sums, checks)
}

// hasEqual reports whether the queues below one queue have the same sum as all leaf queues.
func hasEqual(all []validate.Sum, leaves validate.Sum) bool {
	return slices.ContainsFunc(all, func(s validate.Sum) bool {
		return s.Queue != "" && s.Card == leaves.Card && s.Quotas == leaves.Quotas
	})
}

// overlaps finds groups of cards that overlap. It includes the issues of validate about groups.
func (a *auditor) overlaps(checks *validate.Result) {
	for _, o := range checks.Overlaps {
		one := card.GroupPrefix + o.One
		other := card.GroupPrefix + o.Other
		f := Finding{Check: OverlappingGroups, Basis: Configuration, Resource: one}
		if len(o.Cards) == 0 {
			a.add(f, overlapAnyText, one, other)
		} else {
			a.add(f, overlapText, one, other, strings.Join(o.Cards, ", "))
		}
	}

	a.takeOver(OverlappingGroups, validate.Groups, checks)
}

// takeOver adds the issues of validate about a topic.
func (a *auditor) takeOver(check Check, topic validate.Topic, checks *validate.Result) {
	for _, i := range checks.Issues {
		if i.Topic == topic {
			a.report.Items = append(a.report.Items, Finding{
				Check:   check,
				Queue:   strings.TrimPrefix(i.Object, "Queue/"),
				Field:   i.Field,
				Basis:   Configuration,
				Message: i.Message,
			})
		}
	}
}
