package hints

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// Memory has the refusals that Volcano keeps. The zero Memory is ready. Volcano asks it between sessions and during
// them.
type Memory struct {
	mu       sync.Mutex
	refused  map[api.JobID]refusal
	queues   map[api.JobID]string // of all jobs of the last session
	tree     *index.Tree          // of the last session
	together bool                 // see Settings
	last     change
}

// change is an event as the hints need it. It is computed once, since Volcano passes the same event for each job that
// it keeps.
type change struct {
	old, now any
	counts   bool        // what a job has, or is reserved for it, may be less
	jobs     []api.JobID // of the pod, before and after
	group    api.JobID   // of the PodGroup
	queues   []string    // of the PodGroup, before and after
}

// open begins a session.
func (m *Memory) open(s *constraint.Session, together bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == nil {
		m.refused, m.queues = map[api.JobID]refusal{}, map[api.JobID]string{}
	}

	m.tree = s.Index.Tree
	m.together = together
	clear(m.queues)
	for id, job := range s.Volcano.Jobs {
		m.queues[id] = string(job.Queue)
	}
	maps.DeleteFunc(m.refused, func(id api.JobID, _ refusal) bool { return s.Volcano.Jobs[id] == nil })
}

// Wakes reports whether a change of an object may end the refusal of a job (release.Wakes).
func (m *Memory) Wakes(job *api.JobInfo, old, now any) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	kept, known := m.refused[job.UID]
	if !known {
		return true
	}
	if m.last.old != old || m.last.now != now {
		m.last = m.changeOf(old, now)
	}

	c := &m.last
	switch {
	case !c.counts:
		return false
	case kept.anywhere, len(c.jobs)+len(c.queues) == 0, c.group == job.UID, slices.Contains(c.jobs, job.UID):
		return true
	case len(kept.queues) == 0:
		return false // what other jobs have does not matter
	}

	for _, id := range c.jobs {
		if queue, known := m.queues[id]; !known || m.concerns(kept, queue) {
			return true
		}
	}
	return slices.ContainsFunc(c.queues, func(queue string) bool { return m.concerns(kept, queue) })
}

// concerns reports whether a queue is a queue of a refusal, or below one, or unknown.
func (m *Memory) concerns(kept refusal, queue string) bool {
	q := m.tree.Lookup(queue)
	return q == index.None || slices.ContainsFunc(m.tree.Path(q), func(p index.Queue) bool {
		return slices.Contains(kept.queues, m.tree.Name(p))
	})
}

// changeOf reads an event. What is not known to change nothing counts.
func (m *Memory) changeOf(old, now any) change {
	c := change{old: old, now: now, counts: true}
	switch now := now.(type) {
	case *scheduling.Queue:
		if old, ok := old.(*scheduling.Queue); ok {
			c.counts = !sameQueue(old, now)
		}
	case *api.PodGroup:
		c.group, c.queues = groupOf(now), []string{now.Spec.Queue}
		if old, ok := old.(*api.PodGroup); ok {
			c.queues, c.counts = append(c.queues, old.Spec.Queue), !samePodGroup(old, now)
		} else {
			c.counts = m.together || now.Status.Phase != "" && now.Status.Phase != scheduling.PodGroupPending
		}
	case *v1.Pod:
		c.jobs = []api.JobID{jobOf(now)}
		if old, ok := old.(*v1.Pod); ok {
			c.jobs, c.counts = append(c.jobs, jobOf(old)), !samePod(old, now)
		}
	case nil:
		switch old := old.(type) {
		case *api.PodGroup:
			c.group, c.queues = groupOf(old), []string{old.Spec.Queue}
		case *v1.Pod:
			c.jobs = []api.JobID{jobOf(old)}
		}
	}
	return c
}

// jobOf returns the job of a pod, as Volcano finds it (api.getJobID). A pod without a PodGroup has a job that no
// session knows.
func jobOf(pod *v1.Pod) api.JobID {
	return api.JobID(pod.Namespace + "/" + pod.Annotations[v1beta1.KubeGroupNameAnnotationKey])
}

// groupOf returns the job of a PodGroup.
func groupOf(group *api.PodGroup) api.JobID { return api.JobID(group.Namespace + "/" + group.Name) }

// sameQueue reports whether two states of a queue differ in counters alone.
func sameQueue(x, y *scheduling.Queue) bool {
	return x.UID == y.UID && x.Status.State == y.Status.State &&
		maps.Equal(x.Labels, y.Labels) && maps.Equal(x.Annotations, y.Annotations) &&
		equality.Semantic.DeepEqual(x.Spec, y.Spec)
}

// samePodGroup reports whether two states of a PodGroup differ in conditions and counters alone.
func samePodGroup(x, y *api.PodGroup) bool {
	return x.UID == y.UID && x.Status.Phase == y.Status.Phase &&
		maps.Equal(x.Labels, y.Labels) && maps.Equal(x.Annotations, y.Annotations) &&
		equality.Semantic.DeepEqual(x.Spec, y.Spec)
}

// samePod reports whether two states of a pod have the same node, requests, claims, cards and phase.
func samePod(x, y *v1.Pod) bool {
	return x.UID == y.UID && x.Status.Phase == y.Status.Phase &&
		x.DeletionTimestamp.IsZero() == y.DeletionTimestamp.IsZero() &&
		maps.Equal(x.Labels, y.Labels) && maps.Equal(x.Annotations, y.Annotations) &&
		equality.Semantic.DeepEqual(x.Spec, y.Spec) &&
		equality.Semantic.DeepEqual(x.Status.ResourceClaimStatuses, y.Status.ResourceClaimStatuses) &&
		sameResources(x.Status.InitContainerStatuses, y.Status.InitContainerStatuses) &&
		sameResources(x.Status.ContainerStatuses, y.Status.ContainerStatuses)
}

// sameResources reports whether containers have the same resources: they change where a pod is resized in place.
func sameResources(x, y []v1.ContainerStatus) bool {
	return slices.EqualFunc(x, y, func(x, y v1.ContainerStatus) bool {
		return x.Name == y.Name && equality.Semantic.DeepEqual(x.Resources, y.Resources) &&
			equality.Semantic.DeepEqual(x.AllocatedResources, y.AllocatedResources)
	})
}
