package hints

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/quota"
)

// noting opens a session of the jobs and queues of remembering that have not been refused yet.
func noting(with Settings) *session {
	m := remembering()
	s := &constraint.Session{Volcano: &framework.Session{Jobs: map[api.JobID]*api.JobInfo{}}, Index: &index.Index{Tree: m.tree}, Books: &earmark.Session{}}
	for id, queue := range m.queues {
		s.Volcano.Jobs[id] = &api.JobInfo{UID: id, Queue: api.QueueID(queue)}
	}
	m.refused = nil
	m.open(s, with.Together)
	return &session{Session: s, Settings: with, memory: m, refused: map[api.JobID]refusal{}, placed: map[api.TaskID]placed{},
		admitted: map[index.Queue]bool{}}
}

func (s *session) queue(name string) index.Queue { return s.Index.Lookup(name) }

// TestRefusalsThatMayBeKept notes one refusal of ns/leaf in a session, by queue a.
func TestRefusalsThatMayBeKept(t *testing.T) {
	below, anywhere, nowhere := &refusal{queues: []string{"a"}}, &refusal{anywhere: true}, &refusal{}
	for name, test := range map[string]struct {
		reason    quota.Reason
		several   bool
		admission bool
		with      Settings
		want      *refusal // nil: it is not kept
	}{
		"quota":                            {quota.OverQuota, false, false, Settings{}, below},
		"quota at admission":               {quota.OverQuota, false, true, Settings{}, below},
		"quota of several cards":           {quota.OverQuota, true, false, Settings{}, anywhere},
		"quota that follows from all":      {quota.OverQuota, false, false, Settings{Together: true}, anywhere},
		"quota with windows":               {quota.OverQuota, false, false, Settings{Windows: true}, nil},
		"quota beside promises":            {quota.OverQuota, false, true, Settings{Promises: true}, nil},
		"quota of a pod, beside promises":  {quota.OverQuota, false, false, Settings{Promises: true}, below},
		"namespace":                        {quota.OverNamespace, false, false, Settings{}, below},
		"holder":                           {quota.OverHolder, false, true, Settings{}, below},
		"number of jobs":                   {quota.TooManyJobs, false, true, Settings{}, below},
		"guarantees of others":             {quota.Guaranteed, false, false, Settings{}, anywhere},
		"reserved for admitted jobs":       {quota.Reserved, false, true, Settings{}, anywhere},
		"reserved for pods without a gate": {quota.Reserved, false, false, Settings{}, nil},
		"closed queue":                     {quota.ClosedQueue, false, true, Settings{}, nowhere},
		"inner queue":                      {quota.InnerQueue, false, true, Settings{}, nowhere},
		"broken queue":                     {quota.BrokenQueue, false, true, Settings{}, nowhere},
		"node":                             {quota.Admitted, true, false, Settings{}, nowhere},
		"untyped pod":                      {quota.UntypedPod, false, false, Settings{}, anywhere},
		"mixed resources":                  {quota.MixedResources, true, false, Settings{}, anywhere},
		"another resource":                 {quota.ResourceMismatch, false, false, Settings{}, anywhere},
		"budget":                           {quota.OverBudget, false, false, Settings{}, nil},
		"soft quota":                       {quota.OverSoftQuota, false, false, Settings{}, nil},
		"order of jobs":                    {quota.HeldByOrder, false, true, Settings{}, nil},
		"fair share":                       {quota.HeldForFairShare, false, false, Settings{}, nil},
		"earmark":                          {quota.Earmarked, false, false, Settings{}, nil},
		"search":                           {quota.SearchExhausted, false, true, Settings{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := noting(test.with)
			s.noteRejection(constraint.Rejection{Job: "ns/leaf", Verdict: quota.Verdict{Reason: test.reason, Queue: s.queue("a")},
				Several: test.several, Admission: test.admission})
			s.close()
			kept, ok := s.memory.refused["ns/leaf"]
			if assert.Equal(t, test.want != nil, ok) && ok {
				assert.Equal(t, *test.want, kept)
			}
		})
	}
}

// TestRefusalsBesideChanges places tasks, admits jobs and refuses ns/leaf by queue a, ns/wide everywhere and ns/closed
// on nodes.
func TestRefusalsBesideChanges(t *testing.T) {
	all := []api.JobID{"ns/closed", "ns/leaf", "ns/wide"}
	task := func(s *session, queue string) constraint.Ask {
		return constraint.Ask{Task: &api.TaskInfo{UID: "t"}, Queue: s.queue(queue)}
	}
	for name, test := range map[string]struct {
		change func(s *session)
		want   []api.JobID
	}{
		"nothing":                                 {func(*session) {}, all},
		"a task is placed below a":                {func(s *session) { s.hooks().Charged(task(s, "a2")) }, []api.JobID{"ns/closed"}},
		"a task is placed elsewhere":              {func(s *session) { s.hooks().Charged(task(s, "b")) }, []api.JobID{"ns/closed", "ns/leaf"}},
		"a task is evicted below a":               {func(s *session) { s.hooks().Refunded(task(s, "a2")) }, []api.JobID{"ns/closed"}},
		"a task is placed and taken back":         {func(s *session) { s.hooks().Charged(task(s, "a2")); s.hooks().Refunded(task(s, "a2")) }, all},
		"an eviction is discarded":                {func(s *session) { s.hooks().Refunded(task(s, "a2")); s.hooks().Charged(task(s, "a2")) }, all},
		"a job is admitted below a":               {func(s *session) { s.hooks().Hold(constraint.JobAsk{Queue: s.queue("a2")}) }, []api.JobID{"ns/closed"}},
		"the promise of a job is taken elsewhere": {func(s *session) { s.hooks().Withdraw(constraint.JobAsk{Queue: s.queue("b")})() }, []api.JobID{"ns/closed", "ns/leaf"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := noting(Settings{})
			reject := func(job api.JobID, reason quota.Reason) {
				s.noteRejection(constraint.Rejection{Job: job, Verdict: quota.Verdict{Reason: reason, Queue: s.queue("a")}})
			}
			reject("ns/closed", quota.Admitted)
			reject("ns/leaf", quota.OverQuota)
			reject("ns/wide", quota.Guaranteed)
			test.change(s)
			s.close()
			assert.Equal(t, test.want, slices.Sorted(maps.Keys(s.memory.refused)))
		})
	}
}

// TestRefusalsOfAJob notes that one task of a job was refused by a quota, and another one, by a guarantee, on a node.
func TestRefusalsOfAJob(t *testing.T) {
	s := noting(Settings{})
	for range 2 {
		s.noteRejection(constraint.Rejection{Job: "ns/leaf", Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: s.queue("a1")}, Told: true})
	}
	s.noteRejection(constraint.Rejection{Job: "ns/leaf", Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: s.queue("a")}})
	s.noteRejection(constraint.Rejection{Job: "ns/leaf", Verdict: quota.Verdict{Reason: quota.Guaranteed, Queue: s.queue("a")}})
	s.close()
	assert.Equal(t, refusal{queues: []string{"a1", "a"}, anywhere: true, told: true}, s.memory.refused["ns/leaf"])

	next := &constraint.Session{Volcano: &framework.Session{Jobs: map[api.JobID]*api.JobInfo{}}, Index: s.Index}
	s.memory.open(next, false)
	assert.Empty(t, s.memory.refused, "the job is gone")
}
