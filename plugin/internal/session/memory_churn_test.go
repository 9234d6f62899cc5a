package session_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestQueuesChangeBetweenSessions closes, deletes and moves queues with running and
// pending pods.
func TestQueuesChangeBetweenSessions(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 16).Node("b", "B", 16).Queue("root", "").
		Queue("x", "root", "quota", `{"A":2}`).Queue("y", "root", "quota", `{"A":9,"B":9}`).Queue("q", "x", "quota", `{"A":9,"B":9}`).
		Pods("run", "q", "A", 2, 1, testbed.On("a")).Pods("wait", "q", "A", 1, 1)
	run := testbed.NewSequence(t, s)
	waiting := func(f *testbed.Fixture) bool { return len(f.Schedule(t).Placed("wait")) == 0 }
	q := &s.Queues[3]

	f := run.Open(t)
	assert.True(t, waiting(f), "x uses its quota")
	assert.Equal(t, 2.0, f.CardsOf("x", "A"))

	q.Parent = "y"
	f = run.Open(t)
	assert.Equal(t, []float64{0, 2}, []float64{f.CardsOf("x", "A"), f.CardsOf("y", "A")}, "the job has moved with its cards")
	assert.False(t, waiting(f))

	q.Closed = true
	f = run.Open(t)
	assert.True(t, waiting(f))
	assert.Equal(t, 2.0, f.CardsOf("y", "A"), "running pods stay charged")

	q.Closed, q.Parent = false, "gone"
	f = run.Open(t)
	assert.True(t, waiting(f))
	assert.Contains(t, f.Job("wait").JobFitErrors, "does not exist")
	assert.Equal(t, 0.0, f.CardsOf("root", "A"))

	q.Parent = "y"
	assert.False(t, waiting(run.Open(t)), "mended")

	all := s.Queues
	s.Queues = all[:3]
	f = run.Open(t)
	assert.True(t, waiting(f), "its queue was deleted")
	assert.Equal(t, 0.0, f.CardsOf("y", "A"))
	s.Queues = all
	assert.False(t, waiting(run.Open(t)), "the queue exists again")

	s.Jobs[1].Tasks[0].Annotations[card.NameKey] = "B"
	assert.Equal(t, map[string]int{"B": 1}, run.Open(t).Schedule(t).Placed("wait"), "the pod requests another card now")
}

// churn draws a cluster that differs from the one before in nearly everything. Queues
// and jobs have a few names, nodes, resources and cards have new ones in each session.
func churn(r *rand.Rand, session int) workload.Cluster {
	c := workload.DrawCards(r)
	for i := range c.Nodes {
		c.Nodes[i].Name += fmt.Sprint("-", session) // what pods of a known node hold would distinguish the sessions
	}
	for i := range c.Jobs {
		for k := range c.Jobs[i].Tasks {
			if task := &c.Jobs[i].Tasks[k]; task.Node != "" {
				task.Node += fmt.Sprint("-", session)
			}
		}
	}
	madeUp := func(i int) string { return fmt.Sprintf("example.com/made-up-%d-%d", session, i) }
	for i := range c.Queues {
		for key, text := range c.Queues[i].Annotations {
			if _, problems := card.ParseQuota(text); len(problems) > 0 {
				c.Queues[i].Annotations[key] = `{"A":2}` // otherwise the last good value would distinguish the sessions
			}
		}
		if c.Queues[i].Annotations != nil && r.IntN(2) == 0 {
			c.Queues[i].Annotations[card.QuotaKey] = fmt.Sprintf(`{"A":%d,"Made-Up-%d-%d":1}`, r.IntN(9), session, i)
		}
		if r.IntN(4) == 0 {
			c.Queues[i].Capability = workload.Resources{"cpu": 9000, "memory": 1 << 40, testbed.GPU: 8, madeUp(i): 3}
		}
	}
	for i := range c.Jobs {
		for k := range c.Jobs[i].Tasks {
			if task := &c.Jobs[i].Tasks[k]; r.IntN(8) == 0 {
				task.Request = task.Request.Clone()
				task.Request[madeUp(100+k)] = 1
			}
		}
		if r.IntN(8) == 0 {
			c.Jobs[i].MinResources = workload.Resources{"cpu": 100, madeUp(200 + i): 1}
		}
	}
	return c
}

