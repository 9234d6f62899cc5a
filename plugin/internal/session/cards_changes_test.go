package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestFirstSession opens a session without one node. The informer has the node, so its
// cards count.
func TestFirstSession(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("late", "B", 8).Queue("q", "", "quota", `{"A":2,"B":2}`).
		Pods("run", "q", "", 2, 1, testbed.On("a")).Pods("next", "q", "A", 1, 1)
	f := s.Open(t, func(info *api.ClusterInfo, c *offline.Cache) {
		c.Informers = informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		for _, n := range s.Nodes[:1] {
			require.NoError(t, c.Informers.Core().V1().Nodes().Informer().GetStore().Add(cluster.Node(n)))
		}
		delete(info.Nodes, "a")
	})
	assert.Equal(t, 2.0, f.CardsOf("q", "A"))
	assert.False(t, f.Allocatable(f.Queue("q"), f.Task("next-0")))
	_, known := f.Own.Memory.Names.LookupCard("B")
	assert.True(t, known, "a node that only the session has counts as well")
}

// TestUnlimitedCPUAndMemory exempts pods with cards, and no others, from cpu and
// memory quotas, from the first session on.
func TestUnlimitedCPUAndMemory(t *testing.T) {
	for _, free := range []bool{true, false} {
		s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).
			Pods("run", "q", "A", 2, 1, testbed.On("a")).Pods("card", "q", "A", 1, 1).Pods("untyped", "q", "", 1, 1).
			Pods("plain", "q", "", 1, 0).Pods("no-resource", "q", "A", 1, 0).
			Pods("mixed", "q", "A", 2, 1, testbed.Members(2), func(j *workload.Job) { delete(j.Tasks[1].Request, testbed.GPU) }).
			Pods("done", "q", "A", 2, 1, firstPods(1, workload.TaskSucceeded, "a"), func(j *workload.Job) { delete(j.Tasks[0].Request, testbed.GPU) })
		s.Queues[0].Capability = workload.Resources{"cpu": 1, "memory": 1}
		for i := range s.Jobs {
			s.Jobs[i].MinResources = workload.Resources{"cpu": 100, "memory": 1 << 20}
		}
		s.Pods("later", "q", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending), func(j *workload.Job) { j.MinResources = workload.Resources{"cpu": 100} }).
			Pods("minimum", "q", "", 0, 0, func(j *workload.Job) { j.MinResources = workload.Resources{"cpu": 100, testbed.GPU: 1} }).
			Pods("cpus", "q", "", 0, 0, func(j *workload.Job) { j.MinResources = workload.Resources{"cpu": 100, testbed.GPU: 0} })
		s.Arguments = framework.Arguments{"cardUnlimitedCpuMemory": free}
		f := s.Open(t)
		assert.Equal(t, free, f.JobEnqueueable(f.Job("later")), "a job without pods that states card.request")
		assert.Equal(t, free, f.JobEnqueueable(f.Job("minimum")), "a job without pods whose minimum has a card resource")
		assert.False(t, f.JobEnqueueable(f.Job("cpus")))
		assert.Equal(t, free, f.JobEnqueueable(f.Job("done")), "a finished pod requests nothing")
		for job, want := range map[string]bool{"card": free, "untyped": free, "plain": false, "no-resource": false, "mixed": false} {
			assert.Equal(t, want, f.JobEnqueueable(f.Job(job)), "%s, exempt: %t", job, free)
			assert.Equal(t, want, f.Allocatable(f.Queue("q"), f.Task(job+"-0")) && job != "mixed", "%s, exempt: %t", job, free)
		}
		cpu := f.Allocated("q").MilliCPU
		request := f.Own.Index.Request.Row(f.Own.Index.Lookup("q")).Get(fastres.CPU)
		if free {
			assert.Zero(t, cpu)
			assert.Equal(t, 300.0, request, "plain, no-resource and one of mixed")
			f.JobEnqueued(f.Job("card"))
			assert.Zero(t, f.Own.Index.Inqueue.Row(f.Own.Index.Lookup("q")).Get(fastres.CPU))
		} else {
			assert.Equal(t, 200.0, cpu)
			assert.Equal(t, 900.0, request)
		}
	}
}

