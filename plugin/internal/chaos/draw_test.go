package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// chaosCycles is the number of cycles in which a random world changes.
const chaosCycles = 50

// values are the values of the plugin's arguments in random worlds.
var values = map[string][]any{
	arguments.AdmitReclaimable:       {true, false},
	arguments.CardUnlimitedCPUMemory: {true},
	arguments.DeviceCapacities:       {true},
	arguments.DeviceQuotas:           {true, false},
	arguments.DeservedFrom:           {"weight"},
	arguments.FairShareMap: {
		map[string]any{"by": "weight"}, map[string]any{"counts": "borrowed"}, map[string]any{"horizon": "0s"},
		map[string]any{"horizon": "1m", "by": "weight"}, map[string]any{"horizon": "24h", "of": "A"},
		map[string]any{"of": "cpu,memory", "counts": "borrowed"}, map[string]any{"of": []any{"cards", "cpu"}},
		map[string]any{"weights": map[string]any{"A": 0.5, "cpu": 1.5}, "of": []any{"cards", "cpu"}, "by": "weight"},
	},
	arguments.FairShareHalfLife: {"5m", "1h"},
	arguments.FairShareReclaim:  {1.1, 1.5, 3},
	arguments.Fractions:         {"memory", "dominant"},
	arguments.HierarchyFrom:     {"annotation"},
	arguments.NodeOrderWeight:   {10},
	arguments.CardGroups: {map[string]any{"g": map[string]any{"A": "1", "B": "1"}},
		map[string]any{"g": map[string]any{"A": "1", "A/*": "share", "N": "0.3"}, "h": map[string]any{"B": "1/3", "C": "2"}},
		map[string]any{"all": map[string]any{"*": "1/7", "A": "2"}, "g": map[string]any{"A": "1", "C": "1"}}},
	arguments.CardAttributes:       {map[string]any{"gpu.example.com": "model"}},
	arguments.CardLabels:           {map[string]any{"example.com/gpu": "example.com/model"}, map[string]any{"nvidia.com/gpu": "nvidia.com/gpu.product"}},
	arguments.OwnerClasses:         {map[string]any{"ReplicaSet": "inference", "Job": "training"}},
	arguments.ReclaimBeyondMinimum: {true},
	arguments.ReclaimByClass:       {true},
	arguments.ReclaimCompares:      {"damped=1", "damped=2", "damped=3", "ancestors=1", "ancestors=2", "ancestors=3"},
	arguments.ReclaimGangs:         {"whole"},
	arguments.RootCapability:       {"own", "total", "unlimited"},
	arguments.Semantics:            {"v1.14.1", "v1.14.4", "v1.15"},
	arguments.StateSave:            {"1s"},
	arguments.StateStore:           {"none", "ns/usage"},
	arguments.TerminatingCards:     {"hold", "release"},
	arguments.UnsetCapability:      {"unlimited", "unlimited", "unlimited", "unlimited", "zero"},
	arguments.UntypedCards:         {"charge", "reject", "ignore"},
	arguments.VictimOrder:          {"leastWork"},
}

// draw draws scenarios. It knows the queues, jobs and nodes that it has made, but not their later states.
type draw struct {
	*rand.Rand
	s      *Scenario
	plain  bool // no cards
	lends  bool // quotas are large, and deserved amounts and guarantees are small
	rules  bool // queues have policies
	crowd  bool // little else binds, and jobs can lose most of their pods
	queues []QueueSpec
	jobs   []JobSpec
	nodes  []workload.Node
}

