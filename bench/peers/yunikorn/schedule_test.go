package yunikorn

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/common/resources"
	"github.com/apache/yunikorn-core/pkg/events"
	"github.com/apache/yunikorn-core/pkg/handler"
	"github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-core/pkg/mock"
	"github.com/apache/yunikorn-core/pkg/rmproxy"
	"github.com/apache/yunikorn-core/pkg/scheduler"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gopkg.in/yaml.v3"

	"github.com/capacity-card/capacity-card/bench/peers/question"
)

const (
	manager = "manager" // the resource manager, which is the shim of Kubernetes elsewhere
	last    = "last"    // an application without pods, which is accepted after all that was sent before it
	quiet   = 5 * time.Second
)

func BenchmarkSchedulers(b *testing.B) { question.Decide(b, "yunikorn", start) }

// start starts the core. The loop of the core gives one pod a node at a time. When start returns, the core has the
// world, and is held at the first node that it tries.
func start(w *question.World) (func(mark func()) []question.Placement, error) {
	quietly := map[string]string{"log.level": "ERROR"}
	log.UpdateLoggingConfig(quietly)
	events.GetEventSystem().StartService()
	core := scheduler.NewScheduler()
	proxy := rmproxy.NewRMProxy(core)
	core.StartService(handler.EventHandlers{SchedulerEventHandler: core, RMProxyEventHandler: proxy}, false)
	proxy.StartService()

	d := &described{World: w, paths: paths(w)}
	configuration, err := yaml.Marshal(d.configuration())
	if err != nil {
		return nil, err
	}
	s := &shim{held: make(chan struct{}), ready: make(chan struct{})}
	if _, err := proxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: manager, PolicyGroup: "policy", Config: string(configuration), ExtraConfig: quietly,
	}, s); err != nil {
		return nil, err
	}
	must(proxy.UpdateNode(d.nodes()))
	must(proxy.UpdateApplication(d.applications()))
	must(proxy.UpdateAllocation(allocations(w.Running)))
	must(proxy.UpdateAllocation(allocations(w.Waiting)))
	must(proxy.UpdateApplication(&si.ApplicationRequest{
		RmID: manager, New: []*si.AddApplicationRequest{d.application(last, w.Waiting[0].Queue)},
	}))
	<-s.ready
	return s.decide, nil
}

// configuration has the tree of queues. Nobody is preempted.
func (d *described) configuration() *configs.SchedulerConfig {
	children := map[string][]question.Queue{}
	for _, q := range d.Queues {
		children[q.Parent] = append(children[q.Parent], q)
	}
	var grow func(q question.Queue) configs.QueueConfig
	grow = func(q question.Queue) configs.QueueConfig {
		c := d.configured(q)
		for _, child := range children[q.Name] {
			c.Queues = append(c.Queues, grow(child))
		}
		return c
	}
	root := grow(children[""][0])
	root.SubmitACL = "*"
	preempts := false
	return &configs.SchedulerConfig{Partitions: []configs.PartitionConfig{{
		Name: "default", Queues: []configs.QueueConfig{root}, Preemption: configs.PartitionPreemptionConfig{Enabled: &preempts},
	}}}
}

func (d *described) nodes() *si.NodeRequest {
	r := &si.NodeRequest{RmID: manager}
	for _, n := range d.Nodes {
		r.Nodes = append(r.Nodes, &si.NodeInfo{
			NodeID: n.Name, Action: si.NodeInfo_CREATE, Attributes: map[string]string{},
			SchedulableResource: resources.NewResourceFromMap(map[string]resources.Quantity{
				vcore:         resources.Quantity(n.Cards * 2 * question.CPU),
				memory:        resources.Quantity(n.Cards * 2 * question.Memory),
				card(n.Model): resources.Quantity(n.Cards),
			}).ToProto(),
		})
	}
	return r
}

func (d *described) applications() *si.ApplicationRequest {
	r := &si.ApplicationRequest{RmID: manager}
	for _, jobs := range [][]question.Job{d.Running, d.Waiting} {
		for _, j := range jobs {
			r.New = append(r.New, d.application(j.Name, j.Queue))
		}
	}
	return r
}

// paths are the queues, each with those above it.
func paths(w *question.World) map[string]string {
	of := map[string]string{}
	for _, q := range w.Queues {
		of[q.Name] = q.Name
		if q.Parent != "" {
			of[q.Name] = of[q.Parent] + "." + q.Name
		}
	}
	return of
}

func (d *described) application(name, queue string) *si.AddApplicationRequest {
	return &si.AddApplicationRequest{
		ApplicationID: name, QueueName: d.paths[queue], PartitionName: "default",
		Ugi: &si.UserGroupInformation{User: "user", Groups: []string{"group"}},
	}
}

// allocations are the pods of jobs: those with a node run.
func allocations(jobs []question.Job) *si.AllocationRequest {
	r := &si.AllocationRequest{RmID: manager}
	for _, j := range jobs {
		r.Allocations = append(r.Allocations, message(j))
	}
	return r
}

// shim is a resource manager without Kubernetes: each node suits each pod.
type shim struct {
	mock.ResourceManagerCallback
	held, ready chan struct{}

	sync.Mutex
	mark       func() // nil before the scheduler decides
	placements []question.Placement
}

// decide releases the scheduler, and waits until it has allocated nothing for a while: a pass over
// all that waits takes less.
func (s *shim) decide(mark func()) []question.Placement {
	s.Lock()
	s.mark = mark
	s.Unlock()
	close(s.held)
	for before := -1; ; {
		time.Sleep(quiet)
		s.Lock()
		now := s.placements
		s.Unlock()
		if len(now) == before {
			return now
		}
		before = len(now)
	}
}

func (s *shim) Predicates(*si.PredicatesArgs) error {
	<-s.held
	return nil
}

func (s *shim) UpdateAllocation(r *si.AllocationResponse) error {
	s.Lock()
	defer s.Unlock()
	for _, rejected := range r.RejectedAllocations {
		panic(fmt.Sprint("rejected: ", rejected))
	}
	if s.mark == nil {
		return nil // pods that run already
	}
	for _, a := range r.New {
		s.placements = append(s.placements, question.Placement{Job: a.AllocationKey, Node: a.NodeID})
	}
	s.mark()
	return nil
}

func (s *shim) UpdateApplication(r *si.ApplicationResponse) error {
	for _, rejected := range r.Rejected {
		panic(fmt.Sprint("rejected: ", rejected))
	}
	for _, a := range r.Accepted {
		if a.ApplicationID == last {
			close(s.ready)
		}
	}
	return nil
}

func (s *shim) UpdateNode(r *si.NodeResponse) error {
	for _, rejected := range r.Rejected {
		panic(fmt.Sprint("rejected: ", rejected))
	}
	return nil
}
