package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// placed returns a queue with the annotations for a path and weights.
func placed(name, path, weights string) workload.Queue {
	return workload.Queue{Name: name, Weight: 1, Annotations: map[string]string{index.PathKey: path, index.WeightsKey: weights}}
}

// annotatedScene states the tree of company in annotations, in a cluster of 200 cores.
func annotatedScene() *testbed.Scene {
	s := &testbed.Scene{Build: session.NewCapacity, Arguments: framework.Arguments{"deservedFrom": "weight", "hierarchyFrom": "annotation"},
		Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200)}}
	prod := placed("eng-prod", "root/eng/prod", "1/6/8")
	prod.Capability, prod.Guarantee = coresOf(100), coresOf(60)
	s.Queues = []workload.Queue{{Name: "root", Weight: 1}, {Name: "default", Weight: 1}, prod, placed("eng-dev", "root/eng/dev", "1/6/2"),
		placed("biz-marketing", "root/biz/marketing", "1/4/3"), placed("biz-sales", "root/biz/sales", "1/4/1")}
	return s
}

// TestAnnotatedTree opens a tree in which only the leaves are Queues. The queue
// default has no annotation.
func TestAnnotatedTree(t *testing.T) {
	s := annotatedScene()
	s.Jobs = []workload.Job{pendingJob("fine", "eng-prod", 2), runningJob("busy", "eng-dev", 3), pendingJob("plain", "default", 1)}
	s.Nodes[0].Allocatable["memory"] = 1 << 40
	f := s.Open(t)
	for queue, want := range map[string]float64{"root": 200, "root/eng": 120, "root/biz": 80,
		"eng-prod": 96, "eng-dev": 24, "biz-marketing": 60, "biz-sales": 20, "default": 0} {
		assert.Equal(t, want, cpus(f, queue), queue)
	}
	assert.Equal(t, 3000.0, f.Allocated("root/eng").MilliCPU)
	assert.Equal(t, 0.0, f.Allocated("root/biz").MilliCPU)
	assert.True(t, f.JobEnqueueable(f.Job("fine")))
	assert.True(t, f.JobEnqueueable(f.Job("plain")), "idle resources are available to it")
	f.Schedule(t)
	assert.Contains(t, f.Cache.Bound, "fine-a")
	assert.Equal(t, 5000.0, f.Allocated("root/eng").MilliCPU)

	s.Arguments["hierarchyFrom"] = "parent"
	assert.Equal(t, index.None, s.Open(t).Own.Index.Lookup("root/eng"))
}

// TestAnnotatedTreeInSpecMode takes deserved from the spec in a tree from annotations.
func TestAnnotatedTreeInSpecMode(t *testing.T) {
	s := annotatedScene()
	s.Arguments["deservedFrom"] = "spec"
	s.Queues[3].Deserved = coresOf(7)
	f := s.Open(t)
	assert.Equal(t, []float64{7, 0, 200}, []float64{cpus(f, "eng-dev"), cpus(f, "root/eng"), cpus(f, "root")})
	assert.Equal(t, 100000.0, f.Own.Index.RealCapability.Row(f.Own.Index.Lookup("eng-prod")).Get(0))
}

// TestAnnotatedTreeFollowsAnnotations edits annotations between sessions.
func TestAnnotatedTreeFollowsAnnotations(t *testing.T) {
	s := annotatedScene()
	run := testbed.NewSequence(t, s)
	f := run.Open(t)
	tree := f.Own.Index.Tree
	assert.Equal(t, 24.0, cpus(f, "eng-dev"))
	f = run.Open(t)
	assert.Same(t, tree, f.Own.Index.Tree, "the tree is built again although nothing changed")

	edit := func(queue int, path, weights string) *testbed.Fixture {
		s.Queues[queue].Annotations = map[string]string{index.PathKey: path, index.WeightsKey: weights}
		return run.Open(t)
	}
	assert.Equal(t, 60.0, cpus(edit(3, "root/eng/dev", "1/6/8"), "eng-dev"), "another weight")
	f = edit(3, "root/eng/dev", "1/16/8")
	assert.Equal(t, []float64{160, 40}, []float64{cpus(f, "root/eng"), cpus(f, "root/biz")}, "another weight of the department")
	f = edit(3, "root/biz/dev", "1/4/4")
	assert.Equal(t, []float64{120, 80, 100, 40}, []float64{cpus(f, "root/eng"), cpus(f, "root/biz"), cpus(f, "eng-prod"), cpus(f, "eng-dev")}, "another department")
	s.Queues = append(s.Queues, placed("lab", "root/lab/a/b", "1/10/1/1"))
	assert.Equal(t, 100.0, cpus(run.Open(t), "lab"), "a new queue")
	s.Queues = s.Queues[:6]
	f = run.Open(t)
	assert.Equal(t, index.None, f.Own.Index.Lookup("root/lab"), "the queue is gone")
	s.Queues[3].Annotations = nil
	f = run.Open(t)
	assert.Equal(t, []float64{0, 100}, []float64{cpus(f, "eng-dev"), cpus(f, "eng-prod")}, "below the root, without a weight")
}

