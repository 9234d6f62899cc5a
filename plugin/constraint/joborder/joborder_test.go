package joborder

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/quota"
)

var nine = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// jobOf returns an admitted job with a minimum and tasks.
func jobOf(minimum int32, statuses ...api.TaskStatus) *api.JobInfo {
	job := api.NewJobInfo("j")
	job.MinAvailable = minimum
	job.PodGroup = &api.PodGroup{PodGroup: scheduling.PodGroup{}}
	job.PodGroup.Status.Phase = scheduling.PodGroupInqueue
	for i, status := range statuses {
		name := string(rune('a' + i))
		job.AddTaskInfo(&api.TaskInfo{
			UID:                api.TaskID(name),
			Name:               name,
			Job:                "j",
			Pod:                &v1.Pod{},
			Resreq:             api.EmptyResource(),
			InitResreq:         api.EmptyResource(),
			Priority:           int32(i),
			TransactionContext: api.TransactionContext{Status: status},
		})
	}
	return job
}

// TestCompare has the order of the jobs of a queue.
func TestCompare(t *testing.T) {
	at := func(uid api.JobID, priority int32, minute int) *api.JobInfo {
		created := metav1.NewTime(nine.Add(time.Duration(minute) * time.Minute))
		return &api.JobInfo{UID: uid, Priority: priority, CreationTimestamp: created}
	}
	jobs := []*api.JobInfo{at("late", 5, 2), at("early", 0, 0), at("b", 0, 1), at("a", 0, 1)}

	for rule, want := range map[policy.OrderRule][]api.JobID{
		policy.FIFO:         {"early", "a", "b", "late"},
		policy.PriorityFIFO: {"late", "early", "a", "b"},
	} {
		q := &queue{order: policy.Order{Rule: rule}}
		sorted := slices.Clone(jobs)
		slices.SortFunc(sorted, q.compare)
		for i, job := range sorted {
			assert.Equal(t, want[i], job.UID, rule)
		}
	}
}

// TestCondition reads the state of a job from the condition that a session before has written.
func TestCondition(t *testing.T) {
	job := jobOf(1, api.Pending)
	assert.Equal(t, earlier{}, earlierOf(job))

	beginHold(job, nine)
	assert.Equal(t, earlier{quota.Earlier{Began: nine}, true}, earlierOf(job))

	endHold(job, nine.Add(time.Hour), HoldOver, "over")
	assert.Equal(t, earlier{quota.Earlier{Over: true}, true}, earlierOf(job))

	endHold(job, nine.Add(2*time.Hour), Started, "")
	assert.Equal(t, earlier{}, earlierOf(job), "it can hold back others again")
	assert.Len(t, job.PodGroup.Status.Conditions, 1)

	HoldsNobody(job.PodGroup)
	assert.Equal(t, HoldOver, job.PodGroup.Status.Conditions[1].Reason)
}

func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		job               *api.JobInfo
		missing           []string
		complete, started bool
	}{
		"the highest priority first":      {jobOf(2, api.Pending, api.Pending, api.Pending), []string{"c", "b"}, false, false},
		"without pods that run":           {jobOf(2, api.Running, api.Pending), []string{"b"}, false, true},
		"without pods that wait for room": {jobOf(2, api.Pipelined, api.Pending), []string{"b"}, false, true},
		"too few pods":                    {jobOf(3, api.Pending), nil, false, false},
		"a minimum that is there":         {jobOf(1, api.Running, api.Pending), nil, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, task := range missing(test.job) {
				names = append(names, task.Name)
			}
			assert.Equal(t, test.missing, names)
			assert.Equal(t, test.complete, complete(test.job))
			assert.Equal(t, test.started, started(test.job))
		})
	}
}
