// Package grace gives pods notice before they are evicted (the annotation volcano.sh/eviction-grace).
//
//	grace(pod) = min(the annotation of the pod, the values of the queues on its path), 0 if either is not set
//	until(pod) = the time of its notice + grace(pod)
//
// What a pod does not ask for, its PodGroup does. A pod gets one notice. It is in the annotation
// volcano.sh/eviction-notice, so that a restart of the scheduler does not begin it again. Its owner can change that
// annotation, so it only ever makes a notice shorter:
//
//	the notice begins at 10:00, grace 10m     annotation     until
//	none yet                                  none           10:10
//	known from before a restart               10:04          10:04
//	changed by its owner                      18:00          10:10, and no more once a scheduler knows it
package grace

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// Memory keeps the notices of pods from one session to the next. The zero Memory is ready.
type Memory struct {
	given   map[api.TaskID]notice
	writer  writer
	notices *Notices // of the session that was opened last; nil where no queue grants any
}

// notice is the notice of one pod.
type notice struct {
	job         api.JobID
	from, until time.Time
}

// InForce returns the notices of the session that was opened last, nil where no queue grants any.
func (m *Memory) InForce() *Notices { return m.notices }

// Problems returns the problems of writing annotations since the last call.
func (m *Memory) Problems() []string { return m.writer.Problems() }

// Wait waits until no annotation is being written.
func (m *Memory) Wait() { m.writer.Wait() }

// Forget forgets all notices except the notices in annotations.
func (m *Memory) Forget() { m.given = nil }

// Notices are the notices of a session.
type Notices struct {
	session  *constraint.Session
	memory   *Memory
	recorder *record.Recorder
	most     []time.Duration // by queue, granted by it and the queues above it
}

// Open returns the notices, nil where no queue grants any. Then the pods that had some are forgotten.
func Open(s *constraint.Session, m *Memory, recorder *record.Recorder) *constraint.Hooks {
	m.notices = nil
	most := granted(s)
	if most == nil {
		m.given = nil
		return nil
	}

	for id, n := range m.given {
		if job := s.Volcano.Jobs[n.job]; job == nil || job.Tasks[id] == nil {
			delete(m.given, id)
		}
	}

	m.writer.flush(s.Volcano.KubeClient())
	m.notices = &Notices{session: s, memory: m, recorder: recorder, most: most}
	return m.notices.hooks()
}

// hooks returns the hooks of notice before evictions. Package reclaim keeps a plan and its victims for the claimant
// meanwhile.
func (n *Notices) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // victims have their nodes, and their evictors belong to admitted jobs
		Hold:          nil, // for the same reason
		Fit:           nil, // the accounts of the future are without the victims, and have the claimant
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // for the same reason
		MayTake:       nil, // for the same reason
		Charge:        nil, // a simulation begins with the future
		Charged:       nil, // package reclaim ends the plan of a victim that goes
		CompareQueues: nil, // share compares the present accounts
		Notifier:      n,
	}
}

// granted returns the most grace of each queue, nil where all have none: the least of the values on its path. Without
// hierarchy, the queue root is above each queue.
func granted(s *constraint.Session) (most []time.Duration) {
	given := func(p *policy.Values) bool {
		own, set := p.EvictionGrace()
		return set && own > 0
	}
	if !s.Intake.AnyPolicy(given) {
		return nil
	}

	most = make([]time.Duration, s.Index.Len())
	root := s.Index.Lookup(index.RootName)
	for q := range most {
		path := s.Index.Path(index.Queue(q))
		if root != index.None && path[len(path)-1] != root {
			path = append(path, root) // to a copy: a path has no room for more
		}

		some := false
		for _, p := range path {
			if own, set := s.Intake.Policies(p).EvictionGrace(); set && (!some || own < most[q]) {
				most[q] = own
				some = true
			}
		}
	}
	return most
}

// graceOf returns how long a task of q has notice.
func (n *Notices) graceOf(q index.Queue, task *api.TaskInfo) time.Duration {
	if q == index.None || n.most[q] == 0 {
		return 0
	}

	asked, ok := policy.ParseGrace(task.Pod.Annotations[policy.EvictionGraceKey])
	if job := n.session.Volcano.Jobs[task.Job]; !ok && job != nil && job.PodGroup != nil {
		asked, ok = policy.ParseGrace(job.PodGroup.Annotations[policy.EvictionGraceKey])
	}
	if !ok {
		return 0
	}
	return min(asked, n.most[q])
}

// Notice returns until when a task of q may not be evicted.
func (n *Notices) Notice(q index.Queue, task *api.TaskInfo) (until time.Time) {
	grace := n.graceOf(q, task)
	if grace == 0 {
		return time.Time{}
	}
	if had, given := n.memory.given[task.UID]; given {
		// The queues or the pod may grant less than they did.
		return earlier(had.until, had.from.Add(grace))
	}

	until = n.session.Now.Add(grace)
	if at, ok := policy.ParseTime(task.Pod.Annotations[policy.EvictionNoticeKey]); ok {
		until = earlier(until, at) // given by a scheduler before this one
	}
	return until
}

func earlier(x, y time.Time) time.Time {
	if y.Before(x) {
		return y
	}
	return x
}

// Has reports whether a task has notice, by this scheduler or one before it.
func (n *Notices) Has(q index.Queue, task *api.TaskInfo) bool {
	_, has := n.memory.given[task.UID]
	if !has {
		_, has = policy.ParseTime(task.Pod.Annotations[policy.EvictionNoticeKey])
	}
	return has && n.graceOf(q, task) > 0
}

// Give gives a task of q notice, unless it has it. The event on the pod ends with why.
func (n *Notices) Give(q index.Queue, task *api.TaskInfo, why string) {
	until := n.Notice(q, task)
	if _, given := n.memory.given[task.UID]; given || until.IsZero() {
		return
	}

	if n.memory.given == nil {
		n.memory.given = map[api.TaskID]notice{}
	}
	n.memory.given[task.UID] = notice{job: task.Job, from: n.session.Now, until: until}

	text := until.UTC().Format(time.RFC3339)
	if task.Pod.Annotations[policy.EvictionNoticeKey] == text {
		return
	}

	n.memory.writer.add(task.Pod, text)
	n.memory.writer.flush(n.session.Volcano.KubeClient())
	n.recorder.RecordPod(n.session.Volcano, task.Pod, v1.EventTypeWarning, record.EvictionNotice,
		fmt.Sprintf("The pod may be evicted from %s on: %s", text, why))
}

// Running returns how many pods of each queue have notice and may not be evicted yet.
func (n *Notices) Running() map[index.Queue]int {
	running := map[index.Queue]int{}
	for id, had := range n.memory.given {
		job := n.session.Volcano.Jobs[had.job]
		task := job.Tasks[id]
		if q := n.session.QueueOf(task); q != index.None && n.session.Now.Before(n.Notice(q, task)) {
			running[q]++
		}
	}
	return running
}