// TestReservationsOfExemptPods admits a job of a pod with cards, which is exempt from
// cpu quotas, and a pod without. Only the cpu of the second is reserved.
func TestReservationsOfExemptPods(t *testing.T) {
	plain := func(j *workload.Job) {
		delete(j.Tasks[1].Request, testbed.GPU)
		j.MinResources = workload.Resources{"cpu": 200}
	}
	gated := func(j *workload.Job) { j.Tasks[0].Gated = true }
	for name, s := range map[string]*testbed.Scene{
		"gated":  testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Pods("job", "q", "A", 2, 1, testbed.Members(2), plain, gated),
		"placed": testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Pods("job", "q", "A", 2, 1, testbed.Members(2), plain, firstPods(1, workload.TaskRunning, "a")),
	} {
		s.Arguments = framework.Arguments{"cardUnlimitedCpuMemory": true}
		reserved := func(f *testbed.Fixture) float64 {
			return f.Own.Index.Inqueue.Row(f.Own.Index.Lookup("q")).Get(fastres.CPU)
		}
		f := s.Open(t)
		f.JobEnqueued(f.Job("job"))
		assert.Equal(t, 100.0, reserved(f), name)
		s.Jobs[0].Phase = workload.Inqueue
		assert.Equal(t, 100.0, reserved(s.Open(t)), name)
	}
}

// TestNodeLostInUse loses a node with running pods. They stay charged for its cards.
func TestNodeLostInUse(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":2,"B":2}`).
		Pods("either", "q", "A|B", 2, 1, testbed.On("b")).Pods("any", "q", "", 1, 1, testbed.On("b")).Pods("next", "q", "A|B", 3, 1)
	run := testbed.NewSequence(t, s)
	run.Open(t)
	s.Nodes = s.Nodes[:1]
	for range 3 {
		f := run.Open(t)
		assert.Equal(t, 0.0, f.CardsOf("q", "A"))
		assert.Equal(t, 3.0, f.CardsOf("q", "B"))
	}
	s.Jobs = s.Jobs[2:]
	run.Open(t)
	f := run.Open(t)
	f.Schedule(t)
	assert.Equal(t, map[string]int{"A": 2}, f.Placed("next"))

	fresh := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":2,"B":2}`).Pods("either", "q", "B|A", 2, 1, testbed.On("b"))
	f = testbed.NewSequence(t, fresh).Open(t)
	assert.Equal(t, 2.0, f.CardsOf("q", "B"), "after a restart they are charged for the first card of their list")
}

