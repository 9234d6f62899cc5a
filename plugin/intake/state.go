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
	RootTotal     RootCapability = "total"     // what the nodes have
	RootUnlimited RootCapability = "unlimited" // no bound, for clusters with an autoscaler
	// RootOwn is the root's own capability. If it sets none, what any node has is
	// unlimited, and what no node has is refused.
	RootOwn RootCapability = "own"
)

// UnsetCapability is the argument unsetCapability: the bound of a leaf that sets
// no cpu or memory capability.
type UnsetCapability string

const (
	UnsetZero      UnsetCapability = "zero"
	UnsetUnlimited UnsetCapability = "unlimited" // flat: none; tree: that of the parent
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
	InqueueTimeout  time.Duration // of queues without the annotation; 0 is any time
	KeepGuarantees  bool          // guarantees of cpu, memory and scalars are kept free as those of cards are
	Scalars         bool          // scalar resources count, not cpu and memory alone
	Proportion      bool          // quota.ProportionRounds computes deserved
	FairShare       FairShare
}

// FairShare is how queues are ordered by usage over time.
type FairShare struct{ On, ByWeight bool }

// State holds trees, bounds and memory across sessions. The zero State is ready.
type State struct {
	// The objects and trees of the last session. parents is kept where quotas are flat, too, for
	// MendParents.
	queues        *objects.Queues
	tree, parents *index.Tree
	annotated     annotatedTree

	bounds  bounds
	common  common
	tallies []tally
	jobs    []*api.JobInfo // see Jobs; nil jobs between sessions
	waiting []bool         // by queue: some job that requests cards waits for admission

	deviceUsers []deviceUser // empty between sessions
	lists       []List

	gone      gone
	stock     stock
	closed    closed
	orphans   orphans
	forgotten forgotten

	policies policies
	holders  Holders
	eligible []quota.Verdict // see Session.Eligible
	crew     crew

	total, rootBound, available, requested fastres.Vector // of the session that is read
	availableNow, availableThen            fastres.Vector // copies of available that follow the events of the session
}

// Session holds the queues, dimensions and totals of one session.
type Session struct {
	// Queues are the queues by number; nil for a root without a Queue object.
	Queues []*api.QueueInfo
	Jobs   []int // number of jobs by queue
	// Admitted is the number of jobs that are Inqueue or run by queue; nil where no queue
	// bounds it.
	Admitted []int
	Dims     Dimensions
	Total    fastres.Vector // what the nodes have, cards included

	// Available bounds all queues together: the nodes' resources, what pods of queues hold that nodes do not give any
	// more, and not the cards of pods that no queue is charged for (stock). Where a guarantee does not count, it is no
	// bound.
	Available fastres.Vector
	// AvailableThen is the same once the pods that are being deleted are gone.
	AvailableThen fastres.Vector

	// Gone: some pods have cards that their nodes do not give any more, or that no queue is charged for.
	Gone bool

	// BoundsChanged: the bounds were derived again from configuration.
	BoundsChanged bool

	// Holders are the accounts of namespaces, users, groups and labels, nil where no queue limits any of them.
	Holders *Holders

	// Lists are the lists of several cards of pending pods, some more than once, where usage over time orders queues.
	Lists []List

	// Timed are the jobs whose condition Inqueue has to be written.
	Timed []Timed

	// Announced are the jobs with cards under a budget of card-hours that may announce how long their pods run.
	Announced []*api.JobInfo

	tree     *index.Tree
	eligible []quota.Verdict // by queue, see Eligible
	cards    *cards.Session
	orphans  *orphans // of the State
	stock    *stock   // of the State
	now      time.Time
	timeouts []time.Duration // by queue; nil where jobs may be Inqueue for any time
	settings Settings
	weights  []float64        // of annotations, by queue
	policies []*policy.Values // by queue; nil where no queue has a policy
	maxJobs  []int            // by queue; nil where no queue bounds its jobs
	budgeted []bool           // see Budgeted
	devices  bool             // the capability of some queue bounds devices
	claims   map[api.TaskID][]index.DeviceClaim
	sharing  []deviceUser // pods that share resource claims of cards
}

// List is a list of cards that pending pods of a queue name.
type List struct {
	Queue index.Queue
	Cards []fastres.Dim
}

// spareDims are dimensions for names that appear while a session runs. The
// vectors of the next session have no fewer dimensions, so they keep their length.
const spareDims = 4

// vectorLength returns the length of a session's vectors: a dimension for every
// known name, and some to spare.
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

// Jobs returns the jobs of a session, and then a job for each PodGroup that is deleted while pods of it are on nodes.
// They are for reading, and valid until Read.
func (s *State) Jobs(ssn *framework.Session) []*api.JobInfo {
	s.jobs = s.jobs[:0]
	for _, job := range ssn.Jobs {
		s.jobs = append(s.jobs, job)
	}
	s.jobs = append(s.jobs, s.orphans.find(ssn)...)
	return s.jobs
}

// leaveUncounted leaves out jobs without a PodGroup whose queue does not exist, as all its jobs, and where cards do
// not count: there, as upstream, a pod counts as long as its PodGroup exists.
func (s *State) leaveUncounted(ssn *framework.Session, session *Session) {
	own := len(ssn.Jobs)
	counted := slices.DeleteFunc(s.jobs[own:], func(job *api.JobInfo) bool {
		q := session.tree.Lookup(string(job.Queue))
		return q == index.None || !session.cards.Counted(q)
	})
	s.jobs = s.jobs[:own+len(counted)]
}

// Read fills the index with the bounds of a session's queues and the accounts of
// the jobs that Jobs returned, rolled up to every ancestor. It sets all accounts but the shares.
// Reservations for several cards go to reservations. now is the time of the session.
func (s *State) Read(ssn *framework.Session, ix *index.Index, tree *index.Tree, names *index.Names,
	c *cards.Session, reservations *reserve.Reservations, settings Settings, now time.Time) *Session {
	session := &Session{now: now, tree: tree, cards: c, orphans: &s.orphans, settings: settings,
		weights: s.annotated.weights}
	ix.SetNames(names)
	s.holders.Quota.Accounts.SetNames(names)
	s.forgotten.restore(ssn, session, s.jobs)
	s.policies.update(s.queues, session)
	s.leaveUncounted(ssn, session)
	for {
		session.Dims = Dimensions{
			names: names, scalars: settings.Scalars, length: vectorLength(names),
			ignored: api.IgnoredDevicesList.List(), common: s.common,
		}
		if s.total.Len() != session.Dims.length {
			for _, x := range []*fastres.Vector{
				&s.total, &s.rootBound, &s.available, &s.requested, &s.availableNow, &s.availableThen,
			} {
				*x = fastres.NewVector(session.Dims.length)
			}
		}
		if Intern(names, s.readQueues(ssn, ix, session)) && Intern(names, s.readJobs(ix, session, reservations)) &&
			names.Len() <= session.Dims.length {
			break
		}
	}
	clear(s.jobs) // so that the session can be garbage collected
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
	s.findCommon(ix, session)
	session.Total = s.bounds.total
	return session
}

// findCommon finds the resources that the session's tasks request.
func (s *State) findCommon(ix *index.Index, session *Session) {
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

// ForgetDimensions drops what depends on the dimensions of names, when the names
// start anew.
func (s *State) ForgetDimensions() {
	s.common = nil
	s.bounds = bounds{}
	s.gone = gone{}
	s.stock = stock{}
}
