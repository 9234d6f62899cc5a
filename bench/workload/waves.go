package workload

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Waves are jobs that arrive over time and end again, on nodes of eight models of cards. Some of
// the nodes are cut into MIG slices, others into MPS ones. Each leaf of the queues has jobs of one
// request: a card by name, either of two, a slice, or any card.
type Waves struct {
	Nodes, Queues    int
	Pods, PodsPerJob int           // half of the pods of a job are its minimum
	Duration         time.Duration // from the first wave to the end of the last
	// Cards makes pods name their cards, as capacity-card counts them. Otherwise node affinity keeps
	// them to the same nodes, and queues have quotas of the resources.
	Cards bool
}

// Arrival is a job that is submitted at a time after the first wave begins.
type Arrival struct {
	At   time.Duration
	Runs time.Duration // of each pod, in whole seconds
	Job  Job
}

// waves is their number. In each, jobs arrive in the first half and none in the second.
const waves = 10

// What a leaf of the queues may have. The largest job of ten pods fits.
const (
	WaveCards  = 80
	WaveSlices = 20
)

// The slices that a GPU of a cut node gives.
const (
	mig     = "nvidia.com/mig-1g.10gb"
	migName = "/mig-1g.10gb-mixed"
	mps     = "nvidia.com/gpu.shared"
	mpsName = "/mps-80g*1/4"
)

// ask describes the request of the pods of a queue: a resource of nodes of some models, or of any.
type ask struct {
	resource string
	models   []string
	suffix   string // of the card's name after the model
	sizes    []int64
	quota    int64 // of all the models together
}

// Make returns the cluster and the jobs in the order in which they arrive. Equal seeds give equal
// ones, with cards and without.
func (w Waves) Make(seed uint64) (Cluster, []Arrival) {
	c := Shape{Nodes: w.Nodes, Fanout: TwoLevels(w.Queues)}.Make(seed)
	for i := range c.Nodes {
		cut(&c.Nodes[i], i)
	}
	asks := map[string]ask{}
	for i, name := range c.Leaves() {
		asks[name] = askOf(i)
	}
	leaves := c.Leaves()
	for i := range c.Queues {
		q := &c.Queues[i]
		if a, leaf := asks[q.Name]; leaf {
			q.Guarantee, q.Deserved = nil, Resources{a.resource: a.quota}
			q.Capability = q.Deserved
			if w.Cards {
				q.Annotations = map[string]string{cardAccounts[0]: a.quotas()}
			}
		}
	}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x3a5e))}
	var arrivals []Arrival
	for i := range w.Pods / w.PodsPerJob {
		queue := leaves[g.IntN(len(leaves))]
		start := w.Duration / waves * time.Duration(g.IntN(waves))
		arrivals = append(arrivals, Arrival{
			At:   start + time.Duration(g.Int64N(int64(w.Duration/waves/2))),
			Runs: max(time.Second, (w.Duration/20 + time.Duration(g.Int64N(int64(w.Duration*3/20)))).Truncate(time.Second)),
			Job:  w.job(fmt.Sprintf("job-%05d", i), queue, asks[queue], asks[queue].sizes[g.IntN(len(asks[queue].sizes))]),
		})
	}
	slices.SortStableFunc(arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return c, arrivals
}

// cut makes slices of the cards of a fifth of the nodes of four models.
func cut(n *Node, i int) {
	n.Labels["nvidia.com/gpu.replicas"] = "4"
	if i/len(models)%5 != 0 {
		return
	}
	switch i % len(models) {
	case 1, 2: // half of the cards, in seven
		n.Allocatable[gpu], n.Allocatable[mig] = 4, 28
	case 3, 5: // all of them, in four
		n.Allocatable[gpu], n.Allocatable[mps] = 0, 32
	}
}

// askOf is the request of the i-th leaf. Of twenty leaves eight name a card, six a list of two, two
// each MIG and MPS slices, and two no card.
func askOf(i int) ask {
	model := func(i int) string { return models[i%len(models)] }
	block := i / 20
	switch kind := i % 20; {
	case kind < 8:
		return ask{gpu, []string{model(kind + block)}, "", []int64{1, 2, 4, 8}, WaveCards}
	case kind < 14:
		return ask{gpu, []string{model(kind + block), model(kind + block + 1)}, "", []int64{1, 2, 4, 8}, WaveCards}
	case kind < 16:
		return ask{mig, []string{model(1 + kind%2)}, migName, []int64{1}, WaveSlices}
	case kind < 18:
		return ask{mps, []string{model(3 + 2*(kind%2))}, mpsName, []int64{1}, WaveSlices}
	default:
		return ask{gpu, nil, "", []int64{1, 2, 4}, WaveCards}
	}
}

// names are the cards' names.
func (a ask) names() []string {
	var names []string
	for _, model := range a.models {
		names = append(names, model+a.suffix)
	}
	return names
}

// quotas is the annotation that divides the quota equally.
func (a ask) quotas() string {
	names := a.names()
	if len(names) == 0 {
		names = models
	}
	return cardCounts(names, a.quota/int64(len(names)))
}

// job makes a job whose pods request a number of cards.
func (w Waves) job(name, queue string, a ask, size int64) Job {
	request := Resources{"cpu": 4000 * size, "memory": size << 35, a.resource: size}
	j := Job{Name: name, Queue: queue, Phase: Pending, MinMember: int32(w.PodsPerJob / 2)}
	task := Task{Request: request, Status: TaskPending, Products: a.models}
	if w.Cards {
		task.Products = nil
		if len(a.models) > 0 {
			list := strings.Join(a.names(), "|")
			task.Annotations = map[string]string{cardName: list}
			j.Annotations = map[string]string{cardRequest: cardCounts([]string{list}, size*int64(j.MinMember))}
		}
	}
	for i := range w.PodsPerJob {
		task.Name = fmt.Sprintf("%s-%02d", name, i)
		j.Tasks = append(j.Tasks, task)
	}
	return j
}

// cardCounts is an annotation with the same number for each name.
func cardCounts(names []string, count int64) string {
	var entries []string
	for _, name := range names {
		entries = append(entries, fmt.Sprintf("%q:%d", name, count))
	}
	return "{" + strings.Join(entries, ",") + "}"
}
