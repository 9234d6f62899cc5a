package plugin

import (
	"iter"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// resourceID is the number of an extended resource, kept across sessions.
type resourceID int32

// choice is an either-or of cards: those that a pod names, or all cards of one
// resource for a pod that names none.
type choice struct {
	names card.List // the preferred first; sorted if the pod names none
	named bool

	// What the names mean in this session. A name that neither a node nor a queue
	// has in it has no dimension, even if it had one before. rank is the place of a
	// dimension's name in names.
	dims []fastres.Dim
	rank []int
	// resources are what pods ask for the cards with: none if no node has any of
	// them; the one in question if the pod names none. mixed: no resource is that of
	// all cards, so no pod can take any.
	resources []resourceID
	mixed     bool
}

// takes reports whether a pod asks for cards of the choice when it asks for r.
func (ch *choice) takes(r resourceID) bool {
	return !ch.mixed && (len(ch.resources) == 0 || slices.Contains(ch.resources, r))
}

// want is how much a pod asks for of an extended resource, in thousandths.
type want struct {
	resource resourceID
	milli    float64
}

// demand is what pod objects say about cards. Most pods say the same as many
// others, so there are few of them.
type demand struct {
	choice *choice // nil if the pod names no card
	wants  []want  // of all extended resources, cards or not
}

// nothing is the demand of pods where cards do not count.
var nothing = &demand{}

// part is what a task wants of one card out of a choice.
type part struct {
	*choice
	want
}

// cardAmount is a quantity of one card, in thousandths.
type cardAmount struct {
	dim   fastres.Dim
	milli float64
}

// cardMemory is what is known of cards across sessions. Two things in it are
// known to nobody else: the last good value of a key that has gone bad, and the
// cards of a node that went away with pods on it.
type cardMemory struct {
	session uint64 // counts sessions

	nodes  map[string]*nodeCards
	queues map[string]*queueCards

	// By the objects and texts that they were read off.
	pods     podTable
	requests map[string][]request
	visited  int // tasks in the session before

	mu        sync.Mutex // of what follows: tallies read pods at the same time
	choices   map[string]*choice
	demands   map[*choice][]*demand
	numbers   map[v1.ResourceName]resourceID
	resources []v1.ResourceName // by number

	// What the nodes of the session have, until a node changes.
	any     []*choice                    // by resource: all its cards; nil for what is no card
	sources map[fastres.Dim][]resourceID // by card: what pods ask for it with
	stock   []cardAmount                 // in the order of dimensions
	alive   map[fastres.Dim]bool         // cards that a node or a queue names
	names   int                          // how many were known
}

// request is one key of card.request: units of a card each.
type request struct {
	choice *choice
	milli  float64
}

func newCardMemory() *cardMemory {
	m := &cardMemory{nodes: map[string]*nodeCards{}, queues: map[string]*queueCards{}, numbers: map[v1.ResourceName]resourceID{}}
	m.forgetPods()
	return m
}

func (m *cardMemory) forgetPods() {
	m.pods, m.requests = newPodTable(), map[string][]request{}
	m.choices, m.demands = map[string]*choice{}, map[*choice][]*demand{}
}

// cards is what one session knows of cards.
type cards struct {
	*cardMemory
	settings
	known    *index.Names
	counts   []bool // by queue: cards count there
	requoted bool   // some annotation changed since the session before
}

// openCards reads the cards of the session's nodes and queues. It returns nil
// where cards count for nobody.
func (o *session) openCards(tree *index.Tree) *cards {
	if o.variant.cards == noCards || o.variant.cards == cardsWhereSet && !anyCardAnnotation(o.ssn.Queues) {
		clear(o.cardMemory.queues)
		return nil
	}
	c := &cards{cardMemory: o.cardMemory, settings: o.settings, known: &o.names}
	if c.pods.used > 2*c.visited+1024 || len(c.requests) > 2*len(o.ssn.Jobs)+1024 {
		c.forgetPods()
	}
	c.counts = make([]bool, tree.Len())
	o.readQueueCards(c, tree)
	changed := c.readNodes(o.ssn)
	if changed || c.requoted || c.cardMemory.names != c.known.Len() {
		c.resolveAll()
	}
	return c
}

// anyCardAnnotation reports whether some queue says something about cards.
func anyCardAnnotation(queues map[api.QueueID]*api.QueueInfo) bool {
	for _, queue := range queues {
		if hasCardAnnotation(queue.Queue) {
			return true
		}
	}
	return false
}

func hasCardAnnotation(queue *scheduling.Queue) bool {
	if len(queue.Annotations) == 0 {
		return false
	}
	for _, key := range cardAnnotations {
		if _, ok := queue.Annotations[key]; ok {
			return true
		}
	}
	return false
}

// number returns the number of a resource name.
func (m *cardMemory) number(name v1.ResourceName) resourceID {
	if r, ok := m.numbers[name]; ok {
		return r
	}
	r := resourceID(len(m.resources))
	m.numbers[name] = r
	m.resources = append(m.resources, name)
	return r
}

// resourceName is the reverse of number; it is safe for many goroutines.
func (m *cardMemory) resourceName(r resourceID) v1.ResourceName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resources[r]
}

