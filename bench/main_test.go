package bench

import (
	"errors"
	"flag"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	upstream "volcano.sh/volcano/pkg/scheduler/plugins/capacity"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

var (
	full = flag.Bool("full", false, "measure what takes long, too: shape XL, 5,000 queues, the ends of the growth curves")
	logs = flag.String("log", "0", "verbosity of the log, whose lines go nowhere")
)

func TestMain(m *testing.M) {
	flag.Parse()
	offline.Quiet()
	var level klog.Level
	if err := level.Set(*logs); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// implementation is a plugin of a comparison. All plugins of a comparison have the same name.
type implementation struct {
	name string
	new  framework.PluginBuilder
}

var (
	implementations = []implementation{{"upstream", upstream.New}, {"ours", plugin.NewCapacity}}
	none            = implementation{"none", nil}
)

// content has the cluster that sessions are opened on, and who takes part when operations are
// measured on it.
type content struct {
	workload.Cluster
	plugin   string // the name of all implementations
	info     *api.ClusterInfo
	sessions map[string]*framework.Session // by implementation

	laidOut *floor // made when it is needed

	plain      workload.Job   // may be placed, and requests no GPU
	waits      workload.Job   // may be placed
	stuck      workload.Job   // may not, its queue is full
	neighbours []workload.Job // run in the queue of stuck
	reclaimees []workload.Job // run in queues other than the queue of waits
}

// errNone is a cluster without the jobs that an operation needs.
var errNone = errors.New("no task or queue of this cluster fits the benchmark")

// newContent fills one queue: its bound is the use of the jobs that run there.
func newContent(c workload.Cluster) (*content, error) {
	t := &content{Cluster: c, plugin: plugin.CapacityName, sessions: map[string]*framework.Session{}}
	running := map[string][]workload.Job{}
	used := map[string]int64{}
	for _, j := range c.Jobs {
		if j.Phase == workload.Running && gpus(j) > 0 {
			running[j.Queue] = append(running[j.Queue], j)
			for _, task := range j.Tasks {
				if task.Status == workload.TaskRunning {
					used[j.Queue] += task.Request[gpu]
				}
			}
		}
	}
	for _, j := range c.Jobs {
		switch {
		case j.Phase != workload.Pending:
		case gpus(j) == 0:
			t.plain = j
		case t.stuck.Name == "" && len(running[j.Queue]) > 0:
			t.stuck, t.neighbours = j, running[j.Queue]
		case t.waits.Name == "" && j.Queue != t.stuck.Queue:
			t.waits = j
		}
	}
	if t.plain.Name == "" || t.stuck.Name == "" || t.waits.Name == "" {
		return nil, errNone
	}
	i := slices.IndexFunc(c.Queues, func(q workload.Queue) bool { return q.Name == t.stuck.Queue })
	c.Queues[i].Capability = workload.Resources{gpu: used[t.stuck.Queue]}
	t.reclaimees = reclaimees(c, t.waits.Queue)
	var err error
	t.info, err = cluster.Build(c, "/bench")
	return t, err
}

const gpu = "nvidia.com/gpu"

func gpus(j workload.Job) int64 { return j.Tasks[0].Request[gpu] }

// large is the content of shape L, made once.
var large = sync.OnceValues(func() (*content, error) { return newContent(workload.L.Make(1)) })

func theLarge(b *testing.B) *content {
	b.Helper()
	c, err := large()
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func contentOf(b *testing.B, c workload.Cluster) *content {
	b.Helper()
	t, err := newContent(c)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// bed is a session on a content that one implementation is alone in.
type bed struct {
	*framework.Session
	*content
	implementation
}

// bed returns the session of an implementation, which is opened without plugins:
// they are opened by hand, so that only they are measured.
func (c *content) bed(impl implementation) *bed {
	ssn := c.sessions[impl.name]
	if ssn == nil {
		ssn = offline.Open(offline.NewCache(c.info), nil)
		ssn.Tiers = offline.Tiers(c.Hierarchy, c.plugin)
		ssn.NodeMap, ssn.PodLister = nil, nil // large, and no quota plugin looks at them
		c.sessions[impl.name] = ssn
	}
	return &bed{Session: ssn, content: c, implementation: impl}
}

// floor returns the floor of the content.
func (c *content) floor() implementation {
	return implementation{"floor", func(framework.Arguments) framework.Plugin {
		if c.laidOut == nil {
			c.laidOut = newFloor(c.Cluster, c.info, c.plugin == plugin.Name)
		}
		return floorPlugin{c.laidOut, c.plugin}
	}}
}

// open opens the plugin until the benchmark ends.
func (s *bed) open(b *testing.B) {
	p := s.new(nil)
	p.OnSessionOpen(s.Session)
	b.Cleanup(func() { p.OnSessionClose(s.Session) })
}

func (s *bed) job(j workload.Job) *api.JobInfo {
	return s.Session.Jobs[api.JobID(cluster.Namespace+"/"+j.Name)]
}

func (s *bed) queue(j workload.Job) *api.QueueInfo { return s.Session.Queues[api.QueueID(j.Queue)] }

func (s *bed) task(j workload.Job, i int) *api.TaskInfo {
	return s.job(j).Tasks[api.TaskID(cluster.Namespace+"-"+j.Tasks[i].Name)]
}

// tasks returns the running tasks of jobs, at most so many of each.
func (s *bed) tasks(jobs []workload.Job, most int) []*api.TaskInfo {
	var tasks []*api.TaskInfo
	for _, j := range jobs {
		n := 0
		for i, t := range j.Tasks {
			if t.Status == workload.TaskRunning && n < most {
				tasks = append(tasks, s.task(j, i))
				n++
			}
		}
	}
	return tasks
}

// operation prepares a measurement, and returns the call to measure. The call reports whether the answer was the
// expected one.
type operation func(b *testing.B, s *bed) func() bool

// measure measures an operation with each implementation on the same content.
func measure(b *testing.B, c *content, prepare operation, impls ...implementation) {
	if impls == nil {
		impls = implementations
	}
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			call := prepare(b, c.bed(impl))
			if !call() {
				b.Fatal("not the answer that was to be measured")
			}
			runtime.GC() // collects the garbage of the preparation, which would be collected during the first calls
			b.ReportAllocs()
			for b.Loop() {
				if !call() {
					b.Fatal("the answer has changed")
				}
			}
		})
	}
}
