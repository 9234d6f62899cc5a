package session_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// TestAddedMetrics reads the series that upstream does not have in sessions in which
// jobs are admitted, nodes are lost, and annotations and queues change.
func TestAddedMetrics(t *testing.T) {
	testbed.Reset(report.AddedSeries())
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 4).Queue("root", "").Queue("team", "root").
		Queue("leaf", "team", "quota", `{"A":3,"B":2.5}`).Queue("other", "root", "quota", `{"A":1}`, "deserved", `{"A":2}`).
		Pods("run", "leaf", "A", 1, 1, testbed.On("a")).Pods("later", "leaf", "", 0, 0, testbed.CardRequest(`{"A":2}`, workload.Pending)).
		Pods("never", "leaf", "", 0, 0, testbed.CardRequest(`{"A":9}`, workload.Pending))
	s.Jobs[1].MinResources = workload.Resources{"cpu": 500, "memory": 1 << 20}
	run := testbed.NewSequence(t, s)
	f := run.Open(t)
	want := map[string]float64{
		"cluster_milli_cpu": 128000, "cluster_memory_bytes": 512 << 30, "cluster_cards A": 8000, "cluster_cards B": 4000,
		"queue_leaf  root": 0, "queue_leaf root team": 0, "queue_leaf team leaf": 1, "queue_leaf root other": 1,
		"queue_card_annotation_problems leaf": 1, "queue_card_annotation_problems other": 1,
	}
	inqueue := func(cpu, memory float64, queues ...string) {
		for _, q := range queues {
			want["queue_inqueue_milli_cpu "+q], want["queue_inqueue_memory_bytes "+q] = cpu, memory
		}
	}
	inqueue(0, 0, "root", "team", "leaf", "other")
	assert.Equal(t, want, testbed.AddedMetrics(t))

	require.True(t, f.JobEnqueueable(f.Job("later")))
	f.JobEnqueued(f.Job("later"))
	require.False(t, f.JobEnqueueable(f.Job("never")))
	want["queue_admission_wait_seconds leaf"] = 1
	inqueue(500, 1<<20, "root", "team", "leaf")
	for _, q := range []string{"root", "team", "leaf"} {
		want["queue_inqueue_scalar_resources "+q+" A"] = 2000
	}
	assert.Equal(t, want, testbed.AddedMetrics(t))
	f.Close()
	want["queue_waiting_jobs leaf leaf A OverQuota"] = 1
	assert.Equal(t, want, testbed.AddedMetrics(t), "the jobs that wait are counted when the session closes")

	// The reservation, a node and a queue are gone, and the annotation is valid.
	s.Jobs, s.Nodes, s.Queues = s.Jobs[:1], s.Nodes[:1], s.Queues[:3]
	s.Queues[2].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":3}`}
	run.Open(t).Close()
	delete(want, "queue_waiting_jobs leaf leaf A OverQuota")
	inqueue(0, 0, "root", "team", "leaf")
	for _, q := range []string{"root", "team", "leaf"} {
		want["queue_inqueue_scalar_resources "+q+" A"] = 0
	}
	want["cluster_milli_cpu"], want["cluster_memory_bytes"], want["cluster_cards B"] = 64000, 256<<30, 0
	want["queue_card_annotation_problems leaf"] = 0
	delete(want, "queue_leaf root other")
	for _, name := range []string{"card_annotation_problems", "inqueue_milli_cpu", "inqueue_memory_bytes"} {
		delete(want, "queue_"+name+" other")
	}
	assert.Equal(t, want, testbed.AddedMetrics(t))

	// A queue of the same name is another queue.
	run.Edit = func(info *api.ClusterInfo) { info.Queues["leaf"].Queue.UID = "another" }
	run.Open(t)
	delete(want, "queue_inqueue_scalar_resources leaf A")
	delete(want, "queue_admission_wait_seconds leaf")
	assert.Equal(t, want, testbed.AddedMetrics(t))
}

// TestQueueDeletedInASession deletes a queue while a session is open, which writes series of it
// that Volcano has deleted. The next session deletes them again, also if a queue of the same name
// exists by then.
func TestQueueDeletedInASession(t *testing.T) {
	for name, next := range map[string]func(*testbed.Scene, *testbed.Sequence){
		"it is gone": func(s *testbed.Scene, _ *testbed.Sequence) { s.Queues, s.Jobs = s.Queues[:1], nil },
		"another has its name": func(_ *testbed.Scene, run *testbed.Sequence) {
			run.Edit = func(info *api.ClusterInfo) { info.Queues["gone"].Queue.UID = "another" }
		},
	} {
		for _, build := range []framework.PluginBuilder{session.New, session.NewCapacity, session.NewProportion} {
			t.Run(build(nil).Name()+"/"+name, func(t *testing.T) {
				testbed.Reset(report.UpstreamSeries())
				s := testbed.NewScene().Node("a", "A", 8).Queue("stays", "", "quota", `{"A":8}`).Queue("gone", "", "quota", `{"A":8}`).
					Pods("waits", "gone", "A", 1, 1, testbed.InPhase(workload.Inqueue))
				s.Build = build
				run := testbed.NewSequence(t, s)
				f := run.Open(t)
				testbed.DropMetrics([]workload.Queue{{Name: "gone"}})
				f.Overused(f.Queue("gone"))
				release.Preemptive(f.Session)(f.Queue("gone"), f.Task("waits-0"))
				f.Run(t, allocate.New())
				f.Close()
				next(s, run)
				run.Open(t)
				families, err := testbed.RegistryOf(report.UpstreamSeries()).Gather()
				require.NoError(t, err)
				for _, family := range families {
					for _, metric := range family.Metric {
						queue := metric.Label[0].GetValue()
						assert.True(t, queue == "stays" || len(s.Queues) > 1 && family.GetName() != "volcano_queue_overused", "%s of %s", family.GetName(), queue)
					}
				}
			})
		}
	}
}

