package session_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// timed is a sequence of sessions with a clock. The status of a PodGroup lasts from one
// session to the next, as in a cluster.
type timed struct {
	*testbed.Sequence
	now      time.Time
	statuses map[string]scheduling.PodGroupStatus // by job
	jobs     map[api.JobID]*api.JobInfo           // of the last session
}

func newTimed(t *testing.T, s *testbed.Scene) *timed {
	t.Helper()
	run := &timed{Sequence: testbed.NewSequence(t, s), now: time.Unix(1_700_000_000, 0), statuses: map[string]scheduling.PodGroupStatus{}}
	run.restart()
	run.Edit = func(info *api.ClusterInfo) {
		for _, job := range info.Jobs {
			if status, known := run.statuses[job.Name]; known {
				job.PodGroup.Status = *status.DeepCopy()
			}
		}
	}
	return run
}

// restart restarts the scheduler.
func (r *timed) restart() {
	r.Builder = &session.Builder{Variant: r.Builder.Variant, Now: func() time.Time { return r.now }}
}

// after opens the next session after some time.
func (r *timed) after(t *testing.T, d time.Duration) *testbed.Fixture {
	t.Helper()
	for _, job := range r.jobs {
		r.statuses[job.Name] = job.PodGroup.Status
	}
	r.now = r.now.Add(d)
	f := r.Open(t)
	r.jobs = f.Jobs
	return f
}

// inqueueOf returns the condition Inqueue of a job as its status, reason and time.
func (r *timed) inqueueOf(f *testbed.Fixture, job string) string {
	for _, c := range f.Job(job).PodGroup.Status.Conditions {
		if c.Type == reserve.InqueueCondition {
			return fmt.Sprintf("%s %s %v", c.Status, c.Reason, c.LastTransitionTime.Sub(time.Unix(1_700_000_000, 0)))
		}
	}
	return ""
}

// TestInqueueTimeout has a job that is admitted and finds no node: no node has the cards. Its
// promise holds for 30 minutes, across a restart of the scheduler. Then another job is admitted,
// and the first one starts as soon as there is room.
func TestInqueueTimeout(t *testing.T) {
	for name, cards := range map[string]string{"one card": "A", "a list": "A|B"} {
		t.Run(name, func(t *testing.T) {
			testbed.Reset(report.AddedSeries())
			s := testbed.NewScene().Node("c", "C", 8).Queue("q", "", "quota", `{"A":4,"B":0}`).
				Pods("stuck", "q", cards, 4, 1, testbed.Members(4)).Pods("next", "q", cards, 2, 1, testbed.Members(2))
			s.Annotate("q", policy.InqueueTimeoutKey, "30m")
			run := newTimed(t, s)
			client, events := testbed.RecordedEvents()
			run.Client = client
			f := run.after(t, 0)
			require.True(t, admit(f, "stuck"))
			assert.Equal(t, "True Admitted 0s", run.inqueueOf(f, "stuck"))
			assert.False(t, admit(f, "next"))
			<-events
			assert.False(t, admit(run.after(t, 20*time.Minute), "next"))
			run.restart()
			assert.False(t, admit(run.after(t, 10*time.Minute), "next"), "exactly 30 minutes")
			<-events

			f = run.after(t, time.Second)
			assert.Equal(t, "False InqueueTimeout 30m1s", run.inqueueOf(f, "stuck"))
			event := <-events
			const text = "The job has been Inqueue for more than 30m0s without its minimum: its minimum is not reserved any more, and other jobs can be admitted. It starts when there is room"
			assert.Equal(t, []string{"PodGroup", "stuck", v1.EventTypeWarning, "InqueueTimeout", text},
				[]string{event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Type, event.Reason, event.Message})
			assert.Equal(t, 1.0, testbed.AddedMetrics(t)["queue_inqueue_timeouts_total q"])
			assert.True(t, admit(f, "next"))

			f = run.after(t, time.Minute)
			assert.Equal(t, "False InqueueTimeout 30m1s", run.inqueueOf(f, "stuck"), "once")
			s.Node("a", "A", 8)
			s.Jobs = s.Jobs[:1]
			f = run.after(t, time.Minute)
			assert.Equal(t, map[string]int{"A": 4}, f.Schedule(t).Placed("stuck"))
		})
	}
}

