package workload

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Waves are jobs that arrive over time and end again, on nodes with eight models of cards. Some of
// the nodes are cut into MIG slices, others into MPS slices. Each leaf of the queues has jobs of one
// request: a card by name, either of two cards, a slice, or any card.
type Waves struct {
	Nodes, Queues    int
	Pods, PodsPerJob int           // half of the pods of a job are its minimum
	Duration         time.Duration // from the first wave to the end of the last
	// Cards makes pods name their cards, as capacity-card counts them. Otherwise node affinity keeps
	// them to the same nodes, and queues have quotas of the resources.
	Cards bool
	// Running is the number of pods that run from the start and do not end, each with a card of a node that is not cut.
	Running int
}

// Arrival is a job that is submitted at a time after the first wave begins.
type Arrival struct {
	At   time.Duration
	Runs time.Duration // of each pod, in whole seconds
	Job  Job
}

// waves is the number of waves. In each, jobs arrive in the first half and none in the second.
const waves = 10

// The cards and slices that a leaf of the queues may have. The largest job of ten pods fits.
const (
	WaveCards  = 80
	WaveSlices = 20
)

// cardsPerNode is the number of cards of a node that is not cut.
const cardsPerNode = 8

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
// clusters and jobs, with cards and without.
func (w Waves) Make(seed uint64) (Cluster, []Arrival) {
	c := Shape{Nodes: w.Nodes, Fanout: TwoLevels(w.Queues)}.Make(seed)
	for i := range c.Nodes {
		cut(&c.Nodes[i], i)
	}

	asks := map[string]ask{}
	leaves := c.Leaves()
	for i, name := range leaves {
		asks[name] = askOf(i)
	}
	c.Jobs = w.runningJobs(c.Nodes, leaves, asks)
	for i := range c.Queues {
		q := &c.Queues[i]
		if a, leaf := asks[q.Name]; leaf {
			q.Guarantee = nil
			q.Deserved = Resources{a.resource: a.quota}
			q.Capability = q.Deserved
			if w.Cards {
				q.Annotations = map[string]string{cardAccounts[0]: a.quotas()}
			}
		}
	}

	return c, w.arrivals(seed, leaves, asks)
}

// runningJobs returns the jobs that run from the start, in leaves that name one card. It raises the quotas of the
// leaves by the cards of the jobs.
func (w Waves) runningJobs(nodes []Node, leaves []string, asks map[string]ask) (jobs []Job) {
	queues := map[string][]string{} // by model
	for _, name := range leaves {
		if a := asks[name]; a.resource == gpu && len(a.models) == 1 {
			queues[a.models[0]] = append(queues[a.models[0]], name)
		}
	}

	slots := map[string][]string{} // nodes with a card that is free, by model, once for each card
	made := 0
	for _, n := range nodes {
		if made == w.Running/w.PodsPerJob {
			break
		}
		if n.Allocatable[gpu] < cardsPerNode { // it is cut
			continue
		}

		model := n.Labels[ProductLabel]
		slots[model] = append(slots[model], slices.Repeat([]string{n.Name}, cardsPerNode)...)
		if len(slots[model]) < w.PodsPerJob {
			continue
		}

		queue := queues[model][made%len(queues[model])]
		a := asks[queue]
		j := w.job(fmt.Sprintf("running-%05d", made), queue, a, 1)
		j.Phase = Running
		for i := range j.Tasks {
			j.Tasks[i].Status = TaskRunning
			j.Tasks[i].Node = slots[model][i]
		}

		slots[model] = slots[model][w.PodsPerJob:]
		a.quota += int64(w.PodsPerJob)
		asks[queue] = a
		jobs = append(jobs, j)
		made++
	}
	return jobs
}

// arrivals returns the jobs of the leaves in the order in which they arrive.
func (w Waves) arrivals(seed uint64, leaves []string, asks map[string]ask) (arrivals []Arrival) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x3a5e))}
	for i := range w.Pods / w.PodsPerJob {
		queue := leaves[g.IntN(len(leaves))]
		ask := asks[queue]

		start := w.Duration / waves * time.Duration(g.IntN(waves))
		after := time.Duration(g.Int64N(int64(w.Duration / waves / 2)))
		runs := w.Duration/20 + time.Duration(g.Int64N(int64(w.Duration*3/20)))
		size := ask.sizes[g.IntN(len(ask.sizes))]

		arrivals = append(arrivals, Arrival{
			At:   start + after,
			Runs: max(time.Second, runs.Truncate(time.Second)),
			Job:  w.job(fmt.Sprintf("job-%05d", i), queue, ask, size),
		})
	}

	slices.SortStableFunc(arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return arrivals
}

// cut makes slices of the cards of a fifth of the nodes of four models.
func cut(n *Node, i int) {
	n.Labels["nvidia.com/gpu.replicas"] = "4"
	if i/len(models)%5 != 0 {
		return
	}

	switch i % len(models) {
	case 1, 2: // half of the cards, in seven
		n.Allocatable[gpu] = 4
		n.Allocatable[mig] = 28
	case 3, 5: // all of them, in four
		n.Allocatable[gpu] = 0
		n.Allocatable[mps] = 32
	}
}

// askOf returns the request of the i-th leaf. Of twenty leaves eight name a card, six name a list of two cards, two
// name MIG slices, two name MPS slices, and two name no card.
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

// names returns the names of the cards.
func (a ask) names() []string {
	var names []string
	for _, model := range a.models {
		names = append(names, model+a.suffix)
	}
	return names
}

// quotas returns the annotation that divides the quota equally.
func (a ask) quotas() string {
	names := a.names()
	if len(names) == 0 {
		names = models
	}
	return CardsOf(names, a.quota/int64(len(names)))
}

// job makes a job. Each pod requests a number of cards.
func (w Waves) job(name, queue string, a ask, size int64) Job {
	request := Resources{"cpu": 4000 * size, "memory": size << 35, a.resource: size}
	j := Job{Name: name, Queue: queue, Phase: Pending, MinMember: int32(w.PodsPerJob / 2)}
	task := Task{Request: request, Status: TaskPending, Products: a.models}

	if w.Cards {
		task.Products = nil
		if len(a.models) > 0 {
			list := strings.Join(a.names(), "|")
			task.Annotations = map[string]string{cardName: list}
			j.Annotations = map[string]string{cardRequest: CardsOf([]string{list}, size*int64(j.MinMember))}
		}
	}

	for i := range w.PodsPerJob {
		task.Name = fmt.Sprintf("%s-%02d", name, i)
		j.Tasks = append(j.Tasks, task)
	}
	return j
}
