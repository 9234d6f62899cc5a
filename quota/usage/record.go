package usage

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/index"
)

// Record is a History as it is stored.
type Record struct {
	Columns []Column `json:"columns"`
	// Root is the root of the tree, "" where quotas are flat.
	Root   string                 `json:"root,omitempty"`
	Queues map[string]QueueRecord `json:"queues"`
	// Known is the part of each column that the record covers, from 0 to 1: see QueueRecord.
	Known []float64 `json:"known,omitempty"`
	// Namespaces is the usage by queue, namespace and column.
	Namespaces map[string]map[string][]float64 `json:"namespaces,omitempty"`
}

// QueueRecord is the usage of a queue by column.
type QueueRecord struct {
	Parent string    `json:"parent,omitempty"`
	Usage  []float64 `json:"usage"`
	// Known is the usage of a queue that has had 1 since the record of this one began, and nothing before. Records of
	// earlier releases have 0: they do not tell when they began.
	Known float64 `json:"known,omitempty"`
	// Deleted: the queue does not exist any more. Its usage is a part of that of Parent, and does
	// not include that of queues below it.
	Deleted bool `json:"deleted,omitempty"`
}

// Record returns a copy of the history.
func (h *History) Record() Record {
	r := Record{Columns: slices.Clone(h.columns), Known: slices.Clone(h.columnKnown), Queues: make(map[string]QueueRecord, h.tree.Len())}
	if h.tree.Rooted() {
		r.Root = h.tree.Name(h.tree.Root())
	}
	for q := range index.Queue(h.tree.Len()) {
		of := QueueRecord{Usage: slices.Clone(h.Row(q)), Known: h.known[q]}
		if p := h.tree.Parent(q); p != index.None {
			of.Parent = h.tree.Name(p)
		}
		r.Queues[h.tree.Name(q)] = of
	}
	for name, d := range h.departed {
		r.Queues[name] = QueueRecord{Parent: d.heir, Usage: slices.Clone(d.usage), Deleted: true}
	}
	for who, m := range h.members.of {
		if r.Namespaces == nil {
			r.Namespaces = map[string]map[string][]float64{}
		}
		if r.Namespaces[who.Queue] == nil {
			r.Namespaces[who.Queue] = map[string][]float64{}
		}
		r.Namespaces[who.Queue][who.Namespace] = slices.Clone(m.usage)
	}
	return r
}

// WithoutKnown is the record without what it covers, which changes with time although nobody has anything. Who reads
// the record later finds the same, since the time between is covered, too.
func (r Record) WithoutKnown() Record {
	r.Known, r.Queues = nil, maps.Clone(r.Queues)
	for name, of := range r.Queues {
		of.Known = 0
		r.Queues[name] = of
	}
	return r
}

// most is more than any cluster has. Sums of such numbers stay finite.
const most = 1e18

// New returns the history of a record. It returns an error for a record that no History wrote.
func New(r Record) (*History, error) {
	h := &History{columns: slices.Clone(r.Columns), departed: map[string]*departure{}}
	var nodes []index.Node
	for _, name := range slices.Sorted(maps.Keys(r.Queues)) {
		of := r.Queues[name]
		if err := r.check(of.Usage, of.Deleted); err != nil {
			return nil, fmt.Errorf("queue %s %w", name, err)
		}
		if of.Deleted {
			h.departed[name] = &departure{heir: of.Parent, usage: slices.Clone(of.Usage)}
		} else {
			nodes = append(nodes, index.Node{Name: name, Parent: of.Parent})
		}
	}
	if err := h.members.read(r); err != nil {
		return nil, err
	}
	if err := r.checkKnown(); err != nil {
		return nil, err
	}
	h.tree = index.BuildTree(nodes, r.Root)
	h.resize()
	for q := range index.Queue(h.tree.Len()) {
		if of, known := r.Queues[h.tree.Name(q)]; known && !of.Deleted {
			copy(h.Row(q), of.Usage)
			h.unknown[q], h.known[q] = false, of.Known
		}
	}
	copy(h.columnKnown, r.Known)
	return h, nil
}

// checkKnown returns an error for parts of time that no History wrote.
func (r *Record) checkKnown() error {
	if n := len(r.Known); n != 0 && n != len(r.Columns) {
		return fmt.Errorf("known has %d values for %d columns", n, len(r.Columns))
	}
	for name, of := range r.Queues {
		if !(of.Known >= 0 && of.Known <= 1) {
			return fmt.Errorf("queue %s is known for %v", name, of.Known)
		}
	}
	for _, x := range r.Known {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("a column is known for %v", x)
		}
	}
	return nil
}

// check returns an error for a usage that no History wrote. That of a queue that was deleted can be below 0.
func (r *Record) check(usage []float64, negative bool) error {
	if len(usage) != len(r.Columns) {
		return fmt.Errorf("has %d values for %d columns", len(usage), len(r.Columns))
	}
	for _, x := range usage {
		if math.IsNaN(x) || math.Abs(x) > most || x < 0 && !negative {
			return fmt.Errorf("has the usage %v", x)
		}
	}
	return nil
}

// read sets the usage of a record.
func (n *Namespaces) read(r Record) error {
	n.Bind(r.Columns)
	n.known = true
	for queue, of := range r.Namespaces {
		for namespace, usage := range of {
			if err := r.check(usage, false); err != nil {
				return fmt.Errorf("namespace %s of queue %s %w", namespace, queue, err)
			}
			n.of[Member{queue, namespace}] = &member{usage: slices.Clone(usage), held: make([]float64, len(usage))}
		}
	}
	return nil
}

// Add adds to the usage of a queue and of those above it, in the order of columns.
func (h *History) Add(q index.Queue, more []float64) {
	for _, above := range h.tree.Path(q) {
		add(h.Row(above), more, 1)
	}
}