// TestChangedNode takes cards away from a node with running pods. What a pod was
// charged for stays charged until the pod is gone; new pods get the new cards.
func TestChangedNode(t *testing.T) {
	const mig = "nvidia.com/mig-1g.5gb"
	relabel := func(n *workload.Node) { n.Labels = map[string]string{"nvidia.com/gpu.product": "B"} }
	unlabel := func(n *workload.Node) { n.Labels = nil }
	for name, c := range map[string]struct {
		untyped string
		pods    func(*testbed.Scene)
		change  func(*workload.Node)
		want    map[string]float64
		next    map[string]int // further pods of A|B, by card
	}{
		"a list, relabeled":            {"charge", func(s *testbed.Scene) { s.Pods("run", "q", "B|A", 2, 1, testbed.On("n")) }, relabel, map[string]float64{"A": 2}, map[string]int{"B": 2}},
		"a list, unlabeled":            {"charge", func(s *testbed.Scene) { s.Pods("run", "q", "B|A", 2, 1, testbed.On("n")) }, unlabel, map[string]float64{"A": 2}, map[string]int{}},
		"untyped, relabeled":           {"charge", func(s *testbed.Scene) { s.Pods("run", "q", "", 2, 1, testbed.On("n")) }, relabel, map[string]float64{"A": 2}, map[string]int{"B": 2}},
		"untyped, unlabeled":           {"charge", func(s *testbed.Scene) { s.Pods("run", "q", "", 2, 1, testbed.On("n")) }, unlabel, map[string]float64{"A": 2}, map[string]int{}},
		"untyped, rejected, unlabeled": {"reject", func(s *testbed.Scene) { s.Pods("run", "q", "", 2, 1, testbed.On("n")) }, unlabel, map[string]float64{"A": 2}, map[string]int{}},
		"untyped, ignored, unlabeled":  {"ignore", func(s *testbed.Scene) { s.Pods("run", "q", "", 2, 1, testbed.On("n")) }, unlabel, map[string]float64{}, map[string]int{}},
		"repartitioned": {"charge", func(s *testbed.Scene) { s.Pods("run", "q", "", 2, 1, testbed.On("n"), testbed.Requesting(mig, 1)) }, func(n *workload.Node) {
			delete(n.Allocatable, mig)
		}, map[string]float64{"A/mig-1g.5gb-mixed": 2}, map[string]int{"A": 2}},
		"the resource is gone": {"charge", func(s *testbed.Scene) { s.Pods("run", "q", "A", 2, 1, testbed.On("n")) }, func(n *workload.Node) {
			delete(n.Allocatable, testbed.GPU)
		}, map[string]float64{"A": 2}, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene().MixedNode("n", map[string]string{"nvidia.com/gpu.product": "A"}, workload.Resources{testbed.GPU: 8, mig: 4}).
				Queue("q", "", "quota", `{"A":2,"B":2,"A/mig-1g.5gb-mixed":2}`)
			s.Arguments = framework.Arguments{"untypedCards": c.untyped}
			c.pods(s)
			run := testbed.NewSequence(t, s)
			check := func(f *testbed.Fixture) {
				t.Helper()
				for _, card := range []string{"A", "B", "A/mig-1g.5gb-mixed"} {
					assert.Equal(t, c.want[card], max(0, f.CardsOf("q", card)), card)
					if d, known := f.Own.Memory.Names.LookupCard(card); known && c.want[card] > 0 {
						assert.Equal(t, 1000.0, f.Own.Index.Elastic.Row(f.Own.Index.Lookup("q")).Get(d), "one of the two pods is elastic")
					}
				}
			}
			check(run.Open(t))
			c.change(&s.Nodes[0])
			check(run.Open(t))
			check(run.Open(t))

			s.Pods("next", "q", "A|B", 2, 1)
			f := run.Open(t).Schedule(t)
			assert.Equal(t, c.next, f.Placed("next"))
			victim := f.Task("run-0")
			require.NoError(t, release.Evict(framework.NewStatement(f.Session), victim, "test"))
			for card, want := range c.want {
				assert.Equal(t, want-1, f.CardsOf("q", card), "the refund is what was charged")
			}
			s.Jobs = s.Jobs[1:]
			for card := range c.want {
				assert.Zero(t, run.Open(t).CardsOf("q", card), "the pods are gone")
			}
		})
	}
}

// TestPluginAway has the plugin leave the configuration. Meanwhile a node gets another card, and
// pods start there. When the plugin is back, the pods that it has seen on the node, or placed there,
// hold the former card. All others have the card that the node has now.
func TestPluginAway(t *testing.T) {
	s := testbed.NewScene().Node("n", "A", 8).Queue("q", "", "quota", `{"A":8,"B":8}`).
		Pods("seen", "q", "", 2, 1, testbed.On("n")).Pods("placed", "q", "A|B", 1, 1).
		Pods("waits", "q", "B", 1, 1).Pods("gang", "q", "", 2, 5, testbed.Members(2))
	run := testbed.NewSequence(t, s)
	f := run.Open(t).Schedule(t)
	require.Contains(t, f.Cache.Bound, "placed-0")
	require.NotContains(t, f.Cache.Bound, "gang-0", "one of the two pods fits, so its place is discarded")

	s.Nodes[0].Labels = map[string]string{"nvidia.com/gpu.product": "B"}
	testbed.On("n")(&s.Jobs[1])
	testbed.On("n")(&s.Jobs[2])
	testbed.On("n")(&s.Jobs[3])
	s.Pods("new", "q", "", 1, 1, testbed.On("n"))
	for range 2 {
		f = run.Open(t)
		assert.Equal(t, []float64{3, 12}, []float64{f.CardsOf("q", "A"), f.CardsOf("q", "B")})
	}
}