// resolveAll finds out anew what the names of all choices mean.
func (c *cards) resolveAll() {
	c.sources, c.alive = map[fastres.Dim][]resourceID{}, map[fastres.Dim]bool{}
	for _, q := range c.queues {
		for _, amounts := range q.amounts {
			for d := range amounts {
				c.alive[d] = true
			}
		}
	}
	milli := map[fastres.Dim]float64{}
	named := make([]card.List, len(c.resources))
	for _, n := range c.nodes {
		if n.object == nil {
			continue
		}
		for _, nc := range n.cards {
			c.alive[nc.dim] = true
			milli[nc.dim] += nc.milli
			if !slices.Contains(c.sources[nc.dim], nc.resource) {
				c.sources[nc.dim] = append(c.sources[nc.dim], nc.resource)
				named[nc.resource] = append(named[nc.resource], c.known.Name(nc.dim))
			}
		}
		for _, u := range n.unnamed {
			named[u.resource] = append(named[u.resource], "") // a card resource, but of no card
		}
	}
	c.stock = c.stock[:0]
	for d := range fastres.Dim(c.known.Len()) {
		if milli[d] > 0 {
			c.stock = append(c.stock, cardAmount{d, milli[d]})
		}
	}
	c.any = make([]*choice, len(c.resources))
	for r, names := range named {
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
		c.any[r] = &choice{names: names}
		c.resolve(c.any[r])
		c.any[r].resources = []resourceID{resourceID(r)}
	}
	for _, ch := range c.choices {
		c.resolve(ch)
	}
	c.cardMemory.names = c.known.Len()
}

// resolve finds out what the names of a choice mean.
func (c *cards) resolve(ch *choice) {
	ch.dims, ch.rank, ch.resources, ch.mixed = nil, nil, nil, false
	for i, name := range ch.names {
		var from []resourceID
		if d, ok := c.known.LookupCard(name); ok && c.alive[d] {
			ch.dims = append(ch.dims, d)
			ch.rank = append(ch.rank, i)
			from = c.sources[d]
		}
		if implied, ok := card.ResourceOf(name); ok && len(from) == 0 {
			from = []resourceID{c.number(implied)}
		}
		switch {
		case len(from) == 0:
		case len(ch.resources) == 0:
			ch.resources = slices.Clone(from)
		default:
			ch.resources = slices.DeleteFunc(ch.resources, func(r resourceID) bool { return !slices.Contains(from, r) })
			ch.mixed = ch.mixed || len(ch.resources) == 0
		}
	}
}

