// Package arguments reads the arguments of the plugins: text of a configuration into settings,
// with a problem for each argument that is unknown or wrong, for which the default is used.
package arguments

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Classes are the service classes by name.
var Classes = map[string]quota.Class{policy.Inference: quota.Inference, policy.Training: quota.Training}

// The arguments of the plugins.
const (
	AdmitReclaimable       = "admitReclaimable"
	AncestorReclaimLevel   = "ancestorReclaimLevel"
	CardAttributes         = "cardAttributes"
	CardGroups             = "cardGroups"
	CardLabels             = "cardLabels"
	CardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
	DeviceCapacities       = "capacity.DRAConsumableCapacityEnable"
	DeviceQuotas           = "capacity.DynamicResourceAllocationEnable"
	DeservedFrom           = "deservedFrom"
	DisplacePromises       = "displacePromises"
	Fractions              = "fractions"
	HierarchyFrom          = "hierarchyFrom"
	InqueueTimeout         = "inqueueTimeout"
	KeepGuarantees         = "keepGuarantees"
	NodeOrderWeight        = "nodeOrderWeight"
	OwnerClasses           = "podOwnerReferenceToServiceType"
	ReclaimBeyondMinimum   = "reclaimBeyondMinimum"
	ReclaimByClass         = "reclaimByServiceType"
	ReclaimDamping         = "reclaimDamping"
	ReclaimGangs           = "reclaimGangs"
	RootCapability         = "rootCapability"
	Semantics              = "semantics"
	TerminatingCards       = "terminatingCards"
	UnsetCapability        = "unsetCapability"
	UntypedCards           = "untypedCards"
	VictimOrder            = "victimOrder"
)

// Known are all of them.
var Known = []string{AdmitReclaimable, AncestorReclaimLevel, DeviceCapacities, DeviceQuotas, CardAttributes, CardGroups, CardLabels,
	CardUnlimitedCPUMemory, DeservedFrom, DisplacePromises, FairShareBy, FairShareCounts, FairShareHalfLife, FairShareHorizon,
	FairShareNamespaces, FairShareOf, FairShareReclaim, FairShareSave, FairShareStore, FairShareWeights, Fractions, HierarchyFrom,
	InqueueTimeout, KeepGuarantees, NodeOrderWeight, OwnerClasses, ReclaimBeyondMinimum, ReclaimByClass, ReclaimDamping,
	ReclaimGangs, RootCapability, Semantics, TerminatingCards, UnsetCapability, UntypedCards, VictimOrder}

// VictimsBy is the order in which reclaim evicts pods.
type VictimsBy string

// The orders of victims.
const (
	VictimsByVolcano VictimsBy = "volcano"
	VictimsByWork    VictimsBy = "leastWork"
)

// GangsLose says whether reclaim and preempt evict whole jobs.
type GangsLose string

// What gangs lose.
const (
	GangsKeep  GangsLose = "keep"  // jobs keep their minimum, as long as the plugin gang votes
	GangsWhole GangsLose = "whole" // a job may be evicted as a whole
)

// Settings are the parsed arguments, and what follows from the name of the plugin.
type Settings struct {
	Bounds intake.Settings
	Cards  cards.Settings
	// Damping is the number of ancestors that reclaim considers; above 0 reclaim is damped.
	Damping int
	// Levels is the number of ancestors whose deserved reclaim considers, as upstream v1.15 does.
	Levels int
	// BeyondMinimum: jobs that have their minimum starve while their queue deserves more.
	BeyondMinimum bool
	// Displace: a job may displace the promises of jobs with a lower priority.
	Displace bool
	// AdmitReclaimable: what reclaim and preempt can take back does not count against the admission of a job.
	AdmitReclaimable bool
	Gates            bool                   // Volcano removes queue allocation gates
	ByClass          bool                   // service classes decide who reclaims from whom
	Owners           map[string]quota.Class // by the kind of a pod's owner
	WholeGangs       bool                   // jobs may be evicted as a whole
	ByWork           bool                   // those pods are evicted with which the least work is lost
	// FairShare orders queues by what they have had over time.
	FairShare FairShare
	Rules     release.Rules
}

