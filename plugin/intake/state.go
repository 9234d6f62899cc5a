package intake

import (
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// RootCapability is the argument rootCapability: the bound of the root.
type RootCapability string

const (
	RootTotal     RootCapability = "total"     // the resources of the nodes
	RootUnlimited RootCapability = "unlimited" // no bound, for clusters with an autoscaler
	// RootOwn is the root's own capability. If it is empty, the resources of nodes have no bound, and resources that no
	// node has are refused.
	RootOwn RootCapability = "own"
)

// UnsetCapability is the argument unsetCapability: the bound of a leaf without a capability for cpu or memory.
type UnsetCapability string

const (
	UnsetZero      UnsetCapability = "zero"
	UnsetUnlimited UnsetCapability = "unlimited" // flat: no bound; tree: the bound of the parent
)

// DeservedFrom is the argument deservedFrom: the source of deserved.
type DeservedFrom string

const (
	DeservedFromSpec   DeservedFrom = "spec"
	DeservedFromWeight DeservedFrom = "weight"
)

// HierarchyFrom is the argument hierarchyFrom: the source of the tree.
type HierarchyFrom string

const (
	HierarchyFromParent     HierarchyFrom = "parent"
	HierarchyFromAnnotation HierarchyFrom = "annotation"
)

// Settings are the arguments of a plugin that concern bounds.
type Settings struct {
	RootCapability  RootCapability
	UnsetCapability UnsetCapability
	DeservedFrom    DeservedFrom
	HierarchyFrom   HierarchyFrom
	OpenRoot        bool // release.Rules.OpenRoot
	Gates           reserve.Gates
	Devices         Devices
	Scalars         bool // scalar resources count in addition to cpu and memory
	Proportion      bool // quota.ProportionRounds computes deserved
	FairShare       FairShare
}

// KeepsGuarantees reports whether guarantees of cpu, memory and scalars are kept free, as guarantees of cards always
// are. Where nothing bounds the root, no bound of a queue keeps them. With the other values of rootCapability, bounds
// decide as in Volcano.
func (s Settings) KeepsGuarantees() bool { return s.RootCapability == RootUnlimited }

// FairShare says how queues are ordered by usage over time.
type FairShare struct{ On, ByWeight bool }

// State holds trees, bounds and memory across sessions. The zero State is ready.
type State struct {
	// The objects and trees of the last session. parents is also kept where quotas are flat, for MendParents.
	queues        *objects.Queues
	tree, parents *index.Tree
	annotated     annotatedTree

	bounds  bounds
	common  common
	tallies []tally
	jobs    []*api.JobInfo // see Jobs; they are nil between sessions
	waiting []bool         // by queue: any job that requests cards waits for admission

	deviceUsers []deviceUser // empty between sessions
	lists       []List

	nodes     nodes
	gone      gone
	stock     stock
	closed    closed
	orphans   orphans
	forgotten forgotten

	policies policies
	holders  Holders
	eligible []quota.Verdict // see Inputs.Eligible
	crew     crew

	// Of the session that is read.
	total, rootBound, available, requested fastres.Vector

	// Copies of available that follow the events of the session.
	availableNow, availableThen fastres.Vector
}

// Inputs holds the queues, dimensions and totals of one session.
type Inputs struct {
	// Queues are the queues by number; nil for a root without a Queue object.
	Queues []*api.QueueInfo
	Jobs   []int // number of jobs by queue
	// Admitted is the number of jobs that are Inqueue or run, by queue. It is nil where no queue has a policy.
	Admitted []int
	Dims     Dimensions
	Total    fastres.Vector // the resources of the nodes, including cards

	// Available bounds all queues together. It has the resources of the nodes and the charges that the nodes do not
	// cover any more, without the cards of pods that no queue is charged for (stock). It is no bound in dimensions in
	// which guarantees are not kept free.
	Available fastres.Vector
	// AvailableThen is Available once the pods that are being deleted are gone.
	AvailableThen fastres.Vector

	// Gone: there are pods with cards that their nodes do not give any more, or that no queue is charged for.
	Gone bool

	// BoundsChanged: this session has derived the bounds again.
	BoundsChanged bool

	// Holders has the accounts of namespaces, users, groups and labels. It is nil where no queue limits any of them.
	Holders *Holders

	// Lists are the lists of several cards in pending pods. It is filled where usage over time orders queues, and may
	// have a list more than once.
	Lists []List

	// Timed are the jobs with a condition Inqueue to be written.
	Timed []Timed

	// Announced are the jobs with cards under a budget of card-hours that may announce the runtime of their pods.
	Announced []*api.JobInfo

	tree     *index.Tree
	eligible []quota.Verdict // by queue, see Eligible
	cards    *cards.Snapshot
	orphans  *orphans // of the State
	stock    *stock   // of the State
	now      time.Time
	timeouts []time.Duration // by queue; nil where no queue has a timeout
	settings Settings
	weights  []float64        // of annotations, by queue
	policies []*policy.Values // by queue; nil where no queue has a policy
	budgeted []bool           // see Budgeted
	devices  bool             // the capability of any queue bounds devices
	claims   map[api.TaskID][]index.DeviceClaim
	sharing  []deviceUser // pods that share resource claims of cards
}

// List is a list of cards that pending pods of a queue name.
type List struct {
	Queue index.Queue
	Cards []fastres.Dim
}

// spareDims is the number of dimensions for names that appear while a session runs.
const spareDims = 4

// vectorLength returns the length of a session's vectors: a dimension for each known name, and spare ones. It is
// rounded up, so that the vectors of the next sessions keep their length.
func vectorLength(names *index.Names) int {
	const multiple = 8
	return (names.Len() + spareDims + multiple - 1) / multiple * multiple
}

// Intern gives dimensions to names, and reports whether there were none.
func Intern(names *index.Names, missing []string) bool {
	slices.Sort(missing) // dimensions must not depend on the order of maps
	for _, name := range missing {
		names.Intern(name)
	}
	return len(missing) == 0
}

// MostNames bounds the names of resources that jobs add. Any user can make up names, and each vector has a quantity for
// each of them.
const MostNames = 1024

// internRequested gives dimensions to names that jobs request, and reports whether there were none to give. Other names
// keep none, so whatever requests them fits under no bound.
func internRequested(names *index.Names, missing []string) bool {
	slices.Sort(missing)
	missing = slices.Compact(missing)
	room := max(0, MostNames-names.Len())
	return Intern(names, missing[:min(room, len(missing))])
}

// Jobs returns the jobs of a session, and then a job for each PodGroup that is deleted while pods of it are on nodes.
// They are for reading, and valid until Read.
func (s *State) Jobs(ssn *framework.Session) []*api.JobInfo {
	s.jobs = s.jobs[:0]
	for _, job := range ssn.Jobs {
		s.jobs = append(s.jobs, job)
	}

	s.nodes.update(ssn)
	s.jobs = append(s.jobs, s.orphans.find(ssn, s.nodes.arrived)...)
	return s.jobs
}

// leaveUncounted removes orphans that do not count: jobs of a queue that does not exist, and jobs of a queue in which
// cards do not count. There a pod counts as long as its PodGroup exists, as upstream.
func (s *State) leaveUncounted(ssn *framework.Session, session *Inputs) {
	own := len(ssn.Jobs)
	counted := slices.DeleteFunc(s.jobs[own:], func(job *api.JobInfo) bool {
		q := session.tree.Lookup(string(job.Queue))
		return q == index.None || !session.cards.Counted(q)
	})
	s.jobs = s.jobs[:own+len(counted)]
}

// Source is what Read needs in addition to the session of Volcano.
type Source struct {
	Names        *index.Names
	Cards        *cards.Snapshot       // nil where cards count nowhere
	Reservations *reserve.Reservations // gets the reservations for lists of several cards
	Settings     Settings
	Now          time.Time // of the session
}

// Read fills the index with the bounds of a session's queues, in the tree of Tree, and the accounts of the
// jobs that Jobs returned. The accounts are rolled up to all ancestors. It sets all accounts except the shares.
func (s *State) Read(ssn *framework.Session, ix *index.Index, from Source) *Inputs {
	session := &Inputs{
		now:      from.Now,
		tree:     s.tree,
		cards:    from.Cards,
		orphans:  &s.orphans,
		settings: from.Settings,
		weights:  s.annotated.weights,
	}
	ix.SetNames(from.Names)
	s.holders.Quota.Accounts.SetNames(from.Names)
	s.forgotten.restore(ssn, session, s.jobs)
	s.policies.update(s.queues, session)
	s.leaveUncounted(ssn, session)

	// A new name needs a dimension, and may need longer vectors: then all is read again.
	for !s.tryRead(ssn, ix, session, from) {
	}
	clear(s.jobs) // so that the session can be garbage collected

	s.rollUp(ix, session)
	s.findCommon(ix, session)
	session.Total = s.bounds.total
	return session
}

// tryRead reads the queues and jobs. It returns false if it has found names without a dimension: they have one then.
func (s *State) tryRead(ssn *framework.Session, ix *index.Index, session *Inputs, from Source) bool {
	session.Dims = Dimensions{
		names:   from.Names,
		scalars: from.Settings.Scalars,
		length:  vectorLength(from.Names),
		ignored: api.IgnoredDevicesList.List(),
		common:  s.common,
	}
	if s.total.Len() != session.Dims.length {
		vectors := []*fastres.Vector{
			&s.total, &s.rootBound, &s.available, &s.requested, &s.availableNow, &s.availableThen,
		}
		for _, x := range vectors {
			*x = fastres.NewVector(session.Dims.length)
		}
	}

	return Intern(from.Names, s.readQueues(ssn, ix, session)) &&
		internRequested(from.Names, s.readJobs(ix, session, from.Reservations)) &&
		from.Names.Len() <= session.Dims.length // claims of devices may need dimensions, too
}

// rollUp adds the accounts of queues to the accounts of their ancestors. Claims are charged after that.
func (s *State) rollUp(ix *index.Index, session *Inputs) {
	s.holders.rollUp(ix, session.Dims.names)
	if !s.holders.limits.none() {
		session.Holders = &s.holders
	}
	ix.RollUp()

	session.chargeDeviceClaims(ix, s.deviceUsers)
	session.chargeSharedClaims(ix)
	clear(s.deviceUsers) // so that the session can be garbage collected
	s.deviceUsers = s.deviceUsers[:0]

	quota.RollUpInqueue(ix, session.Open)
}

// findCommon finds the resources that the session's tasks request.
func (s *State) findCommon(ix *index.Index, session *Inputs) {
	s.requested.Reset()
	for q := range index.Queue(ix.Len()) {
		if ix.Parent(q) != index.None {
			break // queues are ordered by depth: all tops have been visited
		}
		s.requested.Join(ix.Request.Row(q))
	}

	s.common.reset(session.Dims.names, s.requested)
	session.Dims.common = s.common
}

// ForgetDimensions drops everything that depends on the dimensions of names. It is called when the names get new
// dimensions.
func (s *State) ForgetDimensions() {
	s.common = nil
	s.bounds = bounds{}
	s.gone = gone{}
	s.stock = stock{}
}
