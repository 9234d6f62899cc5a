package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
)

func TestSumsOf(t *testing.T) {
	const quota = "volcano.sh/card.quota"
	const deserved = "volcano.sh/card.deserved"
	const guarantee = "volcano.sh/card.guarantee"
	type queue struct{ parent, quota, deserved, guarantee string }

	for name, test := range map[string]struct {
		queues map[string]queue
		want   Sums
	}{
		"quotas alone": {map[string]queue{"a": {"root", "8", "", ""}, "b": {"root", "8", "", ""}}, Sums{16, 16, 16}},
		"lending": {
			map[string]queue{"a": {"root", "16", "8", "0"}, "b": {"root", "16", "8", "0"}}, Sums{32, 16, 0}},
		"a guarantee is deserved": {map[string]queue{"a": {"root", "8", "2", ""}}, Sums{8, 8, 8}},
		"at most what the queue above has": {
			map[string]queue{"d": {"root", "8", "8", "0"}, "a": {"d", "8", "4", "0"}, "b": {"d", "8", "6", "0"}},
			Sums{8, 8, 0}},
		"a queue above has more than the queues below use": {
			map[string]queue{"d": {"root", "8", "8", "0"}, "a": {"d", "2", "1", "0"}}, Sums{2, 1, 0}},
		"a queue above without a quota": {
			map[string]queue{"d": {"root", "", "", ""}, "a": {"d", "8", "4", "0"}, "b": {"d", "8", "4", "0"}},
			Sums{16, 8, 0}},
		"a queue above keeps its quota": {
			map[string]queue{"d": {"root", "8", "", ""}, "a": {"d", "8", "4", "0"}}, Sums{8, 8, 8}},
		"a queue above that lends everything": {
			map[string]queue{"d": {"root", "8", "8", "0"}, "a": {"d", "8", "4", ""}, "b": {"d", "8", "4", ""}},
			Sums{8, 8, 0}},
		"the root bounds": {
			map[string]queue{"root": {"", "4", "", ""}, "a": {"root", "8", "2", "0"}}, Sums{4, 2, 0}},
		"flat queues": {map[string]queue{"a": {"", "8", "", ""}, "b": {"", "8", "2", "0"}}, Sums{16, 10, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []index.Node
			for name, q := range test.queues {
				nodes = append(nodes, index.Node{Name: name, Parent: q.parent})
			}
			root := index.RootName
			if name == "flat queues" {
				root = ""
			} else if _, has := test.queues[root]; !has {
				nodes = append(nodes, index.Node{Name: root})
			}

			got := SumsOf(index.BuildTree(nodes, root), func(name, key string) map[string]float64 {
				q := test.queues[name]
				amount := map[string]string{quota: q.quota, deserved: q.deserved, guarantee: q.guarantee}[key]
				return Cards(`{"A": ` + amount + `}`)
			})
			assert.Equal(t, map[string]Sums{"A": test.want}, got)
		})
	}
}

// TestSumsOfFlatQueues adds up a parent and its child where the configuration does not read parents.
func TestSumsOfFlatQueues(t *testing.T) {
	w := build(t, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team, annotations: {volcano.sh/card.quota: '{"A": 4}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: train, annotations: {volcano.sh/card.quota: '{"A": 8}'}}
spec: {parent: team}
`)
	amounts := func(queue, key string) map[string]float64 {
		if q := w.Queue(queue); q != nil {
			return Cards(q.Annotations[key])
		}
		return map[string]float64{}
	}
	for hierarchy, want := range map[bool]float64{true: 4, false: 12} {
		tree, _ := w.Tree(&Configuration{Hierarchy: hierarchy})
		assert.InDelta(t, want, SumsOf(tree, amounts)["A"].Quota, 0, "hierarchy: %v", hierarchy)
	}
}
