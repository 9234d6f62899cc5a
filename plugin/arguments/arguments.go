// Package arguments turns the arguments of the plugins, which are text of a configuration, into settings. An argument
// that is unknown or wrong gives a problem and keeps its default.
package arguments

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// The arguments of the plugins.
const (
	AdmitReclaimable       = "admitReclaimable"
	AncestorReclaimLevel   = "ancestorReclaimLevel"
	CardAttributes         = "cardAttributes"
	CardGroups             = "cardGroups"
	CardLabels             = "cardLabels"
	CardStatus             = "cardStatus"
	CardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
	DeviceCapacities       = "capacity.DRAConsumableCapacityEnable"
	DeviceQuotas           = "capacity.DynamicResourceAllocationEnable"
	DeservedFrom           = "deservedFrom"
	Fractions              = "fractions"
	HierarchyFrom          = "hierarchyFrom"
	NodeOrderWeight        = "nodeOrderWeight"
	OwnerClasses           = "podOwnerReferenceToServiceType"
	ReclaimBeyondMinimum   = "reclaimBeyondMinimum"
	ReclaimByClass         = "reclaimByServiceType"
	ReclaimCompares        = "reclaimCompares"
	ReclaimGangs           = "reclaimGangs"
	RootCapability         = "rootCapability"
	Semantics              = "semantics"
	TerminatingCards       = "terminatingCards"
	UnsetCapability        = "unsetCapability"
	UntypedCards           = "untypedCards"
	VictimOrder            = "victimOrder"
)

// Known lists the names of all arguments.
var Known = []string{
	AdmitReclaimable, AncestorReclaimLevel, DeviceCapacities, DeviceQuotas, CardAttributes, CardGroups, CardLabels,
	CardStatus, CardUnlimitedCPUMemory, DeservedFrom, FairShareMap, FairShareHalfLife, FairShareReclaim, Fractions,
	HierarchyFrom, NodeOrderWeight, OwnerClasses, ReclaimBeyondMinimum, ReclaimByClass, ReclaimCompares,
	ReclaimGangs, RootCapability, Semantics, StateSave, StateStore, TerminatingCards, UnsetCapability,
	UntypedCards, VictimOrder,
}

// Settings are the parsed arguments of a plugin, and the defaults of its name.
type Settings struct {
	Bounds intake.Settings
	Cards  cards.Settings
	// Damping is the number N of damped=N, 0 without.
	Damping int
	// Levels is the number N of ancestors=N, 0 without. At most one of Damping and Levels is above 0.
	Levels int
	// BeyondMinimum: jobs that have their minimum starve while their queue deserves more.
	BeyondMinimum bool
	// AdmitReclaimable: resources that reclaim and preempt can take back do not count against the admission of a job.
	AdmitReclaimable bool
	// Gates: Volcano removes queue allocation gates.
	Gates bool
	// ByClass: service classes decide which pods reclaim from which.
	ByClass bool
	// Owners are the service classes of pods, by the kind of their owner.
	Owners map[string]quota.Class
	// WholeGangs: jobs may be evicted as a whole.
	WholeGangs bool
	// ByWork: reclaim evicts the pods that lose the least work.
	ByWork bool
	// FairShare orders queues by their usage over time.
	FairShare FairShare
	// CardStatus is the time between two writes of the status of queues (package status), 0 for none.
	CardStatus time.Duration
	Rules      release.Rules
}

// Parse parses the arguments of a plugin. Each problem names the key, the value, and the default that is used instead.
func Parse(v Variant, arguments framework.Arguments) (Settings, []string) {
	p := &parser{arguments: arguments}
	r, err := Release(arguments)
	if err != nil {
		p.problem("%v, using %s", err, r)
	}

	rules := r.Rules()

	s := Settings{
		Bounds:           p.bounds(v, r),
		Cards:            p.cards(v),
		AdmitReclaimable: p.flag(AdmitReclaimable, v.AdmitReclaimable),
		Gates:            rules.QueueGates && release.RemovesQueueGates(),
		Rules:            rules,
		FairShare:        p.fairShare(v),
		CardStatus:       p.cardStatus(v),
	}
	s.Bounds.FairShare = intake.FairShare{On: s.FairShare.HalfLife > 0, ByWeight: s.FairShare.By == FairShareByWeight}

	p.reclaim(v, &s)
	p.unknown(Known)
	return s, p.problems
}

// leastStatus is the least time between two writes of the status of queues: each write is a request for a queue that
// has changed.
const leastStatus = time.Minute

// cardStatus reads the time between two writes of the status of queues, 0 for none.
func (p *parser) cardStatus(v Variant) time.Duration {
	every := p.duration(CardStatus, 0)
	switch {
	case every == 0:
		return 0
	case v.Proportion:
		p.problem("argument %s has no effect: the plugin %s counts no cards", CardStatus, v.Name)
		return 0
	case every < leastStatus:
		p.wrong(CardStatus, "a duration of 1m or more", leastStatus)
		return leastStatus
	}
	return every
}

// bounds reads the arguments for the bounds of queues.
func (p *parser) bounds(v Variant, r release.Release) intake.Settings {
	rules := r.Rules()
	root := []intake.RootCapability{intake.RootTotal, intake.RootOwn}
	if rules.OpenRoot {
		slices.Reverse(root)
	}
	root = append(root, intake.RootUnlimited)

	return intake.Settings{
		Scalars:         v.Scalars,
		Proportion:      v.Proportion,
		RootCapability:  oneOf(p, RootCapability, root...),
		UnsetCapability: oneOf(p, UnsetCapability, intake.UnsetUnlimited, intake.UnsetZero),
		DeservedFrom:    oneOf(p, DeservedFrom, intake.DeservedFromSpec, intake.DeservedFromWeight),
		HierarchyFrom:   oneOf(p, HierarchyFrom, intake.HierarchyFromParent, intake.HierarchyFromAnnotation),
		OpenRoot:        rules.OpenRoot,
		Gates:           reserve.Gates(rules.QueueGates),
		Devices:         p.devices(v, r),
	}
}