// Parse parses the arguments of a plugin. Each problem names the key, the
// value, and the default that is used instead.
func Parse(v Variant, arguments framework.Arguments) (Settings, []string) {
	unset := []intake.UnsetCapability{intake.UnsetUnlimited, intake.UnsetZero}
	if v.ZeroUnset {
		slices.Reverse(unset)
	}
	terminating := []cards.TerminatingCards{cards.TerminatingRelease, cards.TerminatingHold}
	if v.Cards == cards.Everywhere {
		slices.Reverse(terminating)
	}
	p := &parser{arguments: arguments}
	r, err := Release(arguments)
	if err != nil {
		p.wrong(Semantics, "one of "+strings.Join(release.Names(), ", "), r)
	}
	rules := r.Rules()
	root := []intake.RootCapability{intake.RootTotal, intake.RootOwn}
	if rules.OpenRoot {
		slices.Reverse(root)
	}
	s := Settings{
		Bounds: intake.Settings{
			Scalars:         v.Scalars,
			Proportion:      v.Proportion,
			RootCapability:  oneOf(p, RootCapability, append(root, intake.RootUnlimited)...),
			UnsetCapability: oneOf(p, UnsetCapability, unset...),
			DeservedFrom:    oneOf(p, DeservedFrom, intake.DeservedFromSpec, intake.DeservedFromWeight),
			HierarchyFrom:   oneOf(p, HierarchyFrom, intake.HierarchyFromParent, intake.HierarchyFromAnnotation),
			InqueueTimeout:  p.duration(InqueueTimeout, 0),
			KeepGuarantees:  p.flag(KeepGuarantees, false),
			OpenRoot:        rules.OpenRoot,
			Gates:           reserve.Gates(rules.QueueGates),
			Devices:         p.devices(v, r),
		},
		Cards: cards.Settings{
			Untyped:            oneOf(p, UntypedCards, cards.UntypedCharge, cards.UntypedReject, cards.UntypedIgnore),
			Terminating:        oneOf(p, TerminatingCards, terminating...),
			UnlimitedCPUMemory: p.flag(CardUnlimitedCPUMemory, false),
			NodeOrderWeight:    p.positive(NodeOrderWeight, 1),
			Labels:             p.labels(CardLabels),
			Attributes:         p.attributes(CardAttributes),
			Groups:             p.groups(CardGroups),
			Fractions:          oneOf(p, Fractions, card.ByDominant, card.ByMemory),
		},
		Damping:          p.count(ReclaimDamping),
		Displace:         p.flag(DisplacePromises, false),
		AdmitReclaimable: p.flag(AdmitReclaimable, v.AdmitReclaimable),
		Levels:           p.count(AncestorReclaimLevel),
		Gates:            rules.QueueGates && release.RemovesQueueGates(),
		Rules:            rules,
		FairShare:        p.fairShare(v),
	}
	s.Bounds.FairShare = intake.FairShare{On: s.FairShare.HalfLife > 0, ByWeight: s.FairShare.By == FairShareByWeight}
	p.takes(v, &s)
	p.unknown()
	return s, p.problems
}

// Release returns the release of Volcano whose rules the arguments of a plugin select: by
// default the one that the program is built with. It returns an error for an unknown one.
func Release(arguments framework.Arguments) (release.Release, error) {
	given, ok := arguments[Semantics]
	if !ok {
		return release.Built(), nil
	}
	r, err := release.Parse(fmt.Sprint(given))
	if err != nil {
		return r, fmt.Errorf("argument %s: %w", Semantics, err)
	}
	return r, nil
}

// devices reads the arguments for quotas of device classes. Their defaults are the feature
// gates of Kubernetes.
func (p *parser) devices(v Variant, r release.Release) intake.Devices {
	off := ""
	switch {
	case v.Proportion:
		off = "the plugin " + v.Name + " has no quotas of device classes"
	case !r.Rules().DeviceQuotas:
		off = fmt.Sprintf("Volcano %s has no quotas of device classes", r)
	case !release.KnowsDeviceClaims():
		off = fmt.Sprintf("Volcano %s, which the scheduler is built with, does not read resource claims", release.Built())
	default:
		counts, capacities := release.DeviceQuotas()
		counts, capacities = p.flag(DeviceQuotas, counts), p.flag(DeviceCapacities, capacities)
		if !counts {
			return intake.Devices{Off: DeviceQuotas + " is false"}
		}
		return intake.Devices{Capacities: capacities}
	}
	for _, key := range []string{DeviceCapacities, DeviceQuotas} {
		if _, given := p.arguments[key]; given {
			p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect: %s", key, off))
		}
	}
	return intake.Devices{Off: off}
}

