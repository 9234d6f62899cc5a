package stock

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHolders has jobs of two users, of which one names no card, and a job that names no user.
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
	everywhere := func(string) bool { return true }

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
		assert.Equal(t, want, Holders(s, key, everywhere), key)
	}
	assert.Equal(t, []Holder{{Holder: "ann", Card: "A", Waiting: 1}, {Holder: "bob", Card: "A", Waiting: 1}},
		Holders(s, "user", func(queue string) bool { return queue == "r" }))
}
