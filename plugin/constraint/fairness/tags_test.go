package fairness

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/usage"
)

const testCard = fastres.FirstFree

// stage is the order of some queues that wait for one card.
type stage struct {
	*order
	ix      *index.Index
	pending map[string]int
}

// newStage has queues of equal weight, each with pending pods of one card. The parent of x1 is x, and so on. The cluster
// has 100 cards.
func newStage(pending map[string]int) *stage {
	nodes := []index.Node{{Name: "root"}}
	var leaves []string
	for leaf := range pending {
		leaves = append(leaves, leaf)
	}
	slices.Sort(leaves)
	for _, leaf := range leaves {
		team := leaf[:1]
		if !slices.ContainsFunc(nodes, func(n index.Node) bool { return n.Name == team }) {
			nodes = append(nodes, index.Node{Name: team, Parent: "root"})
		}
		nodes = append(nodes, index.Node{Name: leaf, Parent: team})
	}

	s := &stage{ix: &index.Index{}, pending: pending}
	s.ix.Reset(index.BuildTree(nodes, "root"), int(testCard)+1)
	total := fastres.NewVector(int(testCard) + 1)
	total.Set(testCard, 100)

	m := &Memory{dims: []fastres.Dim{testCard}, vendors: []bool{false}, history: &usage.History{}}
	s.order = &order{memory: m, with: &arguments.FairShare{}, session: &constraint.Session{
		Volcano: &framework.Session{},
		Index:   s.ix,
		Intake:  &intake.Inputs{Queues: make([]*api.QueueInfo, s.ix.Len()), Total: total},
	}}
	m.history.Bind(s.ix.Tree, []usage.Column{{Name: "A", Card: true}})
	for q := range index.Queue(s.ix.Len()) {
		m.history.SetNorm(q, 0, 10)
	}
	s.begin()
	return s
}

// begin begins a session.
func (s *stage) begin() {
	s.session.Volcano.Jobs = map[api.JobID]*api.JobInfo{}
	for q := range index.Queue(s.ix.Len()) {
		s.ix.Request.Row(q).CopyFrom(s.ix.Allocated(q))
	}
	for leaf, n := range s.pending {
		job := api.NewJobInfo(api.JobID(leaf))
		job.Queue = api.QueueID(leaf)
		job.MinAvailable = 1
		job.TaskStatusIndex[api.Pending] = map[api.TaskID]*api.TaskInfo{}
		for i := range n {
			job.TaskStatusIndex[api.Pending][api.TaskID(fmt.Sprint(i))] = &api.TaskInfo{}
		}
		s.session.Volcano.Jobs[job.UID] = job
		for _, p := range s.ix.Path(s.ix.Lookup(leaf)) {
			s.ix.Request.Row(p).Increase(testCard, float64(n))
		}
	}

	m := s.memory
	s.readWants()
	m.tags.begin(s.ix.Tree, m.ranks)
	m.ranks = make([]rank, s.ix.Len())
	for q := range index.Queue(s.ix.Len()) {
		s.read(q)
		s.rank(q)
	}
}

// do carries out a command: "x1 gets", "x1 loses", or "session".
func (s *stage) do(t *testing.T, command string) {
	name, does, _ := strings.Cut(command, " ")
	q := s.ix.Lookup(name)
	one := fastres.NewVector(int(testCard) + 1)
	one.Set(testCard, 1)
	switch {
	case command == "session":
		s.begin()
	case does == "gets":
		quota.Charge(s.ix, q, one)
		s.pending[name]--
		s.charged(constraint.Ask{Queue: q})
	case does == "loses":
		quota.Refund(s.ix, q, one, fastres.NewVector(one.Len()))
		s.pending[name]++
		s.refunded(constraint.Ask{Queue: q})
	default:
		require.Fail(t, command)
	}
}

// text writes the phase, the queues with their states, the turn, and the queues above them that have served a child. It
// then writes the order of the queues, for which they are compared.
func (s *stage) text() string {
	tags := &s.memory.tags
	var all []string
	if tags.phase == unread {
		all = append(all, "unread")
	} else {
		all = append(all, "read")
	}

	for q := range tags.queues {
		own := &tags.queues[q]
		var states []string
		if tags.phase == read && own.tagged {
			states = append(states, "tagged")
		}
		if tags.phase == read && own.served.some {
			states = append(states, "served")
		}
		if tags.phase == read && own.got != 0 && s.ix.IsLeaf(index.Queue(q)) {
			states = append(states, fmt.Sprintf("+%d", own.got))
		}
		if own.passed {
			states = append(states, "passed")
		}
		if len(states) > 0 {
			all = append(all, s.ix.Name(index.Queue(q))+" "+strings.Join(states, " "))
		}
	}
	if tags.phase == read && tags.turn.of != index.None {
		all = append(all, "turn of "+s.ix.Name(tags.turn.of))
	}

	var leaves []string
	for leaf := range s.pending {
		leaves = append(leaves, leaf)
	}
	slices.Sort(leaves)
	slices.SortStableFunc(leaves, func(l, r string) int { return s.compareQueues(s.ix.Lookup(l), s.ix.Lookup(r)) })
	return strings.Join(all, ", ") + ": " + strings.Join(leaves, " ")
}

// TestStartTags follows the states of queues through sessions. Each line has the command, the states after it, and the
// order of the queues, which is read last.
func TestStartTags(t *testing.T) {
	const want = `
first: unread: x1 y1 x2 x3
x1 gets: read, root served, x served, x1 +1, x2 tagged, x3 tagged, y1 tagged, turn of x1: y1 x2 x3 x1
x1 loses: read, x2 tagged, x3 tagged, y1 tagged: x1 y1 x2 x3
y1 gets: read, root served, y served, x1 tagged, x2 tagged, x3 tagged, y1 +1, turn of y1: x1 x2 y1 x3
x2 gets: read, root served, x served, y served, x1 tagged, x2 +1, x3 tagged, y1 tagged +1, turn of x2: x1 y1 x3 x2
x3 gets: read, root served, x served, y served, x1 tagged, x2 tagged +1, x3 +1, y1 tagged +1, turn of x3: x1 y1 x2 x3
x3 gets: read, root served, x served, y served, x1 tagged, x2 tagged +1, x3 +2, y1 tagged +1, turn of x3: x1 y1 x2 x3
session: unread, x passed, y passed, x1 passed: y1 x1 x2 x3
x1 gets: read, root served, x served passed, y passed, x1 +1 passed, x2 tagged, x3 tagged, y1 tagged, turn of x1: y1 x1 x2 x3
session: unread, y passed: y1 x1 x2 x3
`
	s := newStage(map[string]int{"x1": 2, "x2": 2, "x3": 2, "y1": 2})
	lines := []string{"", "first: " + s.text()}
	for _, command := range []string{
		"x1 gets", "x1 loses", "y1 gets", "x2 gets", "x3 gets", "x3 gets", "session", "x1 gets", "session",
	} {
		s.do(t, command)
		lines = append(lines, command+": "+s.text())
	}
	assert.Equal(t, want, strings.Join(lines, "\n")+"\n")
}