// drawScenario draws the scenario of a seed.
func drawScenario(seed uint64) *Scenario {
	if seed%8 == 7 {
		return drawLent(seed)
	}
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0xca05))}
	d.s = &Scenario{Config: Config{Arguments: framework.Arguments{}, Grace: d.IntN(3)}, Cycles: chaosCycles}
	d.configure()
	d.s.Topology = d.chance(25)
	if d.s.Eager = d.chance(50); d.chance(20) {
		d.s.Grace = pick(d, 5, 11, 59)
	}
	for i := range 1 + d.IntN(4) {
		d.node(1, fmt.Sprintf("n%d", i))
	}
	if d.s.Tree {
		d.queue(1, index.RootName, "")
	}
	for i := range 2 + d.IntN(5) {
		d.queue(1, fmt.Sprintf("q%d", i), d.parent())
	}
	for range 2 + d.IntN(5) {
		d.submit(1)
	}
	busy := 1 + d.IntN(100)
	for cycle := 2; cycle <= chaosCycles; cycle++ {
		for d.chance(busy) && len(d.s.Acts) < 120 {
			d.act(cycle)
		}
	}
	if d.chance(10) {
		cycle := 1 + d.IntN(chaosCycles)
		d.do(cycle, SetQueue{QueueSpec: QueueSpec{Queue: workload.Queue{Name: "hollow", Closed: true}, Hollow: true}})
		d.do(cycle, SubmitJob{JobSpec: JobSpec{Name: "hollow", Queue: "hollow", MinMember: 1, Pods: []PodSpec{d.pod()}}})
	}
	d.Rand = rand.New(rand.NewPCG(seed, 0x5a7e)) // so that other worlds stay as they are
	d.share()
	d.Rand = rand.New(rand.NewPCG(seed, 0x317d))
	d.windows()
	d.Rand = rand.New(rand.NewPCG(seed, 0xe71c))
	d.spare()
	d.Rand = rand.New(rand.NewPCG(seed, 0xc4ec))
	d.checkpoints()
	d.Rand = rand.New(rand.NewPCG(seed, 0x6ace))
	d.graces()
	d.Rand = rand.New(rand.NewPCG(seed, 0xdca1))
	d.claims()
	d.Rand = rand.New(rand.NewPCG(seed, 0xf0ce))
	d.force(*worldForce)
	d.Rand = rand.New(rand.NewPCG(seed, 0x6a46))
	d.gangs()
	d.Rand = rand.New(rand.NewPCG(seed, 0x54a6))
	d.shares()
	d.Rand = rand.New(rand.NewPCG(seed, 0x57a7))
	d.status()
	return d.s
}

func (d *draw) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d *draw, of ...T) T { return of[d.IntN(len(of))] }

func (d *draw) do(cycle int, what Deed) {
	d.s.Acts = append(d.s.Acts, Act{Cycle: cycle, Deed: what})
}

func (d *draw) configure() {
	d.s.Plugin = pick(d, session.Name, session.Name, session.Name, session.CapacityName, session.CapacityName, session.CapacityName, session.ProportionName)
	d.plain = d.s.Plugin == session.ProportionName || d.chance(25)
	d.lends, d.crowd = d.chance(75), d.chance(50)
	d.rules = d.chance(40)
	d.s.Tree = d.s.Plugin != session.ProportionName && d.chance(50)
	d.s.GangSpares = d.chance(50)
	d.s.Actions = []string{"enqueue", "allocate"}
	others := []string{"backfill", "preempt", "reclaim"}
	d.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, name := range others {
		if d.chance(75) {
			d.s.Actions = append(d.s.Actions, name)
		}
	}
	if d.chance(10) {
		d.s.Actions = d.s.Actions[1:] // without enqueue
	}
	for _, key := range arguments.Known {
		if key == arguments.Fractions || key == arguments.AncestorReclaimLevel || key == arguments.CardStatus {
			continue // see share, ancestors and status
		}
		if of := values[key]; d.chance(35) || key == arguments.UnsetCapability && d.chance(80) {
			d.s.Arguments[key] = of[d.IntN(len(of))]
		}
	}
	d.ancestors()
	if !d.s.Tree {
		delete(d.s.Arguments, arguments.HierarchyFrom)
	}
}

// ancestors writes reclaimCompares: ancestors=1 as Volcano does, where the plugin reads Volcano's name.
func (d *draw) ancestors() {
	if d.s.Plugin == session.CapacityName && d.s.Arguments[arguments.ReclaimCompares] == "ancestors=1" {
		delete(d.s.Arguments, arguments.ReclaimCompares)
		d.s.Arguments[arguments.AncestorReclaimLevel] = 1
	}
}

// status has the status of queues written in some worlds.
func (d *draw) status() {
	if d.chance(20) {
		d.s.Arguments[arguments.CardStatus] = "1m"
	}
}

