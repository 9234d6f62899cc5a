package cards

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// Registry holds what is known about cards across sessions. The zero Registry is
// not ready; use NewRegistry. Only Open and the methods of the open Session
// change it.
type Registry struct {
	session uint64 // number of sessions so far

	nodes    map[string]*Node
	versions uint64            // of nodes so far
	queues   map[string]*queue // those that have or had a card annotation
	read     uint64            // the session of the annotations in queues, see objects.Queues

	pods     podTable
	requests map[string][]Request // by text of card.request
	visited  int                  // tasks whose cards the last session read
	held     map[types.UID][]heldCard
	tree     *index.Tree // of the session before, nil where cards counted nowhere
	counted  []bool      // by queue of tree

	mu          sync.Mutex // guards the rest, since tallies read pods concurrently
	selectors   map[string]*Selector
	podRequests map[*Selector][]*PodRequest
	numbers     map[v1.ResourceName]ResourceID
	resources   []v1.ResourceName // by number
	unnamed     map[ResourceID]*Selector

	devices   *devices // nil before there are any, or claims on them
	nodesRead bool     // some node of the session is new, or its object has changed

	carded map[v1.ResourceName]bool // resources that were a card's on some node: they stay card resources
	labels card.Labels              // of the settings
	groups groups

	fractionsBy card.FractionsBy        // of the settings
	models      map[modelKey]card.Model // see setModels

	// former are the present cards of time slices by the names of MPS slices that they had once.
	former map[fastres.Dim]fastres.Dim

	// What the nodes of the session have; computed again when a node changes.
	all         []*Selector                  // by resource: all its cards; nil where it is no card resource
	lacking     map[ResourceID]string        // the label that some node lacks
	resourcesOf map[fastres.Dim][]ResourceID // by card
	stock       []Amount                     // in the order of dimensions
	present     map[fastres.Dim]bool         // cards that a node or a queue names
	names       int                          // names known at that time
}

