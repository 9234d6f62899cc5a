package plugin

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// The plugin's arguments.
const (
	ancestorReclaimLevel   = "ancestorReclaimLevel"
	cardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
	deviceCapacities       = "capacity.DRAConsumableCapacityEnable"
	deviceQuotas           = "capacity.DynamicResourceAllocationEnable"
	deservedFrom           = "deservedFrom"
	displacePromises       = "displacePromises"
	hierarchyFrom          = "hierarchyFrom"
	inqueueTimeout         = "inqueueTimeout"
	keepGuarantees         = "keepGuarantees"
	nodeOrderWeight        = "nodeOrderWeight"
	ownerClasses           = "podOwnerReferenceToServiceType"
	reclaimBeyondMinimum   = "reclaimBeyondMinimum"
	reclaimByClass         = "reclaimByServiceType"
	reclaimDamping         = "reclaimDamping"
	rootCapability         = "rootCapability"
	semantics              = "semantics"
	terminatingCards       = "terminatingCards"
	unsetCapability        = "unsetCapability"
	untypedCards           = "untypedCards"
	victimOrder            = "victimOrder"
)

var knownArguments = []string{ancestorReclaimLevel, deviceCapacities, deviceQuotas, cardUnlimitedCPUMemory, deservedFrom, displacePromises, hierarchyFrom, inqueueTimeout, keepGuarantees, nodeOrderWeight,
	ownerClasses, reclaimBeyondMinimum, reclaimByClass, reclaimDamping, rootCapability, semantics, terminatingCards, unsetCapability, untypedCards, victimOrder}

// victimOrderRule is the order in which reclaim evicts pods.
type victimOrderRule string

// The orders of victims.
const (
	victimsByVolcano victimOrderRule = "volcano"
	victimsByWork    victimOrderRule = "leastWork"
)

// settings are the parsed arguments.
type settings struct {
	bounds  intake.Settings
	cards   cards.Settings
	damping int // ancestors that reclaim considers; above 0 reclaim is damped
	levels  int // ancestors whose deserved reclaim considers, as upstream v1.15 does
	// beyondMinimum: jobs that have their minimum starve while their queue deserves more.
	beyondMinimum bool
	// displace: a job may displace the promises of jobs with a lower priority.
	displace bool
	gates    bool                   // Volcano removes queue allocation gates
	byClass  bool                   // service classes decide who reclaims from whom
	owners   map[string]quota.Class // by the kind of a pod's owner
	byWork   bool                   // reclaim evicts the pods whose eviction loses the least work
	rules    release.Rules
}

// parseArguments parses the arguments of a plugin. Each problem names the key, the
// value, and the default that is used instead.
func parseArguments(v variant, arguments framework.Arguments) (settings, []string) {
	unset := []intake.UnsetCapability{intake.UnsetUnlimited, intake.UnsetZero}
	if v.zeroUnset {
		slices.Reverse(unset)
	}
	terminating := []cards.TerminatingCards{cards.TerminatingRelease, cards.TerminatingHold}
	if v.cards == cards.Everywhere {
		slices.Reverse(terminating)
	}
	p := &argumentParser{arguments: arguments}
	r, err := Release(arguments)
	if err != nil {
		p.wrong(semantics, "one of "+strings.Join(release.Names(), ", "), r)
	}
	rules := r.Rules()
	root := []intake.RootCapability{intake.RootTotal, intake.RootOwn}
	if rules.OpenRoot {
		slices.Reverse(root)
	}
	s := settings{
		bounds: intake.Settings{
			RootCapability:  oneOf(p, rootCapability, append(root, intake.RootUnlimited)...),
			UnsetCapability: oneOf(p, unsetCapability, unset...),
			DeservedFrom:    oneOf(p, deservedFrom, intake.DeservedFromSpec, intake.DeservedFromWeight),
			HierarchyFrom:   oneOf(p, hierarchyFrom, intake.HierarchyFromParent, intake.HierarchyFromAnnotation),
			InqueueTimeout:  p.duration(inqueueTimeout),
			KeepGuarantees:  p.flag(keepGuarantees, false),
			OpenRoot:        rules.OpenRoot,
			Gates:           reserve.Gates(rules.QueueGates),
			Devices:         p.devices(v, r),
		},
		cards: cards.Settings{
			Untyped:            oneOf(p, untypedCards, cards.UntypedCharge, cards.UntypedReject, cards.UntypedIgnore),
			Terminating:        oneOf(p, terminatingCards, terminating...),
			UnlimitedCPUMemory: p.flag(cardUnlimitedCPUMemory, false),
			NodeOrderWeight:    p.positive(nodeOrderWeight, 1),
		},
		damping:  p.count(reclaimDamping),
		displace: p.flag(displacePromises, false),
		levels:   p.count(ancestorReclaimLevel),
		gates:    rules.QueueGates && release.RemovesQueueGates(),
		rules:    rules,
	}
	if s.damping > 0 && s.levels > 0 {
		s.levels = 0
		p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect beside %s", ancestorReclaimLevel, reclaimDamping))
	}
	p.takes(v, &s)
	for _, key := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.Contains(knownArguments, key) {
			p.problems = append(p.problems, fmt.Sprintf("argument %s is unknown and ignored; known are %s",
				key, strings.Join(knownArguments, ", ")))
		}
	}
	return s, p.problems
}