// TestInqueueTimeoutBegins sets the timeout when a job is Inqueue already: its time begins then. A job that has its
// minimum, or runs, keeps its promise.
func TestInqueueTimeoutBegins(t *testing.T) {
	s := testbed.NewScene().Node("c", "C", 8).Node("a", "A", 8).Queue("q", "", "quota", `{"A":8,"C":1}`).
		Pods("stuck", "q", "A", 2, 1, testbed.Members(2), testbed.InPhase(workload.Inqueue)).
		Pods("bound", "q", "A", 2, 1, testbed.Members(1), firstPods(1, workload.TaskBound, "a"), testbed.InPhase(workload.Inqueue)).
		Pods("runs", "q", "A", 1, 1, testbed.On("a"))
	run := newTimed(t, s)
	f := run.after(t, 0)
	assert.Empty(t, run.inqueueOf(f, "stuck"))
	s.Annotate("q", policy.InqueueTimeoutKey, "10m")
	f = run.after(t, time.Hour)
	assert.Equal(t, "True Admitted 1h0m0s", run.inqueueOf(f, "stuck"))
	f = run.after(t, 11*time.Minute)
	assert.Equal(t, "False InqueueTimeout 1h11m0s", run.inqueueOf(f, "stuck"))
	assert.Empty(t, run.inqueueOf(f, "bound"))
	assert.Empty(t, run.inqueueOf(f, "runs"))

	s.Annotate("q", policy.InqueueTimeoutKey, "")
	f = run.after(t, time.Minute)
	d, _ := f.Own.Memory.Names.LookupCard("A")
	assert.Equal(t, 2000.0, f.Own.Index.Inqueue.Row(f.Own.Index.Lookup("q")).Get(d), "without a timeout, all is as before")
}

// TestInqueueTimeoutAgain admits a job again. The time of the job restarts.
func TestInqueueTimeoutAgain(t *testing.T) {
	s := testbed.NewScene().Node("c", "C", 8).Queue("q", "", "quota", `{"A":8}`).Pods("job", "q", "A", 2, 1, testbed.Members(2)).Annotate("q", policy.InqueueTimeoutKey, "10m")
	run := newTimed(t, s)
	require.True(t, admit(run.after(t, 0), "job"))
	f := run.after(t, 11*time.Minute)
	f.Job("job").PodGroup.Status.Phase = scheduling.PodGroupPending
	s.Annotate("q", policy.InqueueTimeoutKey, "")
	f = run.after(t, time.Minute)
	require.True(t, admit(f, "job"))
	assert.Equal(t, "True Admitted 12m0s", run.inqueueOf(f, "job"))
	s.Annotate("q", policy.InqueueTimeoutKey, "10m")
	f = run.after(t, 9*time.Minute)
	assert.Equal(t, "True Admitted 12m0s", run.inqueueOf(f, "job"))
}

// TestInqueueTimeoutBelow sets the timeout on the root, another value on an inner queue, and 0 on a leaf.
func TestInqueueTimeoutBelow(t *testing.T) {
	s := testbed.NewScene().Queue("root", "").Queue("org", "root").Queue("team", "org").Queue("patient", "team").Queue("other", "org").Queue("apart", "root").
		Annotate("root", policy.InqueueTimeoutKey, "30m").Annotate("team", policy.InqueueTimeoutKey, "5m").Annotate("patient", policy.InqueueTimeoutKey, "0s")
	f := s.Open(t)
	for queue, want := range map[string]time.Duration{"org": 30 * time.Minute, "team": 5 * time.Minute, "patient": 0, "other": 30 * time.Minute, "apart": 30 * time.Minute} {
		assert.Equal(t, want, f.Own.Intake.InqueueTimeout(f.Own.Index.Lookup(queue)), queue)
	}
	s.Annotate("root", policy.InqueueTimeoutKey, "soon")
	assert.Equal(t, time.Duration(0), s.Open(t).Own.Intake.InqueueTimeout(0))
}

