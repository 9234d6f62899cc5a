package plugin

import (
	"github.com/capacity-card/capacity-card/plugin/arguments"

	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

func ofPriority(p int32) func(*workload.Job) { return func(j *workload.Job) { j.Priority = p } }

// TestDisplacePromises asks about a job with a priority of 10 and two cards, in a queue of four
// whose cards are promised to others.
func TestDisplacePromises(t *testing.T) {
	inqueue := inPhase(workload.Inqueue)
	queue := func(annotations ...string) *scene {
		return newScene().node("c", "C", 8).queue("root", "").queue("q", "root", append([]string{"quota", `{"A":4,"B":4}`}, annotations...)...).
			queue("other", "root", "quota", `{"A":4}`)
	}
	job := func(s *scene, cards string) *scene {
		return s.pods("job", "q", cards, 2, 1, members(2), ofPriority(10))
	}
	tests := map[string]struct {
		scene     *scene
		admitted  bool
		displaced []string
	}{
		"one suffices":                  {job(queue(), "A").pods("low", "q", "A", 2, 1, members(2), inqueue).pods("lower", "q", "A", 2, 1, members(2), inqueue, ofPriority(-1)), true, []string{"lower"}},
		"two are needed":                {job(queue(), "A").pods("low", "q", "A", 1, 1, inqueue).pods("lower", "q", "A", 1, 1, inqueue).pods("high", "q", "A", 2, 1, members(2), inqueue, ofPriority(10)), true, []string{"low", "lower"}},
		"the same priority":             {job(queue(), "A").pods("high", "q", "A", 4, 1, members(4), inqueue, ofPriority(10)), false, nil},
		"too little":                    {job(queue(), "A").pods("low", "q", "A", 1, 1, inqueue).pods("high", "q", "A", 3, 1, members(3), inqueue, ofPriority(10)), false, nil},
		"a pod has a node":              {job(queue(), "A").node("a", "A", 8).pods("low", "q", "A", 4, 1, members(4), first(1, workload.TaskBound, "a"), inqueue), false, nil},
		"another queue":                 {job(queue(), "A").annotate("root", card.QuotaKey, `{"A":4}`).pods("low", "other", "A", 4, 1, members(4), inqueue), false, nil},
		"there is room":                 {job(queue(), "A").pods("low", "q", "A", 2, 1, members(2), inqueue), true, nil},
		"lists":                         {job(queue(), "A|B").pods("low", "q", "B|A", 4, 1, members(4), inqueue).pods("lower", "q", "A|B", 4, 1, members(4), inqueue, ofPriority(-1)), true, []string{"lower"}},
		"the limit of the namespace":    {job(queue("quota.namespace", `{"A":2}`), "A").pods("low", "q", "A", 1, 1, inqueue), true, []string{"low"}},
		"the number of jobs":            {job(queue(), "A").annotate("q", policy.MaxJobsKey, "1").pods("low", "q", "A", 1, 1, inqueue), true, []string{"low"}},
		"a promise that is over anyway": {job(queue(), "A").annotate("q", policy.InqueueTimeoutKey, "1h").pods("low", "q", "A", 4, 1, members(4), inqueue), true, []string{"low"}},
	}
	for name, test := range tests {
		for argument, on := range map[string]bool{"on": true, "off": false} {
			t.Run(name+", "+argument, func(t *testing.T) {
				s := *test.scene
				s.Jobs = slices.Clone(s.Jobs)
				s.arguments = framework.Arguments{arguments.DisplacePromises: on}
				f := s.open(t)
				before := f.promises()
				want := test.admitted && (on || test.displaced == nil)
				require.Equal(t, want, f.JobEnqueueable(f.job("job")))
				assert.Equal(t, before, f.promises(), "the question changes an account")
				if !want {
					return
				}
				require.True(t, f.admit("job"))
				for _, j := range s.Jobs {
					lost := j.Phase == workload.Inqueue && f.job(j.Name).PodGroup.Status.Phase == scheduling.PodGroupPending
					assert.Equal(t, slices.Contains(test.displaced, j.Name), lost, j.Name)
				}
				after := f.promises()
				for i, j := range s.Jobs { // what the next session reads
					s.Jobs[i].Phase = workload.Phase(f.job(j.Name).PodGroup.Status.Phase)
				}
				assert.Equal(t, s.open(t).promises(), after, "the next session has other promises")
			})
		}
	}
}

// promises returns inqueue of all queues and namespaces by name and dimension, and the number of
// reservations that several cards can satisfy.
func (f *fixture) promises() map[string]float64 {
	all := map[string]float64{"lists": float64(f.own.memory.admit.Reservations.Len())}
	add := func(ix *index.Index, kind string) {
		for q := range index.Queue(ix.Len()) {
			for d := range fastres.Dim(ix.Dims()) {
				if n := ix.Inqueue.Row(q).Get(d); n != 0 && int(d) < f.own.memory.names.Len() {
					all[kind+ix.Name(q)+" "+f.own.memory.names.Name(d)] = n
				}
			}
		}
	}
	add(f.own.Index, "")
	if f.own.Intake.Namespaces != nil {
		add(&f.own.Intake.Namespaces.Quota.Accounts, "namespace ")
	}
	return maps.Clone(all)
}

// TestDisplacedJobsAreTold records an event on the job that loses its promise, and ends its
// condition Inqueue. It is admitted again when there is room.
func TestDisplacedJobsAreTold(t *testing.T) {
	s := newScene().node("c", "C", 8).queue("q", "", "quota", `{"A":4}`).pods("low", "q", "A", 4, 1, members(4)).pods("high", "q", "A", 1, 1, ofPriority(5))
	s.arguments = framework.Arguments{arguments.DisplacePromises: true, arguments.InqueueTimeout: "1h"}
	run := newTimed(t, s)
	client, events := recordedEvents()
	run.client = client
	f := run.after(t, 0)
	require.True(t, f.admit("low"))
	f = run.after(t, time.Minute)
	require.True(t, f.admit("high"))
	const text = "The job is not admitted any more: job default/high of the queue has the priority 5, and this one 0. It is admitted again when there is room"
	event := <-events
	assert.Equal(t, []string{"low", v1.EventTypeWarning, "PromiseDisplaced", text}, []string{event.InvolvedObject.Name, event.Type, event.Reason, event.Message})
	assert.Equal(t, "False PromiseDisplaced 1m0s", run.inqueueOf(f, "low"))
	assert.Equal(t, text, f.job("low").JobFitErrors)
	f = run.after(t, time.Minute)
	assert.False(t, f.admit("low"))
	s.Jobs = s.Jobs[:1]
	f = run.after(t, time.Minute)
	assert.True(t, f.admit("low"))
	assert.Equal(t, "True Admitted 3m0s", run.inqueueOf(f, "low"))
}

// TestDisplacementThatOthersRefuse asks about a job that another plugin refuses then. Nobody
// loses a promise, also when another job is admitted next.
func TestDisplacementThatOthersRefuse(t *testing.T) {
	s := newScene().node("c", "C", 8).queue("q", "", "quota", `{"A":4}`).pods("low", "q", "A", 4, 1, members(4), inPhase(workload.Inqueue)).
		pods("high", "q", "A", 1, 1, ofPriority(5)).pods("free", "q", "", 0, 0)
	s.arguments = framework.Arguments{arguments.DisplacePromises: true}
	f := s.open(t)
	require.True(t, f.JobEnqueueable(f.job("high")))
	f.JobEnqueued(f.job("free"))
	assert.Equal(t, scheduling.PodGroupInqueue, f.job("low").PodGroup.Status.Phase)
}

// TestDisplacedOnce admits two jobs in one session. What the first one displaces is not there
// for the second one.
func TestDisplacedOnce(t *testing.T) {
	s := newScene().node("c", "C", 8).queue("q", "", "quota", `{"A":4}`).pods("low", "q", "A", 4, 1, members(4), inPhase(workload.Inqueue)).
		pods("high", "q", "A", 2, 1, members(2), ofPriority(5)).pods("next", "q", "A", 3, 1, members(3), ofPriority(5))
	s.arguments = framework.Arguments{arguments.DisplacePromises: true}
	f := s.open(t)
	require.True(t, f.admit("high"))
	assert.False(t, f.admit("next"))
	assert.Equal(t, map[string]float64{"lists": 0, "q A": 2000}, f.promises())
}