// Release returns the release of Volcano whose rules the arguments of a plugin select: by
// default the one that the program is built with. It returns an error for an unknown one.
func Release(arguments framework.Arguments) (release.Release, error) {
	given, ok := arguments[semantics]
	if !ok {
		return release.Built(), nil
	}
	r, err := release.Parse(fmt.Sprint(given))
	if err != nil {
		return r, fmt.Errorf("argument %s: %w", semantics, err)
	}
	return r, nil
}

// parse parses the arguments of a plugin and logs each problem once.
func (m *memory) parse(v variant, arguments framework.Arguments) settings {
	s, problems := parseArguments(v, arguments)
	if r, _ := Release(arguments); r != release.Built() {
		problems = append(problems, fmt.Sprintf("decisions follow the rules of Volcano %s, and not those of %s that it is built with", r, release.Built()))
	}
	for _, problem := range problems {
		m.warnings.Once(v.name, problem)
	}
	return s
}

// argumentParser reads values one by one, and collects those that are wrong.
type argumentParser struct {
	arguments framework.Arguments
	problems  []string
}

func (p *argumentParser) wrong(key, want string, byDefault any) {
	given := p.arguments[key]
	p.problems = append(p.problems, fmt.Sprintf("argument %s: %v (%T) is not %s, using %v", key, given, given, want, byDefault))
}

// oneOf reads one of some words, the first by default.
func oneOf[T ~string](p *argumentParser, key string, words ...T) T {
	given, ok := p.arguments[key]
	if !ok {
		return words[0]
	}
	if word, ok := given.(string); ok && slices.Contains(words, T(word)) {
		return T(word)
	}
	var known []string
	for _, word := range words {
		known = append(known, string(word))
	}
	p.wrong(key, "one of "+strings.Join(known, ", "), words[0])
	return words[0]
}

// flag reads a boolean.
func (p *argumentParser) flag(key string, byDefault bool) bool {
	switch given := p.arguments[key].(type) {
	case nil:
		if _, ok := p.arguments[key]; !ok {
			return byDefault
		}
	case bool:
		return given
	case string:
		if value, err := strconv.ParseBool(given); err == nil {
			return value
		}
	}
	p.wrong(key, "true or false", byDefault)
	return byDefault
}

