package plugin

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// The plugin's arguments.
const (
	ancestorReclaimLevel   = "ancestorReclaimLevel"
	cardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
	deservedFrom           = "deservedFrom"
	hierarchyFrom          = "hierarchyFrom"
	nodeOrderWeight        = "nodeOrderWeight"
	rootCapability         = "rootCapability"
	unsetCapability        = "unsetCapability"
	untypedCards           = "untypedCards"
)

var knownArguments = []string{ancestorReclaimLevel, cardUnlimitedCPUMemory, deservedFrom, hierarchyFrom, nodeOrderWeight,
	rootCapability, unsetCapability, untypedCards}

// The values of the arguments.
const (
	annotation = "annotation"
	charge     = "charge"
	ignore     = "ignore"
	parent     = "parent"
	reject     = "reject"
	spec       = "spec"
	total      = "total"
	unlimited  = "unlimited"
	weight     = "weight"
	zero       = "zero"
)

// settings is what the arguments ask for.
type settings struct {
	unlimitedRoot      bool
	zeroLeaf           bool
	untyped            string // what becomes of pods that ask for cards without naming any
	unlimitedCPUMemory bool   // card pods are free of cpu and memory
	nodeOrderWeight    float64
	byWeight           bool // deserved follows from weights
	byAnnotation       bool // the tree follows from annotations
	reclaimLevels      int  // how many ancestors reclaim asks, too; above 0 it is damped
}

// damped reports whether reclaim is damped.
func (s settings) damped() bool { return s.reclaimLevels > 0 }

// parseArguments reads the arguments of a plugin. Each problem names the key,
// the value, and the default used in its place.
func parseArguments(v variant, arguments framework.Arguments) (settings, []string) {
	unset := unlimited
	if v.zeroUnset {
		unset = zero
	}
	p := argumentParser{arguments: arguments}
	known := settings{
		unlimitedRoot:      p.oneOf(rootCapability, total, unlimited) == unlimited,
		zeroLeaf:           p.oneOf(unsetCapability, unset, other(unset)) == zero,
		untyped:            p.oneOf(untypedCards, charge, reject, ignore),
		unlimitedCPUMemory: p.flag(cardUnlimitedCPUMemory),
		nodeOrderWeight:    p.positive(nodeOrderWeight, 1),
		byWeight:           p.oneOf(deservedFrom, spec, weight) == weight,
		byAnnotation:       p.oneOf(hierarchyFrom, parent, annotation) == annotation,
		reclaimLevels:      p.count(ancestorReclaimLevel),
	}
	for _, key := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.Contains(knownArguments, key) {
			p.problems = append(p.problems, fmt.Sprintf("argument %s is unknown and ignored; known are %s",
				key, strings.Join(knownArguments, ", ")))
		}
	}
	return known, p.problems
}

// argumentParser reads values one by one, and notes those that are wrong.
type argumentParser struct {
	arguments framework.Arguments
	problems  []string
}

func (p *argumentParser) wrong(key, want string, byDefault any) {
	given := p.arguments[key]
	p.problems = append(p.problems, fmt.Sprintf("argument %s: %v (%T) is not %s, using %v", key, given, given, want, byDefault))
}

// oneOf reads a word, the first of some by default.
func (p *argumentParser) oneOf(key string, words ...string) string {
	given, ok := p.arguments[key]
	if !ok {
		return words[0]
	}
	if word, ok := given.(string); ok && slices.Contains(words, word) {
		return word
	}
	p.wrong(key, "one of "+strings.Join(words, ", "), words[0])
	return words[0]
}

// flag reads a boolean, false by default.
func (p *argumentParser) flag(key string) bool {
	switch given := p.arguments[key].(type) {
	case nil:
		if _, ok := p.arguments[key]; !ok {
			return false
		}
	case bool:
		return given
	case string:
		if value, err := strconv.ParseBool(given); err == nil {
			return value
		}
	}
	p.wrong(key, "true or false", false)
	return false
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

// number is the value of a key, NaN if it is no number.
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

func other(unset string) string {
	if unset == zero {
		return unlimited
	}
	return zero
}

// settings parses the arguments and reports each problem once.
func (m *memory) settings(v variant, arguments framework.Arguments) settings {
	s, problems := parseArguments(v, arguments)
	for _, problem := range problems {
		m.warnOnce(v.name, problem)
	}
	return s
}

// mostWarnings is how many warnings are remembered.
const mostWarnings = 4096

// warnOnce logs a warning that was not logged before. Warnings name queues and
// tasks, which come and go, so after very many it forgets what was said.
func (m *memory) warnOnce(plugin, warning string) {
	if len(m.warned) >= mostWarnings {
		clear(m.warned)
	}
	if !m.warned[warning] {
		m.warned[warning] = true
		klog.Warningf("[%s] %s", plugin, warning)
	}
}