// TestNoPromiseLeaks runs 1,000 sessions. Jobs come, are admitted, get nodes, lose them and go. Timeouts change, and
// the scheduler restarts. In each session, inqueue of every queue is the amount that its Inqueue jobs still wait for,
// without jobs past their timeout. It is 0 once all jobs are gone.
func TestNoPromiseLeaks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0x1eaf))
	s := &testbed.Scene{Build: session.NewCapacity, Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(100)}}
	s.Queues = []workload.Queue{{Name: "root", Weight: 1, Annotations: map[string]string{policy.InqueueTimeoutKey: "40m"}}, {Name: "team", Weight: 1, Parent: "root"}, {Name: "a", Weight: 1, Parent: "team"},
		{Name: "b", Weight: 1, Parent: "team"}, {Name: "c", Weight: 1, Parent: "root", Capability: coresOf(30)}}
	run := newTimed(t, s)
	since, over, ended, timeouts := map[string]time.Time{}, map[string]bool{}, 0, map[string]time.Duration{}
	made := 0
	for session := range 1000 {
		if session%50 == 49 {
			run.restart()
		}
		if session%20 == 0 {
			queue := []string{"team", "a", "b", "c"}[r.IntN(4)]
			text := []string{"", "10m", "1h", "0s"}[r.IntN(4)]
			s.Annotate(queue, policy.InqueueTimeoutKey, text)
			timeouts[queue], _ = time.ParseDuration(text)
			if text == "" {
				delete(timeouts, queue)
			}
		}
		timeout := func(queue string) time.Duration {
			for _, q := range [][]string{{"a", "team"}, {"b", "team"}, {"c"}} {
				for _, name := range q {
					if d, set := timeouts[name]; set && q[0] == queue {
						return d
					}
				}
			}
			return 40 * time.Minute
		}
		last := session > 990
		s.Jobs = slices.DeleteFunc(s.Jobs, func(workload.Job) bool { return last || r.IntN(12) == 0 })
		for range r.IntN(3) {
			if last {
				break
			}
			j := pendingJob(fmt.Sprintf("j%d", made), []string{"a", "b", "c"}[r.IntN(3)], 1+r.IntN(3))
			made++
			j.MinMember, j.MinResources = int32(len(j.Tasks)), coresOf(int64(len(j.Tasks)))
			s.Jobs = append(s.Jobs, j)
		}
		for i := range s.Jobs { // some pods get a node, some lose it
			if j := &s.Jobs[i]; r.IntN(4) == 0 && run.statuses[j.Name].Phase == scheduling.PodGroupInqueue {
				j.Tasks = slices.Clone(j.Tasks)
				if task := &j.Tasks[r.IntN(len(j.Tasks))]; task.Status == workload.TaskPending {
					task.Status, task.Node = workload.TaskRunning, "node"
				} else {
					task.Status, task.Node = workload.TaskPending, ""
				}
			}
		}
		f := run.after(t, time.Duration(r.IntN(9))*time.Minute)
		want := map[string]float64{}
		for _, j := range s.Jobs {
			job := f.Job(j.Name)
			placed := int(job.AllocatedTaskNum())
			if job.PodGroup.Status.Phase != scheduling.PodGroupInqueue || placed == len(j.Tasks) {
				continue
			}
			if timeout(j.Queue) > 0 && !over[j.Name] {
				if since[j.Name].IsZero() {
					since[j.Name] = run.now
				}
				if over[j.Name] = run.now.Sub(since[j.Name]) > timeout(j.Queue); over[j.Name] {
					ended++
				}
			}
			if !over[j.Name] || timeout(j.Queue) == 0 {
				want[j.Queue] += 1000 * float64(len(j.Tasks)-placed)
			}
		}
		want["team"] = want["a"] + want["b"]
		want["root"] = want["team"] + min(want["c"], 30000-f.Allocated("c").MilliCPU)
		for queue, cpu := range want {
			require.Equal(t, cpu, f.Own.Index.Inqueue.Row(f.Own.Index.Lookup(queue)).Get(fastres.CPU), "session %d, queue %s", session, queue)
		}
		for _, j := range s.Jobs {
			switch job := f.Job(j.Name); {
			case job.PodGroup.Status.Phase == scheduling.PodGroupPending && admit(f, j.Name) && (timeout(j.Queue) > 0 || !since[j.Name].IsZero()):
				since[j.Name], over[j.Name] = run.now, false
			case r.IntN(40) == 0:
				job.PodGroup.Status.Phase = scheduling.PodGroupPending
			}
		}
		maps.DeleteFunc(since, func(name string, _ time.Time) bool { return run.jobs[api.JobID("default/"+name)] == nil })
	}
	assert.Empty(t, s.Jobs)
	assert.Greater(t, ended, 50, "the time of few jobs was over")
}