// TestPodsWithoutPodGroup has a scheduler start when the PodGroup of a job is deleted, and its pods still run. Where
// cards do not count, its pods do not either, as upstream.
func TestPodsWithoutPodGroup(t *testing.T) {
	s := testbed.NewScene().Node("n", "A", 8).Queue("cards", "", "quota", `{"A":8}`).Queue("plain", "").
		Pods("train", "cards", "A", 2, 1, testbed.On("n")).Pods("serve", "plain", "", 2, 1, testbed.On("n"))
	s.Build = session.NewCapacity
	for i := range s.Jobs[1].Tasks {
		s.Jobs[1].Tasks[i].Annotations = map[string]string{v1beta1.QueueNameAnnotationKey: "plain"}
	}
	f := s.Open(t, func(info *api.ClusterInfo, _ *offline.Cache) { delete(info.Jobs, cluster.Namespace+"/serve") })
	for queue, want := range map[string]float64{"cards": 200, "plain": 0} {
		assert.Equal(t, want, f.Own.Index.Allocated(f.Own.Index.Lookup(queue)).Get(fastres.CPU), queue)
	}
}

// TestHeldCardsOfChurn keeps the cards that the pods of a lost node hold while names and pods come and go.
func TestHeldCardsOfChurn(t *testing.T) {
	s := testbed.NewScene().Node("n", "A", 8).Node("other", "B", 8).Queue("q", "", "quota", `{"A":2,"B":2}`).Pods("run", "q", "B|A", 2, 1, testbed.On("n"))
	run := testbed.NewSequence(t, s)
	run.Open(t)
	s.Nodes = s.Nodes[1:]
	for i := range 4 {
		s.Pods(fmt.Sprint("churn-", i), "q", "", 300, 0, func(j *workload.Job) {
			for k := range j.Tasks {
				j.Tasks[k].Request[fmt.Sprintf("example.com/r%d-%d", i, k)] = 1
			}
		})
		f := run.Open(t)
		assert.Equal(t, 2.0, f.CardsOf("q", "A"))
		assert.Equal(t, 0.0, f.CardsOf("q", "B"))
		s.Jobs = s.Jobs[:1]
	}
}

// TestQuotasFollowAnnotations edits annotations between sessions. An invalid value
// leaves the last good one in force, and affects nothing else.
func TestQuotasFollowAnnotations(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":1,"B":1}`).Queue("other", "", "quota", `{"A":1}`)
	run := testbed.NewSequence(t, s)
	quotaOf := boundOf
	for _, step := range []struct {
		text    string
		a, b, c float64
		warning string
	}{
		{`{"A":1,"B":1}`, 1, 1, 0, ""},
		{`{"A":2,"B":1.5,"C":-1}`, 2, 1, 0, `annotation volcano.sh/card.quota: "B": 1.5 is not a whole number of cards; the last good value, 1, stays in force; ` +
			`annotation volcano.sh/card.quota: "C": -1 is negative`},
		{`{"A":3,"B":"4","C":null}`, 3, 1, 0, `"B": `},
		{`{"A":5`, 3, 1, 0, "the last good value stays in force"},
		{`[]`, 3, 1, 0, "the last good value stays in force"},
		{`{"A":6,"B":2,"C":7}`, 6, 2, 7, ""},
		{`{"B":2}`, 0, 2, 0, ""},
		{`{"A":true,"B":2}`, 0, 2, 0, `"A": `},
	} {
		s.Queues[0].Annotations["volcano.sh/card.quota"] = step.text
		f := run.Open(t)
		assert.Equal(t, []float64{step.a, step.b, step.c}, []float64{quotaOf(f, "q", "A"), quotaOf(f, "q", "B"), quotaOf(f, "q", "C")}, step.text)
		assert.Equal(t, 1.0, quotaOf(f, "other", "A"), "another queue is affected")
		problems := strings.Join(problemsOf(f, "q"), "; ")
		assert.Contains(t, problems, step.warning)
		assert.Equal(t, step.warning == "", problems == "", problems)
	}
	delete(s.Queues[0].Annotations, "volcano.sh/card.quota")
	assert.Equal(t, 0.0, quotaOf(run.Open(t), "q", "B"))
}

// problemsOf returns the problems of a queue's card annotations.
func problemsOf(f *testbed.Fixture, queue string) []string {
	for _, p := range f.Own.Cards.Problems(f.Own.Index) {
		if p.Queue.Name == queue {
			return p.Texts
		}
	}
	return nil
}

