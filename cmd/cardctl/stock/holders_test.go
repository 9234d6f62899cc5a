package stock

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHolders has jobs of two users, and a job that names no user.
func TestHolders(t *testing.T) {
	job := func(name, queue, more, node string) string {
		phase := "Running"
		if node == "" {
			phase = "Pending"
		}
		return `
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: ` + name + `, namespace: ` + name + `}
spec: {queue: ` + queue + `, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata:
  name: ` + name + `
  namespace: ` + name + `
  labels: {team: ` + queue + `}
  annotations: {` + more + `scheduling.k8s.io/group-name: ` + name + `, volcano.sh/card.name: A}
spec: {` + node + `schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}
status: {phase: ` + phase + `}
`
	}
	const ann = `volcano.sh/user: ann, volcano.sh/groups: "x, y", `
	const bob = `volcano.sh/user: bob, volcano.sh/groups: "y", `
	jobs := job("one", "q", ann, "nodeName: a, ") + job("two", "r", ann, "") + job("three", "r", bob, "")
	_, s := open(t, manifests+jobs, nil)
	held := HeldCards(s, "user", "group", "namespace", "label:team")
	everywhere := func(*Held) bool { return true }

	for key, want := range map[string][]Holder{
		"user": {
			{Holder: "", Card: "A", Allocated: 2, Running: 1},
			{Holder: "ann", Card: "A", Allocated: 2, Running: 1, Waiting: 1},
			{Holder: "bob", Card: "A", Waiting: 1},
		},
		"group": {
			{Holder: "", Card: "A", Allocated: 2, Running: 1},
			{Holder: "x", Card: "A", Allocated: 2, Running: 1, Waiting: 1},
			{Holder: "y", Card: "A", Allocated: 2, Running: 1, Waiting: 2},
		},
		"namespace": {
			{Holder: "default", Card: "A", Allocated: 2, Running: 1},
			{Holder: "one", Card: "A", Allocated: 2, Running: 1},
			{Holder: "three", Card: "A", Waiting: 1},
			{Holder: "two", Card: "A", Waiting: 1},
		},
		"label:team": {
			{Holder: "", Card: "A", Allocated: 2, Running: 1},
			{Holder: "q", Card: "A", Allocated: 2, Running: 1},
			{Holder: "r", Card: "A", Waiting: 2},
		},
	} {
		assert.Equal(t, want, Holders(held, key, everywhere), key)
	}
	assert.Equal(t, []Holder{{Holder: "ann", Card: "A", Waiting: 1}, {Holder: "bob", Card: "A", Waiting: 1}},
		Holders(held, "user", func(job *Held) bool { return job.Queue == "r" }))
	assert.Equal(t, []string{"user", "group", "namespace"}, HolderKeys(s), "no queue limits a label")
}

// TestHoldersLimits has limits in a queue and in its parent. One limit is for a group of cards.
func TestHoldersLimits(t *testing.T) {
	const text = `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {nvidia.com/gpu.product: A}}
status: {capacity: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: team
  annotations:
    volcano.sh/card.quota.by: '{"user": {"*": {"A": 6, "@all": 9, "cpu": "64"}}, "label:team": {"x": {"A": 5}}}'
spec: {parent: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: leaf
  annotations: {volcano.sh/card.quota: '{"A": 8}', volcano.sh/card.quota.by: '{"user": {"ann": {"A": 3}}}'}
spec: {parent: team}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, annotations: {volcano.sh/user: ann}}
spec: {queue: leaf, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: a, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 3}}}]}
status: {phase: Running}
`
	_, s := open(t, text, map[string]any{"cardGroups": map[string]any{"all": map[string]any{"A": 2}}})

	assert.Equal(t, []string{"user", "group", "namespace", "label:team"}, HolderKeys(s))
	held := HeldCards(s, "user", "label:team")
	assert.Equal(t, []Holder{
		{Holder: "ann", Card: "@all", Allocated: 6, Running: 1, Limits: []Limit{{"team", 6, 9}}},
		{Holder: "ann", Card: "A", Allocated: 3, Running: 1, Limits: []Limit{{"leaf", 3, 3}, {"team", 3, 6}}},
	}, Holders(held, "user", func(*Held) bool { return true }))
	assert.True(t, Limit{"leaf", 3, 3}.Reached())
	assert.False(t, Limit{"team", 3, 6}.Reached())
}
