package report

import (
	"os"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	os.Exit(m.Run())
}

const (
	gpuName    = "nvidia.com/gpu"
	h200, h800 = "NVIDIA-H200", "NVIDIA-H800"
)

// fixture is a session with a node of each of two cards, and the tree root, team, research. The quotas of research
// are 3 NVIDIA-H200 and 1 NVIDIA-H800. research uses 2 NVIDIA-H200 and 1 NVIDIA-H800.
type fixture struct {
	Explainer
	session    constraint.Session
	ssn        *framework.Session
	q          index.Queue
	h200, h800 fastres.Dim
	nic        fastres.Dim // a scalar resource that is not a card
	invented   fastres.Dim // a resource that only a job names
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	const text = `{"NVIDIA-H200":3,"NVIDIA-H800":1}`
	c := workload.Cluster{Hierarchy: true, Queues: []workload.Queue{{Name: "root"}, {Name: "team"},
		{Name: "research", Parent: "team", Annotations: map[string]string{card.QuotaKey: text}}}}
	for _, model := range []string{h200, h800} {
		c.Nodes = append(c.Nodes, workload.Node{Name: model, Labels: map[string]string{"nvidia.com/gpu.product": model},
			Allocatable: workload.Resources{gpuName: 8}})
	}
	info, err := cluster.Build(c, "")
	require.NoError(t, err)
	tree := index.BuildTree([]index.Node{{Name: "root"}, {Name: "team"}, {Name: "research", Parent: "team"}, {Name: "lost", Parent: "gone"}}, index.RootName)
	f := &fixture{ssn: offline.Open(offline.NewCache(info), nil)}
	f.Index, f.Names = &index.Index{}, &index.Names{}
	f.h200, f.h800 = f.Names.InternCard(h200), f.Names.InternCard(h800)
	f.nic, f.invented = f.Names.Intern("example.com/nic"), f.Names.Intern("example.com/invented")
	f.Cards = cards.NewRegistry().Open(cards.Opening{Volcano: f.ssn, Queues: objects.Of(f.ssn.Queues), Tree: tree,
		Names: f.Names, Scope: cards.Everywhere, Settings: cards.Settings{Untyped: cards.UntypedCharge}})
	f.session = constraint.Session{Index: f.Index, Names: f.Names, Cards: f.Cards, Limit: &f.Index.RealCapability,
		Intake: &intake.Inputs{Queues: make([]*api.QueueInfo, tree.Len())}, Reservations: &reserve.Reservations{}}
	f.Index.Reset(tree, f.Names.Len())
	for q := range index.Queue(tree.Len()) {
		f.Cards.AddBounds(f.Index, q)
		for _, d := range []fastres.Dim{fastres.CPU, fastres.Memory, f.h200, f.h800} {
			f.Index.RealCapability.Row(q).Set(d, fastres.MaxQuantity)
		}
	}
	f.q = tree.Lookup("research")
	for d, bound := range map[fastres.Dim]float64{fastres.CPU: 1500, fastres.Memory: 512 << 20, f.h200: 3000, f.h800: 1000} {
		f.Index.RealCapability.Row(f.q).Set(d, bound)
	}
	f.allocate(f.h200, 2000)
	f.allocate(f.h800, 1000)
	return f
}

// Refusal is the type of refusals of the rules. Tests state the verdict, and refused adds the comparisons.
type Refusal = constraint.Refusal

func (f *fixture) refused(r Refusal) *Refusal {
	r.Books = &quota.Books{Queues: f.Index}
	return f.session.Refused(constraint.Frame{}, r, cards.Outcome{Verdict: r.Verdict, Request: r.Cards, Shared: r.Shared})
}

// Explain explains the refusal of a verdict.
func (f *fixture) Explain(r Refusal) *Reason { return f.Explainer.Explain(f.refused(r)) }

// ExplainNode explains why a node is not used.
func (f *fixture) ExplainNode(fit cards.NodeFit) *Reason {
	return f.Explainer.ExplainNode(fit, f.refused(Refusal{Verdict: fit.Verdict, Cards: fit.Request}))
}

// refuse has a journal report the refusal of a verdict.
func (f *fixture) refuse(j *Journal, job *api.JobInfo, r Refusal) bool {
	return j.Refuse(&f.Explainer, job, f.refused(r))
}

// allocate adds a quantity to the allocated resources of research and its ancestors.
func (f *fixture) allocate(d fastres.Dim, quantity float64) {
	for _, p := range f.Index.Path(f.q) {
		f.Index.Mutable(p).Increase(d, quantity)
	}
}

// request returns the request of a pod with a card list, "" for an untyped pod.
func (f *fixture) request(list string, n int64) cards.Request {
	task := workload.Task{Name: "pod", Request: workload.Resources{gpuName: n}}
	if list != "" {
		task.Annotations = map[string]string{card.NameKey: list}
	}
	return f.requestOf(cluster.Pod("job", task))
}

func (f *fixture) requestOf(pod *v1.Pod) cards.Request {
	for r := range f.Cards.Requests(f.Cards.PodRequest(f.q, pod)) {
		return r
	}
	panic("the pod requests no card")
}

// vector returns a request for cpu and memory.
func (f *fixture) vector(cpu, memory float64) fastres.Vector {
	x := fastres.NewVector(f.Names.Len())
	x.Set(fastres.CPU, cpu)
	x.Set(fastres.Memory, memory)
	return x
}

// job returns a job of research.
func job(name string) *api.JobInfo {
	j := api.NewJobInfo(api.JobID("default/" + name))
	j.Queue = "research"
	return j
}

// value returns the value of the series with some values of its labels, in the order of their names.
func value(t *testing.T, all prometheus.Collector, labels ...string) float64 {
	t.Helper()
	for _, m := range collect(all) {
		var values []string
		for _, pair := range m.Label {
			values = append(values, pair.GetValue())
		}
		if slices.Equal(values, labels) {
			return m.GetGauge().GetValue()
		}
	}
	require.Fail(t, "no series", "%v", labels)
	return 0
}

// collect returns the metrics that a scrape reads.
func collect(all prometheus.Collector) (read []*dto.Metric) {
	sent := make(chan prometheus.Metric)
	go func() {
		all.Collect(sent)
		close(sent)
	}()
	for metric := range sent {
		var m dto.Metric
		if err := metric.Write(&m); err != nil {
			panic(err)
		}
		read = append(read, &m)
	}
	return read
}

// count returns the number of series with a queue in the label queue_name.
func count(all prometheus.Collector, queue string) (n int) {
	for _, m := range collect(all) {
		for _, label := range m.Label {
			if label.GetName() == queueLabel && label.GetValue() == queue {
				n++
			}
		}
	}
	return n
}
