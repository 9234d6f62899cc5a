package index

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// The annotations that place a queue in a tree, those of Volcano's drf.
const (
	PathKey    = "volcano.sh/hierarchy"         // the names from the root down to the queue: "root/eng/prod"
	WeightsKey = "volcano.sh/hierarchy-weights" // the weight of each of them among its siblings: "1/6/8"
)

// mostLevels is how long a path may be. A name on the way needs no queue of its
// own, so one annotation makes as many of them as it has names.
const mostLevels = 64

// Placement is what the annotations of a queue say, "" where one is missing.
type Placement struct {
	Queue, Path, Weights string
}

// Places is where annotations place the queues.
type Places struct {
	Nodes []Node // for BuildTree
	// Weights is the weight of each node among its siblings, by name. A queue that
	// no annotation places has none.
	Weights map[string]float64
	// Problems is what is wrong, by queue. A queue whose node is not Misplaced has
	// its place all the same.
	Problems map[string]error

	root   string
	owners map[string]string // path → the queue that it places
}

// Place reads the annotations of all queues. A name on the way down that is the
// end of no queue's path becomes a node that is called by its path, which no
// queue can be. A queue without the annotations is right below the root.
//
// What is wrong with the annotations of a queue leaves it alone without a place.
// Of two queues with one path the first has it. The weight of a name is what the
// queue at the end of its path says of it, or else the largest that any queue
// says.
func Place(queues []Placement, root string) *Places {
	p := &Places{Weights: map[string]float64{}, Problems: map[string]error{}, root: root, owners: map[string]string{root: root}}
	weights := make([][]float64, len(queues)) // nil: not placed by annotations
	for i, q := range queues {
		if q.Queue == root || q.Path == "" && q.Weights == "" {
			p.Nodes = append(p.Nodes, Node{Name: q.Queue})
			if q.Path != "" && q.Path != root {
				p.Problems[root] = fmt.Errorf("annotation %s: %q: this queue is the root itself", PathKey, q.Path)
			}
			continue
		}
		parsed, err := q.parse(root)
		if owner, taken := p.owners[q.Path]; err == nil && taken {
			err = fmt.Errorf("annotation %s: %q is the path of queue %q", PathKey, q.Path, owner)
		}
		if err != nil {
			p.Nodes = append(p.Nodes, Node{Name: q.Queue, Misplaced: err})
			p.Problems[q.Queue] = err
			continue
		}
		p.owners[q.Path], weights[i] = q.Queue, parsed
		p.Weights[q.Queue] = parsed[len(parsed)-1]
	}
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

// parse returns the weights of the names on a path, from the root down.
func (q Placement) parse(root string) ([]float64, error) {
	names := strings.Split(q.Path, "/")
	switch {
	case q.Path == "":
		return nil, fmt.Errorf("annotation %s: there is no %s", WeightsKey, PathKey)
	case names[0] != root || len(names) == 1:
		return nil, fmt.Errorf("annotation %s: %s does not start with %q", PathKey, quoted(q.Path), root+"/")
	case len(names) > mostLevels:
		return nil, fmt.Errorf("annotation %s: %s has %d names, more than %d", PathKey, quoted(q.Path), len(names), mostLevels)
	}
	for _, name := range names {
		if strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("annotation %s: %s has an empty name", PathKey, quoted(q.Path))
		}
	}
	weights := make([]float64, len(names))
	if q.Weights == "" {
		for i := range weights {
			weights[i] = 1
		}
		return weights, nil
	}
	texts := strings.Split(q.Weights, "/")
	if len(texts) != len(names) {
		return nil, fmt.Errorf("annotation %s: %s has %d weights, but %s has %d names",
			WeightsKey, quoted(q.Weights), len(texts), PathKey, len(names))
	}
	for i, text := range texts {
		weight, err := strconv.ParseFloat(text, 64)
		if err != nil || !(weight > 0 && weight <= math.MaxInt32) {
			return nil, fmt.Errorf("annotation %s: %s is not a number above 0, and at most %d", WeightsKey, quoted(text), math.MaxInt32)
		}
		weights[i] = weight
	}
	return weights, nil
}

// quoted is a text for a message, not all of it if it is very long.
func quoted(text string) string {
	return strconv.Quote(Shorten(text, 128))
}

// place makes a node of a queue and of the names above it that have none.
func (p *Places) place(q Placement, weights []float64) {
	parent := p.root
	for level, path := range prefixes(q.Path) {
		name, owned := p.owners[path]
		switch {
		case level == 0:
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

// compare notes where a queue gives a name on its path another weight than the
// one that counts.
func (p *Places) compare(q Placement, weights []float64) {
	for level, path := range prefixes(q.Path) {
		name, owned := p.owners[path]
		if !owned {
			name = path
		}
		if counts := p.Weights[name]; level > 0 && weights[level] != counts {
			p.Problems[q.Queue] = fmt.Errorf("annotation %s: the weight of %s is %v, not %v", WeightsKey, quoted(path), counts, weights[level])
			return
		}
	}
}

// prefixes iterates over the paths that lead to a path, the root's first.
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
