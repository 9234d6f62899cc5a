package objects

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestWindows opens sessions before, in, and after windows.
func TestWindows(t *testing.T) {
	object := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: "1", Generation: 1, Annotations: map[string]string{
		"volcano.sh/max-jobs":   "20",
		"volcano.sh/card.quota": `{"A": 8, "B": 4}`,
		"volcano.sh/override": `[{"from": "1970-01-01T00:10Z", "until": "1970-01-01T00:20Z", "card.quota": {"A": 32}, "max-jobs": 5},
			{"from": "1970-01-01T00:15Z", "until": "1970-01-01T00:30Z", "capability": {"cpu": "8"}, "weight": 7, "min-runtime": "reclaim=1h"}]`}},
		Spec: scheduling.QueueSpec{Weight: 1, Capability: v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("1Gi")}}}
	info := &api.QueueInfo{UID: "q", Name: "q", Weight: 1, Queue: object}
	q, session := &Queues{}, map[api.QueueID]*api.QueueInfo{"q": info}
	for _, step := range []struct {
		minute             int
		quota, jobs        string
		runtime, cpu       string
		weight             int32
		annotations, specs bool // have changed
	}{
		{9, `{"A": 8, "B": 4}`, "20", "", "4", 1, true, true},
		{10, `{"A":32,"B":4}`, "5", "", "4", 1, true, false},
		{14, `{"A":32,"B":4}`, "5", "", "4", 1, false, false},
		{15, `{"A":32,"B":4}`, "5", "reclaim=1h", "8", 7, true, true},
		{20, `{"A": 8, "B": 4}`, "20", "reclaim=1h", "8", 7, true, false},
		{12, `{"A":32,"B":4}`, "5", "", "4", 1, true, true}, // the clock went back
		{30, `{"A": 8, "B": 4}`, "20", "", "4", 1, true, false},
		{99, `{"A": 8, "B": 4}`, "20", "", "4", 1, false, false},
	} {
		before := q.session
		q.Open(session, time.Unix(int64(step.minute)*60, 0))
		got := q.Get("q")
		assert.Equal(t, step.quota, got.Annotations["volcano.sh/card.quota"], step.minute)
		assert.Equal(t, step.jobs, got.Annotations["volcano.sh/max-jobs"], step.minute)
		assert.Equal(t, step.runtime, got.Annotations["volcano.sh/min-runtime"], step.minute)
		shown := q.Info(info)
		assert.Equal(t, step.cpu, shown.Queue.Spec.Capability.Cpu().String(), step.minute)
		assert.Equal(t, "1Gi", shown.Queue.Spec.Capability.Memory().String(), step.minute)
		assert.Equal(t, []int32{step.weight, step.weight}, []int32{shown.Weight, shown.Queue.Spec.Weight}, step.minute)
		assert.Equal(t, step.annotations, q.Annotations() > before, step.minute)
		assert.Equal(t, step.specs, q.Specs() > before, step.minute)
		assert.Equal(t, int32(1), object.Spec.Weight, "the object of the cache does not change")
		assert.Equal(t, "4", object.Spec.Capability.Cpu().String())
	}
}

// TestWindowInPlaceOfAHugeBound has a bound with more digits than fit into memory.
func TestWindowInPlaceOfAHugeBound(t *testing.T) {
	object := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: "1", Annotations: map[string]string{
		"volcano.sh/override": `[{"from": "1970-01-01T00:10Z", "until": "1970-01-01T00:20Z", "capability": {"memory": "1Gi"}}]`}},
		Spec: scheduling.QueueSpec{Capability: v1.ResourceList{"memory": resource.MustParse("1e2000000000")}}}
	q := &Queues{}
	q.Open(map[api.QueueID]*api.QueueInfo{"q": {Name: "q", Queue: object}}, time.Unix(15*60, 0))
	assert.Equal(t, "1Gi", q.Get("q").Object.Spec.Capability.Memory().String())
}

