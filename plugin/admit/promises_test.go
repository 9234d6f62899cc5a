package admit

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// jobIn returns a job of the queue q in a phase, with a task of each status.
func jobIn(name string, phase scheduling.PodGroupPhase, statuses ...api.TaskStatus) *api.JobInfo {
	job := api.NewJobInfo(api.JobID(name))
	job.Queue = "q"
	job.PodGroup = &api.PodGroup{}
	job.PodGroup.Status.Phase = phase
	for i, status := range statuses {
		task := &api.TaskInfo{UID: api.TaskID(name + string(rune('0'+i))), Job: job.UID, Pod: &v1.Pod{},
			Resreq: api.EmptyResource(), InitResreq: api.EmptyResource()}
		task.Status = status
		job.AddTaskInfo(task)
	}
	return job
}

// TestDisplaceable says which jobs can lose their promise.
func TestDisplaceable(t *testing.T) {
	withoutGroup := jobIn("j", scheduling.PodGroupInqueue)
	withoutGroup.PodGroup = nil
	for name, test := range map[string]struct {
		job  *api.JobInfo
		want bool
	}{
		"admitted, without pods": {jobIn("j", scheduling.PodGroupInqueue), true},
		"its pods wait":          {jobIn("j", scheduling.PodGroupInqueue, api.Pending, api.Pending), true},
		"a pod runs":             {jobIn("j", scheduling.PodGroupInqueue, api.Pending, api.Running), false},
		"not admitted":           {jobIn("j", scheduling.PodGroupPending, api.Pending), false},
		"it has started":         {jobIn("j", scheduling.PodGroupRunning, api.Pending), false},
		"no PodGroup":            {withoutGroup, false},
	} {
		assert.Equal(t, test.want, displaceable(test.job), name)
	}
}

// TestPromises reads the promises once, and adds the jobs that are admitted since.
func TestPromises(t *testing.T) {
	early, runs := jobIn("early", scheduling.PodGroupInqueue), jobIn("runs", scheduling.PodGroupRunning, api.Running)
	late, later := jobIn("late", scheduling.PodGroupInqueue), jobIn("later", scheduling.PodGroupInqueue)
	jobs := map[api.JobID]*api.JobInfo{early.UID: early, runs.UID: runs}

	p := promises{}
	p.add(early)
	assert.Empty(t, p.jobs["q"], "nobody has asked yet")

	p.readFrom(jobs)
	p.add(early)
	p.add(late)
	assert.Equal(t, []*api.JobInfo{early, late}, p.jobs["q"])

	jobs[later.UID] = later
	p.readFrom(jobs)
	assert.Equal(t, []*api.JobInfo{early, late}, p.jobs["q"], "they are read once")
}

// TestPreemptor takes a pending task of a job, or one that stands for the pods to come.
func TestPreemptor(t *testing.T) {
	waits := jobIn("waits", scheduling.PodGroupInqueue, api.Running, api.Pending)
	assert.Equal(t, api.TaskID("waits1"), preemptorOf(waits).UID)
	assert.NotSame(t, waits.Tasks["waits1"], preemptorOf(waits), "other plugins may change it")

	empty := jobIn("empty", scheduling.PodGroupPending)
	empty.Priority = 7
	assert.Equal(t, api.JobID("empty"), preemptorOf(empty).Job)
	assert.Equal(t, int32(7), preemptorOf(empty).Priority)
}

// TestMayPreempt has jobs that the action preempt does not serve.
func TestMayPreempt(t *testing.T) {
	job := jobIn("j", scheduling.PodGroupInqueue, api.Pending, api.Pending)
	assert.True(t, mayPreempt(job))
	never := v1.PreemptNever
	job.Tasks["j1"].Pod.Spec.PreemptionPolicy = &never
	assert.False(t, mayPreempt(job), "one pod preempts nobody")
}

// TestByJob divides tasks by their jobs.
func TestByJob(t *testing.T) {
	tasks := func(jobs ...api.JobID) (tasks []*api.TaskInfo) {
		for _, job := range jobs {
			tasks = append(tasks, &api.TaskInfo{Job: job})
		}
		return tasks
	}
	assert.Empty(t, byJob(nil))
	want := [][]*api.TaskInfo{tasks("a", "a"), tasks("b"), tasks("c", "c")}
	assert.Equal(t, want, byJob(tasks("a", "a", "b", "c", "c")))
	assert.Equal(t, tasks("a", "b"), slices.Concat(byJob(tasks("a", "b"))...))
}
