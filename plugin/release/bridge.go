package release

//lint:file-ignore U1000 a fallback is unused with the releases that have the declaration

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// session is a session of any release.
type session struct {
	*framework.Session
	absent
}

// absent has the fallbacks for declarations that some releases lack.
type absent struct {
	absentTotals
	absentGangs
	absentMetricsConf
}

// absentTotals stands in for the totals of sessions, which only v1.14.1 has.
type absentTotals struct{ TotalGuarantee, TotalDeserved *api.Resource }

// absentGangs stands in for gang eviction, which sessions have from v1.15 on.
type absentGangs struct{}

type absentEvictable func(*evictionContext[int], []*api.TaskInfo) ([]*api.TaskInfo, int)

// AddUnifiedEvictableFn registers nothing.
func (absentGangs) AddUnifiedEvictableFn(string, absentEvictable) {}

// UnifiedEvictable returns nothing.
func (absentGangs) UnifiedEvictable(*evictionContext[int], []*api.TaskInfo) []*api.TaskInfo {
	return nil
}

// absentMetricsConf stands in for the addresses of metrics servers, which sessions have from v1.16 on.
type absentMetricsConf struct{}

type absentConf map[string]string

// GetMetricsConf returns nothing.
func (absentMetricsConf) GetMetricsConf() absentConf { return nil }

// Built returns the release that the program is built with.
func Built() Release { return built }

// built is found once: each session reads its arguments, which default to it.
var built = find()

// find tells releases apart by the declarations of their types.
func find() Release {
	s := &session{Session: &framework.Session{}}
	_, noGangs := any(s.AddUnifiedEvictableFn).(func(string, absentEvictable))
	_, noMetricsConf := any(s.GetMetricsConf).(func() absentConf)

	switch {
	case &s.TotalGuarantee != &s.absent.TotalGuarantee:
		return V1141
	case noGangs:
		return V1144
	case noMetricsConf:
		return V115
	}
	return V116
}

// SetTotals sets the sums of guarantee and deserved over all queues of a tree. Plugins of v1.14.1 read them from the
// session. Later releases have no such fields.
func SetTotals(ssn *framework.Session, guarantee, deserved *api.Resource) {
	s := session{Session: ssn}
	s.TotalGuarantee = guarantee
	s.TotalDeserved = deserved
}

// AddPreemptiveFn registers the hook that decides whether a queue may reclaim for tasks. Before v1.15 Volcano passes
// one task.
func AddPreemptiveFn(ssn *framework.Session, plugin string, preemptive func(*api.QueueInfo, []*api.TaskInfo) bool) {
	addPreemptive(ssn.AddPreemptiveFn, plugin, preemptive)
}

func addPreemptive[F ~func(any, T) bool, T any](add func(string, F), plugin string,
	preemptive func(*api.QueueInfo, []*api.TaskInfo) bool) {
	one := make([]*api.TaskInfo, 1) // sessions ask from one goroutine
	add(plugin, func(queue any, candidates T) bool {
		switch c := any(&candidates).(type) { // a pointer, as a slice in an interface takes an allocation
		case *[]*api.TaskInfo:
			return preemptive(queue.(*api.QueueInfo), *c)
		case *any:
			one[0] = (*c).(*api.TaskInfo)
			return preemptive(queue.(*api.QueueInfo), one)
		}
		panic("release: api.ValidateWithCandidateFn has a type that no known release has")
	})
}

// Preemptive returns a function that asks the hooks of AddPreemptiveFn. Before v1.15 a session answers about one task
// at a time, and all of them must be allowed.
func Preemptive(ssn *framework.Session) func(queue *api.QueueInfo, tasks ...*api.TaskInfo) bool {
	switch ask := any(ssn.Preemptive).(type) {
	case func(*api.QueueInfo, []*api.TaskInfo) bool:
		return func(queue *api.QueueInfo, tasks ...*api.TaskInfo) bool { return ask(queue, tasks) }
	case func(*api.QueueInfo, *api.TaskInfo) bool:
		return func(queue *api.QueueInfo, tasks ...*api.TaskInfo) bool {
			for _, task := range tasks {
				if !ask(queue, task) {
					return false
				}
			}
			return true
		}
	}
	panic("release: Session.Preemptive has a type that no known release has")
}

// EvictionKind is the purpose of gang eviction.
type EvictionKind int

// The purposes of gang eviction, with the numbers of api.EvictionKind.
const (
	GangPreempt EvictionKind = 1 // for a job of the same queue
	GangReclaim EvictionKind = 2 // for a job of another queue
)

// Eviction describes a gang eviction: its purpose, and the job that it makes room for.
type Eviction struct {
	Kind EvictionKind
	Job  *api.JobInfo // the preemptor or reclaimer
}

// Evictable selects the tasks among candidates that may be evicted.
type Evictable func(eviction Eviction, candidates []*api.TaskInfo) ([]*api.TaskInfo, int)

// AddUnifiedEvictableFn registers the hook of gang eviction. Volcano calls it from v1.15 on.
func AddUnifiedEvictableFn(ssn *framework.Session, plugin string, evictable Evictable) {
	addEvictable(session{Session: ssn}.AddUnifiedEvictableFn, plugin, evictable)
}

// evictionContext is api.EvictionContext, with K for api.EvictionKind.
type evictionContext[K ~int] struct {
	Kind      K
	Job       *api.JobInfo
	Task      *api.TaskInfo
	HyperNode string
}

func addEvictable[F ~func(*C, []*api.TaskInfo) ([]*api.TaskInfo, int), C ~struct {
	Kind      K
	Job       *api.JobInfo
	Task      *api.TaskInfo
	HyperNode string
}, K ~int](add func(string, F), plugin string, evictable Evictable) {
	add(plugin, func(context *C, candidates []*api.TaskInfo) ([]*api.TaskInfo, int) {
		c := evictionContext[K](*context)
		return evictable(Eviction{Kind: EvictionKind(c.Kind), Job: c.Job}, candidates)
	})
}

// UnifiedEvictable asks the hooks of AddUnifiedEvictableFn. Before v1.15 it returns nil.
func UnifiedEvictable(ssn *framework.Session, eviction Eviction, candidates []*api.TaskInfo) []*api.TaskInfo {
	return askEvictable(session{Session: ssn}.UnifiedEvictable, eviction, candidates)
}

func askEvictable[C ~struct {
	Kind      K
	Job       *api.JobInfo
	Task      *api.TaskInfo
	HyperNode string
}, K ~int](ask func(*C, []*api.TaskInfo) []*api.TaskInfo, eviction Eviction,
	candidates []*api.TaskInfo) []*api.TaskInfo {
	context := C(evictionContext[K]{Kind: K(eviction.Kind), Job: eviction.Job})
	return ask(&context, candidates)
}

// withoutDRA returns a cache without a manager of DRA. Only SharedDRAManager may be called, and it returns nil.
func withoutDRA[M any](func(cache.Cache) M) cache.Cache { return any(&noDRA[M]{}).(cache.Cache) }

// noDRA is a cache without a manager of type M.
type noDRA[M any] struct{ cache.Cache }

// SharedDRAManager returns nil.
func (*noDRA[M]) SharedDRAManager() (none M) { return none }
