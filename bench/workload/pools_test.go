package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPools(t *testing.T) {
	c := Pools{Nodes: 16, Queues: 4, Jobs: 9, Busy: true}.Make(1)
	assert.Equal(t, c, Pools{Nodes: 16, Queues: 4, Jobs: 9, Busy: true}.Make(1))
	idle := Pools{Nodes: 16, Queues: 4, Jobs: 9}.Make(1)
	assert.Equal(t, c.Nodes, idle.Nodes)
	assert.Equal(t, idle.Jobs, c.Jobs[:9], "who waits is the same")

	assert.Equal(t, c.Nodes[0].Labels[ProductLabel], c.Nodes[1].Labels[ProductLabel])
	assert.NotEqual(t, c.Nodes[1].Labels[ProductLabel], c.Nodes[2].Labels[ProductLabel])
	used := map[string]int64{}
	for _, j := range c.Jobs[9:] {
		used[j.Tasks[0].Node] += j.Tasks[0].Request[gpu]
	}
	assert.Greater(t, len(used), 8)
	for node, cards := range used {
		assert.LessOrEqual(t, cards, int64(8), node)
	}
}

func TestPlacement(t *testing.T) {
	task := func(node, list string) []Task {
		return []Task{{Node: node, Annotations: map[string]string{cardName: list}}}
	}
	node := func(name, model string) Node { return Node{Name: name, Labels: map[string]string{ProductLabel: model}} }
	c := Cluster{
		Nodes: []Node{node("a1", "A"), node("a2", "A"), node("b", "B")},
		Jobs: []Job{
			{Name: "runs", Tasks: task("a1", "A")}, {Name: "list", Tasks: task("", "A|B")},
			{Name: "one", Tasks: task("", "B")}, {Name: "waits", Tasks: task("", "B|A")},
		},
	}
	got := c.Place(map[string][]string{"list": {"a1", "a2", "b"}, "one": {"b", "b"}})
	assert.Equal(t, Placement{Pods: 5, Opened: 2, Listed: 3, First: 2}, got)
}
