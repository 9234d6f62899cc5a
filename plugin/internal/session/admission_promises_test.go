package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestPromisesDoNotStarveSiblings has a job in queue bad that is Inqueue, with a minimum that its queue can never
// serve. The sibling's job is admitted as far as the rest allows, and the siblings' bound does not change.
func TestPromisesDoNotStarveSiblings(t *testing.T) {
	inqueue := testbed.InPhase(workload.Inqueue)
	cpu := func(cores int64) func(*workload.Job) {
		return func(j *workload.Job) { j.MinResources = workload.Resources{"cpu": cores * 1000} }
	}
	tree := func() *testbed.Scene {
		return testbed.NewScene().Node("a", "A", 64).Queue("root", "").Queue("team", "root", "quota", `{"A":8}`).
			Queue("bad", "team", "quota", `{"A":2}`, "guarantee", `{"A":0}`).Queue("good", "team", "quota", `{"A":8}`, "guarantee", `{"A":0}`).
			Pods("six", "good", "A", 6, 1, testbed.Members(6)).Pods("seven", "good", "A", 7, 1, testbed.Members(7))
	}
	for name, test := range map[string]struct {
		scene      func() *testbed.Scene
		six, seven bool
	}{
		"a minimum above the quota":  {func() *testbed.Scene { return tree().Pods("bad", "bad", "A", 100, 1, testbed.Members(100), inqueue) }, true, false},
		"a list with one known card": {func() *testbed.Scene { return tree().Pods("bad", "bad", "A|B", 100, 1, testbed.Members(100), inqueue) }, true, false},
		"the minimum of a job without pods": {func() *testbed.Scene {
			return tree().Pods("bad", "bad", "", 0, 0, testbed.CardRequest(`{"A":100}`, workload.Inqueue))
		}, true, false},
		"within the quota": {func() *testbed.Scene { return tree().Pods("bad", "bad", "A", 1, 1, inqueue) }, true, true},
		"part of it runs": {func() *testbed.Scene {
			return tree().Pods("bad", "bad", "A", 100, 1, testbed.Members(100), inqueue, firstPods(1, workload.TaskRunning, "a"), inqueue)
		}, true, false},
		"a closed queue": {func() *testbed.Scene {
			s := tree().Pods("bad", "bad", "A", 2, 1, testbed.Members(2), inqueue)
			s.Queues[2].Closed = true
			return s
		}, true, true},
		"a closed queue, a list": {func() *testbed.Scene {
			s := tree().Pods("bad", "bad", "A|B", 2, 1, testbed.Members(2), inqueue)
			s.Queues[2].Closed = true
			s.Queues[2].Annotations["volcano.sh/card.quota"] = `{"A":2,"B":0}`
			return s
		}, true, true},
		"cpu": {func() *testbed.Scene {
			s := tree()
			s.Build = session.NewCapacity
			for i, cores := range []int64{64, 8, 2, 8} {
				s.Queues[i].Annotations, s.Queues[i].Capability = nil, workload.Resources{"cpu": cores * 1000, "memory": 1 << 50}
			}
			for i, cores := range []int64{6, 7} {
				cpu(cores)(&s.Jobs[i])
				s.Jobs[i].Tasks = nil
			}
			return s.Pods("bad", "bad", "", 0, 0, inqueue, cpu(100))
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.scene().Open(t)
			assert.Equal(t, test.six, f.JobEnqueueable(f.Job("six")))
			assert.Equal(t, test.seven, f.JobEnqueueable(f.Job("seven")))
		})
	}
}

// TestQuotaLoweredUnderAPromise lowers the quota of a queue with a job that is Inqueue.
func TestQuotaLoweredUnderAPromise(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 64).Queue("root", "").Queue("team", "root", "quota", `{"A":8}`).
		Queue("bad", "team", "quota", `{"A":8}`, "guarantee", `{"A":0}`).Queue("good", "team", "quota", `{"A":8}`, "guarantee", `{"A":0}`).
		Pods("bad", "bad", "A", 8, 1, testbed.Members(8), testbed.InPhase(workload.Inqueue)).Pods("six", "good", "A", 6, 1, testbed.Members(6))
	run := testbed.NewSequence(t, s)
	f := run.Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("six")))
	s.Queues[2].Annotations["volcano.sh/card.quota"] = `{"A":2}`
	f = run.Open(t)
	assert.True(t, f.JobEnqueueable(f.Job("six")))
	f.JobEnqueued(f.Job("six"))
	assert.False(t, f.JobEnqueueable(f.Job("six")), "six of eight are reserved now, and two are promised to bad")
}

// TestGangThatLostAPod has a gang with all pods bound except for the last one. This pod was deleted and created again,
// and the job is Pending. The job's own pods do not count twice.
func TestGangThatLostAPod(t *testing.T) {
	for name, build := range map[string]func() *testbed.Scene{
		"one card": func() *testbed.Scene { return testbed.NewScene().Pods("gang", "q", "A", 3, 1, testbed.Members(3)) },
		"a list": func() *testbed.Scene {
			return testbed.NewScene().Node("b", "B", 8).Pods("gang", "q", "A|B", 3, 1, testbed.Members(3))
		},
		"mixed sizes": func() *testbed.Scene {
			return testbed.NewScene().Pods("gang", "q", "A", 2, 1, testbed.Members(2), func(j *workload.Job) { j.Tasks[0].Request[testbed.GPU] = 2 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := build().Node("a", "A", 8).Queue("q", "", "quota", `{"A":3}`)
			placed := len(s.Jobs[0].Tasks) - 1
			firstPods(placed, workload.TaskBound, "a")(&s.Jobs[0])
			f := s.Open(t)
			assert.True(t, f.JobEnqueueable(f.Job("gang")))
			f.JobEnqueued(f.Job("gang"))
			d, _ := f.Own.Memory.Names.LookupCard("A")
			if name != "a list" {
				assert.Equal(t, 1000.0, f.Own.Index.Inqueue.Row(f.Own.Index.Lookup("q")).Get(d), "what is missing")
			}
		})
	}
	s := &testbed.Scene{Build: session.NewCapacity}
	s.Nodes = oneNode
	s.Queue("q", "").Pods("gang", "q", "", 3, 0, batch(2, 1, 1))
	s.Queues[0].Capability = workload.Resources{"cpu": 3000}
	s.Jobs[0].MinMember, s.Jobs[0].MinResources, s.Jobs[0].Phase = 3, workload.Resources{"cpu": 3000}, workload.Pending
	f := s.Open(t)
	assert.True(t, f.JobEnqueueable(f.Job("gang")))
}

// TestPromisedCardsComeLast schedules a pod that prefers A. Another job was promised two A and can use no other card.
func TestPromisedCardsComeLast(t *testing.T) {
	for quota, want := range map[string]map[string]int{
		`{"A":2,"B":2}`: {"B": 1},
		`{"A":3,"B":2}`: {"A": 1},
		`{"A":2}`:       {"A": 1},
	} {
		s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", quota).
			Pods("only", "q", "", 0, 0, testbed.CardRequest(`{"A":2}`, workload.Inqueue)).Pods("either", "q", "A|B", 1, 1, testbed.InPhase(workload.Inqueue))
		assert.Equal(t, want, s.Open(t).Schedule(t).Placed("either"), quota)
	}
}
