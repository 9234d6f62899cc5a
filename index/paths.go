package index

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The annotations of a queue that give its place in the tree, as in Volcano's plugin drf
// (pkg/scheduler/plugins/drf/drf.go).
const (
	PathKey    = "volcano.sh/hierarchy"         // the names from the root to the queue: "root/eng/prod"
	WeightsKey = "volcano.sh/hierarchy-weights" // the weight of each of them among its siblings: "1/6/8"
)

// mostLevels is the most names that a path may have. An inner name needs no Queue object,
// so one annotation creates as many inner queues as it has names.
const mostLevels = 64

// Placement holds the annotations of a queue. An annotation that is missing is "".
type Placement struct {
	Queue   string // its name
	Path    string // the annotation PathKey
	Weights string // the annotation WeightsKey
}

// Places is the result of Place.
type Places struct {
	Nodes []Node // for BuildTree
	// Weights holds the weight of each node among its siblings, by the node's name:
	// above 0, at most math.MaxInt32. A queue without the annotations has no entry.
	Weights map[string]float64
	// Problems holds the problems of annotations, by queue. A queue with a
	// problem still has its place, unless its node is Misplaced.
	Problems map[string]error

	root   string
	owners map[string]string // path → the queue at its end
}

// Place builds the nodes of a tree from the annotations of all queues. If no queue is at
// the end of an inner path, Place adds a node that is named after the path. No Queue object can
// have that name, because it contains "/". A queue without the annotations is a child of
// the root.
//
// A queue with bad annotations is Misplaced, and the other queues are not affected. Of two
// queues with the same path, the first gets it. The queue at the end of a path decides the weight
// of the last name. Without such a queue, the weight is the largest that any queue gives.
func Place(queues []Placement, root string) *Places {
	p := &Places{
		Weights:  map[string]float64{},
		Problems: map[string]error{},
		root:     root,
		owners:   map[string]string{root: root},
	}

	weights := make([][]float64, len(queues)) // nil for a queue that the annotations do not place
	for i, q := range queues {
		weights[i] = p.claim(q)
	}

	// All owners of paths are known from here on.
	for i, q := range queues {
		if weights[i] != nil {
			p.place(q, weights[i])
		}
	}
	for i, q := range queues {
		if weights[i] != nil {
			p.compare(q, weights[i])
		}
	}

	return p
}

// claim makes a queue the owner of its path, and returns the weights of the names on the path. It adds the node of a
// queue that has no path or a bad one, and returns nil for it.
func (p *Places) claim(q Placement) []float64 {
	if q.Queue == p.root || q.Path == "" && q.Weights == "" {
		p.Nodes = append(p.Nodes, Node{Name: q.Queue})
		if q.Path != "" && q.Path != p.root {
			p.Problems[p.root] = fmt.Errorf("annotation %s: %q: this queue is the root itself", PathKey, q.Path)
		}
		return nil
	}

	weights, err := q.parse(p.root)
	if owner, taken := p.owners[q.Path]; err == nil && taken {
		err = fmt.Errorf("annotation %s: %q is the path of queue %q", PathKey, q.Path, owner)
	}
	if err != nil {
		p.Nodes = append(p.Nodes, Node{Name: q.Queue, Misplaced: err})
		p.Problems[q.Queue] = err
		return nil
	}

	p.owners[q.Path] = q.Queue
	p.Weights[q.Queue] = weights[len(weights)-1]

	return weights
}

// parse returns the weights of the names on a path, from the root to the queue.
func (q Placement) parse(root string) ([]float64, error) {
	names := strings.Split(q.Path, "/")
	switch {
	case q.Path == "":
		return nil, fmt.Errorf("annotation %s: there is no %s", WeightsKey, PathKey)
	case names[0] != root || len(names) == 1:
		return nil, fmt.Errorf("annotation %s: %s does not start with %q", PathKey, quoted(q.Path), root+"/")
	case len(names) > mostLevels:
		return nil, fmt.Errorf("annotation %s: %s has %d names, more than %d",
			PathKey, quoted(q.Path), len(names), mostLevels)
	}

	for _, name := range names {
		if strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("annotation %s: %s has an empty name", PathKey, quoted(q.Path))
		}
	}
	if q.Weights == "" {
		return slices.Repeat([]float64{1}, len(names)), nil
	}
	return q.parseWeights(len(names))
}

// parseWeights returns the weights of a number of names.
func (q Placement) parseWeights(names int) ([]float64, error) {
	texts := strings.Split(q.Weights, "/")
	if len(texts) != names {
		return nil, fmt.Errorf("annotation %s: %s has %d weights, but %s has %d names",
			WeightsKey, quoted(q.Weights), len(texts), PathKey, names)
	}

	weights := make([]float64, names)
	for i, text := range texts {
		weight, err := strconv.ParseFloat(text, 64)
		if err != nil || !(weight > 0 && weight <= math.MaxInt32) {
			return nil, fmt.Errorf("annotation %s: %s is not a number above 0, and at most %d",
				WeightsKey, quoted(text), math.MaxInt32)
		}
		weights[i] = weight
	}

	return weights, nil
}

// quoted returns a text for a message, cut if it is long.
func quoted(text string) string {
	return strconv.Quote(Shorten(text, 128))
}

// place adds the node of a queue, and the nodes above it that no Queue object has.
func (p *Places) place(q Placement, weights []float64) {
	parent := p.root
	for level, path := range prefixes(q.Path) {
		name, owned := p.owners[path]

		switch {
		case level == 0: // the root has its node
		case owned && path == q.Path:
			p.Nodes = append(p.Nodes, Node{Name: name, Parent: parent})
		case !owned:
			name = path
			weight, known := p.Weights[name]
			if !known {
				p.Nodes = append(p.Nodes, Node{Name: name, Parent: parent})
			}
			p.Weights[name] = max(weight, weights[level])
		}

		parent = name
	}
}

// compare records a problem if a queue gives a name on its path another weight than the
// weight in use.
func (p *Places) compare(q Placement, weights []float64) {
	for level, path := range prefixes(q.Path) {
		name, owned := p.owners[path]
		if !owned {
			name = path
		}

		if counts := p.Weights[name]; level > 0 && weights[level] != counts {
			p.Problems[q.Queue] = fmt.Errorf("annotation %s: the weight of %s is %v, not %v",
				WeightsKey, quoted(path), counts, weights[level])
			return
		}
	}
}

// prefixes iterates over the prefixes of a path with their levels, from the root on.
func prefixes(path string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for level, at := 0, 0; at <= len(path); level++ {
			end := strings.IndexByte(path[at:], '/')
			if end < 0 {
				yield(level, path)
				return
			}

			if !yield(level, path[:at+end]) {
				return
			}
			at += end + 1
		}
	}
}
