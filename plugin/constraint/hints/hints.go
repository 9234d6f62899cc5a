// Package hints says which refusals Volcano may keep in its cache of unschedulable jobs, and which changes of objects
// end them (queueing hints). Volcano does not ask about a job that it keeps until then.
//
// # What may be kept
//
// A refusal is kept if it can end only through the change of an object. Most refusals compare what a queue has, and
// what is reserved in it, with a bound. The bound follows from the queues and the nodes. What counts against it are the
// pods and PodGroups of the queue and the queues below. So a refusal ends
//
//   - when a queue or a node changes: quotas, guarantees, states, parents, labels, what there is;
//   - when a pod or a PodGroup of the job itself changes;
//   - when a pod or a PodGroup changes in a queue below the one that refuses, or anywhere for a rule that compares all queues
//     together, for a list of several cards, and for the name proportion: its deserved follows from all requests;
//   - when a claim of devices, or a device, changes.
//
// What time can end is not kept: budgets, fair share, earmarks, the order of jobs, windows, and the admission of jobs
// where promises have a timeout or can be displaced. Nor is a refusal kept while the session has changed what counts
// against it: what it placed may not get its node, and then no object changes.
//
// Source: the pull request 5848 of Volcano, pkg/scheduler/cache/unschedulable_cache.go. An event that Volcano sees
// while the session runs wakes no job that is refused in it: see docs/dev/UPSTREAM.md.
package hints

import (
	"maps"
	"slices"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

// Settings say which refusals time can end, and which depend on all queues.
type Settings struct {
	// Windows: quotas change at times of day.
	Windows bool
	// Promises: what is reserved for admitted jobs can end in time, or be displaced.
	Promises bool
	// Together: what each queue may have depends on the requests of all.
	Together bool
}

// session notes the refusals of one session. Volcano asks predicates from many goroutines.
type session struct {
	*constraint.Session
	Settings
	memory *Memory
	show   func(job *api.JobInfo) // shows the last reason of a job about which Volcano did not ask

	mu      sync.Mutex
	refused map[api.JobID]refusal
	// placed has the tasks that the session has charged or refunded, with their queues: what it takes back is not
	// there.
	placed map[api.TaskID]placed
	// admitted are the queues in which it has admitted jobs.
	admitted map[index.Queue]bool
}

type placed struct {
	queue index.Queue
	times int // charges, less refunds
}

// Open has Volcano ask m when an object changes, and begins to note refusals. It returns nil where Volcano keeps no
// refusals.
func Open(s *constraint.Session, m *Memory, settings func() Settings, show func(job *api.JobInfo)) *constraint.Hooks {
	if !release.CachesUnschedulable() {
		return nil
	}

	with := settings()
	m.open(s, with.Together)
	release.AddHintProvider(s.Volcano, s.Plugin, m.Wakes)
	notes := &session{Session: s, Settings: with, memory: m, show: show, refused: map[api.JobID]refusal{},
		placed: map[api.TaskID]placed{}, admitted: map[index.Queue]bool{}}
	return notes.hooks()
}

// hooks returns the hooks of the cache of unschedulable jobs.
func (s *session) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob: nil, // it refuses nothing
		Hold:     func(a constraint.JobAsk) { s.admitted[a.Queue] = true },
		Withdraw: func(a constraint.JobAsk) (restore func()) {
			s.admitted[a.Queue] = true
			return func() {}
		},
		Fit:           nil, // it refuses nothing
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // Volcano asks the actions that evict about all jobs
		MayTake:       nil, // for the same reason
		Charge:        nil, // simulations are for the actions that evict
		Charged:       func(a constraint.Ask) { s.place(a, 1) },
		Refunded:      func(a constraint.Ask) { s.place(a, -1) },
		CompareQueues: nil, // it refuses nothing
		NoteRejection: s.noteRejection,
		Close:         s.close,
	}
}

// noteRejection notes that a job, or a task of it, was refused.
func (s *session) noteRejection(r constraint.Rejection) {
	s.mu.Lock()
	defer s.mu.Unlock()

	kept := s.refused[r.Job]
	switch r.Verdict.Reason {
	case quota.Admitted, quota.UnknownQueue, quota.BrokenQueue, quota.InnerQueue, quota.ClosedQueue:
		// Queues and nodes alone decide.
	case quota.TooManyJobs, quota.OverQuota, quota.OverNamespace, quota.OverHolder:
		if r.Several || s.Together {
			kept.anywhere = true
		} else {
			kept = kept.with(refusal{queues: []string{s.Index.Name(r.Verdict.Queue)}})
		}
	case quota.Guaranteed, quota.MixedResources, quota.ResourceMismatch, quota.UntypedPod:
		kept.anywhere = true
	case quota.Reserved:
		kept.anywhere = true
		kept.inTime = kept.inTime || !r.Admission // for pods without their gate, until the session closes
	default:
		kept.inTime = true
	}

	kept.inTime = kept.inTime || r.Admission && s.Promises
	kept.told = kept.told || r.Told
	s.refused[r.Job] = kept
}

func (s *session) place(a constraint.Ask, times int) {
	times += s.placed[a.Task.UID].times
	if times == 0 {
		delete(s.placed, a.Task.UID)
		return
	}
	s.placed[a.Task.UID] = placed{a.Queue, times}
}

// close decides which refusals Volcano keeps.
func (s *session) close() {
	inTime := s.Windows || !s.Books.Empty()
	changed := s.changed()

	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	before := s.memory.refused
	for id, job := range s.Volcano.Jobs {
		if release.Skipped(job) && before[id].told && !s.refused[id].told {
			s.show(job)
		}
	}

	for id, kept := range s.refused {
		if inTime || kept.inTime || kept.in(changed) {
			release.EndsInTime(s.Volcano, s.Plugin, id)
			delete(before, id)
			continue
		}
		if job := s.Volcano.Jobs[id]; job != nil && release.Skipped(job) {
			kept = kept.with(before[id]) // the actions that evict ask about the job all the same
		}
		before[id] = kept
	}
}

// changed returns the names of the queues in which the session has placed tasks or admitted jobs, and of those above.
func (s *session) changed() map[string]bool {
	queues := maps.Clone(s.admitted)
	for _, p := range s.placed {
		queues[p.queue] = true
	}

	names := map[string]bool{}
	for q := range queues {
		for _, p := range s.Index.Path(q) {
			names[s.Index.Name(p)] = true
		}
	}
	return names
}

// refusal is where changes of pods and PodGroups end the refusals of a job.
type refusal struct {
	queues   []string // in these, and below
	anywhere bool
	inTime   bool // they can end without a change
	told     bool // see constraint.Rejection
}

// with returns where changes end either of two refusals.
func (r refusal) with(other refusal) refusal {
	r.anywhere = r.anywhere || other.anywhere
	r.inTime = r.inTime || other.inTime
	r.told = r.told || other.told
	for _, q := range other.queues {
		if !slices.Contains(r.queues, q) {
			r.queues = append(r.queues, q)
		}
	}
	return r
}

// in reports whether there were changes where they end the refusal.
func (r refusal) in(changed map[string]bool) bool {
	return r.anywhere && len(changed) > 0 || slices.ContainsFunc(r.queues, func(q string) bool { return changed[q] })
}
