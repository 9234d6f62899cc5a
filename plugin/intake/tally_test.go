package intake

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	os.Exit(m.Run())
}

// readCluster reads a cluster as the plugin capacity does, without cards.
func readCluster(t *testing.T, s *State, names *index.Names, c workload.Cluster) (*index.Index, *Inputs, *framework.Session) {
	t.Helper()
	info, err := cluster.Build(c, "")
	require.NoError(t, err)
	ssn := offline.Open(offline.NewCache(info), nil)
	ix := &index.Index{}
	queues := s.queues
	if queues == nil {
		queues = &objects.Queues{}
	}
	queues.Open(ssn.Queues, time.Time{})
	s.Tree(ssn, queues, c.Hierarchy, HierarchyFromParent)
	s.Jobs(ssn)
	from := Source{Names: names, Reservations: &reserve.Reservations{}, Settings: Settings{Scalars: true}, Now: time.Now()}
	return ix, s.Read(ssn, ix, from), ssn
}

// TestWaitingQueues finds the queues with jobs that request cards and wait for admission.
func TestWaitingQueues(t *testing.T) {
	var c workload.Cluster
	for i, phase := range []workload.Phase{workload.Pending, workload.Inqueue, workload.Running, workload.Pending} {
		queue := fmt.Sprintf("q%d", i)
		c.Queues = append(c.Queues, workload.Queue{Name: queue, Annotations: map[string]string{card.QuotaKey: `{"A":8}`}})
		for j := range 3 * alone { // for every tally
			c.Jobs = append(c.Jobs, workload.Job{Name: fmt.Sprintf("%s-%d", queue, j), Queue: queue, Phase: phase, MinMember: 1,
				Annotations: map[string]string{card.RequestKey: `{"A":1}`}})
		}
	}
	for i := range c.Jobs[9*alone:] {
		c.Jobs[9*alone+i].Annotations = nil // no cards
	}
	info, err := cluster.Build(c, "")
	require.NoError(t, err)
	ssn, names, ix, s := offline.Open(offline.NewCache(info), nil), &index.Names{}, &index.Index{}, &State{}
	tree, _ := s.Tree(ssn, objects.Of(ssn.Queues), false, HierarchyFromParent)
	session := cards.NewRegistry().Open(cards.Opening{Volcano: ssn, Jobs: s.Jobs(ssn), Queues: objects.Of(ssn.Queues),
		Tree: tree, Names: names, Scope: cards.Everywhere})
	s.Read(ssn, ix, Source{Names: names, Cards: session, Reservations: &reserve.Reservations{}, Now: time.Now()})
	waiting := s.waitingQueues(s.tallies, tree.Len())
	for i, want := range []bool{true, false, false, false} {
		assert.Equal(t, want, waiting[tree.Lookup(fmt.Sprintf("q%d", i))], "q%d", i)
	}
}

// TestTalliesAgree counts the same jobs with one tally and with four. The accounts are
// the same.
func TestTalliesAgree(t *testing.T) {
	shape := workload.Shape{Name: "tallies", Nodes: 20, Fanout: []int{3, 4}, Jobs: 4 * alone, TasksPerJob: 3}
	c := shape.Make(1)
	c.Hierarchy = true
	count := func(processors int) (*index.Index, *Inputs) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		s := &State{}
		ix, session, _ := readCluster(t, s, &index.Names{}, c)
		assert.Len(t, s.tallies, processors)
		return ix, session
	}
	alone, one := count(1)
	many, four := count(4)
	for q := range index.Queue(alone.Len()) {
		same := many.Lookup(alone.Name(q))
		assert.Equal(t, one.Dims.Resource(alone.Allocated(q)), four.Dims.Resource(many.Allocated(same)), alone.Name(q))
		assert.Equal(t, one.Dims.Resource(alone.Request.Row(q)), four.Dims.Resource(many.Request.Row(same)), alone.Name(q))
		assert.Equal(t, one.Dims.Resource(alone.Inqueue.Row(q)), four.Dims.Resource(many.Inqueue.Row(same)), alone.Name(q))
		assert.Equal(t, one.Dims.Resource(alone.Elastic.Row(q)), four.Dims.Resource(many.Elastic.Row(same)), alone.Name(q))
		assert.Equal(t, one.Jobs[q], four.Jobs[same])
	}
	assert.Positive(t, alone.Allocated(alone.Root()).Get(0))
	assert.Positive(t, alone.Inqueue.Row(0).Get(0))
}

// TestStateHoldsNoJobs reads clusters with other jobs each time. Between sessions the
// state holds no job, and no more tallies than processors.
func TestStateHoldsNoJobs(t *testing.T) {
	s, names := &State{}, &index.Names{}
	for i := range 5 {
		shape := workload.Shape{Name: fmt.Sprint("jobs", i), Nodes: 2, Fanout: []int{2}, Jobs: 100 - i, TasksPerJob: 1}
		readCluster(t, s, names, shape.Make(1))
		assert.LessOrEqual(t, len(s.tallies), runtime.GOMAXPROCS(0))
		for _, job := range s.jobs[:cap(s.jobs)] {
			assert.Nil(t, job, "a job of the session is held after it")
		}
		for _, tally := range s.tallies {
			assert.Zero(t, tally.reader, "the session is held after it")
		}
	}
}

// TestForgetDimensions drops the bounds, although the configuration is the same.
func TestForgetDimensions(t *testing.T) {
	s := &State{}
	readCluster(t, s, &index.Names{}, workload.S.Make(1))
	require.NotZero(t, s.bounds)
	require.NotEmpty(t, s.common)
	s.ForgetDimensions()
	assert.Zero(t, s.bounds)
	assert.Empty(t, s.common)
}