// TestBadPlaces puts a good queue next to a queue with each kind of invalid hierarchy annotations. The bad queue is
// refused with a reason, and one event on the Queue shows this reason.
func TestBadPlaces(t *testing.T) {
	for path, weights := range map[string]string{
		"eng/prod":      "6/8",
		"root":          "1",
		"root/eng/new":  "1/6/8/1",
		"root//x":       "1/6/8",
		"root/eng/dev":  "1/6/2", // another queue's
		"root/eng/dev2": "1/6/0",
	} {
		t.Run(path, func(t *testing.T) {
			client := fake.NewClientset()
			events := make(chan *v1.Event, 10)
			client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
				event := action.(clienttesting.CreateAction).GetObject().(*v1.Event)
				events <- event
				return true, event, nil
			})
			s := annotatedScene()
			s.Queues = append(s.Queues, placed("another", path, weights))
			s.Jobs = []workload.Job{pendingJob("fine", "eng-dev", 1), pendingJob("poor", "another", 1), runningJob("busy", "another", 1)}
			run := testbed.NewSequence(t, s)
			run.Client = client
			run.Edit = func(info *api.ClusterInfo) {
				for name, queue := range info.Queues { // "another" comes first by name, but last by age
					if queue.Queue.CreationTimestamp = metav1.Unix(1, 0); name == "another" {
						queue.Queue.CreationTimestamp = metav1.NewTime(time.Unix(2, 0))
					}
				}
			}
			for i := range 2 {
				f := run.Open(t)
				s.Queues[5] = placed("biz-sales", "root/biz/sales", "1/4/2") // which makes the session build the tree again
				assert.Equal(t, 24.0, cpus(f, "eng-dev"), "the good queue is affected")
				assert.Equal(t, []float64{0, 0, 1000}, []float64{f.Allocated("root").MilliCPU, f.Allocated("root/eng").MilliCPU, f.Allocated("another").MilliCPU},
					"pods of a broken queue count in it alone")
				assert.True(t, f.JobEnqueueable(f.Job("fine")), "the good queue is affected")
				assert.False(t, f.JobEnqueueable(f.Job("poor")))
				assert.Contains(t, f.Job("poor").JobFitErrors, "Queue <another> takes no jobs: annotation volcano.sh/hierarchy")
				assert.Empty(t, f.Reclaimable(f.Task("fine-a"), []*api.TaskInfo{f.Task("busy-a")}))
				f.Schedule(t)
				framework.CloseSession(f.Session)
				if i > 0 {
					continue
				}
				event := <-events
				assert.Equal(t, []string{"Queue", "another", v1.EventTypeWarning, record.BadHierarchyAnnotation},
					[]string{event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Type, event.Reason})
				assert.Contains(t, event.Message, "annotation volcano.sh/hierarchy")
				assert.Equal(t, "PodGroup", (<-events).InvolvedObject.Kind)
			}
			require.Empty(t, events, "the event is recorded twice")
			s.Queues[6] = placed("another", "root/another", "1/1")
			f := run.Open(t)
			assert.True(t, f.JobEnqueueable(f.Job("poor")), "the annotation is valid again")
		})
	}
}

// TestPlacesThatCountNoMore has a queue with a wrong path, and then an argument with which paths do not count. A queue
// that takes its place has no event about its path.
func TestPlacesThatCountNoMore(t *testing.T) {
	s := annotatedScene()
	s.Queues = append(s.Queues, placed("another", "root//x", "1/6/8"))
	run := testbed.NewSequence(t, s)
	client, events := testbed.RecordedEvents()
	run.Client = client
	run.Open(t)
	assert.Equal(t, record.BadHierarchyAnnotation, (<-events).Reason)
	s.Arguments = framework.Arguments{"deservedFrom": "weight"}
	run.Edit = func(info *api.ClusterInfo) { info.Queues["another"].Queue.UID = "another one" }
	run.Open(t)
	s.Annotate("another", policy.MaxJobsKey, "many")
	run.Open(t)
	assert.Equal(t, record.BadPolicyAnnotation, (<-events).Reason)
}
