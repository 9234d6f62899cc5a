package plan

import (
	"slices"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// world is a small cluster with one resource and a tree of queues: the root, and queues below it.
type world struct {
	queues []modelQueue // the first is the root
	claim  int          // the queue of the claimant
	owners []int        // the queue of each job
	p      Problem
	cannot map[placement]bool // pods, by index, that cannot run on a node

	saved [][]float64
}

// modelQueue is a queue of a world. Its parent is the root.
type modelQueue struct{ allocated, limit, deserved, guarantee float64 }

func (w *world) Mark() int {
	var allocated []float64
	for _, q := range w.queues {
		allocated = append(allocated, q.allocated)
	}
	w.saved = append(w.saved, allocated)
	return len(w.saved) - 1
}

func (w *world) Undo(mark int) {
	for q, allocated := range w.saved[mark] {
		w.queues[q].allocated = allocated
	}
	w.saved = w.saved[:mark]
}

func (w *world) Evict(job int, pods []int) Spared {
	q := &w.queues[w.owners[job]]
	sum := 0.0
	for _, pod := range pods {
		sum += w.p.Jobs[job].Pods[pod].Frees[0]
	}
	switch {
	case q.allocated <= q.deserved:
		return ByDeserved
	case q.allocated-sum < q.guarantee:
		return ByGuarantee
	}
	q.allocated -= sum
	w.queues[0].allocated -= sum
	return Taken
}

func (w *world) Place(pod, _ int) quota.Verdict {
	request := w.p.Pods[pod].Requests[0]
	for _, q := range []int{w.claim, 0} {
		if w.queues[q].allocated+request > w.queues[q].limit {
			return quota.Verdict{Reason: quota.OverQuota, Queue: index.Queue(q)}
		}
	}
	w.queues[w.claim].allocated += request
	w.queues[0].allocated += request
	return quota.Verdict{Reason: quota.Admitted}
}

func (w *world) Explain(pod, node int) quota.Verdict {
	mark := w.Mark()
	defer w.Undo(mark)
	return w.Place(pod, node)
}

func (w *world) MayTake(pod, _ int) bool {
	q := w.queues[w.claim]
	return q.allocated+w.p.Pods[pod].Requests[0] <= q.deserved
}

func (w *world) Relieves(pod, _, _, _ int) bool {
	return w.queues[0].allocated+w.p.Pods[pod].Requests[0] > w.queues[0].limit
}

func (w *world) CanRun(pod, node int) bool { return !w.cannot[placement{w.p.Pods[pod].Kind, node}] }
func (w *world) Preference(int, int) int   { return 0 }
func (w *world) Charged(int, int) int      { return 0 }
func (w *world) Settled() (v quota.Verdict) {
	v.Reason = quota.Admitted
	if w.queues[w.claim].allocated > w.queues[w.claim].deserved {
		v.Reason = quota.OverDeserved
	}
	return v
}

// outcome is the value of a set of victims, by the documentation of the package.
type outcome struct {
	broken  int
	classes map[int][2]int64 // class → lost, pods
	pods    int
}

// better reports whether x is better than y.
func (x outcome) better(y outcome) bool {
	if x.broken != y.broken {
		return x.broken < y.broken
	}
	var classes []int
	for _, of := range []outcome{x, y} {
		for class := range of.classes {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	for _, class := range slices.Backward(classes) {
		of, other := x.classes[class], y.classes[class]
		if of == other {
			continue
		}
		// A set without victims of the class is better than one with some.
		if of[1] == 0 || other[1] == 0 {
			return of[1] == 0
		}
		return of[0] < other[0] || of[0] == other[0] && of[1] < other[1]
	}
	return x.pods < y.pods
}

// enumerate tries all sets of victims, and returns the best outcome with which all pods have room.
func (w *world) enumerate() (best outcome, possible bool) {
	var all []Victim
	for j := range w.p.Jobs {
		for pod := range w.p.Jobs[j].Pods {
			all = append(all, Victim{j, pod})
		}
	}
	for set := range 1 << len(all) {
		var victims []Victim
		for i, v := range all {
			if set&(1<<i) != 0 {
				victims = append(victims, v)
			}
		}
		of, allowed := w.valueOf(victims)
		if allowed && (!possible || of.better(best)) && w.suffices(victims) {
			best, possible = of, true
		}
	}
	return best, possible
}

// valueOf returns the value of a set of victims, and whether their jobs and queues can lose them.
func (w *world) valueOf(victims []Victim) (of outcome, allowed bool) {
	of.classes = map[int][2]int64{}
	for j := range w.p.Jobs {
		job := &w.p.Jobs[j]
		var own []int
		fixed := false
		for _, v := range victims {
			if v.Job == j {
				own = append(own, v.Pod)
				fixed = fixed || job.Pods[v.Pod].Fixed
			}
		}
		if len(own) == 0 {
			continue
		}
		spares := w.spares(j, victims)
		whole := w.p.Whole && (len(own) == len(job.Pods) || job.Spare < 0)
		if fixed || !spares && !whole {
			return of, false
		}
		if !spares && job.Spare >= 0 {
			of.broken++
		}
		for _, pod := range own {
			c := job.Pods[pod]
			sum := of.classes[c.Class]
			sum[1]++
			if job.Spare >= 0 {
				sum[0] += c.Lost
			}
			of.classes[c.Class] = sum
			of.pods++
		}
	}
	return of, w.mayLose(victims)
}

// spares reports whether a job has its minimum without some victims.
func (w *world) spares(j int, victims []Victim) bool {
	job, n, roles := &w.p.Jobs[j], 0, map[string]int{}
	for _, v := range victims {
		if v.Job == j {
			n++
			roles[job.Pods[v.Pod].Role]++
		}
	}
	for role, lost := range roles {
		if most, bounded := job.Roles[role]; bounded && lost > most {
			return false
		}
	}
	return n <= job.Spare
}

// mayLose reports whether each queue can lose some victims, one unit after the other in some order. Before each unit,
// the queue has more than it deserves, and it keeps its guarantee afterwards. All pods have the same size.
func (w *world) mayLose(victims []Victim) bool {
	for q := 1; q < len(w.queues); q++ {
		sum, largest := 0.0, 0.0
		for j, owner := range w.owners {
			if owner != q {
				continue
			}
			of, n := 0.0, 0
			for _, v := range victims {
				if v.Job == j {
					of += w.p.Jobs[j].Pods[v.Pod].Frees[0]
					n++
				}
			}
			sum += of
			if w.p.Jobs[j].Spare >= 0 && !w.spares(j, victims) {
				largest = max(largest, of)
			} else if n > 0 {
				largest = max(largest, of/float64(n))
			}
		}
		queue := w.queues[q]
		if sum > 0 && (queue.allocated-sum+largest <= queue.deserved || queue.allocated-sum < queue.guarantee) {
			return false
		}
	}
	return true
}

// suffices reports whether all pods of the claimant have room without some victims.
func (w *world) suffices(victims []Victim) bool {
	free := []float64{}
	for _, n := range w.p.Nodes {
		free = append(free, n.Free[0])
	}
	total := 0.0
	gone := 0.0
	for _, v := range victims {
		c := w.p.Jobs[v.Job].Pods[v.Pod]
		gone += c.Frees[0]
		if c.Node != None {
			free[c.Node] += c.Frees[0]
		}
	}
	for _, pod := range w.p.Pods {
		total += pod.Requests[0]
	}
	own := w.queues[w.claim]
	if own.allocated+total > own.limit || w.queues[0].allocated-gone+total > w.queues[0].limit ||
		len(victims) > 0 && own.allocated+total > own.deserved {
		return false
	}
	return w.fits(0, free)
}

func (w *world) fits(pod int, free []float64) bool {
	if pod == len(w.p.Pods) {
		return true
	}
	request := w.p.Pods[pod].Requests[0]
	for node := range free {
		if w.cannot[placement{w.p.Pods[pod].Kind, node}] || free[node] < request {
			continue
		}
		free[node] -= request
		if w.fits(pod+1, free) {
			free[node] += request
			return true
		}
		free[node] += request
	}
	return false
}
