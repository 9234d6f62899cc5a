package arguments

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The arguments of the order by usage over time.
const (
	FairShareBy       = "fairShareBy"
	FairShareCounts   = "fairShareCounts"
	FairShareHalfLife = "fairShareHalfLife"
	FairShareHorizon  = "fairShareHorizon"
	FairShareOf       = "fairShareOf"
	FairShareSave     = "fairShareSave"
	FairShareStore    = "fairShareStore"
)

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
	Store    types.NamespacedName
	Save     time.Duration // the time between saves
}

// fairShare reads the settings. The zero FairShare is off.
func (p *parser) fairShare() FairShare {
	halfLife := p.duration(FairShareHalfLife, 0)
	if halfLife == 0 {
		for _, key := range []string{FairShareBy, FairShareCounts, FairShareHorizon, FairShareOf, FairShareSave, FairShareStore} {
			if _, given := p.arguments[key]; given {
				p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect without %s", key, FairShareHalfLife))
			}
		}
		return FairShare{}
	}
	f := FairShare{
		HalfLife: halfLife,
		Horizon:  p.duration(FairShareHorizon, halfLife),
		By:       oneOf(p, FairShareBy, FairShareByDeserved, FairShareByWeight),
		Counts:   oneOf(p, FairShareCounts, FairShareCountsAll, FairShareCountsBorrowed),
		Of:       p.words(FairShareOf, FairShareOfCards),
		Store:    p.store(FairShareStore),
		Save:     p.duration(FairShareSave, time.Minute),
	}
	if f.Save < time.Second {
		f.Save = time.Minute
		p.wrong(FairShareSave, "a time of 1s or more", f.Save)
	}
	return f
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