// TestWarningsOnQueues records an event on the Queue when the problems of its
// annotations change.
func TestWarningsOnQueues(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("good", "", "quota", `{"A":1}`).
		Queue("bad", "", "quota", `{"A":1,"B":"x"}`, "deserved", `{"A":2,"Z":1}`, "guarantee", `{"A":9}`).
		Pods("fine", "good", "A", 1, 1).Pods("large", "good", "A", 1, 2)
	run := testbed.NewSequence(t, s)
	client, events := testbed.RecordedEvents()
	run.Client = client
	run.Open(t)
	event := <-events
	assert.Equal(t, "Queue", event.InvolvedObject.Kind)
	assert.Equal(t, "bad", event.InvolvedObject.Name)
	assert.Equal(t, v1.EventTypeWarning, event.Type)
	assert.Equal(t, record.BadCardAnnotation, event.Reason)
	assert.Equal(t, `annotation volcano.sh/card.quota: "B": a string is not a number of cards; `+
		`annotation volcano.sh/card.deserved: "A" is 2, more than its quota of 1; `+
		`annotation volcano.sh/card.deserved: "Z" has no quota, so it counts for nothing; `+
		`annotation volcano.sh/card.guarantee: "A" is 9, more than its quota of 1`, event.Message)
	f := run.Open(t)
	assert.True(t, f.JobEnqueueable(f.Job("fine")))
	assert.False(t, f.JobEnqueueable(f.Job("large")))
	event = <-events
	assert.Equal(t, []string{"PodGroup", cluster.Namespace, "large", v1.EventTypeWarning, "Unschedulable"},
		[]string{event.InvolvedObject.Kind, event.InvolvedObject.Namespace, event.InvolvedObject.Name, event.Type, event.Reason})
	assert.Empty(t, f.Cache.Events(), "the event is recorded twice")
	s.Queues[1].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`, "volcano.sh/card.deserved": `{"A":2}`}
	run.Open(t)
	event = <-events
	assert.Equal(t, `annotation volcano.sh/card.deserved: "A" is 2, but 4 are guaranteed and never taken back; set volcano.sh/card.guarantee`, event.Message)
}

// TestWarningsOnUnknownAnnotations records an event on the Queue for each annotation that
// has no effect, once while it is there. It does so under every name of the plugin, also
// where no queue has a card annotation.
func TestWarningsOnUnknownAnnotations(t *testing.T) {
	for name, build := range map[string]framework.PluginBuilder{session.Name: session.New, session.CapacityName: session.NewCapacity, session.ProportionName: session.NewProportion} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quotas", `{"A":1}`).Queue("p", "", "name", "A")
			s.Queues[0].Annotations["volcano.sh/hierachy"] = "root/q" // starts with no prefix of this module
			s.Queues[0].Annotations["volcano.sh/hierarchy-weight"] = "1/2"
			s.Build = build
			client := fake.NewClientset()
			events := make(chan string, 10)
			client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
				event := action.(clienttesting.CreateAction).GetObject().(*v1.Event)
				events <- event.InvolvedObject.Name + " " + event.Type + " " + event.Reason + " " + event.Message
				return true, event, nil
			})
			run := testbed.NewSequence(t, s)
			run.Client = client
			run.Open(t)
			assert.Equal(t, "p Warning BadCardAnnotation annotation volcano.sh/card.name is an annotation of pods and has no effect here", <-events)
			assert.Equal(t, `q Warning BadCardAnnotation annotation volcano.sh/card.quotas is unknown and has no effect; did you mean "volcano.sh/card.quota"?`, <-events)
			assert.Equal(t, `q Warning BadHierarchyAnnotation annotation volcano.sh/hierarchy-weight is unknown and has no effect; did you mean "volcano.sh/hierarchy-weights"?`, <-events)
			run.Open(t)
			delete(s.Queues[0].Annotations, "volcano.sh/card.quotas")
			run.Open(t)
			s.Queues[0].Annotations["volcano.sh/card.quotas"] = "{}"
			run.Open(t)
			assert.Contains(t, <-events, "q Warning BadCardAnnotation annotation volcano.sh/card.quotas", "the next event, after it came back")
		})
	}
}

// TestReasons records on the PodGroup why a job waits. It does so once while the
// reason stays the same.
func TestReasons(t *testing.T) {
	s := testbed.NewScene().Node("h", "NVIDIA-H200", 8).Queue("cr-queue1", "", "quota", `{"NVIDIA-H200":3}`).
		Pods("job", "cr-queue1", "", 0, 0, testbed.CardRequest(`{"NVIDIA-H200":5}`, workload.Pending))
	run := testbed.NewSequence(t, s)
	const text = "Queue <cr-queue1> has insufficient <NVIDIA-H200> quota: requested <5>, total would be <5>, but capability is <3>"
	f := run.Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("job")))
	assert.Equal(t, []string{"Warning Unschedulable " + text}, f.Cache.Events())
	assert.Equal(t, text, f.Job("job").JobFitErrors)

	s.Pods("run", "cr-queue1", "NVIDIA-H200", 2, 1, testbed.On("h"))
	f = run.Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("job")))
	assert.Empty(t, f.Cache.Events(), "a change in the usage of others is no new reason")
	assert.Equal(t, text, f.Job("job").JobFitErrors, "the text of the condition changed")

	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"NVIDIA-H200":4}`
	f = run.Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("job")))
	assert.Len(t, f.Cache.Events(), 1)
	assert.Contains(t, f.Job("job").JobFitErrors, "total would be <6>, but capability is <4>")

	s.Build = session.NewCapacity
	f = testbed.NewSequence(t, s).Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("job")))
	require.Len(t, f.Cache.Events(), 1)
	assert.True(t, strings.HasPrefix(f.Cache.Events()[0], "Normal Unschedulable queue resource quota insufficient: insufficient NVIDIA-H200; Queue <"), f.Cache.Events()[0])
}

