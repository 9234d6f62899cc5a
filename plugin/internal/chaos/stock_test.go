package chaos

import (
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// nodeCard is a card of a node.
type nodeCard struct{ node, card string }

// noteStock runs when a session opens. It finds the cards that pods have on nodes and that no queue is charged for. It
// also finds whether the stock of a node differs from the cards that the node gives.
func (c *chaosCycle) noteStock() {
	c.outside = map[nodeCard]float64{}
	for _, jobs := range [][]*Job{c.World.Jobs, c.World.Orphans} {
		for _, j := range jobs {
			for _, p := range j.All() {
				c.noteOutside(j, p)
			}
		}
	}
	c.stockDiffers = len(c.outside) > 0
	for at, held := range c.heldOn() {
		c.stockDiffers = c.stockDiffers || held > c.givenOf(at)
	}
}

// noteOutside adds the cards of a pod that its queue is not charged for.
func (c *chaosCycle) noteOutside(j *Job, p *Pod) {
	node := c.Session.Nodes[p.Object.Spec.NodeName]
	if node == nil {
		return
	}
	if _, there := node.Tasks[api.PodKey(p.Object)]; !there {
		return
	}
	counted := c.counted(j.Spec.Queue) && c.Path(j.Spec.Queue) != nil && c.jobOf(j) != nil
	ignored := p.Spec.Cards == "" && c.Arguments[arguments.UntypedCards] == "ignore"
	if counted && !ignored {
		return
	}
	for _, resource := range cardResources {
		if name := cardOf(c.World.Nodes[node.Name].Spec, resource); name != "" && p.Spec.Requests[resource] > 0 {
			c.outside[nodeCard{node.Name, name}] += c.has[p][resource].milli
			c.outsideLeaves = c.outsideLeaves || p.Object.DeletionTimestamp != nil
		}
	}
}

// heldOn returns how much of the cards that nodes give is charged to queues.
func (c *chaosCycle) heldOn() map[nodeCard]float64 {
	held := map[nodeCard]float64{}
	c.eachCharge(func(j *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		n := c.World.Nodes[task.NodeName]
		if n == nil || n.Lost {
			return
		}
		for resource, has := range c.has[c.on(p, task)] {
			_, charged := charge[cardPrefix+has.card]
			if charged && !strings.HasPrefix(resource, claimPrefix) && cardOf(n.Spec, resource) == has.card {
				held[nodeCard{task.NodeName, has.card}] += has.milli
			}
		}
	})
	return held
}

// givenOf returns how much of a card a node gives, in thousandths.
func (c *chaosCycle) givenOf(at nodeCard) (sum float64) {
	n := c.World.Nodes[at.node]
	for _, resource := range cardResources {
		if cardOf(n.Spec, resource) != at.card {
			continue
		}
		if resource == vgpuName {
			sum += 1000 * float64(sharedOf(n.Spec).number)
		} else {
			sum += 1000 * float64(n.Spec.Allocatable[resource])
		}
	}
	return sum
}

// beyond returns by how much the stock that queues share differs from the cards that the nodes give. The stock of a
// node is max(gives − outside, held).
func (c *chaosCycle) beyond(dimension string) (sum float64) {
	if !c.stockDiffers || !isCard(dimension) {
		return 0
	}
	held, all := c.heldOn(), map[nodeCard]bool{}
	for at := range held {
		all[at] = true
	}
	for at := range c.outside {
		all[at] = true
	}
	for at := range all {
		gives := c.givenOf(at)
		more := max(gives-c.outside[at], held[at], 0) - gives
		if sum += c.groupsOf(at.card)[dimension[len(cardPrefix):]] * more; at.card == dimension[len(cardPrefix):] {
			sum += more
		}
	}
	return sum
}
