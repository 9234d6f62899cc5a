package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// The plugin's arguments.
const (
	rootCapability  = "rootCapability"
	unsetCapability = "unsetCapability"
)

// The values of the arguments.
const (
	total     = "total"
	unlimited = "unlimited"
	zero      = "zero"
)

// settings is what the arguments ask for.
type settings struct {
	unlimitedRoot bool
	zeroLeaf      bool
}

// parseArguments reads the arguments of a plugin. Each problem names the key,
// the value, and the default used in its place.
func parseArguments(v variant, arguments framework.Arguments) (settings, []string) {
	unset := unlimited
	if v.zeroUnset {
		unset = zero
	}
	var problems []string
	choose := func(key, byDefault, other string) string {
		given, ok := arguments[key]
		if !ok {
			return byDefault
		}
		if given == byDefault || given == other {
			return given.(string)
		}
		problems = append(problems, fmt.Sprintf("argument %s: %v (%T) is neither %s nor %s, using %s",
			key, given, given, byDefault, other, byDefault))
		return byDefault
	}
	known := settings{
		unlimitedRoot: choose(rootCapability, total, unlimited) == unlimited,
		zeroLeaf:      choose(unsetCapability, unset, other(unset)) == zero,
	}
	for _, key := range slices.Sorted(maps.Keys(arguments)) {
		if key != rootCapability && key != unsetCapability {
			problems = append(problems, fmt.Sprintf("argument %s is unknown and ignored; known are %s",
				key, strings.Join([]string{rootCapability, unsetCapability}, ", ")))
		}
	}
	return known, problems
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

// warnOnce logs a warning that was not logged before.
func (m *memory) warnOnce(plugin, warning string) {
	if !m.warned[warning] {
		m.warned[warning] = true
		klog.Warningf("[%s] %s", plugin, warning)
	}
}
