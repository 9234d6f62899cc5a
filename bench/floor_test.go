package bench

import (
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
)

// floor is a quota plugin that does the least: impl=floor. A hook reads the data that its answer depends on, compares
// it, and does nothing else. Queues, names and pods have numbers before anything is measured; accounts are rows. There
// are no reasons, no logs, no snapshots of unchanged data, no broken trees and no reservations of card lists. A
// comparison has no tolerance.
//
// It gives the answers that are measured: measure compares them. It does not ask fuzz/oracle, which is written to be read,
// and not to be fast.
type floor struct {
	numbers map[string]int // of queues
	paths   [][]int        // from a queue to the root
	dims    map[v1.ResourceName]int
	width   int

	bound, deserved, guarantee           cells // of queues
	allocated, request, inqueue, elastic cells
	share                                []float64

	nodes map[string]int // node → dimension of its card
	pods  podCards       // empty without cards

	jobs    []*api.JobInfo
	tallies []floorTally
	gauges  [][]prometheus.Gauge // of queues, by dimension; then the share, and overused
	amounts [2][]amount          // memory of the hooks
	left    cells                // allocated without the victims of the call in calls
	calls   []int
	call    int
}

// cells are rows of numbers, one for each queue.
type cells struct {
	values []float64
	width  int
}

func newCells(rows, width int) cells { return cells{make([]float64, rows*width), width} }

func (c cells) row(q int) []float64 { return c.values[q*c.width : (q+1)*c.width] }

// amount is an entry of a request.
type amount struct {
	dim      int
	quantity float64
}

// The dimensions that every request has. Those of scalars and cards follow.
const (
	cpuDim = iota
	memoryDim
	firstScalar
)

const cardNameKey = "volcano.sh/card.name"

// newFloor lays out the resources of a cluster, with its cards or without.
func newFloor(c workload.Cluster, info *api.ClusterInfo, withCards bool) *floor {
	f := &floor{numbers: map[string]int{}, dims: map[v1.ResourceName]int{"cpu": cpuDim, "memory": memoryDim}, nodes: map[string]int{}}
	f.width = firstScalar
	f.dim(string(v1.ResourcePods))
	for _, n := range c.Nodes {
		for name := range n.Allocatable {
			f.dim(name)
		}
		if withCards {
			f.nodes[n.Name] = f.dim(n.Labels[workload.ProductLabel])
		}
	}
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			if withCards {
				f.pods.put(task.Pod, f.stated(task))
			}
		}
	}
	for i, q := range c.Queues {
		f.numbers[q.Name] = i
	}
	for i, q := range c.Queues {
		path := []int{i}
		for parent := q.Parent; c.Hierarchy && (parent != "" || path[len(path)-1] != 0); {
			p := f.numbers[parent] // the root is the first queue
			path, parent = append(path, p), c.Queues[p].Parent
		}
		f.paths = append(f.paths, path)
	}
	f.layOut(len(c.Queues))
	f.setBounds(c, withCards)
	return f
}

// dim returns the dimension of a name.
func (f *floor) dim(name string) int {
	d, ok := f.dims[v1.ResourceName(name)]
	if !ok {
		d = f.width
		f.dims[v1.ResourceName(name)] = d
		f.width++
	}
	return d
}

// stated returns the cards that a pod requests.
func (f *floor) stated(task *api.TaskInfo) podCard {
	request := podCard{quantity: task.Resreq.ScalarResources[gpu] / 1000}
	if names := task.Pod.Annotations[cardNameKey]; names != "" {
		for name := range strings.SplitSeq(names, "|") {
			request.dims = append(request.dims, f.dim(name))
		}
	}
	return request
}

func (f *floor) layOut(queues int) {
	for _, x := range []*cells{&f.bound, &f.deserved, &f.guarantee, &f.allocated, &f.request, &f.inqueue, &f.elastic, &f.left} {
		*x = newCells(queues, f.width)
	}
	f.share, f.calls = make([]float64, queues), make([]int, queues)
	for range queues {
		var gauges []prometheus.Gauge
		for range f.width + 2 {
			gauges = append(gauges, prometheus.NewGauge(prometheus.GaugeOpts{Name: "queue"}))
		}
		f.gauges = append(f.gauges, gauges)
	}
	for range runtime.GOMAXPROCS(0) {
		t := floorTally{floor: f, placed: make([]float64, f.width), least: make([]float64, f.width)}
		for _, x := range []*cells{&t.allocated, &t.request, &t.inqueue, &t.elastic} {
			*x = newCells(queues, f.width)
		}
		f.tallies = append(f.tallies, t)
	}
}

