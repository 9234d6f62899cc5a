package chaos

import (
	"fmt"
	"math/rand/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// drawLent draws a world in which gangs of some queues borrow all cards. Gangs of other queues want back the cards that
// their queues deserve. Only nodes and quotas decide.
func drawLent(seed uint64) *Scenario {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0x1e27))}
	d.s = &Scenario{Config: Config{Plugin: pick(d, session.Name, session.Name, session.CapacityName), Tree: d.chance(50), Grace: pick(d, 0, 0, 5, 59),
		Actions: []string{"enqueue", "allocate", "reclaim"}}, Cycles: chaosCycles}
	d.s.Arguments = framework.Arguments{arguments.UnsetCapability: "unlimited", arguments.AdmitReclaimable: true}
	if d.chance(80) {
		d.s.Arguments[arguments.ReclaimGangs] = "whole"
	}

	total := 0
	for i := range 1 + d.IntN(3) {
		cards := pick(d, 4, 8)
		total += cards
		d.do(1, SetNode{Node: workload.Node{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{"nvidia.com/gpu.product": "A"},
			Allocatable: workload.Resources{"cpu": 64000, "memory": 256 << 30, "pods": 100, testbed.GPU: int64(cards)}}})
	}
	leaves := d.lentQueues(total)

	share := total / len(leaves)
	for free, i := total, 0; free > 0; i++ {
		free -= d.lentJob(1+i/3, fmt.Sprintf("borrows%d", i), leaves[0], free)
	}
	for _, leaf := range leaves[1:] {
		for left, i := share, 0; left > 0 && d.chance(80); i++ {
			left -= d.lentJob(10+d.IntN(20), fmt.Sprintf("owns-%s-%d", leaf, i), leaf, left)
		}
	}
	for range d.IntN(3) {
		d.do(12+d.IntN(20), FinishPod{Job: "borrows0", Pod: d.IntN(4)})
	}
	return d.s
}

// lentQueues makes queues that may have all cards, and deserve equal parts of them. It returns the leaves.
func (d *draw) lentQueues(total int) (leaves []string) {
	parents := []string{""}
	if d.s.Tree {
		d.do(1, SetQueue{QueueSpec: QueueSpec{Queue: workload.Queue{Name: index.RootName, Weight: 1}}})
		parents = []string{"a", "b"}[:1+d.IntN(2)]
	}
	each := 2
	if len(parents) == 1 {
		each += d.IntN(2)
	}
	share := total / (each * len(parents))
	queue := func(name, parent string, deserved int) {
		d.do(1, SetQueue{QueueSpec: QueueSpec{Queue: workload.Queue{Name: name, Parent: parent, Weight: 1, Annotations: map[string]string{
			card.QuotaKey: fmt.Sprintf(`{"A":%d}`, total), card.DeservedKey: fmt.Sprintf(`{"A":%d}`, deserved), card.GuaranteeKey: `{"A":0}`}}}})
	}
	for _, parent := range parents {
		if parent != "" {
			queue(parent, index.RootName, each*share)
		}
		for i := range each {
			leaf := fmt.Sprintf("%sq%d", parent, i)
			queue(leaf, parent, share)
			leaves = append(leaves, leaf)
		}
	}
	return leaves
}

// lentJob makes a job of at most so many cards, and returns how many it requests. Most jobs are gangs.
func (d *draw) lentJob(cycle int, name, queue string, most int) (cards int) {
	each := min(most, pick(d, 1, 1, 2, 4))
	p := PodSpec{Cards: "A", Requests: workload.Resources{"cpu": 100, "memory": 1 << 29, testbed.GPU: int64(each)}}
	j := JobSpec{Name: name, Queue: queue, MinMember: 1}
	for range 1 + d.IntN(min(4, most/each)) {
		j.Pods = append(j.Pods, p)
		cards += each
	}
	if d.chance(75) {
		d.do(cycle, d.gang(j))
		return cards
	}
	j.MinResources = p.Requests
	d.do(cycle, SubmitJob{JobSpec: j})
	return cards
}
