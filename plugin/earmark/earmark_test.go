package earmark

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
)

// stage is a session in which the pod claim-0 waits, and the pod victim-0 on the node n ends.
type stage struct {
	*framework.Session
	claim, victim *api.TaskInfo
}

func newStage() *stage {
	node := api.NewNodeInfo(cluster.Node(workload.Node{Name: "n", Allocatable: workload.Resources{"nvidia.com/gpu": 8, "pods": 10}}))
	s := &stage{Session: &framework.Session{Jobs: map[api.JobID]*api.JobInfo{}, Nodes: map[string]*api.NodeInfo{"n": node}}}
	pod := func(job string, status workload.Status, node string) *api.TaskInfo {
		task := api.NewTaskInfo(cluster.Pod(job, workload.Task{Name: job + "-0", Status: status, Node: node, Request: workload.Resources{"nvidia.com/gpu": 1},
			Annotations: map[string]string{card.NameKey: "A"}}))
		s.Jobs[api.JobID(job)] = api.NewJobInfo(api.JobID(job), task)
		s.Jobs[api.JobID(job)].Queue = "q"
		return task
	}
	s.claim, s.victim = pod("claim", workload.TaskPending, ""), pod("victim", workload.TaskReleasing, "n")
	s.victim.Status = api.Releasing
	if err := node.AddTask(s.victim); err != nil {
		panic(err)
	}
	return s
}

// evict makes an earmark for claim-0, at the time 0.
func (s *stage) evict() *Registry {
	r := NewRegistry()
	r.opened = true
	waits := *s.claim
	waits.NodeName = "n"
	r.Keep(s.Jobs["claim"], []*api.TaskInfo{&waits}, []*api.TaskInfo{s.victim}, time.Unix(0, 0))
	return r
}

// TestEarmarksEnd opens a session some time after an eviction, in which something has changed.
func TestEarmarksEnd(t *testing.T) {
	gone := func(s *stage) { delete(s.Nodes["n"].Tasks, api.PodKey(s.victim.Pod)) }
	deletedAt := func(at time.Duration) func(*stage) {
		return func(s *stage) {
			s.victim.Pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0).Add(at)}
			s.Nodes["n"].Tasks[api.PodKey(s.victim.Pod)].Pod = s.victim.Pod
		}
	}
	for name, test := range map[string]struct {
		change func(*stage)
		after  time.Duration
		want   bool
	}{
		"the victim ends":                               {func(*stage) {}, time.Minute, true},
		"the victim is gone":                            {gone, Patience, true},
		"the victim is gone for long":                   {gone, Patience + time.Second, false},
		"the victim has a long grace period":            {deletedAt(time.Hour), time.Hour, true},
		"the victim does not end after it":              {deletedAt(time.Hour), time.Hour + Patience + time.Second, false},
		"the API server does not delete the victim":     {func(*stage) {}, Patience + time.Second, false},
		"the eviction failed":                           {func(s *stage) { s.Nodes["n"].Tasks[api.PodKey(s.victim.Pod)].Status = api.Running }, time.Second, false},
		"another pod has the name of the victim":        {func(s *stage) { s.Nodes["n"].Tasks[api.PodKey(s.victim.Pod)].UID = "new" }, Patience, true},
		"the node is lost":                              {func(s *stage) { delete(s.Nodes, "n") }, time.Second, false},
		"the job is gone":                               {func(s *stage) { delete(s.Jobs, "claim") }, time.Second, false},
		"the pod is gone":                               {func(s *stage) { delete(s.Jobs["claim"].Tasks, s.claim.UID) }, time.Second, false},
		"the pod has a node":                            {func(s *stage) { s.claim.Status = api.Bound }, time.Second, false},
		"the job is in another queue":                   {func(s *stage) { s.Jobs["claim"].Queue = "other" }, time.Second, false},
		"the pod requests more":                         {func(s *stage) { s.claim.InitResreq = s.claim.InitResreq.Clone().Add(s.claim.InitResreq) }, time.Second, false},
		"the pod names another card":                    {func(s *stage) { s.claim.Pod.Annotations[card.NameKey] = "B" }, time.Second, false},
		"the list of the pod is written in other words": {func(s *stage) { s.claim.Pod.Annotations[card.NameKey] = " A " }, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			r := s.evict()
			test.change(s)
			assert.Equal(t, test.want, len(r.Open(s.Session, time.Unix(0, 0).Add(test.after))) == 1)
			if !test.want {
				assert.Empty(t, r.jobs, "it is not forgotten")
			}
		})
	}
}

// TestEarmarksWait opens sessions while a victim ends. The patience begins when it is gone.
func TestEarmarksWait(t *testing.T) {
	s := newStage()
	s.victim.Pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0).Add(time.Hour)}
	s.Nodes["n"].Tasks[api.PodKey(s.victim.Pod)].Pod = s.victim.Pod
	r := s.evict()
	at := func(after time.Duration) int { return len(r.Open(s.Session, time.Unix(0, 0).Add(after))) }
	for minute := range 60 {
		assert.Equal(t, 1, at(time.Duration(minute)*time.Minute))
	}
	delete(s.Nodes["n"].Tasks, api.PodKey(s.victim.Pod))
	assert.Equal(t, 1, at(59*time.Minute+Patience))
	assert.Zero(t, at(59*time.Minute+Patience+time.Second))
}

// TestRestart begins with a Registry that knows nothing.
func TestRestart(t *testing.T) {
	s := newStage()
	assert.Empty(t, NewRegistry().Open(s.Session, time.Unix(0, 0)), "no node is nominated")
	s.claim.Pod.Status = v1.PodStatus{NominatedNodeName: "n"}
	r := NewRegistry()
	assert.Equal(t, []Earmark{{s.claim, "n"}}, r.Open(s.Session, time.Unix(0, 0)))
	delete(s.Nodes["n"].Tasks, api.PodKey(s.victim.Pod))
	assert.Len(t, r.Open(s.Session, time.Unix(0, 0)), 1)
	assert.Empty(t, NewRegistry().Open(s.Session, time.Unix(0, 0)), "nothing ends on the node")
	r.ended("claim", s.claim.UID)
	assert.Empty(t, r.Open(s.Session, time.Unix(0, 0)))
}

// TestPlacesSuit compares a task with the pod that got a place.
func TestPlacesSuit(t *testing.T) {
	taskOf := func(cards string, cpu float64) *api.TaskInfo {
		pod := &v1.Pod{}
		pod.Annotations = map[string]string{card.NameKey: cards}
		return &api.TaskInfo{Pod: pod, InitResreq: &api.Resource{MilliCPU: cpu}}
	}
	place := PlaceOf(taskOf("A|B", 1000), "n")
	assert.True(t, place.Suits(taskOf("A|B", 1000)))
	assert.False(t, place.Suits(taskOf("B|A", 1000)), "the order of a list matters")
	assert.False(t, place.Suits(taskOf("A|B", 2000)))
}
