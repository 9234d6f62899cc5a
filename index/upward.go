package index

import (
	"iter"
	"slices"
)

// Upward iterates over a queue and its ancestors by their names, up to one without a parent, for
// which parent returns "". It ends where a queue comes again.
func Upward(queue string, parent func(string) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var path []string
		for name := queue; name != "" && !slices.Contains(path, name) && yield(name); name = parent(name) {
			path = append(path, name)
		}
	}
}
