package question

import "fmt"

// audit counts the mistakes of a set of admitted jobs. Another order of jobs admits other jobs, so the jobs are
// not compared one by one. No bound may be exceeded, and no job that still fits may be left.
type audit struct {
	exceeded   int // bounds: a queue, at any level, with a model
	left       int // waiting jobs that are not admitted and would fit
	overfilled int // nodes with more cards than they have, or with a job of another model
}

// account holds the cards that the queues and the nodes of a world have in use.
type account struct {
	queues map[string]Queue
	used   map[[2]string]int64 // by queue and model
	onNode map[string]int64
}

func (w *World) audit(placements []Placement) (a audit, err error) {
	acc := account{queues: map[string]Queue{}, used: map[[2]string]int64{}, onNode: map[string]int64{}}
	nodes := map[string]Node{}
	waiting := map[string]Job{}
	for _, q := range w.Queues {
		acc.queues[q.Name] = q
	}
	for _, n := range w.Nodes {
		nodes[n.Name] = n
	}
	for _, j := range w.Waiting {
		waiting[j.Name] = j
	}

	for _, j := range w.Running {
		acc.charge(j)
	}
	for _, p := range placements {
		j, ok := waiting[p.Job]
		if !ok {
			return a, fmt.Errorf("%s is admitted, and does not wait", p.Job)
		}

		delete(waiting, p.Job)
		j.Node = p.Node
		if j.Node != "" && nodes[j.Node].Model != j.Model {
			a.overfilled++
		}
		acc.charge(j)
	}

	for key, cards := range acc.used {
		if cards > acc.queues[key[0]].Quota {
			a.exceeded++
		}
	}

	for _, j := range waiting {
		if acc.fits(j) {
			a.left++
		}
	}

	for name, cards := range acc.onNode {
		if cards > nodes[name].Cards {
			a.overfilled++
		}
	}
	return a, nil
}

// charge charges a job to its node, and to all queues of its path.
func (acc *account) charge(j Job) {
	if j.Node != "" {
		acc.onNode[j.Node] += j.Cards
	}
	for name := j.Queue; name != ""; name = acc.queues[name].Parent {
		acc.used[[2]string{name, j.Model}] += j.Cards
	}
}

// fits reports whether all queues of the path of a job have room.
func (acc *account) fits(j Job) bool {
	for name := j.Queue; name != ""; name = acc.queues[name].Parent {
		if acc.used[[2]string{name, j.Model}]+j.Cards > acc.queues[name].Quota {
			return false
		}
	}
	return true
}