// Amount is a quantity of one card.
type Amount struct {
	Dim   fastres.Dim
	Milli card.Milli
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry {
	r := &Registry{nodes: map[string]*Node{}, queues: map[string]*queue{}, numbers: map[v1.ResourceName]ResourceID{},
		unnamed: map[ResourceID]*Selector{}, carded: map[v1.ResourceName]bool{}, held: map[types.UID][]heldCard{}}
	r.pods = newPodTable()
	r.forgetRequests()
	return r
}

// forgetRequests forgets what pods and jobs state.
func (r *Registry) forgetRequests() {
	r.pods.forgetRequests()
	r.requests = map[string][]Request{}
	r.selectors, r.podRequests = map[string]*Selector{}, map[*Selector][]*PodRequest{}
	r.devices.forgetShapes()
}

// Resources is the number of resource names in the Registry.
func (r *Registry) Resources() int { return len(r.resources) }

// resource returns the number of a resource name, a new one for a new name.
func (r *Registry) resource(name v1.ResourceName) ResourceID {
	if id, ok := r.numbers[name]; ok {
		return id
	}
	id := ResourceID(len(r.resources))
	r.numbers[name] = id
	r.resources = append(r.resources, name)
	if r.labels.Known(name) {
		r.unnamed[id] = &Selector{resources: []ResourceID{id}}
	}
	return id
}

// Scope says in which queues cards count.
type Scope int

const (
	Nowhere   Scope = iota
	Annotated       // queues with a card annotation, and those below them
	Everywhere
)

// UntypedCards is the argument untypedCards: how to treat untyped pods.
type UntypedCards string

const (
	UntypedCharge UntypedCards = "charge" // charge them to the card of their node
	UntypedReject UntypedCards = "reject" // refuse them
	UntypedIgnore UntypedCards = "ignore" // do not count them
)

// TerminatingCards is the argument terminatingCards: the cards of pods that are being
// deleted.
type TerminatingCards string

const (
	TerminatingHold    TerminatingCards = "hold"    // they count until the pod is gone
	TerminatingRelease TerminatingCards = "release" // they do not count
)

// Settings are the arguments of a plugin that concern cards.
type Settings struct {
	Untyped     UntypedCards
	Terminating TerminatingCards
	// UnlimitedCPUMemory: the cpu and memory of pods with cards are neither checked
	// nor counted.
	UnlimitedCPUMemory bool
	NodeOrderWeight    float64 // > 0
	// Labels are those of nodes that name cards, where they are not the vendors'.
	Labels card.Labels
	// Attributes are those of devices that name cards, where they are not the vendors'.
	Attributes card.Attributes
	// Groups are groups of cards. One that is nil is wrong: the Registry keeps what it was before.
	Groups card.Groups
	// Fractions says what of a fraction of a card counts.
	Fractions card.FractionsBy
}

// Session is the view of one scheduling session on a Registry. The nil Session
// is that of a session in which cards count nowhere.
type Session struct {
	registry *Registry
	settings Settings
	names    *index.Names
	objects  *objects.Queues
	queues   []*queue // by queue; nil where it has no card annotation
	counted  []bool   // by queue
	// closed: a leaf has a quota of 0 of each card that its quota does not name.
	closed []bool // by queue
	// quotasChanged: an annotation changed since the session before.
	quotasChanged bool
	// devicesChanged: the devices of ResourceSlices changed since the session before.
	devicesChanged bool
	anew           map[string]struct{} // see NodesAnew
}

// Open reads the cards of the nodes and queues of a session, and interns their
// names. jobs are those that may have cards. It returns nil where cards count nowhere.
func (r *Registry) Open(ssn *framework.Session, jobs []*api.JobInfo, queues *objects.Queues, tree *index.Tree, names *index.Names,
	scope Scope, settings Settings) *Session {
	r.setLabels(settings.Labels)
	if r.fractionsBy != settings.Fractions {
		r.fractionsBy = settings.Fractions
		r.forgetRequests()
	}
	regrouped := r.groups.set(settings.Groups)
	annotated, changed := r.readQueues(queues, names)
	if scope == Nowhere || scope == Annotated && !annotated {
		// What nodes and pods had is out of date when cards count again.
		clear(r.queues)
		clear(r.nodes)
		clear(r.held)
		if r.devices != nil {
			r.devices = nil
			r.forgetRequests()
		}
		r.tree = nil
		return nil
	}
	s := &Session{registry: r, settings: settings, names: names, objects: queues, quotasChanged: changed || regrouped}
	s.countQueues(tree, scope)
	nodesChanged := s.readNodes(ssn, jobs)
	if r.pods.used > 2*r.visited+1024 || len(r.requests) > 2*len(jobs)+1024 {
		r.pods = newPodTable() // the nodes have been compared with it
		r.forgetRequests()
		r.forgetHeld(jobs)
		r.devices.forget()
	}
	s.devicesChanged = s.readDevices(release.ReadDevices(ssn))
	if nodesChanged || s.devicesChanged || s.quotasChanged || r.names != names.Len() {
		s.resolveAll()
	}
	r.tree, r.counted = tree, s.counted
	return s
}

// setLabels has all nodes and pods read again if other labels name cards.
func (r *Registry) setLabels(labels card.Labels) {
	if maps.Equal(r.labels, labels) {
		return
	}
	r.labels = labels
	for id, name := range r.resources {
		delete(r.unnamed, ResourceID(id))
		if labels.Known(name) {
			r.unnamed[ResourceID(id)] = &Selector{resources: []ResourceID{ResourceID(id)}}
		}
	}
	for _, n := range r.nodes {
		n.object = nil
	}
	r.forgetRequests()
}

// charged reports whether the session before charged a queue for cards.
func (r *Registry) charged(queue string) bool {
	if r.tree == nil {
		return false
	}
	q := r.tree.Lookup(queue)
	return q != index.None && r.counted[q]
}

// Counted reports whether cards count in q. It is for nil Sessions, too.
func (s *Session) Counted(q index.Queue) bool { return s != nil && s.counted[q] }

// ChargesAll reports whether q is charged for all cards that its pods request: cards count in q, and untyped pods do.
func (s *Session) ChargesAll(q index.Queue) bool {
	return q != index.None && s.Counted(q) && s.settings.Untyped != UntypedIgnore
}

// Closed reports whether q, a leaf, has a quota of 0 of each card that its quota
// does not name: where cards count everywhere, and from the topmost queue with a
// card annotation on. An annotation of the root bounds the cluster and closes no
// leaf.
func (s *Session) Closed(q index.Queue) bool { return s != nil && s.closed[q] }

// Quotas returns the quotas that q itself sets, nil for none. It is for reading.
func (s *Session) Quotas(q index.Queue) map[fastres.Dim]card.Milli {
	if s == nil || s.queues[q] == nil {
		return nil
	}
	return s.queues[q].amounts[quotaAnnotation]
}

// QuotasChanged reports whether a card annotation changed since the session
// before. It is for nil Sessions, too.
func (s *Session) QuotasChanged() bool { return s != nil && s.quotasChanged }

// DevicesChanged reports whether the devices of ResourceSlices changed since the session before. It is for nil
// Sessions, too.
func (s *Session) DevicesChanged() bool { return s != nil && s.devicesChanged }

// UnlimitedCPUMemory is that of the settings.
func (s *Session) UnlimitedCPUMemory() bool { return s.settings.UnlimitedCPUMemory }

// Occupied reports whether a task that is being deleted still counts for its cards. It is
// for nil Sessions, too.
func (s *Session) Occupied(task *api.TaskInfo) bool {
	return s != nil && task.Status == api.Releasing && s.settings.Terminating == TerminatingHold
}

// Stock returns the cards of all nodes of the session, in the order of their
// dimensions. It is for reading.
func (s *Session) Stock() []Amount {
	if s == nil {
		return nil
	}
	return s.registry.stock
}

// CardName returns the name of a card.
func (s *Session) CardName(d fastres.Dim) string { return s.names.Name(d) }

// LabelOf returns the label that names the cards of a resource: the one that nodes with the resource
// lack, if some do. It is for the goroutine that runs the session.
func (s *Session) LabelOf(r ResourceID) string {
	if label, some := s.registry.lacking[r]; some {
		return label
	}
	return s.settings.Labels.Of(v1.ResourceName(s.ResourceName(r)))
}

// ResourceName returns the name of a resource. It is safe for many goroutines.
func (s *Session) ResourceName(r ResourceID) string {
	if r == Devices {
		return ""
	}
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	return string(s.registry.resources[r])
}

// resolveAll finds the stock, and the cards and resource names of all selectors.
func (s *Session) resolveAll() {
	r := s.registry
	r.resourcesOf = map[fastres.Dim][]ResourceID{}
	r.present = map[fastres.Dim]bool{}
	r.lacking = map[ResourceID]string{}
	r.groups.resolve(s.names)
	r.setModels()
	if former := r.formerNames(); !maps.Equal(former, r.former) {
		r.former, s.quotasChanged = former, true
	}
	for _, q := range r.queues {
		q.rename(r.former)
		for _, amounts := range q.amounts {
			for d := range amounts {
				r.present[d] = !s.names.IsGroup(d)
			}
		}
	}
	total := map[fastres.Dim]card.Milli{}
	lists := make([]card.List, len(r.resources)) // by resource
	for _, n := range r.nodes {
		for _, c := range n.cards {
			r.present[c.dim] = true
			total[c.dim] += c.amount
			if !slices.Contains(r.resourcesOf[c.dim], c.resource) {
				r.resourcesOf[c.dim] = append(r.resourcesOf[c.dim], c.resource)
				lists[c.resource] = append(lists[c.resource], s.names.Name(c.dim))
			}
		}
		for _, u := range n.unlabeled {
			lists[u.resource] = append(lists[u.resource], "") // a card resource without a card name
			if label, some := r.lacking[u.resource]; !some || u.label < label {
				r.lacking[u.resource] = u.label
			}
		}
	}
	r.devices.addStock(total)
	for d := range total {
		r.present[d] = true
	}
	r.stock = r.stock[:0]
	for d := range fastres.Dim(s.names.Len()) {
		if total[d] > 0 {
			r.stock = append(r.stock, Amount{d, total[d]})
		}
	}
	r.all = make([]*Selector, len(r.resources))
	for id, names := range lists {
		if len(names) == 0 && !r.carded[r.resources[id]] {
			continue
		}
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
		r.all[id] = &Selector{Names: names}
		s.resolve(r.all[id])
		r.all[id].resources = []ResourceID{ResourceID(id)}
	}
	for _, selector := range r.selectors {
		s.resolve(selector)
	}
	r.names = s.names.Len()
}

// formerNames returns former. A name that some node has now is no former one.
func (r *Registry) formerNames() (former map[fastres.Dim]fastres.Dim) {
	for _, n := range r.nodes {
		for _, c := range n.cards {
			if c.former == 0 {
				continue
			}
			if former == nil { // in nearly all clusters it stays nil
				former = map[fastres.Dim]fastres.Dim{}
			}
			former[c.former] = c.dim
		}
	}
	for _, n := range r.nodes {
		for _, c := range n.cards {
			delete(former, c.dim)
		}
	}
	return former
}

// Visited records how many tasks the session read the cards of. A Registry that
// holds far more pods forgets them.
func (s *Session) Visited(tasks int) { s.registry.visited = tasks }

// GivesCards reports whether some node gives cards through a resource.
func (s *Session) GivesCards(name v1.ResourceName) bool {
	id, known := s.registry.numbers[name]
	if !known {
		return false
	}
	cards := s.registry.allOf(resourceRequest{resource: id})
	return cards != nil && len(cards.Names) > 0
}

// JobRequests returns the cards that a job without pods states in card.request.
// Their resource is NoResource.
func (s *Session) JobRequests(job *api.JobInfo) []Request {
	if job.PodGroup == nil {
		return nil
	}
	text, ok := job.PodGroup.Annotations[card.RequestKey]
	if !ok {
		return nil
	}
	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	all, ok := r.requests[text]
	if !ok {
		requests, _ := card.ParseRequest(text)
		for _, request := range requests {
			if request.Count > 0 {
				all = append(all, Request{Selector: s.selector(request.List), Resource: NoResource, Amount: card.Cards(request.Count)})
			}
		}
		r.requests[text] = all
	}
	return all
}

// MostOf returns how many cards of a selector a list of resources has, and by which resource. bounded is
// false where the list names no resource of these cards.
func (s *Session) MostOf(list v1.ResourceList, selector *Selector) (resource ResourceID, most card.Milli, bounded bool) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	for _, id := range selector.resources {
		if quantity, named := list[s.registry.resources[id]]; named {
			return id, card.MilliOf(quantity), true
		}
	}
	return NoResource, 0, false
}

