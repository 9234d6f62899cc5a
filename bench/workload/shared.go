package workload

import (
	"fmt"
	"math/rand/v2"
)

// Shared is a cluster that every quota engine can count, with questions. The answers follow from
// the quotas alone. 20,000 jobs run and 5,000 wait, a pod each, on cards of three models. It is
// written to a file for the engines of other schedulers.
type Shared struct {
	Models   []string
	Nodes    []SharedNode
	Queues   []SharedQueue // parents before their children
	Running  []SharedJob
	Waiting  []SharedJob
	Pairs    [][2]string // siblings: the first uses less of each model than it deserves, the second more of one
	Reclaims []Reclaim
}

// SharedNode is a node with cards of one model.
type SharedNode struct {
	Name, Model string
	Cards       int64
}

// SharedQueue is a queue, with whole cards of each model. The amounts of a queue with children are the deserved
// amounts of the children together.
type SharedQueue struct {
	Name, Parent    string
	Leaf            bool
	Deserved, Quota int64
}

// SharedJob is one pod. For each card it requests the same CPU and memory.
type SharedJob struct {
	Name, Queue, Model string
	Cards              int64
	Node               string // of a running job
	Fits               bool   // the answer for a waiting job: all queues on its path have room
}

// Reclaim is a waiting job of a queue that uses less than it deserves, below a full parent. Only
// running jobs of the queue From may be evicted for it: no other queue uses more than it deserves.
type Reclaim struct {
	Job, From string
	Gone      []string // running jobs of From; without them the job fits
}

// The figures of shared clusters. A leaf may use a third more than it deserves.
const (
	sharedStock   = 15000 // cards of each model
	perNode       = 8     // cards of a node
	sharedRunning = 20000
	sharedWaiting = 5000
	sharedReclaim = 8 // waiting jobs with a Reclaim each, and the jobs that are gone
)

// SharedFanout holds the tree of depth 3 for each number of leaves.
var SharedFanout = map[int][]int{10: {1, 2, 5}, 100: {4, 5, 5}, 1000: {10, 10, 10}, 5000: {10, 10, 50}}

// NewShared returns the cluster of a tree in SharedFanout. Equal seeds give equal clusters.
func NewShared(fanout []int, seed uint64) *Shared {
	b := sharedBuilder{
		Shared: &Shared{Models: models[:3]},
		Rand:   rand.New(rand.NewPCG(seed, 0x9ee5)),
		queues: map[string]int{},
		used:   map[[2]string]int64{},
		filled: map[string]int{},
	}

	for i := range sharedStock / perNode * len(b.Models) {
		node := SharedNode{Name: fmt.Sprintf("node-%05d", i), Model: b.Models[i%len(b.Models)], Cards: perNode}
		b.Nodes = append(b.Nodes, node)
	}

	deserved := int64(sharedStock)
	for _, n := range fanout {
		deserved /= int64(n)
	}
	b.grow("", "root", fanout, deserved)
	b.contest()

	for len(b.Running) < sharedRunning {
		b.run(b.draw(b.leaves[b.contested:], true))
	}

	for _, r := range b.Reclaims {
		b.wait(SharedJob{Name: r.Job, Queue: b.leaves[0], Model: b.Models[0], Cards: 1})
	}
	for i := len(b.Waiting); i < sharedWaiting; i++ {
		j := b.draw(b.leaves, false)
		j.Name = fmt.Sprintf("waits-%05d", i)
		b.wait(j)
	}
	b.pair()
	return b.Shared
}

type sharedBuilder struct {
	*Shared
	*rand.Rand
	queues    map[string]int // places in Queues
	leaves    []string
	contested int // the first leaves, all below one parent
	used      map[[2]string]int64
	filled    map[string]int // the cards of a model that nodes have given
}

// grow adds a queue and the queues below it.
func (b *sharedBuilder) grow(parent, name string, fanout []int, leaf int64) (deserved int64) {
	i := len(b.Queues)
	b.queues[name] = i
	b.Queues = append(b.Queues, SharedQueue{Name: name, Parent: parent, Leaf: len(fanout) == 0})
	if len(fanout) == 0 {
		b.leaves = append(b.leaves, name)
		b.Queues[i].Deserved = leaf
		b.Queues[i].Quota = leaf + leaf/3
		return leaf
	}

	for n := range fanout[0] {
		deserved += b.grow(name, fmt.Sprintf("%s-%d", name, n), fanout[1:], leaf)
	}
	b.Queues[i].Deserved = deserved
	b.Queues[i].Quota = deserved
	if len(fanout) == 1 && b.contested == 0 {
		b.contested = fanout[0]
	}
	return deserved
}