// TestThousandSessions opens and closes sessions with Volcano's actions on clusters that change each time. Each session
// equals the session of a scheduler that has just started. Neither memory nor the number of goroutines grows.
func TestThousandSessions(t *testing.T) {
	for _, v := range []arguments.Variant{session.BuilderOf(session.Name).Variant, session.BuilderOf(session.CapacityName).Variant, session.BuilderOf(session.ProportionName).Variant} {
		t.Run(v.Name, func(t *testing.T) {
			const sessions, settled = 1000, 300
			s := &stream{builder: &session.Builder{Variant: v}, made: map[string]int{}}
			r := rand.New(rand.NewPCG(sessions, 0xc4))
			goroutines, heap := runtime.NumGoroutine(), uint64(0)
			for i := range sessions {
				c := churn(r, i)
				s.replace(c)
				ssn, o := s.open(t, s.builder, c)
				if i%10 == 0 {
					s.expectAsFresh(t, o, c)
				}
				for _, action := range []framework.Action{enqueue.New(), allocate.New()} {
					action.Execute(ssn)
				}
				framework.CloseSession(ssn)
				if i <= settled && i%50 == 0 { // it rises and falls with the names that are known
					heap = max(heap, heapInUse())
				}
			}
			require.Len(t, s.builder.Idle(), 1)
			known := s.builder.Idle()[0].KnownNames()
			t.Logf("heap at most %d KiB in %d sessions, %d KiB after %d; %d names known", heap>>10, settled, heapInUse()>>10, sessions, known)
			assert.LessOrEqual(t, heapInUse(), heap+heap/4, "memory grows")
			assert.LessOrEqual(t, known, 4*session.FewNames)
			assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+1, "goroutines are left behind")
		})
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	for range 3 { // the next call frees what finalizers held
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// stream opens sessions one after the other, with queues that are created and deleted.
type stream struct {
	builder *session.Builder
	made    map[string]int // queue → number of its creations, negative while it is deleted
}

// replace records which queues are created and deleted. Volcano deletes the series of
// a deleted queue.
func (s *stream) replace(c workload.Cluster) {
	there := map[string]bool{}
	for _, q := range c.Queues {
		if there[q.Name] = true; s.made[q.Name] <= 0 {
			s.made[q.Name] = 1 - s.made[q.Name]
		}
	}
	for name, times := range s.made {
		if times > 0 && !there[name] {
			s.made[name] = -times
			metrics.DeleteQueueMetrics(name)
		}
	}
}

func (s *stream) open(t *testing.T, b *session.Builder, c workload.Cluster) (*framework.Session, *session.Session) {
	t.Helper()
	info, err := cluster.Build(c, "")
	require.NoError(t, err)
	for name, queue := range info.Queues {
		queue.Queue.UID = types.UID(fmt.Sprint(name, s.made[queue.Name]))
	}
	maps.DeleteFunc(info.Jobs, func(_ api.JobID, job *api.JobInfo) bool { // as Volcano's cache does
		return info.Queues[job.Queue] == nil
	})
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	var ours *session.Plugin
	framework.RegisterPluginBuilder(b.Variant.Name, func(a framework.Arguments) framework.Plugin {
		ours = b.Build(testbed.Pinned(b.Variant.Name, a)).(*session.Plugin)
		return ours
	})
	return offline.Open(offline.NewCache(info), offline.Tiers(c.Hierarchy, gang.PluginName, b.Variant.Name)), ours.Session
}

// expectAsFresh opens the same cluster with new memory, and compares everything that
// answers depend on.
func (s *stream) expectAsFresh(t *testing.T, o *session.Session, c workload.Cluster) {
	t.Helper()
	ssn, f := s.open(t, &session.Builder{Variant: o.Variant}, c)
	defer framework.CloseSession(ssn)
	require.Equal(t, f.Index.Len(), o.Index.Len())
	for q := range index.Queue(f.Index.Len()) {
		p := o.Index.Lookup(f.Index.Name(q))
		require.Equal(t, f.Index.Share(q), o.Index.Share(p))
		require.Equal(t, f.Index.Broken(q) == nil, o.Index.Broken(p) == nil)
		for name, accounts := range map[string][2]fastres.Vector{
			"allocated": {f.Index.Allocated(q), o.Index.Allocated(p)}, "request": {f.Index.Request.Row(q), o.Index.Request.Row(p)},
			"inqueue": {f.Index.Inqueue.Row(q), o.Index.Inqueue.Row(p)}, "elastic": {f.Index.Elastic.Row(q), o.Index.Elastic.Row(p)},
			"capability": {f.Index.Capability.Row(q), o.Index.Capability.Row(p)}, "guarantee": {f.Index.Guarantee.Row(q), o.Index.Guarantee.Row(p)},
			"realCapability": {f.Index.RealCapability.Row(q), o.Index.RealCapability.Row(p)}, "deserved": {f.Index.Deserved.Row(q), o.Index.Deserved.Row(p)},
		} {
			require.Equal(t, testbed.ByName(&f.Memory.Names, accounts[0]), testbed.ByName(&o.Memory.Names, accounts[1]), "%s of %s", name, f.Index.Name(q))
		}
	}
	require.Equal(t, f.Memory.Admit.Reservations.Len(), o.Memory.Admit.Reservations.Len())
}

// TestNamesStartAnew uses so many names that the table of names starts again. Facts that are known only by name stay
// known: the last good value of an invalid key, and the card of a lost node. The names of the first session are
// dropped, so all dimensions change.
func TestNamesStartAnew(t *testing.T) {
	s := testbed.NewScene().MixedNode("first", map[string]string{
		"x.com/1.product": "X1", "x.com/2.product": "X2", "x.com/3.product": "X3",
	}, workload.Resources{"x.com/1": 1000, "x.com/2": 1000, "x.com/3": 1000}).Queue("q", "", "quota", `{"X1":1}`)
	s.Build = session.NewCapacity
	s.Queues[0].Capability = nil
	run := testbed.NewSequence(t, s)
	run.Open(t)
	s.Nodes = nil
	s.Queues[0].Annotations[card.QuotaKey] = `{"A":3,"B":5}`
	s.Node("a", "A", 8).Node("b", "B", 8).Pods("run", "q", "A|B", 2, 1, testbed.On("b")).Pods("wait", "q", "A", 4, 1, testbed.Members(4)).
		Pods("scarce", "q", "", 1, 0, func(j *workload.Job) { j.MinResources = workload.Resources{"example.com/scarce": 4} })
	s.Queues[0].Capability = workload.Resources{"example.com/scarce": 1}
	run.Open(t)
	s.Queues[0].Annotations[card.QuotaKey] = `{"A":"three","B":5}`
	s.Nodes = s.Nodes[:1]
	var a *v1.Node
	run.Edit = func(info *api.ClusterInfo) { // the object of the node stays the same, so it is not read again
		if a == nil {
			a = info.Nodes["a"].Node
		}
		info.Nodes["a"].Node = a
	}
	allocatedOfB := func() (values []float64) {
		for series, value := range testbed.Gather([]string{"q"}) {
			if strings.Contains(series, "allocated_scalar_resources") && strings.Contains(series, `"B"`) {
				values = append(values, value)
			}
		}
		return values
	}
	renewed, last := 0, 0
	for i := range 12 {
		names := make([]string, 60)
		for k := range names {
			names[k] = fmt.Sprintf(`"Made-Up-%d-%d":1`, i, k)
		}
		s.Queues[0].Annotations[card.QuotaKey] = `{"A":"three","B":5,` + strings.Join(names, ",") + `}`
		s.Jobs[1].Tasks[0].Request[fmt.Sprintf("example.com/made-up-%d", i)] = 1
		f := run.Open(t)
		assert.Equal(t, 3.0, boundOf(f, "q", "A"), "session %d", i)
		assert.Equal(t, 2.0, f.CardsOf("q", "B"), "session %d", i)
		assert.Equal(t, 1.0, boundOf(f, "q", fmt.Sprintf("Made-Up-%d-7", i)))
		assert.Equal(t, cards.NodeFits, f.FitsNode(f.Task("wait-0"), "a").Reason, "session %d", i)
		assert.Equal(t, []float64{2000}, allocatedOfB(), "session %d", i)
		assert.False(t, f.JobEnqueueable(f.Job("wait")))
		assert.False(t, f.JobEnqueueable(f.Job("scarce")))
		assert.Contains(t, f.Job("scarce").JobFitErrors, "Queue <q> has insufficient <example.com/scarce> quota: requested <4>")
		assert.Contains(t, f.Job("wait").JobFitErrors, "Queue <q> has insufficient <A> quota: requested <4>, total would be <4>, but capability is <3>")
		if i > 0 {
			assert.Empty(t, f.Cache.Events(), "the reasons are the same")
		}
		if f.Own.Memory.Names.Len() < last {
			renewed++
			_, known := f.Own.Memory.Names.LookupCard("Made-Up-0-0")
			assert.False(t, known)
			for series := range testbed.Gather([]string{"q"}) {
				assert.NotContains(t, series, "Made-Up-0-0")
			}
		}
		last = f.Own.Memory.Names.Len()
	}
	assert.Positive(t, renewed, "names were never renewed")
}

// TestNamesThatAreGoneLeaveRoom has jobs with names that come and go. As long as a session uses fewer names than jobs may
// add, each of them has a dimension.
func TestNamesThatAreGoneLeaveRoom(t *testing.T) {
	s := testbed.NewScene().Queue("q", "").Pods("job", "q", "", 1, 0)
	s.Build = session.NewCapacity
	run := testbed.NewSequence(t, s)
	for i := range 20 {
		request := workload.Resources{"cpu": 1000}
		for k := range 400 {
			request[fmt.Sprintf("example.com/lasting-%d", k)] = 1
			request[fmt.Sprintf("example.com/made-up-%d-%d", i, k/4)] = 1
		}
		s.Jobs[0].Tasks[0].Request = request
		f := run.Open(t)
		for name := range request {
			_, known := f.Own.Names.Lookup(name)
			require.True(t, known, "%s in session %d", name, i)
		}
	}
}

// TestUnusedNamesAreDropped renews the names. A name without a use is dropped.
func TestUnusedNamesAreDropped(t *testing.T) {
	m := session.NewMemory()
	m.MaxNames = 0
	m.Names.Intern("example.com/a")
	assert.True(t, m.RenewNames())
	assert.Equal(t, int(fastres.FirstFree), m.Names.Len(), "nothing uses the name")
}

// TestNamesOfEarlierSessions charges pods on a lost node. Cards that no node has any
// more count as little as cards that no node ever had, so the charge does not depend
// on earlier sessions.
func TestNamesOfEarlierSessions(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("z", "Z", 8).Queue("q", "", "quota", `{"A":3,"Y":3}`)
	run := testbed.NewSequence(t, s)
	run.Open(t)
	s.Nodes = s.Nodes[:1]
	run.Open(t)
	s.Pods("run", "q", "Z|Y|A", 2, 1, testbed.On("lost"))
	assert.Equal(t, 2.0, run.Open(t).CardsOf("q", "Y"))
	s.Queues[0].Annotations[card.QuotaKey] = `{"A":3}`
	assert.Equal(t, 2.0, run.Open(t).CardsOf("q", "A"))
	s.Queue("other", "", "quota", `{"Z":1}`)
	assert.Equal(t, 2.0, run.Open(t).CardsOf("q", "Z"))
	s.Queues = s.Queues[:1]
	assert.Equal(t, 2.0, run.Open(t).CardsOf("q", "A"))
}