// TestSeriesOfManyCards has 40 card models and 30 leaf queues. A queue has series
// of the cards that it uses, requests, deserves, or has a quota of, and of no other.
func TestSeriesOfManyCards(t *testing.T) {
	testbed.Reset(report.AddedSeries())
	testbed.Reset(report.UpstreamSeries())
	s := testbed.NewScene().Queue("root", "")
	for i := range 40 {
		s.Node(fmt.Sprintf("n%d", i), fmt.Sprintf("Model-%d", i), 8)
	}
	for i := range 30 {
		s.Queue(fmt.Sprintf("q%d", i), "root", "quota", fmt.Sprintf(`{"Model-%d":2,"Model-%d":0}`, i, i+1))
	}
	s.Pods("run", "q0", "Model-0", 1, 1, testbed.On("n0")).Pods("wait", "q1", "Model-9", 1, 1)
	s.Open(t)
	families, err := testbed.RegistryOf(report.UpstreamSeries()).Gather()
	require.NoError(t, err)
	shown := map[string]map[string]bool{} // by queue
	for _, family := range families {
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, pair := range metric.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			if queue := labels["queue_name"]; strings.HasPrefix(labels["resource"], "Model-") {
				if shown[queue] == nil {
					shown[queue] = map[string]bool{}
				}
				shown[queue][labels["resource"]] = true
			}
		}
	}
	assert.Equal(t, map[string]bool{"Model-0": true, "Model-1": true}, shown["q0"])
	assert.Equal(t, map[string]bool{"Model-1": true, "Model-2": true, "Model-9": true}, shown["q1"], "q1 requests a card that it has no quota of")
	assert.Equal(t, map[string]bool{"Model-7": true, "Model-8": true}, shown["q7"])
	assert.Len(t, shown["root"], 40, "the root deserves the cards of all nodes")
}

// TestSeriesOfGroups has series of a group of cards, in addition to the series of its cards. They are the allocation of
// queues, and the quota of the group.
func TestSeriesOfGroups(t *testing.T) {
	testbed.Reset(report.UpstreamSeries())
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("root", "").Queue("q", "root", "quota", `{"@credits":9,"B":8}`).
		Pods("run", "q", "A", 2, 1, testbed.On("a")).Pods("also", "q", "B", 1, 1, testbed.On("b"))
	s.Arguments = framework.Arguments{"cardGroups": map[string]any{"credits": map[string]any{"A": 2, "B": "1/2"}}}
	f := s.Open(t)
	f.Close()
	for _, queue := range []string{"q", "root"} {
		assert.Equal(t, 4500.0, testbed.OurSeries("allocated_scalar_resources")[queue+" @credits"], queue)
		assert.Equal(t, 2000.0, testbed.OurSeries("allocated_scalar_resources")[queue+" A"], queue)
	}
	assert.Equal(t, 9000.0, testbed.OurSeries("capacity_scalar_resources")["q @credits"])
	assert.Equal(t, 9000.0, testbed.OurSeries("real_capacity_scalar_resources")["q @credits"])
}

// TestSeriesOfAQueue counts the series of queues without a card, with one, with two, and after
// the first admission, and compares them with docs/observability.md.
func TestSeriesOfAQueue(t *testing.T) {
	testbed.Reset(report.AddedSeries())
	testbed.Reset(report.UpstreamSeries())
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 4).Queue("root", "").Queue("none", "root").
		Queue("one", "root", "quota", `{"A":3}`).Queue("two", "root", "quota", `{"A":3,"B":2}`).
		Pods("later", "two", "", 0, 0, testbed.CardRequest(`{"A":1}`, workload.Pending))
	f := testbed.NewSequence(t, s).Open(t)
	none, one, two := seriesOf(t, "none"), seriesOf(t, "one"), seriesOf(t, "two")
	assert.Equal(t, two-one, one-none-1, "and the series of problems with card annotations")
	require.True(t, f.JobEnqueueable(f.Job("later")))
	f.JobEnqueued(f.Job("later"))
	admitted := seriesOf(t, "two") - two - 1 // and the series of the reserved card
	page, err := os.ReadFile("../../../docs/observability.md")
	require.NoError(t, err)
	assert.Contains(t, strings.ReplaceAll(string(page), "\n", " "), fmt.Sprintf(
		"A queue has about %d series, %d more for each card or other resource, and %d more after its first admission. "+
			"1,000 queues with two cards each have about %d,000 series.", none, two-one, admitted, none+2*(two-one)+admitted))
}

// seriesOf returns the number of series of a queue that Prometheus reads.
func seriesOf(t *testing.T, queue string) (n int) {
	t.Helper()
	for _, registry := range []*prometheus.Registry{testbed.RegistryOf(report.AddedSeries()), testbed.RegistryOf(report.UpstreamSeries())} {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, metric := range family.Metric {
				if slices.ContainsFunc(metric.Label, func(l *dto.LabelPair) bool { return l.GetName() == "queue_name" && l.GetValue() == queue }) {
					n++
					if h := metric.GetHistogram(); h != nil {
						n += len(h.Bucket) + 2 // +Inf, the sum and the count, and one of these is counted already
					}
				}
			}
		}
	}
	return n
}
