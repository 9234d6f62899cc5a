// Package kai measures the proportion plugin of KAI Scheduler through the packages that it exports.
// KAI counts cards without their models, and has one scheduler for each shard of the nodes; each
// model is a shard here, with queues, jobs and a session of its own.
package kai

import (
	"reflect"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "github.com/NVIDIA/KAI-scheduler/pkg/apis/scheduling/v2"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/common_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/eviction_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/node_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/pod_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/pod_status"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/podgroup_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/api/queue_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/cache"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/cache/cluster_info"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/conf"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/framework"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/plugins/proportion"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/test_utils"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/test_utils/jobs_fake"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/test_utils/nodes_fake"
	"github.com/NVIDIA/KAI-scheduler/pkg/scheduler/test_utils/tasks_fake"

	"github.com/capacity-card/capacity-card/bench/peers/question"
)

func BenchmarkPeers(b *testing.B) { question.Measure(b, "kai", prepare) }

const namespace = "default"

// shard has the data that KAI's cache gives a session of one shard.
type shard struct {
	nodes  map[string]*node_info.NodeInfo
	jobs   map[common_info.PodGroupID]*podgroup_info.PodGroupInfo
	queues map[common_info.QueueID]*queue_info.QueueInfo

	ssn     *framework.Session
	handler *framework.EventHandler
}

type objects struct {
	*question.World
	shards  map[string]*shard // by model
	waiting []*podgroup_info.PodGroupInfo
	tasks   [][]*pod_info.PodInfo // of the waiting jobs
	over    []string              // of each pair, a model that the second queue has more of than it deserves
	victims []scenario            // a job of each sibling of the queue of the reclaims
}

func prepare(w *question.World) (func() *question.Engine, error) {
	test_utils.InitTestingInfrastructure() // its log
	o := &objects{World: w, shards: map[string]*shard{}}
	for _, m := range w.Models {
		o.shards[m] = newShard(w, m, nil)
	}
	for _, j := range w.Waiting {
		job := o.job(j)
		tasks := make([]*pod_info.PodInfo, 0, 1)
		for _, t := range job.GetAllPodsMap() {
			tasks = append(tasks, t)
		}
		o.waiting, o.tasks = append(o.waiting, job), append(o.tasks, tasks)
	}
	o.overused()
	o.candidates()
	return o.make, nil
}

func (o *objects) job(j question.Job) *podgroup_info.PodGroupInfo {
	return o.shards[j.Model].jobs[common_info.PodGroupID(j.Name)]
}

// newShard makes a shard. The predicates of Kubernetes see its nodes in affinity.
func newShard(w *question.World, model string, affinity *cache.K8sClusterPodAffinityInfo) *shard {
	s := &shard{queues: map[common_info.QueueID]*queue_info.QueueInfo{}}
	var jobs []*jobs_fake.TestJobBasic
	for _, j := range w.Running {
		if j.Model == model {
			jobs = append(jobs, describe(j, pod_status.Running))
		}
	}
	for _, j := range w.Waiting {
		if j.Model == model {
			jobs = append(jobs, describe(j, pod_status.Pending))
		}
	}
	jobMap, onNodes, _ := jobs_fake.BuildJobsAndTasksMaps(jobs)
	nodes := map[string]nodes_fake.TestNodeBasic{}
	for _, n := range w.Nodes {
		if n.Model == model {
			nodes[n.Name] = nodes_fake.TestNodeBasic{GPUs: int(n.Cards), CPUMillis: float64(n.Cards * question.CPU / 1000 * 2), CPUMemory: float64(n.Cards * 2 * question.Memory)}
		}
	}
	s.jobs, s.nodes = jobMap, nodes_fake.BuildNodesInfoMap(nodes, onNodes, affinity)
	for _, q := range w.Queues {
		info := queue_info.NewQueueInfo(&v2.Queue{
			ObjectMeta: metav1.ObjectMeta{Name: q.Name},
			Spec: v2.QueueSpec{ParentQueue: q.Parent, Resources: &v2.QueueResources{
				GPU: bounds(q, 1), CPU: bounds(q, question.CPU), Memory: bounds(q, question.Memory/1e6+1), // not less for being rounded
			}},
		})
		s.queues[info.UID] = info
	}
	cluster_info.UpdateQueueHierarchy(s.queues)
	return s
}

func bounds(q question.Queue, unit float64) v2.QueueResource {
	return v2.QueueResource{Quota: float64(q.Deserved) * unit, Limit: float64(q.Quota) * unit, OverQuotaWeight: 1}
}

func describe(j question.Job, status pod_status.PodStatus) *jobs_fake.TestJobBasic {
	return &jobs_fake.TestJobBasic{
		Name: j.Name, Namespace: namespace, QueueName: j.Queue, RequiredGPUsPerTask: float64(j.Cards),
		RequiredCPUsPerTask: float64(j.Cards * question.CPU / 1000), RequiredMemoryPerTask: float64(j.Cards * question.Memory),
		Tasks: []*tasks_fake.TestTaskBasic{{State: status, NodeName: j.Node}},
	}
}