// nodeOrderWeight is the default of the argument. With it, the order of a list of up to eight cards decides between
// nodes with different cards. In Volcano's default configuration, a node can score 1400 more than another node:
//
//	nodeorder   least requested 100, balanced resources 100, image locality 100, node affinity 200 for each preferred
//	            term, pod affinity 200, taint toleration 300, topology spread 200
//	binpack     100
//	predicates  volume binding 100
//
// Two neighbours in a list differ by at least 100 · 2000 · (1/64 − 1/128) = 1562 (see cards.Snapshot.Preference).
//
// Upstream: installer/helm/chart/volcano/config/volcano-scheduler.conf; nodeorder/nodeorder.go, calculateWeight;
// binpack/binpack.go, calculateWeight; predicates/predicates.go, BatchNodeOrder.
const nodeOrderWeight = 2000

// cards reads the arguments for cards.
func (p *parser) cards(v Variant) cards.Settings {
	terminating := []cards.TerminatingCards{cards.TerminatingRelease, cards.TerminatingHold}
	if v.Cards == cards.Everywhere {
		slices.Reverse(terminating)
	}

	return cards.Settings{
		Untyped:            oneOf(p, UntypedCards, cards.UntypedCharge, cards.UntypedReject, cards.UntypedIgnore),
		Terminating:        oneOf(p, TerminatingCards, terminating...),
		UnlimitedCPUMemory: p.flag(CardUnlimitedCPUMemory, v.UnlimitedCPUMemory),
		NodeOrderWeight:    p.positive(NodeOrderWeight, nodeOrderWeight),
		Labels:             p.labels(CardLabels),
		Attributes:         p.attributes(CardAttributes),
		Groups:             p.groups(CardGroups),
		Fractions:          oneOf(p, Fractions, card.ByDominant, card.ByMemory),
	}
}

// devices reads the arguments for quotas of device classes. Their defaults are the feature gates of Kubernetes.
func (p *parser) devices(v Variant, r release.Release) intake.Devices {
	if off := devicesOff(v, r); off != "" {
		for _, key := range []string{DeviceCapacities, DeviceQuotas} {
			if p.has(key) {
				p.problem("argument %s has no effect: %s", key, off)
			}
		}
		return intake.Devices{Off: off}
	}

	counts, capacities := release.DeviceQuotas()
	counts = p.flag(DeviceQuotas, counts)
	capacities = p.flag(DeviceCapacities, capacities)
	if !counts {
		return intake.Devices{Off: DeviceQuotas + " is false"}
	}
	return intake.Devices{Capacities: capacities}
}

// devicesOff returns the reason for which a plugin has no quotas of device classes, "" if it has them.
func devicesOff(v Variant, r release.Release) string {
	switch {
	case v.Proportion:
		return "the plugin " + v.Name + " has no quotas of device classes"
	case !r.Rules().DeviceQuotas:
		return fmt.Sprintf("Volcano %s has no quotas of device classes", r)
	case !release.KnowsDeviceClaims():
		return fmt.Sprintf("Volcano %s, which the scheduler is built with, does not read resource claims",
			release.Built())
	default:
		return ""
	}
}

// labels reads labels of nodes by the resource of cards.
func (p *parser) labels(key string) card.Labels {
	const want = "a map from resources of cards to labels of nodes"

	return mapped(p, key, want, func(resource v1.ResourceName, value any) (string, string) {
		label := fmt.Sprint(value)
		if !card.NamesWhole(resource) {
			return "", "it is not an extended resource of whole cards"
		}
		if wrong := validation.IsQualifiedName(label); len(wrong) > 0 {
			return "", fmt.Sprintf("%q is not a label: %s", label, wrong[0])
		}
		return label, ""
	})
}

// attributes reads attributes of devices by the driver of cards.
func (p *parser) attributes(key string) card.Attributes {
	const want = "a map from drivers of devices to attributes"

	return mapped(p, key, want, func(driver string, value any) (string, string) {
		attribute := fmt.Sprint(value)
		if wrong := validation.IsDNS1123Subdomain(driver); len(wrong) > 0 {
			return "", "it is not the name of a driver: " + wrong[0]
		}
		if wrong := validation.IsQualifiedName(attribute); len(wrong) > 0 {
			return "", fmt.Sprintf("%q is not an attribute: %s", attribute, wrong[0])
		}
		return attribute, ""
	})
}

// groups reads groups of cards by name. A group that is wrong is nil.
func (p *parser) groups(key string) (groups card.Groups) {
	p.entries(key, "a map from groups to maps from cards to weights", func(name string, value any) string {
		if groups == nil {
			groups = card.Groups{}
		}

		group, err := groupOf(name, value)
		groups[name] = group // nil with an error
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return groups
}

// groupOf reads a group of cards.
func groupOf(name string, value any) (card.Group, error) {
	weights, ok := mapOf(value)
	if !ok {
		return nil, errors.New("it is not a map from cards to weights")
	}

	texts := make(map[string]string, len(weights))
	for pattern, weight := range weights {
		texts[pattern] = fmt.Sprint(weight)
	}
	return card.NewGroup(name, texts)
}
