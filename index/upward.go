package index

import (
	"iter"
	"slices"
)

// Upward iterates over the names of a queue and its ancestors. parent returns "" for a queue without a parent.
// The iteration ends before a queue that was visited already.
func Upward(queue string, parent func(string) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var path []string
		for name := queue; name != "" && !slices.Contains(path, name) && yield(name); name = parent(name) {
			path = append(path, name)
		}
	}
}
