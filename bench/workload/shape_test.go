package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestShapeFits checks that the pods on a node have no more than it gives, and that pods with cards run on each model.
func TestShapeFits(t *testing.T) {
	for _, shape := range []Shape{S, M, L, LFlat} {
		t.Run(shape.Name, func(t *testing.T) {
			c := shape.MakeCards(1)
			used := map[string]Resources{}
			for _, job := range c.Jobs {
				for _, task := range job.Tasks {
					if task.Node == "" {
						continue
					}
					if used[task.Node] == nil {
						used[task.Node] = Resources{}
					}
					for resource, amount := range task.Request {
						used[task.Node][resource] += amount
					}
				}
			}

			withCards := map[string]bool{}
			for _, node := range c.Nodes {
				for resource, amount := range used[node.Name] {
					assert.LessOrEqual(t, amount, node.Allocatable[resource], "%s of %s", resource, node.Name)
				}
				if used[node.Name][gpu] > 0 {
					withCards[node.Labels[ProductLabel]] = true
				}
			}
			assert.Len(t, withCards, len(models), "models that run pods")
		})
	}
}
