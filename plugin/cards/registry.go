package cards

import (
	"maps"
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

// Registry holds the cards of nodes, queues and pods across sessions. The zero Registry is not ready; use NewRegistry.
// Only Open and the methods of the open Snapshot change it.
type Registry struct {
	session uint64 // number of sessions so far

	nodes     map[string]*Node
	versions  uint64            // of nodes so far
	nodesRead bool              // any node of the session is new, or its object has changed
	queues    map[string]*queue // queues that have or had a card annotation
	read      uint64            // the session of the annotations in queues, see objects.Queues
	shares    bool              // any queue states a share of the cards that nodes give

	pods     podTable
	requests map[string][]Request // by text of card.request
	visited  int                  // number of tasks that the last session read
	held     map[types.UID][]heldCard
	stored   HeldCards // see Begin
	begins   bool      // the next session begins with stored

	heldChanges uint64 // see HeldChanges

	tree    *index.Tree // of the session before, nil if cards counted nowhere
	counted []bool      // by queue of tree

	// mu guards the selectors and resources, since tallies read pods concurrently.
	mu          sync.Mutex
	selectors   map[string]*Selector
	podRequests map[*Selector][]*PodRequest
	numbers     map[v1.ResourceName]ResourceID
	resources   []v1.ResourceName // by number
	unnamed     map[ResourceID]*Selector

	devices *devices // nil before there are any devices or claims

	carded map[v1.ResourceName]bool // resources that were cards on any node: they stay card resources
	labels card.Labels              // of the settings
	groups groups

	fractionsBy card.FractionsBy        // of the settings
	models      map[modelKey]card.Model // see setModels

	former map[fastres.Dim]fastres.Dim // see formerNames

	// The cards of the session's nodes, computed again when a node changes.
	all         []*Selector                  // by resource: all its cards; nil if it is no card resource
	lacking     map[ResourceID]string        // the label that a node lacks
	resourcesOf map[fastres.Dim][]ResourceID // by card
	stock       []Amount                     // in the order of dimensions
	present     map[fastres.Dim]bool         // cards that a node or a queue names
	names       int                          // number of names at that time
}

// Amount is a quantity of one card.
type Amount struct {
	Dim   fastres.Dim
	Milli card.Milli
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry {
	r := &Registry{
		nodes:   map[string]*Node{},
		queues:  map[string]*queue{},
		numbers: map[v1.ResourceName]ResourceID{},
		unnamed: map[ResourceID]*Selector{},
		carded:  map[v1.ResourceName]bool{},
		held:    map[types.UID][]heldCard{},
		pods:    newPodTable(),
	}
	r.forgetRequests()
	return r
}

// forgetRequests forgets the requests of pods and jobs.
func (r *Registry) forgetRequests() {
	r.pods.forgetRequests()
	r.requests = map[string][]Request{}
	r.selectors = map[string]*Selector{}
	r.podRequests = map[*Selector][]*PodRequest{}
	r.devices.forgetShapes()
}

// Resources returns the number of resource names in the Registry.
func (r *Registry) Resources() int { return len(r.resources) }

// resource returns the number of a resource name. A new name gets a new number.
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

// Opening is the input of a session.
type Opening struct {
	Volcano  *framework.Session
	Jobs     []*api.JobInfo // jobs that may have cards
	Queues   *objects.Queues
	Tree     *index.Tree
	Names    *index.Names // Open adds the names of cards
	Scope    Scope
	Settings Settings
}

// Open reads the cards of the nodes and queues of a session. It returns nil if cards count nowhere.
func (r *Registry) Open(o Opening) *Snapshot {
	r.setLabels(o.Settings.Labels)
	if r.fractionsBy != o.Settings.Fractions {
		r.fractionsBy = o.Settings.Fractions
		r.forgetRequests()
	}

	regrouped := r.groups.set(o.Settings.Groups)
	annotated, changed := r.readQueues(o.Queues, o.Names)
	if o.Scope == Nowhere || o.Scope == Annotated && !annotated {
		r.reset()
		return nil
	}

	s := &Snapshot{
		registry:      r,
		settings:      o.Settings,
		names:         o.Names,
		objects:       o.Queues,
		quotasChanged: changed || regrouped,
	}
	s.begin()
	s.countQueues(o.Tree, o.Scope)
	nodesChanged := s.readNodes(o.Volcano, o.Jobs)
	r.forgetGone(o.Jobs) // after the nodes, which are compared with the pods

	s.devicesChanged = s.readDevices(release.ReadDevices(o.Volcano))
	if nodesChanged || s.devicesChanged || s.quotasChanged || r.names != o.Names.Len() {
		s.resolveAll()
	}

	r.tree = o.Tree
	r.counted = s.counted
	return s
}

// reset forgets the cards of nodes, pods and queues when cards count nowhere. They would be stale when cards count
// again.
func (r *Registry) reset() {
	clear(r.queues)
	clear(r.nodes)
	if len(r.held) > 0 {
		clear(r.held)
		r.heldChanges++
	}

	if r.devices != nil {
		r.devices = nil
		r.forgetRequests()
	}
	r.tree = nil
}

// forgetGone forgets the pods and claims that are gone, once most of them are.
func (r *Registry) forgetGone(jobs []*api.JobInfo) {
	if r.pods.used <= 2*r.visited+1024 && len(r.requests) <= 2*len(jobs)+1024 && !r.devices.crowded() {
		return
	}

	r.pods = newPodTable()
	r.forgetRequests()
	r.forgetHeld(jobs)
	r.devices.forget()
}

// setLabels sets the labels that name cards. If they changed, all nodes and pods are read again.
func (r *Registry) setLabels(labels card.Labels) {
	if maps.Equal(r.labels, labels) {
		return
	}

	r.labels = labels
	for i, name := range r.resources {
		id := ResourceID(i)
		delete(r.unnamed, id)
		if labels.Known(name) {
			r.unnamed[id] = &Selector{resources: []ResourceID{id}}
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