// takes reads the arguments that decide who takes from whom.
func (p *parser) takes(v Variant, s *Settings) {
	s.ByClass, s.Owners = p.flag(ReclaimByClass, false), p.classes(OwnerClasses)
	s.ByWork = oneOf(p, VictimOrder, VictimsByVolcano, VictimsByWork) == VictimsByWork
	s.WholeGangs = oneOf(p, ReclaimGangs, GangsKeep, GangsWhole) == GangsWhole
	s.BeyondMinimum = p.flag(ReclaimBeyondMinimum, false)
	if v.Proportion {
		s.WholeGangs = p.without(v, ReclaimGangs, s.WholeGangs)
		s.BeyondMinimum = p.without(v, ReclaimBeyondMinimum, s.BeyondMinimum)
		s.ByWork, s.ByClass = p.without(v, VictimOrder, s.ByWork), p.without(v, ReclaimByClass, s.ByClass)
	}
	if s.Damping > 0 && s.Levels > 0 {
		s.Levels = 0
		p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect beside %s", AncestorReclaimLevel, ReclaimDamping))
	}
	if s.Damping > 0 && s.FairShare.Reclaim > 0 {
		s.FairShare.Reclaim = 0
		p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect beside %s", FairShareReclaim, ReclaimDamping))
	}
	if len(s.Owners) > 0 && !s.ByClass {
		p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect without %s", OwnerClasses, ReclaimByClass))
	}
}

// classes reads service classes by the kind of a pod's owner.
func (p *parser) classes(key string) (owners map[string]quota.Class) {
	p.entries(key, "a map from kinds of owners, such as ReplicaSet, to service classes", func(kind string, value any) string {
		text := fmt.Sprint(value)
		class, stated := Classes[text]
		if !stated {
			return fmt.Sprintf("%q is not one of %s, %s", text, policy.Inference, policy.Training)
		}
		if owners == nil {
			owners = map[string]quota.Class{}
		}
		owners[kind] = class
		return ""
	})
	return owners
}

// labels reads labels of nodes by the resource of cards.
func (p *parser) labels(key string) (labels card.Labels) {
	p.entries(key, "a map from resources of cards to labels of nodes", func(resource string, value any) string {
		label := fmt.Sprint(value)
		if !card.NamesWhole(v1.ResourceName(resource)) {
			return "it is not an extended resource of whole cards"
		}
		if wrong := validation.IsQualifiedName(label); len(wrong) > 0 {
			return fmt.Sprintf("%q is not a label: %s", label, wrong[0])
		}
		if labels == nil {
			labels = card.Labels{}
		}
		labels[v1.ResourceName(resource)] = label
		return ""
	})
	return labels
}

// attributes reads attributes of devices by the driver of cards.
func (p *parser) attributes(key string) (attributes card.Attributes) {
	p.entries(key, "a map from drivers of devices to attributes", func(driver string, value any) string {
		attribute := fmt.Sprint(value)
		if wrong := validation.IsDNS1123Subdomain(driver); len(wrong) > 0 {
			return "it is not the name of a driver: " + wrong[0]
		}
		if wrong := validation.IsQualifiedName(attribute); len(wrong) > 0 {
			return fmt.Sprintf("%q is not an attribute: %s", attribute, wrong[0])
		}
		if attributes == nil {
			attributes = card.Attributes{}
		}
		attributes[driver] = attribute
		return ""
	})
	return attributes
}

// groups reads groups of cards by name. One that is wrong is nil.
func (p *parser) groups(key string) (groups card.Groups) {
	p.entries(key, "a map from groups to maps from cards to weights", func(name string, value any) string {
		if groups == nil {
			groups = card.Groups{}
		}
		groups[name] = nil
		weights, ok := mapOf(value)
		if !ok {
			return "it is not a map from cards to weights"
		}
		texts := make(map[string]string, len(weights))
		for pattern, weight := range weights {
			texts[pattern] = fmt.Sprint(weight)
		}
		var err error
		groups[name], err = card.NewGroup(name, texts)
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return groups
}