// setBounds derives the bounds of queues, parents first.
func (f *floor) setBounds(c workload.Cluster, withCards bool) {
	guaranteed := newCells(len(c.Queues), f.width) // to the children
	for q, queue := range c.Queues {
		f.set(f.deserved.row(q), queue.Deserved)
		f.set(f.guarantee.row(q), queue.Guarantee)
		if q > 0 {
			f.set(guaranteed.row(f.above(q)), queue.Guarantee)
		}
	}
	for _, n := range c.Nodes {
		f.set(f.bound.row(0), n.Allocatable)
		if withCards { // cards are unlimited above the leaves, and their resource does not count
			f.bound.row(0)[f.nodes[n.Name]], f.bound.row(0)[f.dim(gpu)] = fastres.MaxQuantity, fastres.MaxQuantity
		}
	}
	for q, queue := range c.Queues[1:] {
		q++
		row, up := f.bound.row(q), f.above(q)
		for d := range row {
			row[d] = max(0, f.bound.row(up)[d]-guaranteed.row(up)[d]) + f.guarantee.row(q)[d]
		}
		for name, most := range queue.Capability {
			d := f.dim(name)
			row[d] = min(row[d], f.scaled(name, most))
		}
		if withCards {
			f.setCards(q, queue.Annotations)
		}
	}
}

// above returns the parent of a queue, for a flat one the first queue, which has the cluster.
func (f *floor) above(q int) int {
	if len(f.paths[q]) > 1 {
		return f.paths[q][1]
	}
	return 0
}

// scaled converts an amount of a workload to the unit of Volcano's resources.
func (f *floor) scaled(name string, amount int64) float64 {
	if name == "cpu" || name == "memory" || name == string(v1.ResourcePods) {
		return float64(amount)
	}
	return float64(amount) * 1000
}

// set adds amounts to a row.
func (f *floor) set(row []float64, amounts workload.Resources) {
	for name, amount := range amounts {
		row[f.dims[v1.ResourceName(name)]] += f.scaled(name, amount)
	}
}

// setCards reads the quotas of cards of a queue. A leaf has none of the others.
func (f *floor) setCards(q int, annotations map[string]string) {
	quota, deserved := map[string]float64{}, map[string]float64{}
	if json.Unmarshal([]byte(annotations[quotaKey]), &quota) != nil {
		return
	}
	if json.Unmarshal([]byte(annotations["volcano.sh/card.deserved"]), &deserved) != nil {
		deserved = quota
	}
	for _, d := range f.nodes {
		f.bound.row(q)[d] = 0
	}
	for name := range quota {
		f.bound.row(q)[f.dim(name)], f.deserved.row(q)[f.dim(name)] = quota[name], deserved[name]
	}
}

// podCards has the cards that pods state, by the address of their objects. It is a hash table with linear probing, no
// more than half full.
type podCards struct {
	slots []podSlot
	used  int
}

type podSlot struct {
	pod *v1.Pod
	podCard
}

// podCard is a request of cards: so many of one of the cards.
type podCard struct {
	dims     []int
	quantity float64
}

func (p *podCards) slot(pod *v1.Pod) *podSlot {
	last := uint64(len(p.slots) - 1)
	for i := uint64(uintptr(unsafe.Pointer(pod))) * 0x9e3779b97f4a7c15 >> 32 & last; ; i = (i + 1) & last {
		if s := &p.slots[i]; s.pod == pod || s.pod == nil {
			return s
		}
	}
}

func (p *podCards) put(pod *v1.Pod, request podCard) {
	if 2*p.used >= len(p.slots) {
		old := p.slots
		p.slots = make([]podSlot, max(64, 2*len(old)))
		for _, s := range old {
			if s.pod != nil {
				*p.slot(s.pod) = s
			}
		}
	}
	p.used++
	*p.slot(pod) = podSlot{pod, request}
}

// floorTally is the accounts of a part of the jobs.
type floorTally struct {
	*floor
	allocated, request, inqueue, elastic cells
	placed, least                        []float64 // of one job
}

