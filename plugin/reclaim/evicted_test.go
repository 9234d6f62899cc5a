package reclaim

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"
)

func taskOf(uid, job string) *api.TaskInfo {
	return &api.TaskInfo{UID: api.TaskID(uid), Job: api.JobID(job), Name: uid}
}

// TestEvictions records an eviction for the evictor, and forgets one that Volcano discards.
func TestEvictions(t *testing.T) {
	claim, other := taskOf("claim", "a"), taskOf("other", "b")
	named, shuffled := taskOf("named", "v"), taskOf("shuffled", "v")
	e := &evictions{}
	assert.Zero(t, e.evict(named), "no task was prepared")
	assert.False(t, e.some("a"))

	e.prepare(claim, named)
	assert.True(t, e.evict(named).counted)
	assert.False(t, e.evict(shuffled).counted, "it was not named")
	assert.True(t, e.some("a"))
	assert.False(t, e.some("b"))
	assert.Same(t, shuffled, e.lastFor(claim))
	assert.Nil(t, e.lastFor(other))

	assert.Same(t, claim, e.undo(shuffled).evictor)
	assert.Nil(t, e.lastFor(claim), "the last eviction was undone")
	assert.True(t, e.some("a"), "named is still evicted")
	assert.Zero(t, e.undo(shuffled), "it has its node back")
	assert.True(t, e.undo(named).counted)
	assert.False(t, e.some("a"))
}

// TestNamedVictims says which victims count for the budgets of evictions.
func TestNamedVictims(t *testing.T) {
	first, second := taskOf("first", "v"), taskOf("second", "v")
	e := &evictions{}
	e.prepare(taskOf("claim-0", "a"), first)

	e.prepareJob("a", taskOf("claim-1", "a"))
	e.nameMore([]*api.TaskInfo{second})
	assert.True(t, e.evict(first).counted, "the bundle before is of the same job")

	e.prepareJob("b", taskOf("other", "b"))
	assert.False(t, e.evict(second).counted, "the job before is another one")

	e.name([]*api.TaskInfo{first})
	e.suffice()
	assert.False(t, e.evict(first).counted, "the evictor has its place")

	e.prepareJob("c", nil)
	assert.Zero(t, e.evict(second), "no task of the job waits")
}

// TestPlacesAreDiscardedFromTheLast forgets places as Volcano discards them.
func TestPlacesAreDiscardedFromTheLast(t *testing.T) {
	first, second := taskOf("first", "a"), taskOf("second", "a")
	e := &evictions{}
	e.place(first)
	e.place(second)
	e.displace(first)
	assert.Equal(t, []*api.TaskInfo{first, second}, e.placed, "another task was placed after it")
	e.displace(second)
	e.displace(first)
	e.displace(first)
	assert.Empty(t, e.placed)
}