// node makes a node, or changes it.
func (d *draw) node(cycle int, name string) {
	n := workload.Node{Name: name, Labels: map[string]string{},
		Allocatable: workload.Resources{"cpu": 1000 * int64(4+4*d.IntN(4)), "memory": int64(8+8*d.IntN(4)) << 30, "pods": 100}}
	if !d.plain {
		d.equip(n)
	}
	if len(n.Labels) == 0 {
		n.Labels = nil
	}
	d.nodes = append(slices.DeleteFunc(d.nodes, func(x workload.Node) bool { return x.Name == name }), n)
	d.do(cycle, SetNode{Node: n})
}

// equip gives a node cards.
func (d *draw) equip(n workload.Node) {
	if d.chance(93) {
		n.Labels["nvidia.com/gpu.product"] = pick(d, "A", "A", "A", "B", "B", "C")
	}
	if d.chance(90) {
		n.Labels["nvidia.com/gpu.memory"], n.Labels["nvidia.com/gpu.replicas"] = "81559", "4"
	}
	n.Allocatable[testbed.GPU] = pick[int64](d, 2, 4, 4, 8, 8, 8)
	if d.chance(25) {
		n.Allocatable[migName] = int64(d.IntN(5))
	}
	if d.chance(15) {
		n.Allocatable[mpsName] = int64(d.IntN(5))
	}
	if d.chance(20) {
		n.Allocatable[npuName] = int64(d.IntN(9))
		if d.chance(90) {
			n.Labels["huawei.com/Ascend910.product"] = "N"
		}
	}
}

// cardNames are the cards of random worlds. No node has the last one.
var cardNames = []string{"A", "B", "C", "A/mig-1g.10gb-mixed", "A/mps-80g*1/4", "N", "Z"}

// resources draws some amounts of cpu, memory and GPUs.
func (d *draw) resources(named, most int) workload.Resources {
	r := workload.Resources{}
	if d.chance(named) {
		r["cpu"] = 500 * int64(1+d.IntN(2*most))
	}
	if d.chance(named) {
		r["memory"] = int64(1+d.IntN(2*most)) << 30
	}
	if !d.plain && d.chance(named/3) {
		r[testbed.GPU] = int64(1 + d.IntN(most))
	}
	return r
}

// parent draws a queue to be the parent of another.
func (d *draw) parent() string {
	if !d.s.Tree || d.chance(30) {
		return ""
	}
	return d.queues[d.IntN(len(d.queues))].Name
}

// queue makes a queue, or changes it.
func (d *draw) queue(cycle int, name, parent string) {
	q := QueueSpec{Queue: workload.Queue{Name: name, Parent: parent, Weight: int32(1 + d.IntN(4))}, Unreclaimable: d.chance(5)}
	if d.chance(20) {
		q.Priority = int32(d.IntN(3))
	}
	most := 20
	if d.chance(50) {
		most = 8
	}
	if d.chance(35) || d.s.Plugin == session.Name && d.s.Arguments[arguments.UnsetCapability] != "unlimited" {
		q.Capability = d.resources(90, 3*most)
	}
	if d.chance(70) {
		q.Deserved = d.resources(80, most)
	}
	if d.chance(25) {
		q.Guarantee = d.resources(60, 3)
	}
	if d.crowd {
		q.Capability = nil
		q.Deserved = workload.Resources{"cpu": 1000 * int64(d.IntN(10)), "memory": int64(d.IntN(12)) << 30}
	}
	if name == index.RootName && d.chance(80) {
		q.Capability, q.Deserved, q.Guarantee = nil, nil, nil
	} else if !d.plain && d.chance(85) {
		q.Annotations = d.annotations()
	}
	if d.rules {
		q.Annotations = d.policies(q.Annotations)
	}
	q.Closed = name != index.RootName && d.chance(3)
	d.set(cycle, q)
}

func (d *draw) set(cycle int, q QueueSpec) {
	d.queues = append(slices.DeleteFunc(d.queues, func(x QueueSpec) bool { return x.Name == q.Name }), q)
	d.do(cycle, SetQueue{QueueSpec: q})
}

const nothingGuaranteed = `{"A":0,"B":0,"C":0,"A/mig-1g.10gb-mixed":0,"A/mps-80g*1/4":0,"N":0}`