// overused finds the models of the pairs.
func (o *objects) overused() {
	used, deserved := map[[2]string]int64{}, map[string]int64{}
	for _, j := range o.Running {
		used[[2]string{j.Queue, j.Model}] += j.Cards
	}
	for _, q := range o.Queues {
		deserved[q.Name] = q.Deserved
	}
	for _, p := range o.Pairs {
		model := ""
		for _, m := range o.Models {
			if used[[2]string{p[1], m}] > deserved[p[1]] {
				model = m
			}
		}
		o.over = append(o.over, model)
	}
}

// scenario is a job, and another that would be evicted for it.
type scenario struct {
	preemptor *podgroup_info.PodGroupInfo
	victims   map[common_info.PodGroupID]*api.VictimInfo
	queue     string
}

func (s *scenario) GetPreemptor() *podgroup_info.PodGroupInfo              { return s.preemptor }
func (s *scenario) GetVictims() map[common_info.PodGroupID]*api.VictimInfo { return s.victims }

// candidates takes a job of each queue with the parent of the reclaims.
func (o *objects) candidates() {
	parents := map[string]string{}
	for _, q := range o.Queues {
		parents[q.Name] = q.Parent
	}
	own, seen := o.Waiting[0].Queue, map[string]bool{}
	for _, j := range o.Running {
		if j.Queue == own || parents[j.Queue] != parents[own] || seen[j.Queue] {
			continue
		}
		seen[j.Queue] = true
		job := o.job(j)
		victim := &api.VictimInfo{Job: job}
		for _, t := range job.GetAllPodsMap() {
			victim.Tasks = append(victim.Tasks, t)
		}
		o.victims = append(o.victims, scenario{queue: j.Queue, victims: map[common_info.PodGroupID]*api.VictimInfo{job.UID: victim}})
	}
}

func (o *objects) make() *question.Engine {
	return &question.Engine{
		Open: o.open, Fits: o.fits, Charge: o.charge, Refund: o.refund, First: o.first, Victims: o.evicts, WhatIf: o.whatIf,
	}
}

// open opens the plugin in a new session of each shard.
func (o *objects) open() {
	for _, s := range o.shards {
		s.ssn = &framework.Session{Nodes: s.nodes, PodGroupInfos: s.jobs, Queues: s.queues, Config: &conf.SchedulerConfiguration{}}
		s.ssn.OverrideSchedulerName("kai-scheduler")
		proportion.New(nil).OnSessionOpen(s.ssn)
		s.handler = lastHandler(s.ssn)
	}
}

func (o *objects) of(i int) *shard { return o.shards[o.Waiting[i].Model] }

func (o *objects) fits(i int) bool {
	return o.of(i).ssn.IsJobOverQueueCapacityFn(o.waiting[i], o.tasks[i]).IsSchedulable
}

func (o *objects) charge(i int) {
	task := o.tasks[i][0]
	task.AcceptedResource = task.ResReq // as a node sets it
	o.of(i).handler.AllocateFunc(&framework.Event{Task: task})
}

func (o *objects) refund(i int) {
	o.of(i).handler.DeallocateFunc(&framework.Event{Task: o.tasks[i][0]})
}

// first compares two queues, each with the same job to place.
func (o *objects) first(i int) bool {
	s, p, job := o.shards[o.over[i]], o.Pairs[i], o.waiting[0]
	return s.ssn.QueueOrderFn(s.queues[common_info.QueueID(p[0])], s.queues[common_info.QueueID(p[1])], job, job, nil, nil)
}

// evicts asks of one job of each queue whether it may be evicted: KAI draws up such scenarios in
// the order of its queues and asks this of each.
func (o *objects) evicts(i int) []string {
	ssn, reclaimer := o.of(i).ssn, o.waiting[i]
	if !ssn.CanReclaimResources(reclaimer) {
		return nil
	}
	ssn.OnJobSolutionStart()
	var queues []string
	for v := range o.victims {
		s := &o.victims[v]
		s.preemptor = reclaimer
		if ssn.ReclaimScenarioValidatorFn(s) {
			queues = append(queues, s.queue)
		}
	}
	return queues
}

// whatIf evicts in a statement, which changes queues, jobs and nodes, and discards it.
func (o *objects) whatIf(i int) bool {
	s := o.of(i)
	statement := s.ssn.Statement()
	for _, name := range o.Reclaims[i].Gone {
		for _, t := range s.jobs[common_info.PodGroupID(name)].GetAllPodsMap() {
			if err := statement.Evict(t, "", eviction_info.EvictionMetadata{}); err != nil {
				panic(err)
			}
		}
	}
	fits := o.fits(i)
	statement.Discard()
	return fits
}

// lastHandler returns the event handler that was registered last. A statement calls it while it updates jobs and nodes.
func lastHandler(ssn *framework.Session) *framework.EventHandler {
	field := reflect.ValueOf(ssn).Elem().FieldByName("eventHandlers")
	handlers := *(*[]*framework.EventHandler)(unsafe.Pointer(field.UnsafeAddr()))
	return handlers[len(handlers)-1]
}
