package quota_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// names returns the names of candidates in the order in which they are evicted.
func names(ix *index.Index, to index.Queue, candidates []quota.Candidate) (names []string) {
	for _, at := range quota.OrderByWork(ix, to, candidates) {
		names = append(names, candidates[at].Name)
	}
	return names
}

func TestOrderByWork(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "eng"}, queue{name: "mine<eng"}, queue{name: "near<eng"}, queue{name: "far"})
	near, far := lookup(t, ix, "near"), lookup(t, ix, "far")
	for name, test := range map[string]struct {
		candidates []quota.Candidate
		want       []string
	}{
		"none": {nil, nil},
		"the nearer queue first, whatever its priority": {[]quota.Candidate{
			{Name: "far", Queue: far, Ran: 11}, {Name: "near", Queue: near, QueuePriority: 3, JobPriority: 3, Ran: 19},
		}, []string{"near", "far"}},
		"the lower priority of the queue, then of the job, then of the task": {[]quota.Candidate{
			{Name: "task", Queue: far, Priority: 1, Ran: 11}, {Name: "job", Queue: far, JobPriority: 1, Ran: 11},
			{Name: "queue", Queue: far, QueuePriority: 1, Ran: 11}, {Name: "lowest", Queue: far, Ran: 19},
		}, []string{"lowest", "task", "job", "queue"}},
		"a negative priority is lower": {[]quota.Candidate{
			{Name: "zero", Queue: far, Ran: 11}, {Name: "negative", Queue: far, JobPriority: -1},
		}, []string{"negative", "zero"}},
		"a broken job first": {[]quota.Candidate{
			{Name: "young", Queue: far, Job: "j", Ran: 11}, {Name: "old", Queue: far, Job: "broken", Spare: -1, Ran: 19},
		}, []string{"old", "young"}},
		"a broken job of higher priority last": {[]quota.Candidate{
			{Name: "broken", Queue: far, Job: "broken", JobPriority: 1, Spare: -1}, {Name: "whole", Queue: far, Job: "j"},
		}, []string{"whole", "broken"}},
		"the example": {[]quota.Candidate{
			{Name: "a-0", Queue: far, Job: "a", Ran: 5, JobRan: 7}, {Name: "a-1", Queue: far, Job: "a", Ran: 2, JobRan: 7},
			{Name: "b-0", Queue: far, Job: "b", Spare: 2, Ran: 4, JobRan: 8}, {Name: "b-1", Queue: far, Job: "b", Spare: 2, Ran: 3, JobRan: 8},
			{Name: "b-2", Queue: far, Job: "b", Spare: 2, Ran: 1, JobRan: 8},
		}, []string{"b-2", "b-1", "a-0", "a-1", "b-0"}},
		"a whole job that is young before a task that is old": {[]quota.Candidate{
			{Name: "old", Queue: far, Job: "old", Spare: 1, Ran: 10, JobRan: 30}, {Name: "gang", Queue: far, Job: "gang", Ran: 2, JobRan: 8},
		}, []string{"gang", "old"}},
		"a task that is old before a whole job that is young": {[]quota.Candidate{
			{Name: "old", Queue: far, Job: "old", Spare: 1, Ran: 10, JobRan: 30}, {Name: "gang", Queue: far, Job: "gang", Ran: 2, JobRan: 16},
		}, []string{"old", "gang"}},
		"equal candidates by name": {[]quota.Candidate{{Name: "b", Queue: far, Spare: 9}, {Name: "a", Queue: far, Spare: 9}}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, names(ix, lookup(t, ix, "mine"), test.candidates))
		})
	}
	flat := session("", queue{name: "x"}, queue{name: "y"})
	assert.Equal(t, []string{"y", "x"}, names(flat, index.None, []quota.Candidate{
		{Name: "x", Spare: 1, Queue: lookup(t, flat, "x"), Ran: 19}, {Name: "y", Spare: 1, Queue: lookup(t, flat, "y"), Ran: 18}}))
}

// TestOrderByWorkIsStable expects the same order whatever the order of the candidates is.
func TestOrderByWorkIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	ix := randomTree(r, 8)
	for range 200 {
		var candidates []quota.Candidate
		spare := map[string]int{}
		for i := range 12 {
			job := string(rune('a' + r.IntN(4)))
			if _, known := spare[job]; !known {
				spare[job] = r.IntN(4) - 1
			}
			candidates = append(candidates, quota.Candidate{Queue: index.Queue(1 + r.IntN(8)), Job: job, Spare: spare[job],
				Priority: int32(r.IntN(2)), Ran: int64(r.IntN(3)), JobRan: 9, Name: string(rune('A' + i))})
		}
		want := names(ix, 1, candidates)
		assert.ElementsMatch(t, []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"}, want)
		r.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
		assert.Equal(t, want, names(ix, 1, candidates))
	}
}
