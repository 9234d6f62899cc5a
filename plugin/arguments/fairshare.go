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
	FairShareBy         = "fairShareBy"
	FairShareCounts     = "fairShareCounts"
	FairShareHalfLife   = "fairShareHalfLife"
	FairShareHorizon    = "fairShareHorizon"
	FairShareNamespaces = "fairShareNamespaces"
	FairShareOf         = "fairShareOf"
	FairShareReclaim    = "fairShareReclaim"
	FairShareSave       = "fairShareSave"
	FairShareStore      = "fairShareStore"
	FairShareWeights    = "fairShareWeights"
)

// ofFairShare are those that need FairShareHalfLife.
var ofFairShare = []string{FairShareBy, FairShareCounts, FairShareHorizon, FairShareNamespaces, FairShareOf, FairShareReclaim,
	FairShareWeights}

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

// NoStore is the store of a history that ends with the process.
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
	// Weights multiply the levels of cards and resources. Others have the weight 1.
	Weights map[string]float64
	// Namespaces: usage orders the namespaces of a queue, too, unless the queue says otherwise.
	Namespaces bool
	// Reclaim is how many times the level of a queue that may take what another one borrows goes into
	// that one's level; 0 for never.
	Reclaim float64
	// Store and Save, the time between saves, are those of budgets as well, and are set where HalfLife is 0.
	Store types.NamespacedName
	Save  time.Duration
}

// fairShare reads the settings.
func (p *parser) fairShare(v Variant) FairShare {
	before := len(p.problems)
	halfLife := p.duration(FairShareHalfLife, 0)
	if _, given := p.arguments[FairShareHalfLife]; given && halfLife == 0 && len(p.problems) == before {
		p.wrong(FairShareHalfLife, "a duration above 0, such as 24h", "none")
	}
	f := FairShare{Store: p.store(FairShareStore), Save: p.duration(FairShareSave, time.Minute)}
	if f.Save < time.Second {
		f.Save = time.Minute
		p.wrong(FairShareSave, "a time of 1s or more", f.Save)
	}
	if halfLife == 0 {
		for _, key := range ofFairShare {
			if _, given := p.arguments[key]; given {
				p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect without %s", key, FairShareHalfLife))
			}
		}
		return f
	}
	f.HalfLife = halfLife
	f.Horizon = p.duration(FairShareHorizon, halfLife)
	f.By = oneOf(p, FairShareBy, FairShareByDeserved, FairShareByWeight)
	f.Counts = oneOf(p, FairShareCounts, FairShareCountsAll, FairShareCountsBorrowed)
	f.Of = p.words(FairShareOf, FairShareOfCards)
	f.Weights = p.weights(FairShareWeights)
	f.Namespaces, f.Reclaim = p.flag(FairShareNamespaces, false), p.fairShareReclaim(v, f.Horizon)
	return f
}

// leastHorizon is the shortest horizon with which queues take what others borrow. Without one, the level of a queue
// does not follow what it takes, and queues that borrow would take all of it from one another again and again.
const leastHorizon = time.Minute

// fairShareReclaim reads a factor above 1, 0 for none.
func (p *parser) fairShareReclaim(v Variant, horizon time.Duration) float64 {
	_, given := p.arguments[FairShareReclaim]
	switch factor := p.number(FairShareReclaim); {
	case !given:
	case v.Proportion:
		p.without(v, FairShareReclaim, true)
	case factor > 1 && !math.IsInf(factor, 0) && horizon < leastHorizon:
		p.problems = append(p.problems,
			fmt.Sprintf("argument %s has no effect with a %s below %v", FairShareReclaim, FairShareHorizon, leastHorizon))
	case factor > 1 && !math.IsInf(factor, 0):
		return factor
	default:
		p.wrong(FairShareReclaim, "a number above 1", "none")
	}
	return 0
}

// weights reads weights by name.
func (p *parser) weights(key string) (weights map[string]float64) {
	p.entries(key, "a map of cards and resources to weights", func(name string, given any) string {
		weight := numberOf(given)
		if !(weight > 0) || math.IsInf(weight, 0) {
			return fmt.Sprintf("%v is not a number above 0", given)
		}
		if weights == nil {
			weights = map[string]float64{}
		}
		weights[name] = weight
		return ""
	})
	return weights
}

// store reads the namespace and the name of a ConfigMap, or none.
func (p *parser) store(key string) types.NamespacedName {
	given, ok := p.arguments[key]
	if !ok {
		return defaultStore
	}
	text, _ := given.(string)
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
