package reclaim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// scheduler is a scheduler with a memory and a clock, on a cluster with cards of the model A.
type scheduler struct {
	workload.Cluster
	arguments framework.Arguments
	now       time.Time
	builder   *session.Builder
	foreign   string            // a pod of another namespace
	reasons   map[string]string // why pods were evicted
}

// recorder is a cache that records the reasons of evictions.
type recorder struct {
	*offline.Cache
	reasons map[string]string
}

// Evict records an eviction.
func (r *recorder) Evict(task *api.TaskInfo, reason string) error {
	r.reasons[task.Name] = reason
	return r.Cache.Evict(task, reason)
}

// newScheduler returns a scheduler on nodes with eight cards each. The queue owner deserves all cards, and the queue
// borrower none.
func newScheduler(nodes ...string) *scheduler {
	s := &scheduler{now: time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC), reasons: map[string]string{}}
	s.builder = session.BuilderOf(session.Name)
	s.builder.Now = func() time.Time { return s.now }
	for _, name := range nodes {
		s.Nodes = append(s.Nodes, workload.Node{
			Name:        name,
			Labels:      map[string]string{"nvidia.com/gpu.product": "A"},
			Allocatable: workload.Resources{"cpu": 64000, "memory": 256 << 30, "pods": 100, testbed.GPU: 8},
		})
	}
	all := 8 * len(nodes)
	return s.queue("owner", all, all, 0).queue("borrower", all, 0, 0)
}

// queue adds a queue with a quota, a deserved and a guarantee of cards.
func (s *scheduler) queue(name string, quota, deserved, guarantee int) *scheduler {
	text := func(n int) string { return fmt.Sprintf(`{"A":%d}`, n) }
	s.Queues = append(s.Queues, workload.Queue{
		Name:       name,
		Weight:     1,
		Capability: workload.Resources{"cpu": 1 << 30, "memory": 1 << 50},
		Annotations: map[string]string{
			"volcano.sh/card.quota":     text(quota),
			"volcano.sh/card.deserved":  text(deserved),
			"volcano.sh/card.guarantee": text(guarantee),
		},
	})
	return s
}

// pods adds a job of n pods with cards, and a minimum. The pods run on a node, or wait if it is "".
func (s *scheduler) pods(name, queue, node string, n int, gpus int64, minimum int32) *scheduler {
	job := workload.Job{Name: name, Queue: queue, Phase: workload.Inqueue, MinMember: minimum}
	for i := range n {
		task := workload.Task{
			Name:        fmt.Sprintf("%s-%d", name, i),
			Status:      workload.TaskPending,
			Request:     workload.Resources{"cpu": 100, "memory": 1 << 20, testbed.GPU: gpus},
			Annotations: map[string]string{card.NameKey: "A"},
		}
		if node != "" {
			job.Phase = workload.Running
			task.Status = workload.TaskRunning
			task.Node = node
		}
		job.Tasks = append(job.Tasks, task)
	}
	s.Jobs = append(s.Jobs, job)
	return s
}

// last returns the queue and the job that were added last.
func (s *scheduler) last() (*workload.Queue, *workload.Job) {
	return &s.Queues[len(s.Queues)-1], &s.Jobs[len(s.Jobs)-1]
}

// cycle runs an action in one session. It returns the pods that the action evicts, and the nodes that pods wait for.
func (s *scheduler) cycle(t *testing.T, action framework.Action) (evicted []string, waits map[string]string) {
	t.Helper()
	info, err := cluster.Build(s.Cluster, t.Name())
	require.NoError(t, err)
	for _, job := range info.Jobs {
		job.PodGroup.UID = types.UID("uid-of-" + job.Name)
		for _, task := range job.Tasks {
			if task.Name == s.foreign {
				task.Namespace = "other"
			}
		}
	}
	cache := &recorder{offline.NewCache(info), s.reasons}

	var own *session.Plugin
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	framework.RegisterPluginBuilder(session.Name, func(framework.Arguments) framework.Plugin {
		own = s.builder.Build(s.arguments).(*session.Plugin)
		return own
	})
	tiers := offline.Tiers(false, priority.PluginName, gang.PluginName, session.Name)
	ssn := framework.OpenSession(cache, tiers, nil)
	defer own.OnSessionClose(ssn)
	action.Execute(ssn)

	waits = map[string]string{}
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			if task.Status == api.Pipelined {
				waits[task.Name] = task.NodeName
			}
		}
	}
	slices.Sort(cache.Evicted)
	return cache.Evicted, waits
}