// TestNodeReasons explains why the predicate refuses a node.
func TestNodeReasons(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 1).Node("b", "B", 8).Node("c", "C", 8).
		MixedNode("shared", map[string]string{"nvidia.com/gpu.product": "A"}, workload.Resources{"nvidia.com/gpu.shared": 8}).
		MixedNode("bare", nil, workload.Resources{testbed.GPU: 8}).
		Queue("q", "", "quota", `{"A":1,"B":1}`).Pods("run", "q", "B", 1, 1, testbed.On("b")).
		Pods("job", "q", "A|B", 1, 1).Pods("mps", "q", "", 1, 0, testbed.Requesting("nvidia.com/gpu.shared", 1))
	f := s.Open(t)
	for node, want := range map[string]string{
		"a":      "",
		"b":      "Queue <q> has insufficient <B> quota: requested <1>, total would be <2>, but capability is <1>",
		"c":      "node(s) have none of the cards <A|B>",
		"shared": "",
		"bare":   "node(s) have <nvidia.com/gpu> but lack the label nvidia.com/gpu.product, which names the card",
	} {
		err := f.PredicateFn(f.Task("job-0"), f.Nodes[node])
		if want == "" {
			assert.NoError(t, err, node)
		} else {
			assert.ErrorContains(t, err, want, node)
		}
	}
	assert.ErrorContains(t, f.PredicateFn(f.Task("mps-0"), f.Nodes["shared"]),
		"node(s) have <nvidia.com/gpu.shared> but lack the label nvidia.com/gpu.memory, which names the card")
	assert.ErrorContains(t, f.PredicateFn(f.Task("mps-0"), f.Nodes["bare"]), "node(s) have no <nvidia.com/gpu.shared>")
	assert.False(t, f.Allocatable(f.Queue("q"), f.Task("mps-0")))
	assert.Contains(t, f.Job("mps").JobFitErrors, "No queue has a quota of <nvidia.com/gpu.shared>")
}

// TestCardMetrics publishes cards in the series of scalar resources.
func TestCardMetrics(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("metered", "root", "quota", `{"A":3}`, "deserved", `{"A":2}`, "guarantee", `{"A":1}`).
		Pods("run", "metered", "A", 2, 1, testbed.On("a")).Pods("wait", "metered", "A", 2, 1)
	f := s.Open(t)
	require.NoError(t, framework.NewStatement(f.Session).Allocate(f.Task("wait-0"), f.Nodes["a"]))
	got := map[string]float64{}
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, pair := range metric.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			if labels["queue_name"] == "metered" && labels["resource"] == "A" {
				got[family.GetName()] = metric.GetGauge().GetValue()
			}
		}
	}
	assert.Equal(t, map[string]float64{
		"volcano_queue_allocated_scalar_resources":     3000,
		"volcano_queue_request_scalar_resources":       4000,
		"volcano_queue_deserved_scalar_resources":      2000,
		"volcano_queue_capacity_scalar_resources":      3000,
		"volcano_queue_real_capacity_scalar_resources": 3000,
	}, got)
}

