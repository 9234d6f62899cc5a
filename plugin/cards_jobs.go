package plugin

import (
	"cmp"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// jobCards is what one job has and needs of cards. Its memory is kept from one
// job to the next.
//
// The minimum of a job is that of its minMember unfinished pods with the
// smallest demand, or what the job says it will ask for while it has no pods.
// Each choice counts like a dimension of its own: what pods of one choice have
// is held against what the minimum needs of that choice, whichever card it is.
type jobCards struct {
	tasks   []*api.TaskInfo
	demands []*demand    // by task
	nodes   []*nodeCards // by task, nil for a node that is not known

	kinds []kind
	on    []placement
	asked []cardAmount // by pending tasks, each of the card that it prefers
	// pods are those of the minimum, the smallest first. Where all unfinished pods
	// of the job are alike there is no need to list them: members is how many make
	// the minimum, and size what each takes of the only kind.
	pods    []podCards
	members int
	size    float64

	// Cpu and memory of the job's card pods, where those are free of them; plain
	// is that of all its other pods that are not finished.
	placed, pending, gated, plain cpuMemory
	cards                         bool // the job is about cards
	gates                         bool // some pod of the job waits behind a gate
}

// kind is what a job has and needs of one choice, in thousandths, and what its
// pods ask for it with: unsaid before there are any.
type kind struct {
	*choice
	resource           resourceID
	min, placed, gated float64
}

const unsaid resourceID = -1

// placement is what tasks of a kind have of one card.
type placement struct {
	kind int
	cardAmount
}

// podCards is an unfinished pod.
type podCards struct {
	task   *api.TaskInfo
	demand *demand
	total  float64 // of all cards
}

type cpuMemory struct{ cpu, memory float64 }

func (a *cpuMemory) add(r *api.Resource) {
	a.cpu += max(0, r.MilliCPU)
	a.memory += max(0, r.Memory)
}

// without takes what is free out of a sum that holds it.
func (a cpuMemory) without(x fastres.Vector) {
	x.Set(fastres.CPU, max(0, x.Get(fastres.CPU)-a.cpu))
	x.Set(fastres.Memory, max(0, x.Get(fastres.Memory)-a.memory))
}

// read reads a job. demand tells what a pod says about cards.
func (j *jobCards) read(c *cards, job *api.JobInfo, demand func(*v1.Pod) *demand) {
	*j = jobCards{kinds: j.kinds[:0], on: j.on[:0], asked: j.asked[:0], pods: j.pods[:0], tasks: j.tasks[:0], demands: j.demands[:0], nodes: j.nodes[:0]}
	if len(job.Tasks) == 0 {
		for _, r := range c.requestsOf(job) {
			j.kinds[j.kind(r.choice, unsaid)].min += r.milli
		}
		j.cards = len(j.kinds) > 0 || c.unlimitedCPUMemory && c.willUse(job)
		return
	}
	j.fetch(c, job, demand)
	unfinished, alike := 0, true
	for i, task := range j.tasks {
		size, parts := j.readTask(c, task, j.demands[i], j.nodes[i])
		if finished(task) {
			continue
		}
		if unfinished++; unfinished == 1 {
			j.size = size
		}
		alike = alike && parts == 1 && size == j.size
	}
	if !j.cards {
		return
	}
	if job.PodGroup != nil {
		j.members = min(max(0, int(job.PodGroup.Spec.MinMember)), unfinished)
	}
	if alike && len(j.kinds) == 1 {
		j.kinds[0].min = float64(j.members) * j.size
		return
	}
	j.size = 0
	j.choose(c)
}

// fetch looks up the tasks of a job, what they say about cards, and their nodes.
// All of it lies all over the memory; in loops as short as these the processor
// waits for several at once.
func (j *jobCards) fetch(c *cards, job *api.JobInfo, demand func(*v1.Pod) *demand) {
	for _, task := range job.Tasks {
		j.tasks = append(j.tasks, task)
	}
	for _, task := range j.tasks {
		j.gates = j.gates || task.SchGated
	}
	for _, task := range j.tasks {
		j.demands = append(j.demands, demand(task.Pod))
	}
	for i, task := range j.tasks {
		var node *nodeCards
		if task.NodeName != "" && len(j.demands[i].wants) > 0 {
			node = c.nodes[task.NodeName]
		}
		j.nodes = append(j.nodes, node)
	}
}

func finished(task *api.TaskInfo) bool {
	return task.Status == api.Succeeded || task.Status == api.Failed
}

// readTask adds a task to what the job has and asks for, and returns how much it
// wants of cards, in how many parts.
func (j *jobCards) readTask(c *cards, task *api.TaskInfo, d *demand, node *nodeCards) (size float64, parts int) {
	placed := api.AllocatedStatus(task.Status)
	for p := range c.parts(d) {
		parts++
		size += p.milli
		k := j.kind(p.choice, p.want.resource)
		switch {
		case placed:
			j.kinds[k].placed += p.milli
			if dim, ok := p.cardOf(node); ok {
				j.on = append(j.on, placement{k, cardAmount{dim, p.milli}})
			}
		case task.SchGated:
			j.kinds[k].gated += p.milli
		}
		if task.Status == api.Pending && len(p.dims) > 0 {
			j.asked = append(j.asked, cardAmount{p.dims[0], p.milli})
		}
	}
	j.cards = j.cards || parts > 0
	switch {
	case !c.unlimitedCPUMemory:
	case parts == 0 && !finished(task):
		j.plain.add(task.Resreq)
	case parts == 0:
	case placed:
		j.placed.add(task.Resreq)
	case task.Status == api.Pending:
		j.pending.add(task.Resreq)
		if task.SchGated {
			j.gated.add(task.Resreq)
		}
	}
	return size, parts
}

// kind returns the place of a choice and a resource in kinds.
func (j *jobCards) kind(ch *choice, r resourceID) int {
	for i := range j.kinds {
		if j.kinds[i].choice == ch && j.kinds[i].resource == r {
			return i
		}
	}
	j.kinds = append(j.kinds, kind{choice: ch, resource: r})
	return len(j.kinds) - 1
}

// choose lists the pods of the minimum and adds up what they need.
func (j *jobCards) choose(c *cards) {
	for i, task := range j.tasks {
		if finished(task) {
			continue
		}
		pod := podCards{task: task, demand: j.demands[i]}
		for p := range c.parts(pod.demand) {
			pod.total += p.milli
		}
		j.pods = append(j.pods, pod)
	}
	slices.SortFunc(j.pods, func(x, y podCards) int {
		return cmp.Or(cmp.Compare(x.total, y.total), cmp.Compare(x.task.Name, y.task.Name), cmp.Compare(x.task.UID, y.task.UID))
	})
	j.pods = j.pods[:j.members]
	for _, pod := range j.pods {
		for p := range c.parts(pod.demand) {
			j.kinds[j.kind(p.choice, p.want.resource)].min += p.milli
		}
	}
}

// capMinimum takes the cpu and memory of card pods out of a job's minimum, where
// they are free.
func (j *jobCards) capMinimum(c *cards, min fastres.Vector) {
	if !c.unlimitedCPUMemory || !j.cards {
		return
	}
	min.Set(fastres.CPU, lesser(min.Get(fastres.CPU), j.plain.cpu))
	min.Set(fastres.Memory, lesser(min.Get(fastres.Memory), j.plain.memory))
}

func lesser(x, y float64) float64 { return min(x, y) }

// needs appends what the minimum asks for, pod by pod, or card by card while
// there are no pods.
func (j *jobCards) needs(to []assign.Demand, c *cards, q index.Queue) []assign.Demand {
	if len(j.pods) == 0 {
		for _, k := range j.kinds {
			to = j.appendAlike(to, q, k, k.min)
		}
		return to
	}
	for _, pod := range j.pods {
		for p := range c.parts(pod.demand) {
			to = appendNeed(to, assign.Demand{Queue: q, Cards: p.dims, Size: p.milli, Count: 1})
		}
	}
	return to
}

// promised appends what a job that was enqueued still waits for:
//
//	max(0, min − allocated − gated)
//
// of each choice. What is not a whole number of its pods is the rest of one.
func (j *jobCards) promised(to []assign.Demand, c *cards, q index.Queue) []assign.Demand {
	for _, k := range j.kinds {
		left := max(0, max(0, k.min-k.placed)-k.gated)
		for _, pod := range j.pods {
			if api.AllocatedStatus(pod.task.Status) || pod.task.SchGated {
				continue
			}
			for p := range c.parts(pod.demand) {
				if p.choice == k.choice && p.want.resource == k.resource && left > 0 {
					to = appendNeed(to, assign.Demand{Queue: q, Cards: p.dims, Size: min(left, p.milli), Count: 1})
					left -= min(left, p.milli)
				}
			}
		}
		to = j.appendAlike(to, q, k, left)
	}
	return to
}

// appendAlike appends pods that are alike, and the rest of one; single cards for
// a job that has no pods yet, as it does not say how many each of them takes.
func (j *jobCards) appendAlike(to []assign.Demand, q index.Queue, k kind, milli float64) []assign.Demand {
	const card = 1000
	size := cmp.Or(j.size, card)
	if len(j.pods) > 0 {
		size = milli // of pods that were larger than those that have a place
	}
	count := math.Floor(milli / max(size, 1))
	to = appendNeed(to, assign.Demand{Queue: q, Cards: k.dims, Size: size, Count: int(count)})
	if rest := milli - count*size; rest > 0 {
		to = appendNeed(to, assign.Demand{Queue: q, Cards: k.dims, Size: rest, Count: 1})
	}
	return to
}

// appendNeed appends a need, to the last one if that is of equal pods.
func appendNeed(to []assign.Demand, need assign.Demand) []assign.Demand {
	if need.Count == 0 {
		return to
	}
	if n := len(to) - 1; n >= 0 && to[n].Queue == need.Queue && to[n].Size == need.Size && slices.Equal(to[n].Cards, need.Cards) {
		to[n].Count += need.Count
		return to
	}
	return append(to, need)
}

// elastic adds what a job has beyond its minimum to x. It keeps the cards that
// it prefers.
func (j *jobCards) elastic(x fastres.Vector) {
	for i, k := range j.kinds {
		spare := k.placed - k.min
		if spare <= 0 {
			continue
		}
		keep := k.min
		for _, d := range k.dims {
			has := 0.0
			for _, on := range j.on {
				if on.kind == i && on.dim == d {
					has += on.milli
				}
			}
			kept := min(keep, has)
			keep -= kept
			if has > kept {
				x.Increase(d, has-kept)
			}
		}
	}
}
