package plugin

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// memory is what lives across sessions. Nothing in it decides, but for what
// cardMemory says of itself: a session gives the same answers with fresh memory.
type memory struct {
	cardMemory *cardMemory

	names     index.Names
	mostNames int   // when more are known, names start anew
	usual     usual // of the session before
	index     index.Index
	// The trees of the session before, taken again while no queue changes. The
	// parents are kept for flat quotas too, see mendParents.
	tree, parents *index.Tree
	annotated     annotatedTree

	bounds  bounds
	tallies []tally
	jobs    []*api.JobInfo // empty between sessions
	victims quota.Victims
	least   index.Rows        // of the open session, see findLeast
	waits   []bool            // by queue: least has a row of it
	scratch [4]fastres.Vector // of the open session, see session.scratch
	exceeds []fastres.Dim
	numbers []float64
	own     jobCards // of one job

	promises []promise // of the open session
	needs    []assign.Demand
	assigner assign.Assigner

	events        events
	gauges        map[string]*queueGauges
	clusterGauges accountGauges

	told   map[api.JobID]*told
	warned map[string]bool
}

func newMemory() *memory {
	return &memory{
		cardMemory: newCardMemory(),
		mostNames:  fewNames,

		gauges: map[string]*queueGauges{},
		told:   map[api.JobID]*told{},
		warned: map[string]bool{},
	}
}

// bounds is what the accounts that follow from configuration were derived from.
// While it stays the same, so do they.
type bounds struct {
	tree     *index.Tree
	settings settings
	cards    bool
	queues   []*scheduling.Queue // by number
	total    fastres.Vector
}

// spare is room for names that turn up in the middle of a count, which then
// needs no longer vectors the next time.
const spare = 4

// vectorLength is the length of a session's vectors: room for every name that
// is known, and some.
func (m *memory) vectorLength() int {
	const multiple = 8
	return (m.names.Len() + spare + multiple - 1) / multiple * multiple
}

// resize prepares the memory for vectors of a length.
func (m *memory) resize(length int) {
	for i := range m.scratch {
		if m.scratch[i].Len() != length {
			m.scratch[i] = fastres.NewVector(length)
		}
	}
}

// forgetQueues drops what is kept for queues that are not in a new tree.
func (m *memory) forgetQueues(tree *index.Tree) {
	for name := range m.gauges {
		if tree.Lookup(name) == index.None {
			delete(m.gauges, name)
			dropAdded(name)
		}
	}
}

// forgetJobs drops what is kept for jobs that are gone.
func (m *memory) forgetJobs(jobs map[api.JobID]*api.JobInfo) {
	for id := range m.told {
		if _, ok := jobs[id]; !ok {
			delete(m.told, id)
		}
	}
}