// annotations draws the card annotations of a queue.
func (d *draw) annotations() map[string]string {
	all := map[string]string{}
	if d.crowd {
		all[card.QuotaKey], all[card.DeservedKey] = d.quota(20, 30), d.quota(0, 5)
		if all[card.GuaranteeKey] = nothingGuaranteed; d.chance(20) {
			all[card.GuaranteeKey] = d.quota(0, 1)
		}
		return all
	}
	if d.lends {
		all[card.QuotaKey], all[card.DeservedKey] = d.quota(6, 16), d.quota(0, 5)
		if all[card.GuaranteeKey] = d.quota(0, 1); d.chance(75) {
			all[card.GuaranteeKey] = nothingGuaranteed
		}
		return all
	}
	all[card.QuotaKey] = d.quota(0, 10)
	if d.chance(50) {
		all[card.DeservedKey] = d.quota(0, 5)
	}
	if d.chance(50) {
		all[card.GuaranteeKey] = d.quota(0, 2)
	}
	return all
}

func (d *draw) quota(least, most int) string {
	if d.chance(2) {
		return `{"A":3,`
	}
	var keys []string
	groups, _ := d.s.Arguments[arguments.CardGroups].(map[string]any)
	for _, group := range sortedKeys(groups) {
		if d.chance(70) {
			keys = append(keys, fmt.Sprintf("%q:%d", card.GroupPrefix+group, least+d.IntN(2*(most-least)+1)))
		}
	}
	for i, name := range cardNames {
		if len(keys) > 0 && d.chance(40) {
			continue // bounded by its groups alone
		}
		switch {
		case d.chance(2):
			keys = append(keys, fmt.Sprintf("%q:%s", name, pick(d, "1.5", "-2", `"3"`, "null")))
		case d.chance(97 - 8*i):
			keys = append(keys, fmt.Sprintf("%q:%d", name, least+d.IntN(most-least+1)))
		}
	}
	return "{" + strings.Join(keys, ",") + "}"
}

// submit makes a job.
func (d *draw) submit(cycle int) {
	j := JobSpec{Name: fmt.Sprintf("j%d", len(d.jobs)), Namespace: []string{"even", "odd"}[len(d.jobs)%2], Queue: d.home(), MinMember: 1}
	if d.chance(50) {
		j.Priority = int32(d.IntN(3))
	}
	n, p := 1+d.IntN(6), d.pod()
	late := cycle > 1 && d.crowd && d.chance(70) // it claims resources that others have borrowed
	if late {
		n = 1 + d.IntN(2)
	}
	for range n {
		if d.chance(10) {
			p = d.pod()
		}
		j.Pods = append(j.Pods, p)
	}
	switch {
	case late:
		j.MinMember = n
	case d.crowd && d.chance(80):
		j.MinMember = d.IntN(2)
	case d.chance(60):
		j.MinMember = d.IntN(n + 1)
	}
	if d.chance(3) {
		j.MinMember = 100
	}
	if d.chance(75) {
		j.MinResources = workload.Resources{}
		for _, p := range j.Pods[:min(j.MinMember, n)] {
			for name, amount := range p.Requests {
				j.MinResources[name] += amount
			}
		}
	}
	if j.Later = d.chance(30); j.Later && !d.plain && d.chance(60) {
		j.CardRequest = fmt.Sprintf("{%q:%d}", d.list(), 1+d.IntN(6))
	}
	if j.Whose = d.ownership(); d.chance(30) {
		for i := range j.Pods {
			j.Pods[i].Whose = d.ownership()
		}
	}
	j.Service, j.Owner = pick(d, "", "", "inference", "training", "other"), pick(d, "", "ReplicaSet", "Job")
	d.jobs = append(d.jobs, j)
	d.do(cycle, SubmitJob{JobSpec: j})
}

// home draws the queue of a job, mostly a leaf.
func (d *draw) home() string {
	inner := map[string]bool{}
	for _, q := range d.queues {
		if inner[q.Parent] = true; d.s.Tree {
			inner[index.RootName] = true
		}
	}
	for {
		if name := d.queues[d.IntN(len(d.queues))].Name; !d.s.Tree || !inner[name] || d.chance(5) {
			return name
		}
	}
}

