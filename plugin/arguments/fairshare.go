package arguments

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The arguments of the order by usage over time.
const (
	FairShareHalfLife = "fairShareHalfLife"
	FairShareMap      = "fairShare" // a map with the keys below
	FairShareReclaim  = "fairShareReclaim"
)

// The keys of the argument fairShare.
const (
	FairShareBy      = "by"
	FairShareCounts  = "counts"
	FairShareHorizon = "horizon"
	FairShareOf      = "of"
	FairShareWeights = "weights"
)

// The arguments of the state that outlives the process: usage, budgets and evictions.
const (
	StateSave  = "stateSave"
	StateStore = "stateStore"
)

// needHalfLife are the arguments without effect unless FairShareHalfLife is set.
var needHalfLife = []string{FairShareMap, FairShareReclaim}

// fairShareKeys are the keys of the argument fairShare.
var fairShareKeys = []string{FairShareBy, FairShareCounts, FairShareHorizon, FairShareOf, FairShareWeights}

// FairShareNorm selects the quantity that usage is divided by.
type FairShareNorm string

// The norms.
const (
	FairShareByDeserved FairShareNorm = "deserved"
	FairShareByWeight   FairShareNorm = "weight"
)

// FairShareUsage selects the part of the allocation that counts as usage.
type FairShareUsage string

// The kinds of usage.
const (
	FairShareCountsAll      FairShareUsage = "all"
	FairShareCountsBorrowed FairShareUsage = "borrowed"
)

// FairShareOfCards stands for all cards in FairShare.Of.
const FairShareOfCards = "cards"

// NoStore stands for a history that ends with the process.
var NoStore = types.NamespacedName{}

// defaultStore is in the namespace of Volcano's scheduler, where its role may write ConfigMaps.
var defaultStore = types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}

// FairShare are the settings of the order by usage over time.
type FairShare struct {
	HalfLife time.Duration // 0: off
	Horizon  time.Duration
	By       FairShareNorm
	Counts   FairShareUsage
	Of       []string // names of cards and resources, or FairShareOfCards
	// Weights multiply the levels of cards and resources. The default is 1.
	Weights map[string]float64
	// Reclaim is a factor: a queue may take resources that another queue borrows if the level of the other queue is
	// that many times its own or more. 0 turns this off.
	Reclaim float64
	// Store is the ConfigMap for the history of usage and of budgets. It is set even if HalfLife is 0.
	Store types.NamespacedName
	// Save is the time between two saves. It is set even if HalfLife is 0.
	Save time.Duration
}

// fairShare reads the settings of the order by usage over time.
func (p *parser) fairShare(v Variant) FairShare {
	halfLife := p.halfLife()
	f := FairShare{Store: p.store(StateStore), Save: p.duration(StateSave, time.Minute)}
	if f.Save < time.Second {
		f.Save = time.Minute
		p.wrong(StateSave, "a time of 1s or more", f.Save)
	}

	if halfLife == 0 {
		for _, key := range needHalfLife {
			if p.has(key) {
				p.problem("argument %s has no effect without %s", key, FairShareHalfLife)
			}
		}
		return f
	}

	options := p.inner(FairShareMap, "a map with the keys "+strings.Join(fairShareKeys, ", "))
	f.HalfLife = halfLife
	f.Horizon = options.duration(FairShareHorizon, halfLife)
	f.By = oneOf(options, FairShareBy, FairShareByDeserved, FairShareByWeight)
	f.Counts = oneOf(options, FairShareCounts, FairShareCountsAll, FairShareCountsBorrowed)
	f.Of = options.words(FairShareOf, FairShareOfCards)
	f.Weights = options.weights(FairShareWeights)
	options.unknown(fairShareKeys)
	p.problems = append(p.problems, options.problems...)

	f.Reclaim = p.fairShareReclaim(v, f.Horizon)
	return f
}

// halfLife reads the half-life of usage, 0 for none. To give 0 is a problem.
func (p *parser) halfLife() time.Duration {
	before := len(p.problems)
	halfLife := p.duration(FairShareHalfLife, 0)
	if halfLife == 0 && p.has(FairShareHalfLife) && len(p.problems) == before {
		p.wrong(FairShareHalfLife, "a duration above 0, such as 24h", "none")
	}
	return halfLife
}

// leastHorizon is the shortest horizon for FairShare.Reclaim. With a shorter one, the level of a queue would not follow
// its allocation, and queues that borrow would take everything from one another again and again.
const leastHorizon = time.Minute

// fairShareReclaim reads a factor above 1, 0 for none.
func (p *parser) fairShareReclaim(v Variant, horizon time.Duration) float64 {
	if !p.has(FairShareReclaim) {
		return 0
	}
	if v.Proportion {
		p.without(v, FairShareReclaim, true)
		return 0
	}

	factor := p.number(FairShareReclaim)
	if !(factor > 1) || math.IsInf(factor, 0) { // NaN is not above 1 either
		p.wrong(FairShareReclaim, "a number above 1", "none")
		return 0
	}
	if horizon < leastHorizon {
		p.problem("argument %s has no effect with %s: {%s: TIME} below %v", FairShareReclaim, FairShareMap,
			FairShareHorizon, leastHorizon)
		return 0
	}
	return factor
}

// weights reads weights by the name of a card or resource.
func (p *parser) weights(key string) map[string]float64 {
	return mapped(p, key, "a map of cards and resources to weights", func(_ string, given any) (float64, string) {
		weight := numberOf(given)

		if !(weight > 0) || math.IsInf(weight, 0) { // NaN is not above 0 either
			return 0, fmt.Sprintf("%v is not a number above 0", given)
		}
		return weight, ""
	})
}

// store reads the namespace and the name of a ConfigMap, or none.
func (p *parser) store(key string) types.NamespacedName {
	if !p.has(key) {
		return defaultStore
	}

	text, _ := p.arguments[key].(string)
	if text == "none" {
		return NoStore
	}

	namespace, name, ok := strings.Cut(text, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		p.wrong(key, "namespace/name of a ConfigMap, or none", defaultStore)
		return defaultStore
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}
