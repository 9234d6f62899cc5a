package testbed

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// Scheduler is a scheduler with a clock, and with an API server for ConfigMaps.
type Scheduler struct {
	With    framework.Arguments
	Kube    *fake.Clientset // nil for none
	Clock   time.Time
	Build   framework.PluginBuilder
	Started map[string]time.Time // pods
	created map[string]time.Time // pods that wait
	Opened  func()               // is called before the store is waited for, nil for nothing
}

// NewScheduler returns a scheduler that has just started.
func NewScheduler(with framework.Arguments) *Scheduler {
	c := &Scheduler{
		With:    with,
		Kube:    fake.NewClientset(),
		Clock:   time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
		Started: map[string]time.Time{},
		created: map[string]time.Time{},
	}
	c.Restart()
	return c
}

// Restart starts the scheduler again: it has no memory, and the API server has what was stored.
func (c *Scheduler) Restart() {
	builder := session.BuilderOf(session.Name)
	builder.Now = func() time.Time { return c.Clock }
	c.Build = builder.Build
}

// Open opens a session on a scene after some time, and waits for the store.
func (c *Scheduler) Open(t *testing.T, s *Scene, after time.Duration) *Fixture {
	t.Helper()
	c.Clock = c.Clock.Add(after)
	s.Build = c.Build
	s.Arguments = c.With
	f := s.Open(t, func(info *api.ClusterInfo, cache *offline.Cache) {
		if c.Kube != nil {
			cache.Kube = c.Kube
		}
		for _, job := range info.Jobs {
			c.date(job)
		}
	})

	if c.Opened != nil {
		c.Opened()
	}
	f.Own.Memory.Store.Wait()
	return f
}

// date gives the pods of a job the times when they were first seen waiting and running.
func (c *Scheduler) date(job *api.JobInfo) {
	for _, task := range job.Tasks {
		if task.Status == api.Running || task.Status == api.Releasing {
			if c.Started[task.Name].IsZero() {
				c.Started[task.Name] = c.Clock
			}
			task.Pod.Status.StartTime = &metav1.Time{Time: c.Started[task.Name]}
		}
	}

	for _, task := range job.TaskStatusIndex[api.Pending] {
		if c.created[task.Name].IsZero() {
			c.created[task.Name] = c.Clock
		}
		task.Pod.CreationTimestamp = metav1.Time{Time: c.created[task.Name]}
	}
}

// CardsUsed returns the usage of a queue in the first column, in cards.
func (f *Fixture) CardsUsed(queue string) float64 {
	return f.Own.Memory.Fairness.History().Row(f.Own.Index.Lookup(queue))[0] / 1000
}
