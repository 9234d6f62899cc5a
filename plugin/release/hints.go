package release

//lint:file-ignore U1000 a fallback is unused with the releases that have the declaration

import (
	"context"

	"k8s.io/component-base/featuregate"
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// unschedulableCache is the feature gate of the cache of unschedulable jobs: a job that plugins refused is not asked
// about again until an event may end the refusal. It is proposed for Volcano's master (pull request 5848).
const unschedulableCache featuregate.Feature = "UnschedulableJobCache"

var knowsUnschedulableCache = known(unschedulableCache)

// KnowsUnschedulableCache reports whether Volcano has the cache of unschedulable jobs.
func KnowsUnschedulableCache() bool { return knowsUnschedulableCache() }

// CachesUnschedulable reports whether Volcano has the cache of unschedulable jobs, and its feature gate is on.
func CachesUnschedulable() bool { return enabled(knowsUnschedulableCache, unschedulableCache) }

// hintedSession is a session of any release.
type hintedSession struct {
	*framework.Session
	absentHints
}

type absentHints struct{ absentCache }

// absentCache stands in for the cache of unschedulable jobs.
type absentCache struct{}

type absentProvider interface {
	EventsToRegister(context.Context) ([]absentEvent, error)
}

type absentEvent struct {
	Event struct {
		Resource   fwk.EventResource
		ActionType fwk.ActionType
	}
	HintFn func(*api.JobInfo, struct{}, any, any) (int, error)
}

// AddHintProvider registers nothing.
func (absentCache) AddHintProvider(string, absentProvider) {}

// AddRejection notes nothing.
func (absentCache) AddRejection(api.JobID, string, string, ...api.TaskID) {}

// hintEvents are the resources that a plugin subscribes to. Their changes alter the accounts and bounds of queues, the
// nodes or the devices. "Queue" and "PodGroup" are api.QueueEvent and api.PodGroupEvent.
var hintEvents = []fwk.EventResource{"Queue", "PodGroup", fwk.Pod, fwk.Node, fwk.ResourceClaim, fwk.ResourceSlice, fwk.DeviceClass}

// Wakes reports whether a change of an object may end the refusal of a job. old is nil for a new object, and now for
// one that is deleted. It is safe for many goroutines.
type Wakes func(job *api.JobInfo, old, now any) bool

// AddHintProvider has Volcano keep the jobs that a plugin refuses in the cache of unschedulable jobs, until wakes
// reports true or its time is over. Without the cache it does nothing.
func AddHintProvider(ssn *framework.Session, plugin string, wakes Wakes) {
	addProvider(hintedSession{Session: ssn}.AddHintProvider, plugin, wakes)
}

func addProvider[P interface {
	EventsToRegister(context.Context) ([]E, error)
}, E ~struct {
	Event  C
	HintFn F
}, C ~struct {
	Resource   fwk.EventResource
	ActionType fwk.ActionType
}, F ~func(*api.JobInfo, R, any, any) (H, error), R any, H ~int](add func(string, P), plugin string, wakes Wakes) {
	p := &provider[E]{}
	hint := func(job *api.JobInfo, _ R, old, now any) (H, error) {
		if wakes(job, old, now) {
			return 1, nil // api.HintWakeup
		}
		return 0, nil
	}
	for _, resource := range hintEvents {
		event := struct {
			Resource   fwk.EventResource
			ActionType fwk.ActionType
		}{resource, fwk.Add | fwk.Update | fwk.Delete}
		p.events = append(p.events, E(struct {
			Event  C
			HintFn F
		}{C(event), hint}))
	}
	add(plugin, any(p).(P))
}

// provider is an api.HintProvider, with E for api.ClusterEventWithHint.
type provider[E any] struct{ events []E }

// EventsToRegister returns the events that a plugin subscribes to.
func (p *provider[E]) EventsToRegister(context.Context) ([]E, error) { return p.events, nil }

// EndsInTime keeps a job that a plugin refused out of the cache of unschedulable jobs: no event ends the refusal.
func EndsInTime(ssn *framework.Session, plugin string, job api.JobID) {
	addRejection(hintedSession{Session: ssn}.AddRejection, plugin, job)
}

// addRejection adds one of a plugin without hints: Volcano does not keep its jobs.
func addRejection[S ~string](add func(api.JobID, string, S, ...api.TaskID), plugin string, job api.JobID) {
	add(job, plugin+"/time", "")
}

// skippable is a job of any release.
type skippable struct {
	*api.JobInfo
	absentSkips
}

type absentSkips struct{ absentSkip }

// absentSkip stands in for what actions leave out, since the cache of unschedulable jobs has the job.
type absentSkip struct{ Skip neverSkipped }

type neverSkipped struct{}

// Skipped reports that nothing is left out.
func (neverSkipped) Skipped() bool { return false }

// Skipped reports whether Volcano leaves out some question about a job in this session.
func Skipped(job *api.JobInfo) bool { return skippable{JobInfo: job}.Skip.Skipped() }