// choiceOf returns the choice of a list of names, nil for none.
func (c *cards) choiceOf(names card.List) *choice {
	if len(names) == 0 {
		return nil
	}
	text := names.String()
	ch := c.choices[text]
	if ch == nil {
		ch = &choice{names: names, named: true}
		c.resolve(ch)
		c.choices[text] = ch
	}
	return ch
}

// demand returns what a pod says about cards, and whether it had to be read: the
// tallies give what they read to the memory when they are done.
func (c *cards) demand(pod *v1.Pod) (d *demand, fresh bool) {
	if d := c.pods.demand(pod); d != nil {
		return d, false
	}
	requests, names := card.Requests(pod), card.NameOf(pod.Annotations)
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.choiceOf(names)
	var wants []want
	for _, r := range requests {
		wants = append(wants, want{c.number(r.Resource), float64(r.Milli)})
	}
	for _, d := range c.demands[ch] {
		if slices.Equal(d.wants, wants) {
			return d, true
		}
	}
	d = &demand{ch, wants}
	c.demands[ch] = append(c.demands[ch], d)
	return d, true
}

// requestsOf returns what a job without pods says it will ask for.
func (c *cards) requestsOf(job *api.JobInfo) []request {
	if job.PodGroup == nil {
		return nil
	}
	text, ok := job.PodGroup.Annotations[card.RequestKey]
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all, ok := c.requests[text]
	if !ok {
		demands, _ := card.ParseRequest(text)
		for _, d := range demands {
			if d.Count > 0 {
				all = append(all, request{c.choiceOf(d.Cards), float64(d.Count) * 1000})
			}
		}
		c.requests[text] = all
	}
	return all
}

// willUse reports whether a job without pods will have some with cards, from its
// minimum of resources.
func (c *cards) willUse(job *api.JobInfo) bool {
	if job.PodGroup == nil || job.PodGroup.Spec.MinResources == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, quantity := range *job.PodGroup.Spec.MinResources {
		if r, ok := c.numbers[name]; ok && int(r) < len(c.any) && c.any[r] != nil && quantity.Sign() > 0 {
			return true
		}
	}
	return false
}

// parts iterates over what a task wants of cards. A pod that names none wants
// any card of the resources it asks for, unless it is told not to count.
func (c *cards) parts(d *demand) iter.Seq[part] {
	return func(yield func(part) bool) {
		for _, w := range d.wants {
			var all *choice
			if int(w.resource) < len(c.any) {
				all = c.any[w.resource]
			}
			p := part{all, w}
			if d.choice != nil {
				lone := len(d.wants) == 1 && len(d.choice.resources) == 0
				if all == nil && !lone && !slices.Contains(d.choice.resources, w.resource) {
					continue
				}
				p.choice = d.choice
			} else if all == nil || c.untyped == ignore {
				continue
			}
			if !yield(p) {
				return
			}
		}
	}
}

// uses reports whether a pod asks for cards.
func (c *cards) uses(d *demand) bool {
	for range c.parts(d) {
		return true
	}
	return false
}

// cardOn returns the card that a task is charged for on a node. Where the node
// no longer tells, or never did, it is the first that the task names.
func (c *cards) cardOn(node string, p part) (fastres.Dim, bool) { return p.cardOf(c.nodes[node]) }

// cardOf is cardOn for a node that was looked up, nil if it is not known.
func (p part) cardOf(n *nodeCards) (fastres.Dim, bool) {
	if n != nil {
		if n.object == nil {
			n.missed.Store(true)
		}
		if nc, ok := n.of(p.resource); ok {
			return nc.dim, true
		}
	}
	if p.named && len(p.dims) > 0 {
		return p.dims[0], true
	}
	return 0, false
}

// add adds what a task takes of cards on a node to x.
func (c *cards) add(x fastres.Vector, d *demand, node string) {
	for p := range c.parts(d) {
		if dim, ok := c.cardOn(node, p); ok {
			x.Increase(dim, p.milli)
		}
	}
}