// pod draws a pod.
func (d *draw) pod() PodSpec {
	p := PodSpec{Requests: workload.Resources{"cpu": 100 * int64(1+d.IntN(20)), "memory": int64(1+d.IntN(4)) << 29}, Kept: d.chance(5), Gated: d.chance(3)}
	if d.chance(3) {
		return PodSpec{} // best effort
	}
	if d.plain || d.chance(15) {
		p.Requests["cpu"] = 1000 * int64(1+d.IntN(6))
		p.Requests["memory"] = int64(1+d.IntN(6)) << 30
		return p
	}
	resource := testbed.GPU
	p.Cards = d.list()
	if d.chance(15) {
		p.Cards = pick(d, cardNames...)
		if resource = resourceOf(p.Cards); d.chance(5) {
			resource = pick(d, testbed.GPU, migName, mpsName, npuName)
		}
	}
	p.Requests[resource] = pick[int64](d, 1, 1, 1, 2, 2, 3)
	if d.chance(15) {
		p.Cards = ""
	}
	return p
}

// list draws a card list.
func (d *draw) list() string {
	return pick(d, "A", "A", "A", "A", "A", "B", "B", "A|B", "B|A", "A|B|C", "C", "Z|A")
}

// checkpoints draws the cycles in which jobs and pods write checkpoints. Some write an invalid time, or a time in the
// future.
func (d *draw) checkpoints() {
	if !d.chance(50) {
		return
	}
	for range d.IntN(30) {
		cycle, job := 1+d.IntN(chaosCycles), d.jobs[d.IntN(len(d.jobs))].Name
		at := pick(d, "now", "now", "now-1m", "now-2m30s", "now-10m", "now+3m", "today", "")
		if d.chance(30) {
			d.do(cycle, AnnotateGroup{Job: job, Key: policy.CheckpointKey, Value: at})
		} else {
			d.do(cycle, AnnotatePod{Job: job, Pod: d.IntN(6), Key: policy.CheckpointKey, Value: at})
		}
	}
}

// act draws the events before a cycle.
func (d *draw) act(cycle int) {
	job := func() string { return d.jobs[d.IntN(len(d.jobs))].Name }
	switch n := d.IntN(100); {
	case n < 20:
		d.submit(cycle)
	case n < 33:
		d.do(cycle, RemoveJob{Job: job(), Orphans: d.chance(50)})
	case n < 41:
		d.do(cycle, ScaleJob{Job: job(), Pods: d.IntN(8)})
	case n < 58:
		d.do(cycle, FinishPod{Job: job(), Pod: d.IntN(6), Failed: d.chance(30)})
	case n < 59:
		d.do(cycle, OpenGates{Job: job()})
	case n < 61 && d.chance(30):
		d.do(cycle, RelabelJob{Job: job(), Whose: d.ownership()})
	case n < 62:
		most := pick(d, 2, 8, 100)
		d.do(cycle, EditGroup{Job: job(), MinMember: 1 + d.IntN(most), MinResources: d.resources(90, most)})
	case n < 78:
		spec := d.queues[d.IntN(len(d.queues))]
		q := spec.Queue
		if !d.plain && d.chance(40) {
			spec.Annotations = d.annotations()
			d.set(cycle, spec)
			return
		}
		if q.Name != index.RootName && d.chance(20) {
			q.Parent = d.parent()
		}
		d.queue(cycle, q.Name, q.Parent)
	case n < 81:
		name := d.queues[d.IntN(len(d.queues))].Name
		d.do(cycle, DeleteQueue{Queue: name})
		switch back := cycle + 1 + d.IntN(3); {
		case name == index.RootName && (unchecked(rootParent) || d.chance(80)):
			d.queue(back, name, "")
		case d.chance(70):
			d.queue(back, name, d.parent())
		}
	case n < 88:
		d.node(cycle, fmt.Sprintf("n%d", d.IntN(5)))
	case n < 92:
		name := d.nodes[d.IntN(len(d.nodes))].Name
		d.do(cycle, LoseNode{Node: name})
		if d.chance(80) {
			d.do(cycle+1+d.IntN(6), ReplacePods{Node: name})
		}
		if !d.chance(60) {
			return
		}
		back := cycle + 2 + d.IntN(8)
		d.do(back, SetNode{Node: d.nodes[slices.IndexFunc(d.nodes, func(n workload.Node) bool { return n.Name == name })]})
		if back%2 == 0 {
			d.do(back, RemakeNode{Node: name})
		}
	case n < 96:
		d.do(cycle, Restart{})
	case n < 97:
		d.do(cycle, Leave{Cycles: 1 + d.IntN(3)})
		d.node(cycle, d.nodes[d.IntN(len(d.nodes))].Name)
	default:
		d.do(cycle, Renew{})
	}
}
