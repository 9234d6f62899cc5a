package oracle

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Annotated is a queue with the annotations that place it in a tree.
type Annotated struct{ Name, Path, Weights string }

// Place is the place of a queue, or of an inner name, in the tree.
type Place struct {
	Parent string  // "" for the root, and for a queue without a place
	Weight float64 // 0 without an annotation
	Lost   bool    // bad annotations
}

// path matches a good path: the root and up to 63 names, none of them blank.
var path = regexp.MustCompile(`^root(/[^/]*[^/\s][^/]*){1,63}$`)

// Places returns the place of every queue and every inner name. An inner name without a queue is
// called by its path.
func Places(queues []Annotated) map[string]Place {
	places := map[string]Place{"root": {}}
	ends := map[string]Annotated{} // the queue at the end of each path
	for _, q := range queues {
		switch _, taken := ends[q.Path]; {
		case q.Name == "root":
		case q.Path == "" && q.Weights == "":
			places[q.Name] = Place{Parent: "root"}
		case taken || !path.MatchString(q.Path) || q.weights() == nil:
			places[q.Name] = Place{Lost: true}
		default:
			ends[q.Path] = q
		}
	}

	// Each path gives a weight to each of its names.
	given := map[string][]float64{}
	parents := map[string]string{}
	for at, q := range ends {
		weights := q.weights()
		for names := strings.Split(at, "/"); len(names) > 1; names = names[:len(names)-1] {
			here := strings.Join(names, "/")
			given[here] = append(given[here], weights[len(names)-1])
			parents[here] = strings.Join(names[:len(names)-1], "/")
		}
	}

	called := func(path string) string {
		if q, ok := ends[path]; ok {
			return q.Name
		}
		return path
	}
	for here, above := range parents {
		// A queue states its own weight. An inner name has the largest weight.
		weight := slices.Max(given[here])
		if q, ok := ends[here]; ok {
			weights := q.weights()
			weight = weights[len(weights)-1]
		}
		places[called(here)] = Place{Parent: called(above), Weight: weight}
	}

	return places
}

// weights returns the weights of the names on the path, or nil if their number is wrong or
// one of them is bad.
func (q Annotated) weights() []float64 {
	names := strings.Count(q.Path, "/") + 1
	if q.Weights == "" {
		return slices.Repeat([]float64{1}, names)
	}

	var weights []float64
	for _, text := range strings.Split(q.Weights, "/") {
		weight, err := strconv.ParseFloat(text, 64)
		good := weight > 0 && weight <= 1<<31-1
		if err != nil || !good {
			return nil
		}

		weights = append(weights, weight)
	}
	if len(weights) != names {
		return nil
	}

	return weights
}