// open visits each job once, with its sums, from as many goroutines as there are processors;
// with cards, each task, its pod and its node as well.
func (f *floor) open(ssn *framework.Session) {
	f.jobs = f.jobs[:0]
	for _, job := range ssn.Jobs {
		f.jobs = append(f.jobs, job)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range f.tallies {
		t := &f.tallies[i]
		all.Add(1)
		go func() {
			defer all.Done()
			for _, x := range []cells{t.allocated, t.request, t.inqueue, t.elastic} {
				clear(x.values)
			}
			const chunk = 64
			for from := int(next.Add(chunk)) - chunk; from < len(f.jobs); from = int(next.Add(chunk)) - chunk {
				for _, job := range f.jobs[from:min(from+chunk, len(f.jobs))] {
					t.count(job)
				}
			}
		}()
	}
	all.Wait()
	for i, x := range []cells{f.allocated, f.request, f.inqueue, f.elastic} {
		clear(x.values)
		for _, t := range f.tallies {
			for j, v := range []cells{t.allocated, t.request, t.inqueue, t.elastic}[i].values {
				x.values[j] += v
			}
		}
		for q := len(f.paths) - 1; q > 0; q-- {
			if len(f.paths[q]) == 1 {
				continue // flat
			}
			up := x.row(f.paths[q][1])
			for d, v := range x.row(q) {
				up[d] += v
			}
		}
	}
	for q := range f.share {
		f.share[q] = f.shareOf(q)
	}
}

func (f *floor) shareOf(q int) (share float64) {
	allocated := f.allocated.row(q)
	for d, deserved := range f.deserved.row(q) {
		if deserved > 0 {
			share = max(share, allocated[d]/deserved)
		}
	}
	return share
}

func (t *floorTally) count(job *api.JobInfo) {
	q := t.numbers[string(job.Queue)]
	pending := job.TaskStatusIndex[api.Pending]
	if len(t.nodes) > 0 {
		t.countCards(q, job)
	}
	clear(t.placed)
	if len(pending) == len(job.Tasks) {
		t.add(t.request.row(q), job.TotalRequest)
	} else {
		t.add(t.placed, job.Allocated)
		allocated, request := t.allocated.row(q), t.request.row(q)
		for d, has := range t.placed {
			allocated[d] += has
			request[d] += has
		}
		for _, task := range pending {
			t.add(request, task.Resreq)
		}
	}
	if job.PodGroup.Spec.MinResources == nil {
		return
	}
	clear(t.least)
	t.addList(t.least, *job.PodGroup.Spec.MinResources)
	elastic, inqueue := t.elastic.row(q), t.inqueue.row(q)
	for d, least := range t.least {
		elastic[d] += max(0, t.placed[d]-least)
	}
	if job.PodGroup.Status.Phase != scheduling.PodGroupInqueue {
		return
	}
	for _, task := range pending {
		if task.SchGated {
			t.add(t.placed, task.Resreq)
		}
	}
	for d, least := range t.least {
		inqueue[d] += max(0, least-t.placed[d])
	}
}

// countCards adds the cards of a job: of its nodes, those that its pods prefer, and its minimum.
func (t *floorTally) countCards(q int, job *api.JobInfo) {
	allocated, request, placed, prefers, size := t.allocated.row(q), t.request.row(q), 0.0, -1, 0.0
	for _, task := range job.Tasks {
		pod := &t.pods.slot(task.Pod).podCard
		if len(pod.dims) == 0 {
			continue
		}
		switch prefers, size = pod.dims[0], pod.quantity; task.Status {
		case api.Running:
			d := t.nodes[task.NodeName]
			allocated[d] += size
			request[d] += size
			placed += size
		case api.Pending:
			request[prefers] += size
		}
	}
	if least := float64(job.PodGroup.Spec.MinMember)*size - placed; least > 0 && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
		t.inqueue.row(q)[prefers] += least
	}
}

// add adds a resource to a row.
func (f *floor) add(row []float64, r *api.Resource) {
	row[cpuDim] += r.MilliCPU
	row[memoryDim] += r.Memory
	for name, quantity := range r.ScalarResources {
		row[f.dims[name]] += quantity
	}
}

// addList adds a list to a row.
func (f *floor) addList(row []float64, list v1.ResourceList) {
	for name, quantity := range list {
		if name == v1.ResourceMemory {
			row[memoryDim] += float64(quantity.Value())
		} else {
			row[f.dims[name]] += float64(quantity.MilliValue())
		}
	}
}
