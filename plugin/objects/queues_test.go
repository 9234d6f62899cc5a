package objects

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
)

// TestQueuesWithoutObjects gives a queue without an object one that is not open.
func TestQueuesWithoutObjects(t *testing.T) {
	q, info := &Queues{}, &api.QueueInfo{UID: "q", Name: "q"}
	q.Open(map[api.QueueID]*api.QueueInfo{"q": info}, time.Unix(0, 0))
	assert.Equal(t, "q", info.Queue.Name)
	assert.Equal(t, scheduling.QueueStateUnknown, info.Queue.Status.State)
	assert.Same(t, info.Queue, q.Get("q").Object)
}

// TestQueuesThatChange opens sessions on queues that change one by one.
func TestQueuesThatChange(t *testing.T) {
	q, session := &Queues{}, map[api.QueueID]*api.QueueInfo{}
	annotations := map[string]string{"volcano.sh/max-jobs": "1"}
	set := func(name, uid string, generation int64) {
		session[api.QueueID(name)] = &api.QueueInfo{Queue: &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid),
			Generation: generation, Annotations: annotations}}}
	}
	set("b", "1", 1)
	set("a", "1", 1)
	for _, step := range []struct {
		name        string
		change      func()
		specs       bool
		annotations bool
		changed     []string
	}{
		{"first session", func() {}, true, true, []string{"a", "b"}},
		{"nothing", func() {}, false, false, nil},
		{"status", func() { set("a", "1", 1) }, false, false, nil},
		{"spec", func() { set("a", "1", 2) }, true, false, nil},
		{"annotation of a new map", func() { annotations = maps.Clone(annotations); annotations["x"] = "y"; set("a", "1", 2) }, false, true, []string{"a"}},
		{"annotation of the same map", func() { annotations["x"] = "z"; set("a", "1", 2) }, false, true, []string{"a"}},
		{"status that the scheduler writes", func() {
			annotations = maps.Clone(annotations)
			annotations[card.StatusKey] = "{}"
			set("a", "1", 2)
		}, false, false, nil},
		{"another status", func() {
			annotations = maps.Clone(annotations)
			annotations[card.StatusKey] = "{ }"
			set("a", "1", 2)
		}, false, false, nil},
		{"object of the same name", func() { set("b", "2", 1) }, true, true, []string{"b"}},
		{"object of the same name and annotations", func() { set("b", "3", 1) }, true, true, []string{"b"}},
		{"object without a generation", func() { set("b", "3", 0); set("b", "3", 0) }, true, false, nil},
		{"queue gone", func() { delete(session, "b") }, true, true, nil},
		{"queue exists again", func() { set("b", "3", 1) }, true, true, []string{"b"}},
	} {
		before := q.session
		step.change()
		q.Open(session, time.Unix(0, 0))
		assert.Equal(t, step.specs, q.Specs() > before, step.name)
		assert.Equal(t, step.annotations, q.Annotations() > before, step.name)
		var changed []string
		for _, queue := range q.Changed() {
			changed = append(changed, queue.Object.Name)
			assert.Equal(t, session[api.QueueID(queue.Object.Name)].Queue, queue.Object)
		}
		assert.Equal(t, step.changed, changed, step.name)
	}
	assert.Len(t, q.Since(0), 2)
	assert.False(t, q.Get("a").CreatedSince(1))
	assert.True(t, q.Get("b").CreatedSince(1))
	assert.Nil(t, q.Get("c"))
}

// TestKeptIsBounded keeps as many queues as fit.
func TestKeptIsBounded(t *testing.T) {
	long := map[string]string{"a": strings.Repeat("x", mostKept/2)}
	kept := Kept{"a": {Annotations: long}, "b": {}, "c": {Annotations: long}}
	assert.Equal(t, Kept{"a": {Annotations: long}, "b": {}}, kept.Bounded())
}