// TestReclaim reclaims cards for the queue owner.
func TestReclaim(t *testing.T) {
	for name, test := range map[string]struct {
		make  func() *scheduler
		want  int // number of victims
		waits int // number of pods that wait for a node
	}{
		"lent cards are reclaimed": {func() *scheduler {
			return newScheduler("n").pods("runs", "borrower", "n", 8, 1, 0).pods("claim", "owner", "", 1, 3, 1)
		}, 3, 1},
		"no more than the pod lacks": {func() *scheduler {
			return newScheduler("n").pods("runs", "borrower", "n", 7, 1, 0).pods("claim", "owner", "", 1, 2, 1)
		}, 1, 1},
		"nobody goes for a pod that fits on idle cards": {func() *scheduler {
			return newScheduler("n").pods("runs", "borrower", "n", 6, 1, 0).pods("claim", "owner", "", 1, 2, 1)
		}, 0, 0},
		"a borrower reclaims nothing": {func() *scheduler {
			return newScheduler("n").pods("runs", "owner", "n", 8, 1, 0).pods("claim", "borrower", "", 1, 1, 1)
		}, 0, 0},
		"guaranteed cards stay": {func() *scheduler {
			return newScheduler("n").queue("sure", 8, 0, 6).pods("runs", "sure", "n", 8, 1, 0).
				pods("claim", "owner", "", 1, 3, 1)
		}, 0, 0},
		"a queue keeps the cards that it deserves": {func() *scheduler {
			return newScheduler("n").queue("peer", 8, 4, 0).pods("runs", "peer", "n", 8, 1, 0).
				pods("claim", "owner", "", 1, 5, 1)
		}, 0, 0},
		"and loses those beyond": {func() *scheduler {
			return newScheduler("n").queue("peer", 8, 4, 0).pods("runs", "peer", "n", 8, 1, 0).
				pods("claim", "owner", "", 1, 4, 1)
		}, 4, 1},
		"a gang gets both nodes": {func() *scheduler {
			return newScheduler("n", "m").pods("x", "borrower", "n", 1, 8, 0).pods("y", "borrower", "m", 1, 8, 0).
				pods("claim", "owner", "", 2, 8, 2)
		}, 2, 2},
		"or none": {func() *scheduler {
			return newScheduler("n", "m").pods("x", "borrower", "n", 1, 8, 0).pods("y", "owner", "m", 1, 8, 0).
				pods("claim", "owner", "", 2, 8, 2)
		}, 0, 0},
		"the minimum of a job stays": {func() *scheduler {
			return newScheduler("n").pods("runs", "borrower", "n", 2, 4, 2).pods("claim", "owner", "", 1, 4, 1)
		}, 0, 0},
		"unless whole jobs are taken": {func() *scheduler {
			s := newScheduler("n").pods("runs", "borrower", "n", 2, 4, 2).pods("claim", "owner", "", 1, 4, 1)
			s.arguments = framework.Arguments{arguments.ReclaimGangs: "whole"}
			return s
		}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			evicted, waits := test.make().cycle(t, session.NewReclaim())
			assert.Len(t, evicted, test.want, evicted)
			assert.Len(t, waits, test.waits, waits)
		})
	}
}

// countedAction counts how often an action asks whether a job starves.
type countedAction struct {
	framework.Action
	asked *int
}

// Execute carries the action out.
func (a countedAction) Execute(ssn *framework.Session) {
	ssn.AddJobStarvingFns(session.Name, func(any) bool {
		*a.asked++
		return true
	})
	a.Action.Execute(ssn)
}

// TestPlansForAJobAreBounded has a job of 40 different pods that are larger than the quota. Plans are made for the first
// of them, and without 16 kinds at most.
func TestPlansForAJobAreBounded(t *testing.T) {
	s := newScheduler("n").pods("claim", "owner", "", 40, 9, 1)
	_, claim := s.last()
	for i := range claim.Tasks {
		claim.Tasks[i].Annotations["example.com/number"] = fmt.Sprint(i)
	}
	asked := 0
	evicted, _ := s.cycle(t, countedAction{session.NewReclaim(), &asked})
	assert.Empty(t, evicted)
	assert.Equal(t, 1+1+16, asked, "once to find the job, and before each plan")
}