// MinimumHasCards reports whether the minimum resources of a job include a card
// resource.
func (s *Session) MinimumHasCards(job *api.JobInfo) bool {
	if job.PodGroup == nil || job.PodGroup.Spec.MinResources == nil {
		return false
	}
	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, quantity := range *job.PodGroup.Spec.MinResources {
		id, known := r.numbers[name]
		if quantity.Sign() > 0 && (r.labels.Known(name) || known && r.allOf(resourceRequest{resource: id}) != nil) {
			return true
		}
	}
	return false
}

// RenewNames gives names new dimensions and resources new numbers, when the
// names start anew. renew returns the new dimension of an old one.
func (r *Registry) RenewNames(renew func(fastres.Dim) fastres.Dim) {
	old := r.resources
	r.resources = nil
	r.numbers = map[v1.ResourceName]ResourceID{}
	r.unnamed = map[ResourceID]*Selector{}
	for _, name := range slices.Sorted(maps.Keys(r.carded)) {
		r.resource(name)
	}
	for _, n := range r.nodes {
		for i, c := range n.cards {
			n.cards[i].dim, n.cards[i].resource = renew(c.dim), r.resource(old[c.resource])
			if c.former != 0 {
				n.cards[i].former = renew(c.former)
			}
		}
		for i, u := range n.unlabeled {
			n.unlabeled[i].resource = r.resource(old[u.resource])
		}
	}
	for _, held := range r.held {
		for i, h := range held {
			h.dim, h.resource = renew(h.dim), r.resource(old[h.resource])
			h.only.Dims[0], h.only.resources[0] = h.dim, h.resource
			held[i] = h
		}
	}
	for _, q := range r.queues {
		for a, before := range q.stated {
			q.stated[a] = make(map[fastres.Dim]card.Milli, len(before))
			for d, amount := range before {
				q.stated[a][renew(d)] = amount
			}
		}
	}
	r.devices.renew(renew)
	r.forgetRequests()
	r.names = 0 // so that the next session resolves all selectors
}
