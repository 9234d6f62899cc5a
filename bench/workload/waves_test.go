package workload

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sampleWaves = Waves{Nodes: 400, Queues: 210, Pods: 4000, PodsPerJob: 10, Duration: 10 * time.Minute}

// TestWavesAreTheSameWithCards checks that whoever counts cards gets the same jobs on the same nodes.
func TestWavesAreTheSameWithCards(t *testing.T) {
	plain, without := sampleWaves.Make(1)
	sampleWaves.Cards = true
	cards, with := sampleWaves.Make(1)
	assert.Equal(t, plain.Nodes, cards.Nodes)
	require.Len(t, without, 400)
	require.Len(t, with, 400)
	for i := range with {
		a, b := with[i], without[i]
		assert.Equal(t, []any{b.At, b.Runs, b.Job.Name, b.Job.Queue, b.Job.Tasks[0].Request}, []any{a.At, a.Runs, a.Job.Name, a.Job.Queue, a.Job.Tasks[0].Request})
		assert.Empty(t, a.Job.Tasks[0].Products)
		assert.Empty(t, b.Job.Tasks[0].Annotations)
		var named []string
		if names := a.Job.Tasks[0].Annotations[cardName]; names != "" {
			for _, name := range strings.Split(names, "|") {
				model, _, _ := strings.Cut(name, "/")
				named = append(named, model)
			}
		}
		assert.Equal(t, b.Job.Tasks[0].Products, named)
	}
}

// TestWavesArrive checks when jobs arrive and how long they run.
func TestWavesArrive(t *testing.T) {
	_, arrivals := sampleWaves.Make(1)
	assert.True(t, slices.IsSortedFunc(arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) }))
	first, last := arrivals[0], arrivals[len(arrivals)-1]
	assert.Less(t, first.At, time.Minute/2)
	assert.Greater(t, last.At, 9*time.Minute)
	for _, a := range arrivals {
		assert.Less(t, a.At%time.Minute, time.Minute/2, "jobs arrive in the first half of a wave")
		assert.True(t, 30*time.Second <= a.Runs && a.Runs <= 2*time.Minute, a.Runs)
	}
}

// TestWavesRun checks that pods which run have a card of their node, and that their queue has a quota of these cards on
// top of the quota for jobs that arrive.
func TestWavesRun(t *testing.T) {
	w := sampleWaves
	w.Cards = true
	without, arrivals := w.Make(1)
	w.Running = 1000
	c, same := w.Make(1)
	assert.Equal(t, arrivals, same)
	assert.Empty(t, without.Jobs)
	require.Len(t, c.Jobs, 100)

	models, queued, used := map[string]string{}, map[string]int{}, map[string]int{}
	for _, n := range c.Nodes {
		models[n.Name] = n.Labels[ProductLabel]
	}
	for _, j := range c.Jobs {
		assert.Equal(t, Running, j.Phase)
		for _, task := range j.Tasks {
			assert.Equal(t, models[task.Node], task.Annotations[cardName])
			assert.Equal(t, TaskRunning, task.Status)
			used[task.Node]++
			queued[j.Queue]++
		}
	}
	for node, cards := range used {
		assert.LessOrEqual(t, cards, cardsPerNode, node)
	}
	for _, q := range c.Queues {
		if q.Deserved[gpu] > 0 {
			assert.Equal(t, int64(WaveCards+queued[q.Name]), q.Deserved[gpu])
		}
	}
}

// TestWavesFit checks that each job can run: the nodes have the quota of its queue, which is at least the largest of
// its jobs.
func TestWavesFit(t *testing.T) {
	w := Waves{Nodes: 5000, Queues: 500, Pods: 10000, PodsPerJob: 10, Duration: 10 * time.Minute, Cards: true}
	c, arrivals := w.Make(1)
	stock, quotas, requests := map[string]int64{}, map[string]int64{}, map[string]int{}
	for _, n := range c.Nodes {
		model := n.Labels[ProductLabel]
		stock[model] += n.Allocatable[gpu]
		stock[model+migName] += n.Allocatable[mig]
		stock[model+mpsName] += n.Allocatable[mps]
	}
	of := map[string]map[string]int64{}
	for _, q := range c.Queues {
		if q.Annotations == nil {
			continue
		}
		quota := map[string]int64{}
		require.NoError(t, json.Unmarshal([]byte(q.Annotations[cardAccounts[0]]), &quota))
		of[q.Name] = quota
		for name, cards := range quota {
			quotas[name] += cards
		}
	}
	assert.Len(t, of, 490)
	for name, cards := range quotas {
		assert.LessOrEqual(t, cards, stock[name], name)
	}
	for _, a := range arrivals {
		list, quota := a.Job.Tasks[0].Annotations[cardName], int64(0)
		for name, cards := range of[a.Job.Queue] {
			if list == "" || slices.Contains(strings.Split(list, "|"), name) {
				quota += cards
			}
		}
		size := max(a.Job.Tasks[0].Request[gpu], a.Job.Tasks[0].Request[mig], a.Job.Tasks[0].Request[mps])
		assert.LessOrEqual(t, size*int64(len(a.Job.Tasks)), quota, a.Job.Name)
		switch {
		case list == "":
			requests["untyped"]++
		case strings.Contains(list, "|"):
			requests["list"]++
		case strings.Contains(list, "/"):
			requests["slice"]++
		default:
			requests["one"]++
		}
	}
	assert.Equal(t, []string{"list", "one", "slice", "untyped"}, slices.Sorted(maps.Keys(requests)))
}