// devices reads the arguments for quotas of device classes. Their defaults are the feature
// gates of Kubernetes.
func (p *argumentParser) devices(v variant, r release.Release) intake.Devices {
	off := ""
	switch {
	case v.proportion:
		off = "the plugin " + v.name + " has no quotas of device classes"
	case !r.Rules().DeviceQuotas:
		off = fmt.Sprintf("Volcano %s has no quotas of device classes", r)
	case !release.KnowsClaims():
		off = fmt.Sprintf("Volcano %s, which the scheduler is built with, does not read resource claims", release.Built())
	default:
		counts, capacities := release.DeviceQuotas()
		counts, capacities = p.flag(deviceQuotas, counts), p.flag(deviceCapacities, capacities)
		if !counts {
			return intake.Devices{Off: deviceQuotas + " is false"}
		}
		return intake.Devices{Capacities: capacities}
	}
	for _, key := range []string{deviceCapacities, deviceQuotas} {
		if _, given := p.arguments[key]; given {
			p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect: %s", key, off))
		}
	}
	return intake.Devices{Off: off}
}

// takes reads the arguments that decide who takes from whom.
func (p *argumentParser) takes(v variant, s *settings) {
	s.byClass, s.owners = p.flag(reclaimByClass, false), p.classes(ownerClasses)
	s.byWork = oneOf(p, victimOrder, victimsByVolcano, victimsByWork) == victimsByWork
	s.beyondMinimum = p.flag(reclaimBeyondMinimum, false)
	if v.proportion {
		s.beyondMinimum = p.without(v, reclaimBeyondMinimum, s.beyondMinimum)
		s.byWork, s.byClass = p.without(v, victimOrder, s.byWork), p.without(v, reclaimByClass, s.byClass)
	}
	if len(s.owners) > 0 && !s.byClass {
		p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect without %s", ownerClasses, reclaimByClass))
	}
}

// without returns false, with a problem where an argument is set that a plugin does not have.
func (p *argumentParser) without(v variant, key string, set bool) bool {
	if set {
		p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect: the plugin %s evicts as Volcano's does", key, v.name))
	}
	return false
}

// classes reads service classes by the kind of a pod's owner. Entries that are wrong are left
// out.
func (p *argumentParser) classes(key string) map[string]quota.Class {
	given, ok := p.arguments[key]
	if !ok {
		return nil
	}
	entries := reflect.ValueOf(given)
	if entries.Kind() != reflect.Map {
		p.wrong(key, "a map from kinds of owners, such as ReplicaSet, to service classes", "none")
		return nil
	}
	owners := map[string]quota.Class{}
	var wrong []string
	for _, entry := range entries.MapKeys() {
		kind, text := fmt.Sprint(entry.Interface()), fmt.Sprint(entries.MapIndex(entry).Interface())
		if class, known := classes[text]; known {
			owners[kind] = class
		} else {
			wrong = append(wrong, fmt.Sprintf("argument %s: %s: %q is not one of %s, %s, ignored", key, kind, text, policy.Inference, policy.Training))
		}
	}
	slices.Sort(wrong)
	p.problems = append(p.problems, wrong...)
	return owners
}

// positive reads a number above 0.
func (p *argumentParser) positive(key string, byDefault float64) float64 {
	if _, ok := p.arguments[key]; !ok {
		return byDefault
	}
	if value := p.number(key); value > 0 && !math.IsInf(value, 0) {
		return value
	}
	p.wrong(key, "a number above 0", byDefault)
	return byDefault
}

// count reads a whole number, 0 by default.
func (p *argumentParser) count(key string) int {
	if _, ok := p.arguments[key]; !ok {
		return 0
	}
	if value := p.number(key); value >= 0 && value <= math.MaxInt32 && value == math.Trunc(value) {
		return int(value)
	}
	p.wrong(key, "a whole number, 0 or more", 0)
	return 0
}

// duration reads a duration, 0 by default.
func (p *argumentParser) duration(key string) time.Duration {
	if _, ok := p.arguments[key]; !ok {
		return 0
	}
	text, _ := p.arguments[key].(string)
	if value, ok := policy.ParseDuration(text); ok {
		return value
	}
	p.wrong(key, policy.WantDuration, time.Duration(0))
	return 0
}

// number returns the value of a key, NaN for one that is not a number.
func (p *argumentParser) number(key string) float64 {
	switch given := p.arguments[key].(type) {
	case int:
		return float64(given)
	case float64:
		return given
	case string:
		if value, err := strconv.ParseFloat(given, 64); err == nil {
			return value
		}
	}
	return math.NaN()
}
