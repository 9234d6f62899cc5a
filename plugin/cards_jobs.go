package plugin

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// jobCards is what one job has and needs of cards. Its memory is kept from one
// job to the next.
//
// The minimum of a job is that of its minMember unfinished pods with the
// smallest demand, or what the job says it will ask for while it has no pods.
// Each choice counts like a dimension of its own: what pods of one choice have
// is held against what the minimum needs of that choice, whichever card it is.
type jobCards struct {
	kinds []kind
	on    []placement
	asked []cardAmount // by pending tasks, each of the card that it prefers
	pods  []podCards   // that are not finished; then those of the minimum

	// Cpu and memory of the job's card pods, where those are free of them; plain
	// is that of all its other pods that are not finished.
	placed, pending, gated, plain cpuMemory
	cards                         bool // the job is about cards
}

// kind is what a job has and needs of one choice, in thousandths.
type kind struct {
	*choice
	min, placed, gated float64
}

// placement is what tasks of a kind have of one card.
type placement struct {
	kind int
	cardAmount
}

// podCards is an unfinished pod.
type podCards struct {
	task   *api.TaskInfo
	demand demand
	total  float64 // of all cards
	placed bool
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
func (j *jobCards) read(c *cards, job *api.JobInfo, demand func(*v1.Pod) demand) {
	*j = jobCards{kinds: j.kinds[:0], on: j.on[:0], asked: j.asked[:0], pods: j.pods[:0]}
	if len(job.Tasks) == 0 {
		for _, r := range c.requestsOf(job) {
			j.kinds[j.kind(r.choice)].min += r.milli
		}
		j.cards = len(j.kinds) > 0 || c.unlimitedCPUMemory && c.willUse(job)
		return
	}
	for _, task := range job.Tasks {
		j.readTask(c, task, demand(task.Pod))
	}
	j.choose(c, job)
}

func (j *jobCards) readTask(c *cards, task *api.TaskInfo, d demand) {
	pod := podCards{task: task, demand: d, placed: api.AllocatedStatus(task.Status)}
	uses := false
	for p := range c.parts(d) {
		uses = true
		pod.total += p.milli
		k := j.kind(p.choice)
		switch {
		case pod.placed:
			j.kinds[k].placed += p.milli
			if dim, ok := c.cardOn(task.NodeName, p); ok {
				j.on = append(j.on, placement{k, cardAmount{dim, p.milli}})
			}
		case task.SchGated:
			j.kinds[k].gated += p.milli
		}
		if task.Status == api.Pending && len(p.dims) > 0 {
			j.asked = append(j.asked, cardAmount{p.dims[0], p.milli})
		}
	}
	finished := task.Status == api.Succeeded || task.Status == api.Failed
	if !finished {
		j.pods = append(j.pods, pod)
	}
	j.cards = j.cards || uses
	switch {
	case !c.unlimitedCPUMemory:
	case !uses && !finished:
		j.plain.add(task.Resreq)
	case !uses:
	case pod.placed:
		j.placed.add(task.Resreq)
	case task.Status == api.Pending:
		j.pending.add(task.Resreq)
		if task.SchGated {
			j.gated.add(task.Resreq)
		}
	}
}

// kind returns the place of a choice in kinds.
func (j *jobCards) kind(ch *choice) int {
	for i := range j.kinds {
		if j.kinds[i].choice == ch {
			return i
		}
	}
	j.kinds = append(j.kinds, kind{choice: ch})
	return len(j.kinds) - 1
}

// choose puts the pods of the minimum first, the smallest first, and adds up
// what they need.
func (j *jobCards) choose(c *cards, job *api.JobInfo) {
	if !j.cards {
		return
	}
	slices.SortFunc(j.pods, func(x, y podCards) int {
		return cmp.Or(cmp.Compare(x.total, y.total), cmp.Compare(x.task.Name, y.task.Name), cmp.Compare(x.task.UID, y.task.UID))
	})
	members := 0
	if job.PodGroup != nil {
		members = int(job.PodGroup.Spec.MinMember)
	}
	j.pods = j.pods[:min(max(0, members), len(j.pods))]
	for _, pod := range j.pods {
		for p := range c.parts(pod.demand) {
			j.kinds[j.kind(p.choice)].min += p.milli
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
func (j *jobCards) needs(to []quota.Need, c *cards, q index.Queue) []quota.Need {
	if len(j.pods) == 0 {
		for _, k := range j.kinds {
			to = appendUnits(to, q, k.choice, k.min)
		}
		return to
	}
	for _, pod := range j.pods {
		for p := range c.parts(pod.demand) {
			to = appendNeed(to, quota.Need{Queue: q, Cards: p.dims, Size: p.milli, Count: 1})
		}
	}
	return to
}

// promised appends what a job that was enqueued still waits for:
//
//	max(0, min − allocated − gated)
//
// of each choice. What is not a whole number of its pods is the rest of one.
func (j *jobCards) promised(to []quota.Need, c *cards, q index.Queue) []quota.Need {
	for _, k := range j.kinds {
		left := max(0, max(0, k.min-k.placed)-k.gated)
		if left == 0 {
			continue
		}
		if len(j.pods) == 0 {
			to = appendUnits(to, q, k.choice, left)
			continue
		}
		for _, pod := range j.pods {
			if pod.placed || pod.task.SchGated {
				continue
			}
			for p := range c.parts(pod.demand) {
				if p.choice == k.choice && left > 0 {
					to = appendNeed(to, quota.Need{Queue: q, Cards: p.dims, Size: min(left, p.milli), Count: 1})
					left -= min(left, p.milli)
				}
			}
		}
		if left > 0 { // of pods that were larger than those that have a place
			to = appendNeed(to, quota.Need{Queue: q, Cards: k.dims, Size: left, Count: 1})
		}
	}
	return to
}

// appendUnits appends single cards: a job that has no pods yet does not say how
// many each of them takes.
func appendUnits(to []quota.Need, q index.Queue, ch *choice, milli float64) []quota.Need {
	const unit = 1000
	return appendNeed(to, quota.Need{Queue: q, Cards: ch.dims, Size: unit, Count: int(milli / unit)})
}

// appendNeed appends a need, to the last one if that is of equal pods.
func appendNeed(to []quota.Need, need quota.Need) []quota.Need {
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