// contest fills the parent of the first leaves with jobs of the first model. The first leaf lacks
// a third of deserved, which the second leaf uses.
func (b *sharedBuilder) contest() {
	var from []string
	for i, leaf := range b.leaves[:b.contested] {
		q := b.Queues[b.queues[leaf]]
		cards := q.Deserved

		switch i {
		case 0:
			cards -= q.Quota - q.Deserved
		case 1:
			cards = q.Quota
		}

		for range cards {
			b.run(SharedJob{Queue: leaf, Model: b.Models[0], Cards: 1})
			if i == 1 {
				from = append(from, b.Running[len(b.Running)-1].Name)
			}
		}
	}

	gone := from[:min(sharedReclaim, len(from))]
	for i := range sharedReclaim {
		b.Reclaims = append(b.Reclaims, Reclaim{Job: fmt.Sprintf("reclaims-%d", i), From: b.leaves[1], Gone: gone})
	}
}

// draw returns a job of one or two cards. In each group of four leaves, one leaf wants most of the cards. A job
// that runs is drawn until its path has room.
func (b *sharedBuilder) draw(leaves []string, runs bool) SharedJob {
	for {
		i := b.IntN(len(leaves))
		if b.IntN(8) >= 8>>(i%4) {
			continue
		}
		j := SharedJob{Queue: leaves[i], Model: b.Models[b.IntN(len(b.Models))], Cards: 1 + b.Int64N(2)}
		if !runs || b.fits(j) {
			return j
		}
	}
}

// path calls visit for the queue of a job and its ancestors until visit returns false.
func (b *sharedBuilder) path(j SharedJob, visit func(q SharedQueue) bool) {
	for name := j.Queue; name != ""; {
		q := b.Queues[b.queues[name]]
		if !visit(q) {
			return
		}
		name = q.Parent
	}
}

func (b *sharedBuilder) fits(j SharedJob) bool {
	fits := true
	b.path(j, func(q SharedQueue) bool {
		fits = b.used[[2]string{q.Name, j.Model}]+j.Cards <= q.Quota
		return fits
	})
	return fits
}

// run runs a job on the next node of its model that has room.
func (b *sharedBuilder) run(j SharedJob) {
	j.Name = fmt.Sprintf("runs-%05d", len(b.Running))
	b.path(j, func(q SharedQueue) bool {
		b.used[[2]string{q.Name, j.Model}] += j.Cards
		return true
	})

	if b.filled[j.Model]%perNode+int(j.Cards) > perNode {
		b.filled[j.Model]++
	}
	n := b.filled[j.Model] / perNode * len(b.Models)
	for b.Nodes[n].Model != j.Model {
		n++
	}

	j.Node = b.Nodes[n].Name
	b.filled[j.Model] += int(j.Cards)
	b.Running = append(b.Running, j)
}

// wait adds a waiting job with its answer.
func (b *sharedBuilder) wait(j SharedJob) {
	j.Fits = b.fits(j)
	b.Waiting = append(b.Waiting, j)
}

// pair finds the pairs: for each parent, the first leaves below and above deserved.
func (b *sharedBuilder) pair() {
	below := map[string]string{}
	above := map[string]string{}
	for _, leaf := range b.leaves {
		q := b.Queues[b.queues[leaf]]
		less := true
		more := false
		for _, m := range b.Models {
			used := b.used[[2]string{leaf, m}]
			less = less && used < q.Deserved
			more = more || used > q.Deserved
		}

		if less && below[q.Parent] == "" {
			below[q.Parent] = leaf
		}
		if more && above[q.Parent] == "" {
			above[q.Parent] = leaf
		}
	}

	for _, q := range b.Queues {
		if below[q.Name] != "" && above[q.Name] != "" {
			b.Pairs = append(b.Pairs, [2]string{below[q.Name], above[q.Name]})
		}
	}
}
