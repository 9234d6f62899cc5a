package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestPromisesDoNotStarveSiblings has a job in queue bad that is Inqueue and whose minimum
// its queue can never serve. The sibling's job is admitted as far as the rest allows, and
// the siblings' bound stays what it is.
func TestPromisesDoNotStarveSiblings(t *testing.T) {
	inqueue := inPhase(workload.Inqueue)
	cpu := func(cores int64) func(*workload.Job) {
		return func(j *workload.Job) { j.MinResources = workload.Resources{"cpu": cores * 1000} }
	}
	tree := func() *scene {
		return newScene().node("a", "A", 64).queue("root", "").queue("team", "root", "quota", `{"A":8}`).
			queue("bad", "team", "quota", `{"A":2}`, "guarantee", `{"A":0}`).queue("good", "team", "quota", `{"A":8}`, "guarantee", `{"A":0}`).
			pods("six", "good", "A", 6, 1, members(6)).pods("seven", "good", "A", 7, 1, members(7))
	}
	for name, test := range map[string]struct {
		scene      func() *scene
		six, seven bool
	}{
		"a minimum above the quota":         {func() *scene { return tree().pods("bad", "bad", "A", 100, 1, members(100), inqueue) }, true, false},
		"a list with one known card":        {func() *scene { return tree().pods("bad", "bad", "A|B", 100, 1, members(100), inqueue) }, true, false},
		"the minimum of a job without pods": {func() *scene { return tree().pods("bad", "bad", "", 0, 0, cardRequest(`{"A":100}`, workload.Inqueue)) }, true, false},
		"within the quota":                  {func() *scene { return tree().pods("bad", "bad", "A", 1, 1, inqueue) }, true, true},
		"part of it runs": {func() *scene {
			return tree().pods("bad", "bad", "A", 100, 1, members(100), inqueue, first(1, workload.TaskRunning, "a"), inqueue)
		}, true, false},
		"a closed queue": {func() *scene {
			s := tree().pods("bad", "bad", "A", 2, 1, members(2), inqueue)
			s.Queues[2].Closed = true
			return s
		}, true, true},
		"a closed queue, a list": {func() *scene {
			s := tree().pods("bad", "bad", "A|B", 2, 1, members(2), inqueue)
			s.Queues[2].Closed = true
			s.Queues[2].Annotations["volcano.sh/card.quota"] = `{"A":2,"B":0}`
			return s
		}, true, true},
		"cpu": {func() *scene {
			s := tree()
			s.build = NewCapacity
			for i, cores := range []int64{64, 8, 2, 8} {
				s.Queues[i].Annotations, s.Queues[i].Capability = nil, workload.Resources{"cpu": cores * 1000, "memory": 1 << 50}
			}
			for i, cores := range []int64{6, 7} {
				cpu(cores)(&s.Jobs[i])
				s.Jobs[i].Tasks = nil
			}
			return s.pods("bad", "bad", "", 0, 0, inqueue, cpu(100))
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.scene().open(t)
			assert.Equal(t, test.six, f.JobEnqueueable(f.job("six")))
			assert.Equal(t, test.seven, f.JobEnqueueable(f.job("seven")))
		})
	}
}

// TestQuotaLoweredUnderAPromise lowers the quota of a queue whose job is Inqueue.
func TestQuotaLoweredUnderAPromise(t *testing.T) {
	s := newScene().node("a", "A", 64).queue("root", "").queue("team", "root", "quota", `{"A":8}`).
		queue("bad", "team", "quota", `{"A":8}`, "guarantee", `{"A":0}`).queue("good", "team", "quota", `{"A":8}`, "guarantee", `{"A":0}`).
		pods("bad", "bad", "A", 8, 1, members(8), inPhase(workload.Inqueue)).pods("six", "good", "A", 6, 1, members(6))
	run := newSequence(t, s)
	f := run.open(t)
	assert.False(t, f.JobEnqueueable(f.job("six")))
	s.Queues[2].Annotations["volcano.sh/card.quota"] = `{"A":2}`
	f = run.open(t)
	assert.True(t, f.JobEnqueueable(f.job("six")))
	f.JobEnqueued(f.job("six"))
	assert.False(t, f.JobEnqueueable(f.job("six")), "six of eight are reserved now, and two are promised to bad")
}

// TestGangThatLostAPod has a gang of three of which two pods are bound. The third pod was
// deleted and created again, and the job is Pending: its own pods do not count twice.
func TestGangThatLostAPod(t *testing.T) {
	for name, build := range map[string]func() *scene{
		"one card": func() *scene { return newScene().pods("gang", "q", "A", 3, 1, members(3)) },
		"a list":   func() *scene { return newScene().node("b", "B", 8).pods("gang", "q", "A|B", 3, 1, members(3)) },
		"mixed sizes": func() *scene {
			return newScene().pods("gang", "q", "A", 2, 1, members(2), func(j *workload.Job) { j.Tasks[0].Request[gpuName] = 2 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := build().node("a", "A", 8).queue("q", "", "quota", `{"A":3}`)
			placed := len(s.Jobs[0].Tasks) - 1
			first(placed, workload.TaskBound, "a")(&s.Jobs[0])
			f := s.open(t)
			assert.True(t, f.JobEnqueueable(f.job("gang")))
			f.JobEnqueued(f.job("gang"))
			d, _ := f.own.Memory.Names.LookupCard("A")
			if name != "a list" {
				assert.Equal(t, 1000.0, f.own.Index.Inqueue.Row(f.own.Index.Lookup("q")).Get(d), "what is missing")
			}
		})
	}
	s := &scene{build: NewCapacity}
	s.Nodes = oneNode
	s.queue("q", "").batch("gang", "q", 3, 2, 1, 1)
	s.Queues[0].Capability = workload.Resources{"cpu": 3000}
	s.Jobs[0].MinMember, s.Jobs[0].MinResources, s.Jobs[0].Phase = 3, workload.Resources{"cpu": 3000}, workload.Pending
	f := s.open(t)
	assert.True(t, f.JobEnqueueable(f.job("gang")))
}

// TestPromisedCardsComeLast schedules a pod that prefers A beside a job that was promised the
// whole quota of A and can use no other card.
func TestPromisedCardsComeLast(t *testing.T) {
	for quota, want := range map[string]map[string]int{
		`{"A":2,"B":2}`: {"B": 1},
		`{"A":3,"B":2}`: {"A": 1},
		`{"A":2}`:       {"A": 1},
	} {
		s := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", quota).
			pods("only", "q", "", 0, 0, cardRequest(`{"A":2}`, workload.Inqueue)).pods("either", "q", "A|B", 1, 1, inPhase(workload.Inqueue))
		assert.Equal(t, want, s.open(t).schedule(t).placed("either"), quota)
	}
}
