package reclaim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/earmark"
)

// inRoles returns a job with a task for each role and status, and its pending tasks.
func inRoles(minimum int32, roles map[string]int32, statuses ...string) (job *api.JobInfo, pending []*api.TaskInfo) {
	job = api.NewJobInfo("j")
	job.MinAvailable = minimum
	job.TaskMinAvailable = roles
	for _, n := range roles {
		job.TaskMinAvailableTotal += n
	}
	for i, text := range statuses {
		task := taskOf(fmt.Sprint(i), "j")
		task.TaskRole = text[:1]
		task.Pod = &v1.Pod{Spec: v1.PodSpec{Hostname: task.TaskRole}}
		task.Resreq = api.EmptyResource()
		task.InitResreq = api.EmptyResource()
		task.Status = api.Running
		if text[1:] == " waits" {
			task.Status = api.Pending
			pending = append(pending, task)
		}
		job.AddTaskInfo(task)
	}
	return job, pending
}

// TestLacking returns the pods with which a job has its minimum.
func TestLacking(t *testing.T) {
	one, two := map[string]int32{"m": 1}, map[string]int32{"m": 2} // minimums of the role m
	for name, test := range map[string]struct {
		minimum int32
		roles   map[string]int32
		tasks   []string
		want    []api.TaskID
		skip    []int // pods that are not asked for again
	}{
		"the first pods":                  {2, nil, []string{"w waits", "w waits", "w waits"}, []api.TaskID{"0", "1"}, nil},
		"less those that run":             {2, nil, []string{"w runs", "w waits", "w waits"}, []api.TaskID{"1"}, nil},
		"it has its minimum":              {1, nil, []string{"w runs", "w waits"}, nil, nil},
		"too few pods":                    {3, nil, []string{"w waits", "w waits"}, nil, nil},
		"roles go first":                  {2, one, []string{"w waits", "w waits", "m waits"}, []api.TaskID{"2", "0"}, nil},
		"a role has its minimum":          {2, one, []string{"m runs", "m waits", "w waits"}, []api.TaskID{"1"}, nil},
		"more than the job's":             {1, two, []string{"w waits", "m waits", "m waits"}, []api.TaskID{"0"}, nil},
		"others stand for a kind":         {1, nil, []string{"w waits", "m waits"}, []api.TaskID{"1"}, []int{0}},
		"nobody stands for a kind":        {2, nil, []string{"w waits", "m waits"}, nil, []int{0}},
		"nobody stands for those in need": {2, one, []string{"m waits", "w waits"}, []api.TaskID{"0", "1"}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			job, pending := inRoles(test.minimum, test.roles, test.tasks...)
			s := &Rules{Session: &constraint.Session{Books: &earmark.Accounts{}}}

			var skip []*api.TaskInfo
			for _, i := range test.skip {
				skip = append(skip, pending[i])
			}
			tasks, optional, starts := s.lacking(job, pending, skip)

			var got []api.TaskID
			for _, task := range tasks {
				got = append(got, task.UID)
			}
			assert.Equal(t, test.want, got)
			assert.Equal(t, name == "it has its minimum", starts)
			for _, task := range optional {
				assert.Contains(t, tasks, task)
			}
		})
	}
}

// TestAlike compares tasks of a job. Pods of one role have one template.
func TestAlike(t *testing.T) {
	taskOf := func(role string, cpu float64, image string) *api.TaskInfo {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Image: image}}}}
		return &api.TaskInfo{TaskRole: role, InitResreq: &api.Resource{MilliCPU: cpu}, Pod: pod}
	}
	base := taskOf("w", 1000, "a")
	assert.True(t, alike(base, taskOf("w", 1000, "b")))
	assert.True(t, alike(base, taskOf("m", 1000, "a")), "their pods are the same")
	assert.False(t, alike(base, taskOf("m", 1000, "b")))
	assert.False(t, alike(base, taskOf("w", 2000, "a")))

	annotated := taskOf("w", 1000, "a")
	annotated.Pod.Annotations = map[string]string{"volcano.sh/card.name": "A"}
	assert.False(t, alike(base, annotated), "they want other cards")
}

// TestFirstBeyond skips the kinds of pods that cannot be served.
func TestFirstBeyond(t *testing.T) {
	_, pending := inRoles(0, nil, "a waits", "a waits", "b waits")
	for _, task := range pending {
		task.Pod.Spec.NodeName = task.TaskRole // so that the pods of the two roles differ
	}
	assert.Equal(t, pending[:1], firstBeyond(pending, nil))
	assert.Equal(t, pending[2:], firstBeyond(pending, pending[:1]))
	assert.Empty(t, firstBeyond(pending, pending))
}

// TestVictimsFrom says which pods can be victims for the job a.
func TestVictimsFrom(t *testing.T) {
	type pod struct {
		keptFor   api.JobID
		hasNotice bool
	}
	free, told := pod{"", false}, pod{"", true}
	ours, oursTold, theirs := pod{"a", false}, pod{"a", true}, pod{"b", false}
	for from, want := range map[victimsFrom][]pod{
		anyVictims:   {free, told},
		readyVictims: {free},
		dueVictims:   {ours},
	} {
		var got []pod
		for _, p := range []pod{free, told, ours, oursTold, theirs} {
			if from.allows(p.keptFor, "a", p.hasNotice) {
				got = append(got, p)
			}
		}
		assert.Equal(t, want, got, "%v", from)
	}
}

// TestGangVotes says where the plugin gang keeps the minimum of jobs.
func TestGangVotes(t *testing.T) {
	yes, no := true, false
	gang := func(reclaimable, preemptable *bool) []conf.Tier {
		return []conf.Tier{{}, {Plugins: []conf.PluginOption{
			{Name: arguments.CapacityCard, EnabledReclaimable: &yes, EnabledPreemptable: &yes},
			{Name: gangPlugin, EnabledReclaimable: reclaimable, EnabledPreemptable: preemptable},
		}}}
	}
	assert.True(t, GangVotes(gang(&yes, &no), false))
	assert.False(t, GangVotes(gang(&yes, &no), true))
	assert.True(t, GangVotes(gang(nil, &yes), true))
	assert.False(t, GangVotes(gang(nil, &yes), false))
	assert.False(t, GangVotes(nil, false))
}

// TestInquiries recognizes the questions that the package itself asks.
func TestInquiries(t *testing.T) {
	i, task := &inquiries{}, taskOf("t", "j")
	var question *api.TaskInfo
	i.ask(task, func(q *api.TaskInfo) []*api.TaskInfo {
		question = q
		assert.True(t, i.has(q))
		assert.False(t, i.has(task), "Volcano asks about the task itself")
		assert.Equal(t, task.UID, q.UID)
		return nil
	})
	assert.False(t, i.has(question), "it is answered")
}

// TestLeave takes the resources that a victim leaves on a node from the pods there, once.
func TestLeave(t *testing.T) {
	places := []earmark.Mark{
		{Earmark: earmark.Earmark{Node: "n"}, Kept: &api.Resource{MilliCPU: 3000}},
		{Earmark: earmark.Earmark{Node: "m"}, Kept: &api.Resource{MilliCPU: 3000}},
		{Earmark: earmark.Earmark{Node: "n"}, Kept: &api.Resource{MilliCPU: 3000}},
	}
	leave(places, "n", &api.Resource{MilliCPU: 4000, ScalarResources: map[v1.ResourceName]float64{"x/gpu": 1000}})
	var kept []float64
	for _, place := range places {
		kept = append(kept, place.Kept.MilliCPU)
	}
	assert.Equal(t, []float64{0, 3000, 2000}, kept)
}
