package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestShared adds up the running jobs, and checks the questions against the sums.
func TestShared(t *testing.T) {
	for leaves, fanout := range SharedFanout {
		s := NewShared(fanout, 1)
		assert.Equal(t, s, NewShared(fanout, 1))
		assert.Len(t, s.Running, 20000)
		assert.Len(t, s.Waiting, 5000)
		queues, used, onNode, model := map[string]SharedQueue{}, map[[2]string]int64{}, map[string]int64{}, map[string]string{}
		for _, q := range s.Queues {
			queues[q.Name] = q
			if q.Leaf {
				leaves--
			}
		}
		assert.Zero(t, leaves)
		for _, n := range s.Nodes {
			model[n.Name] = n.Model
		}
		of := map[string]SharedJob{}
		for _, j := range s.Running {
			of[j.Name] = j
			onNode[j.Node] += j.Cards
			assert.LessOrEqual(t, onNode[j.Node], int64(perNode))
			assert.Equal(t, j.Model, model[j.Node])
			depth := 0
			for q := j.Queue; q != ""; q = queues[q].Parent {
				used[[2]string{q, j.Model}] += j.Cards
				assert.LessOrEqual(t, used[[2]string{q, j.Model}], queues[q].Quota)
				depth++
			}
			assert.Equal(t, 4, depth)
		}
		fit := 0
		for _, j := range s.Waiting {
			fits := true
			for q := j.Queue; q != ""; q = queues[q].Parent {
				fits = fits && used[[2]string{q, j.Model}]+j.Cards <= queues[q].Quota
			}
			assert.Equal(t, fits, j.Fits)
			of[j.Name] = j
			if fits {
				fit++
			}
		}
		assert.Greater(t, fit, 500)
		assert.Less(t, fit, 4500)
		assert.NotEmpty(t, s.Pairs)
		for _, r := range s.Reclaims {
			j := of[r.Job]
			assert.False(t, j.Fits)
			assert.LessOrEqual(t, used[[2]string{j.Queue, j.Model}]+j.Cards, queues[j.Queue].Deserved)
			assert.Equal(t, queues[j.Queue].Parent, queues[r.From].Parent)
			for _, name := range r.Gone {
				assert.Equal(t, r.From, of[name].Queue)
			}
			for name, q := range queues {
				if q.Parent == queues[r.From].Parent {
					assert.Equal(t, name == r.From, used[[2]string{name, j.Model}] > q.Deserved)
				}
			}
		}
		t.Log(len(s.Queues), fit, len(s.Pairs))
	}
}