// TestWindowProblems keeps the last good windows of a queue, and forgets them with the annotation or the queue.
func TestWindowProblems(t *testing.T) {
	const good = `[{"from": "1970-01-01T00:10Z", "until": "1970-01-01T00:20Z", "max-jobs": 5}]`
	q, info := &Queues{}, &api.QueueInfo{Name: "q"}
	open := func(uid, text string) (jobs string, problems []string) {
		object := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: "1", Annotations: map[string]string{}}}
		if object.UID = "1"; uid != "" {
			object.UID = "2"
		}
		if text != "" {
			object.Annotations["volcano.sh/override"] = text
		}
		info.Queue = object
		q.Open(map[api.QueueID]*api.QueueInfo{"q": info}, time.Unix(15*60, 0))
		for _, p := range q.WindowChanges() {
			problems = append(problems, p.Texts...)
		}
		return q.Get("q").Annotations["volcano.sh/max-jobs"], problems
	}
	jobs, problems := open("", "[")
	assert.Empty(t, jobs)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], `annotation volcano.sh/override: "[" is not a JSON list of windows`)
	assert.Contains(t, problems[0], "; it counts as not set")
	jobs, problems = open("", good)
	assert.Equal(t, "5", jobs)
	assert.Empty(t, problems)
	jobs, problems = open("", `[{}]`)
	assert.Equal(t, "5", jobs)
	assert.Equal(t, []string{"annotation volcano.sh/override: window 1: it sets nothing; the last good value stays in force",
		`annotation volcano.sh/override: window 1: it has no "from"; the last good value stays in force`}, problems)
	jobs, _ = open("", "")
	assert.Empty(t, jobs)
	jobs, _ = open("", "[")
	assert.Empty(t, jobs, "the good value before was forgotten with the annotation")
	open("", good)
	jobs, _ = open("2", "[")
	assert.Empty(t, jobs, "another queue of the same name")
	_, problems = open("2", good[:len(good)-1]+", "+good[1:])
	assert.Equal(t, []string{"annotation volcano.sh/override: windows 1 and 2 set max-jobs at the same time, such as at 1970-01-01T00:15Z; window 2 counts"}, problems)
}

// TestWindowChanges names windows once that begin and end. A process that starts does not name those that hold already.
func TestWindowChanges(t *testing.T) {
	const one, other = `{"from": "1970-01-01T00:10Z", "until": "1970-01-01T00:20Z", "max-jobs": 5}`, `{"from": "1970-01-01T00:15Z", "until": "1970-01-01T00:30Z", "weight": 7}`
	const oneText, otherText = "1970-01-01T00:10Z to 1970-01-01T00:20Z: max-jobs 5", "1970-01-01T00:15Z to 1970-01-01T00:30Z: weight 7"
	q := &Queues{}
	for i, step := range []struct {
		minute       int
		uid          types.UID
		text         string
		began, ended []string
		read         bool
		inForce      int
	}{
		{12, "1", one, nil, nil, true, 1}, // it held before
		{13, "1", one, nil, nil, true, 1}, // a new status
		{15, "1", one + "," + other, []string{otherText}, nil, true, 2},
		{20, "1", one + "," + other, nil, []string{oneText}, true, 1},
		{21, "1", other, nil, nil, true, 1}, // another place in the list
		{22, "1", "", nil, []string{otherText}, true, 0},
		{23, "1", "", nil, nil, false, 0},
		{24, "1", other, []string{otherText}, nil, true, 1},
		{25, "2", other, nil, nil, true, 1}, // another queue of the name
	} {
		object := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: step.uid, Annotations: map[string]string{}}}
		if step.text != "" {
			object.Annotations["volcano.sh/override"] = "[" + step.text + "]"
		}
		q.Open(map[api.QueueID]*api.QueueInfo{"q": {Name: "q", Queue: object}}, time.Unix(int64(step.minute)*60, 0))
		changes := q.WindowChanges()
		if !step.read {
			assert.Empty(t, changes, i)
			continue
		}
		if assert.Len(t, changes, 1, i) {
			c := changes[0]
			assert.ElementsMatch(t, step.began, c.Began, i)
			assert.ElementsMatch(t, step.ended, c.Ended, i)
			assert.Equal(t, step.text != "", c.Windowed, i)
			assert.Equal(t, step.inForce, c.InForce, i)
		}
	}
}
