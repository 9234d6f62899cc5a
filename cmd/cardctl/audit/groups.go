package audit

import (
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
	"github.com/capacity-card/capacity-card/index/card"
)

// The texts of findings about groups.
const (
	overlapText = "the groups %s and %s have cards in common (%s): " +
		"they bound, and what queues deserve or are guaranteed of them has no effect"
	overlapAnyText = "the groups %s and %s can have cards in common: " +
		"they bound, and what queues deserve or are guaranteed of them has no effect"
)

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