// TestReasons names the job that gets the cards to pods of its namespace, and gives others its UID.
func TestReasons(t *testing.T) {
	s := newScheduler("n").pods("runs", "borrower", "n", 2, 4, 0).pods("claim", "owner", "", 1, 8, 1)
	s.foreign = "runs-1"
	s.cycle(t, session.NewReclaim())
	assert.Equal(t, map[string]string{
		"runs-0": "reclaim, for job " + cluster.Namespace + "/claim in queue owner",
		"runs-1": "reclaim, for job uid-of-claim in queue owner",
	}, s.reasons)
}

// TestPreempt preempts cards within a queue, by priority. Volcano's metric counts the preemption.
func TestPreempt(t *testing.T) {
	for priority, want := range map[int32]int{1: 0, 5: 0, 9: 1} {
		before := preemptions(t)
		s := newScheduler("n").pods("runs", "owner", "n", 2, 4, 0)
		_, runs := s.last()
		runs.Priority = 5
		_, claim := s.pods("claim", "owner", "", 1, 4, 1).last()
		claim.Priority = priority
		evicted, _ := s.cycle(t, session.NewPreempt())
		assert.Len(t, evicted, want, "priority %d", priority)
		assert.InDelta(t, want, preemptions(t)-before, 0, "priority %d", priority)
	}
}

// preemptions returns the value of Volcano's metric.
func preemptions(t *testing.T) float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "volcano_total_preemption_attempts" {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Fail(t, "Volcano has no such metric")
	return 0
}

// TestNotice gives the victims notice of ten minutes first. They are evicted once it is over.
func TestNotice(t *testing.T) {
	s := newScheduler("n")
	borrower := &s.Queues[1]
	borrower.Annotations[policy.EvictionGraceKey] = "10m"
	_, runs := s.pods("runs", "borrower", "n", 2, 4, 0).last()
	runs.Annotations = map[string]string{policy.EvictionGraceKey: "10m"}
	s.pods("claim", "owner", "", 1, 8, 1)

	next := func(after time.Duration) int {
		s.now = s.now.Add(after)
		evicted, _ := s.cycle(t, session.NewReclaim())
		return len(evicted)
	}
	assert.Zero(t, next(0), "they are told")
	assert.Zero(t, next(9*time.Minute))
	assert.Equal(t, 2, next(time.Minute))
}

// TestNoticeForNobody deletes the pod that others have notice for. They stay.
func TestNoticeForNobody(t *testing.T) {
	s := newScheduler("n")
	s.Queues[1].Annotations[policy.EvictionGraceKey] = "10m"
	_, runs := s.pods("runs", "borrower", "n", 1, 8, 0).last()
	runs.Annotations = map[string]string{policy.EvictionGraceKey: "10m"}
	s.pods("claim", "owner", "", 1, 8, 1)
	evicted, _ := s.cycle(t, session.NewReclaim())
	assert.Empty(t, evicted)

	s.Jobs = s.Jobs[:1]
	for range 3 {
		s.now = s.now.Add(5 * time.Minute)
		evicted, _ = s.cycle(t, session.NewReclaim())
		assert.Empty(t, evicted)
	}
}

// TestEarmarks has a rival while victims terminate for the pod claim-0: their room is not for the rival, and nobody
// else is evicted for claim-0.
func TestEarmarks(t *testing.T) {
	s := newScheduler("n").pods("runs", "borrower", "n", 8, 1, 0).pods("claim", "owner", "", 1, 3, 1)
	evicted, waits := s.cycle(t, session.NewReclaim())
	require.Len(t, evicted, 3)
	require.Equal(t, map[string]string{"claim-0": "n"}, waits)

	for i := range s.Jobs[0].Tasks {
		task := &s.Jobs[0].Tasks[i]
		if slices.Contains(evicted, task.Name) {
			task.Status = workload.TaskReleasing
		}
	}
	rival, _ := s.queue("rival", 8, 8, 0).pods("rival", "rival", "", 1, 3, 1).last()
	rival.Priority = 9
	evicted, waits = s.cycle(t, session.NewReclaim())
	assert.Len(t, evicted, 3)
	assert.Equal(t, map[string]string{"rival-0": "n"}, waits)
}