// TestJobScalesBetweenSessions adds and removes pods of a job between sessions, as an
// autoscaler does. As many run as the quota admits.
func TestJobScalesBetweenSessions(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":3}`)
	run := testbed.NewSequence(t, s)
	for _, step := range []struct{ running, waiting, placed int }{{0, 2, 2}, {2, 4, 1}, {3, 1, 0}, {1, 0, 0}, {1, 5, 2}} {
		s.Jobs = nil
		if step.running > 0 {
			s.Pods("up", "q", "A", step.running, 1, testbed.On("a"))
		}
		s.Pods("new", "q", "A", step.waiting, 1)
		f := run.Open(t).Schedule(t)
		assert.Len(t, f.Cache.Bound, step.placed, step)
		assert.Equal(t, float64(step.running+step.placed), f.CardsOf("q", "A"))
	}
}

// TestJobsDoNotTellThatTheirPodsChanged has two sessions with a job, and its pod is replaced in between. The data that
// Volcano keeps for the job as a whole is the same, but its cards differ. So the opening of a session has to visit each
// task.
func TestJobsDoNotTellThatTheirPodsChanged(t *testing.T) {
	open := func(node string) *testbed.Fixture {
		return testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":4,"B":4}`).
			Pods("run", "q", "A|B", 1, 1, testbed.On(node)).Open(t)
	}
	before, after := open("a"), open("b")
	whole := func(f *testbed.Fixture) (job api.JobInfo, statuses map[api.TaskStatus]int) {
		job, statuses = *f.Job("run"), map[api.TaskStatus]int{}
		for status, tasks := range job.TaskStatusIndex {
			statuses[status] = len(tasks)
		}
		job.Tasks, job.TaskStatusIndex, job.SubJobs, job.TaskToSubJob = nil, nil, nil, nil
		return job, statuses
	}
	one, statusesOfOne := whole(before)
	other, statusesOfOther := whole(after)
	assert.Equal(t, one, other)
	assert.Equal(t, statusesOfOne, statusesOfOther)
	assert.Equal(t, 1.0, before.CardsOf("q", "A"))
	assert.Equal(t, 0.0, after.CardsOf("q", "A"))
	assert.Equal(t, 1.0, after.CardsOf("q", "B"))
}

// TestReasonOfAListFollowsAncestors raises the quota of an ancestor that refuses a
// card list. The reason names the new quota.
func TestReasonOfAListFollowsAncestors(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("root", "").
		Queue("team", "root", "quota", `{"A":1,"B":1}`).Queue("leaf", "team", "quota", `{"A":8,"B":8}`).
		Pods("job", "leaf", "A|B", 1, 4)
	run := testbed.NewSequence(t, s)
	reason := func() string {
		f := run.Open(t)
		f.Own.Admit.JobEnqueueable(f.Job("job"))
		return f.Job("job").JobFitErrors
	}
	assert.Contains(t, reason(), "Queue <team> has insufficient <A> quota: requested <4>, total would be <4>, but capability is <1>")
	s.Queues[1].Annotations["volcano.sh/card.quota"] = `{"A":2,"B":1}`
	assert.Contains(t, reason(), "Queue <team> has insufficient <A> quota: requested <4>, total would be <4>, but capability is <2>")
}

// TestLongListsHaveShortReasons lists thousands of cards. The condition must stay
// far below the size limit of objects.
func TestLongListsHaveShortReasons(t *testing.T) {
	var names []string
	for i := range 4000 {
		names = append(names, fmt.Sprintf("Model-%d", i))
	}
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`).Pods("job", "q", strings.Join(names, "|"), 1, 1)
	f := s.Open(t)
	f.Own.Admit.JobEnqueueable(f.Job("job"))
	reason := f.Job("job").JobFitErrors
	assert.Contains(t, reason, "Queue <q> has insufficient <Model-0> quota: requested <1>, total would be <1>, but capability is <0>; ")
	assert.Contains(t, reason, "and 56 more cards of the list", "the first 64 count")
	assert.Less(t, len(reason), 2000)
}
