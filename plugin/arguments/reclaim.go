package arguments

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/quota"
)

// Classes are the service classes by name.
var Classes = map[string]quota.Class{policy.Inference: quota.Inference, policy.Training: quota.Training}

// VictimsBy is the order in which reclaim evicts pods.
type VictimsBy string

// The orders of victims.
const (
	VictimsByVolcano VictimsBy = "volcano"
	VictimsByWork    VictimsBy = "leastWork"
)

// GangsLose says whether reclaim and preempt may evict whole jobs.
type GangsLose string

// The rules for gangs.
const (
	GangsKeep  GangsLose = "keep"  // jobs keep their minimum if the plugin gang votes
	GangsWhole GangsLose = "whole" // a job may be evicted as a whole
)

// The words of the argument reclaimCompares.
const (
	comparesQueue     = "queue"      // reclaim compares the queues of the pods with their deserved amounts
	comparesAncestors = "ancestors=" // and their nearest ancestors, as Volcano v1.15 does
	comparesDamped    = "damped="    // and the ancestors of the victim's queue, so that exchanges end
)

// reclaim reads the arguments that decide which pods lose to which.
func (p *parser) reclaim(v Variant, s *Settings) {
	s.ByClass = p.flag(ReclaimByClass, false)
	s.Owners = p.classes(OwnerClasses)
	s.ByWork = oneOf(p, VictimOrder, VictimsByVolcano, VictimsByWork) == VictimsByWork
	s.WholeGangs = oneOf(p, ReclaimGangs, GangsKeep, GangsWhole) == GangsWhole
	s.BeyondMinimum = p.flag(ReclaimBeyondMinimum, false)
	s.Damping, s.Levels = p.compares(v)

	if v.Proportion {
		s.WholeGangs = p.without(v, ReclaimGangs, s.WholeGangs)
		s.BeyondMinimum = p.without(v, ReclaimBeyondMinimum, s.BeyondMinimum)
		s.ByWork = p.without(v, VictimOrder, s.ByWork)
		s.ByClass = p.without(v, ReclaimByClass, s.ByClass)
	}

	if s.Damping > 0 && s.FairShare.Reclaim > 0 {
		s.FairShare.Reclaim = 0
		p.problem("argument %s has no effect with %s: %s%d", FairShareReclaim, ReclaimCompares, comparesDamped,
			s.Damping)
	}
	if len(s.Owners) > 0 && !s.ByClass {
		p.problem("argument %s has no effect without %s", OwnerClasses, ReclaimByClass)
	}
}

// compares reads reclaimCompares, and Volcano's own argument ancestorReclaimLevel under Volcano's own name.
func (p *parser) compares(v Variant) (damping, levels int) {
	damping, levels = p.reclaimCompares()

	switch {
	case !p.has(AncestorReclaimLevel):
		return damping, levels
	case v.Name != Capacity:
		p.problem("argument %s is %s: %sN under the name %s", AncestorReclaimLevel, ReclaimCompares,
			comparesAncestors, v.Name)
		return damping, levels
	case p.has(ReclaimCompares):
		p.problem("argument %s has no effect with %s", AncestorReclaimLevel, ReclaimCompares)
		return damping, levels
	default:
		return 0, p.count(AncestorReclaimLevel)
	}
}

// reclaimCompares reads queue, ancestors=N or damped=N. A number is 0 unless its word is given.
func (p *parser) reclaimCompares() (damping, levels int) {
	if !p.has(ReclaimCompares) {
		return 0, 0
	}

	given, _ := p.arguments[ReclaimCompares].(string)
	ancestors, isAncestors := strings.CutPrefix(given, comparesAncestors)
	damped, isDamped := strings.CutPrefix(given, comparesDamped)

	if n := wholeNumber(ancestors); isAncestors && n > 0 {
		return 0, n
	}
	if n := wholeNumber(damped); isDamped && n > 0 {
		return n, 0
	}
	if given != comparesQueue {
		p.wrong(ReclaimCompares, "queue, or ancestors=N or damped=N with a whole number N above 0", comparesQueue)
	}
	return 0, 0
}

// wholeNumber reads decimal digits, 0 for any other text.
func wholeNumber(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// classes reads service classes by the kind of a pod's owner.
func (p *parser) classes(key string) map[string]quota.Class {
	const want = "a map from kinds of owners, such as ReplicaSet, to service classes"

	return mapped(p, key, want, func(_ string, value any) (quota.Class, string) {
		text := fmt.Sprint(value)
		class, known := Classes[text]
		if !known {
			return class, fmt.Sprintf("%q is not one of %s, %s", text, policy.Inference, policy.Training)
		}
		return class, ""
	})
}
