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

	// Root is the root of the tree, "" for flat quotas.
	Root string `json:"root,omitempty"`

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

	// Known is the usage of a queue that has had 1 since the record of this queue began, and nothing before. Records of
	// earlier releases have 0: they do not tell when they began.
	Known float64 `json:"known,omitempty"`

	// Deleted says that the queue does not exist any more. Its usage is a part of the usage of Parent, and does not
	// include the usage of queues below it.
	Deleted bool `json:"deleted,omitempty"`
}

// Record returns a copy of the history.
func (h *History) Record() Record {
	r := Record{
		Columns: slices.Clone(h.columns),
		Queues:  make(map[string]QueueRecord, h.tree.Len()),
		Known:   slices.Clone(h.columnKnown),
	}
	if h.tree.Rooted() {
		r.Root = h.tree.Name(h.tree.Root())
	}

	for q := range index.Queue(h.tree.Len()) {
		stored := QueueRecord{Usage: slices.Clone(h.Row(q)), Known: h.known[q]}
		if p := h.tree.Parent(q); p != index.None {
			stored.Parent = h.tree.Name(p)
		}
		r.Queues[h.tree.Name(q)] = stored
	}
	for name, d := range h.departed {
		r.Queues[name] = QueueRecord{Parent: d.heir, Usage: slices.Clone(d.usage), Deleted: true}
	}

	for who, m := range h.members.members {
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

// WithoutKnown returns the record without all fields Known. They change with time even if nobody has anything, and a
// later reader can compute them, since the time between is covered, too.
func (r Record) WithoutKnown() Record {
	r.Known = nil
	r.Queues = maps.Clone(r.Queues)
	for name, stored := range r.Queues {
		stored.Known = 0
		r.Queues[name] = stored
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
		stored := r.Queues[name]
		if err := r.check(stored.Usage, stored.Deleted); err != nil {
			return nil, fmt.Errorf("queue %s %w", name, err)
		}

		if stored.Deleted {
			h.departed[name] = &departure{heir: stored.Parent, usage: slices.Clone(stored.Usage)}
		} else {
			nodes = append(nodes, index.Node{Name: name, Parent: stored.Parent})
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
		stored, known := r.Queues[h.tree.Name(q)]
		if known && !stored.Deleted {
			copy(h.Row(q), stored.Usage)
			h.unknown[q] = false
			h.known[q] = stored.Known
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

	for name, stored := range r.Queues {
		if !isPart(stored.Known) {
			return fmt.Errorf("queue %s is known for %v", name, stored.Known)
		}
	}
	for _, x := range r.Known {
		if !isPart(x) {
			return fmt.Errorf("a column is known for %v", x)
		}
	}

	return nil
}

// isPart reports whether x is from 0 to 1. NaN is not.
func isPart(x float64) bool { return x >= 0 && x <= 1 }

// check returns an error for a usage that no History wrote. The usage of a deleted queue can be negative.
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

// read takes over the usage of a record.
func (n *Namespaces) read(r Record) error {
	n.Bind(r.Columns)
	n.known = true
	for queue, byNamespace := range r.Namespaces {
		for namespace, usage := range byNamespace {
			if err := r.check(usage, false); err != nil {
				return fmt.Errorf("namespace %s of queue %s %w", namespace, queue, err)
			}

			n.members[Member{queue, namespace}] = &member{
				usage: slices.Clone(usage),
				held:  make([]float64, len(usage)),
			}
		}
	}

	return nil
}

// Add adds to the usage of a queue and its ancestors, in the order of columns.
func (h *History) Add(q index.Queue, more []float64) {
	for _, above := range h.tree.Path(q) {
		add(h.Row(above), more, 1)
	}
}
