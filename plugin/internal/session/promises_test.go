package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestNoPromiseOfCardsLeaks runs 1,000 sessions with jobs of one card, and of lists of cards. The jobs come, are
// admitted, displace others, get nodes, are Inqueue for too long, and go. Limits of namespaces and timeouts change, and
// the scheduler restarts. After each round of admissions, the next session and a new scheduler read the same promises
// of all queues and namespaces from the jobs. No promise is left once all jobs are gone.
func TestNoPromiseOfCardsLeaks(t *testing.T) {
	const rounds = 500
	r := rand.New(rand.NewPCG(2, 0x1eaf))
	s := testbed.NewScene().Node("a", "A", 6).Node("c", "C", 8).Queue("root", "").Queue("team", "root", "quota", `{"A":10,"B":6}`)
	for _, name := range []string{"x", "y"} {
		s.Queue(name, "team", "quota", `{"A":8,"B":4}`, "guarantee", `{"A":0,"B":0}`)
	}
	s.Annotate("root", policy.OrderKey, "displace", policy.InqueueTimeoutKey, "40m")
	run, made, admitted, displaced := newTimed(t, s), 0, 0, 0
	statuses := run.Edit
	run.Edit = func(info *api.ClusterInfo) {
		statuses(info)
		testbed.ByPrefix(info, nil)
	}
	for round := range rounds {
		last := round > rounds-5
		if round%40 == 39 {
			run.restart()
		}
		if round%15 == 0 {
			queue := pickOf(r, "team", "x", "y")
			s.Annotate(queue, policy.InqueueTimeoutKey, pickOf(r, "", "10m", "1h", "0s"))
			s.Annotate(queue, card.HolderKey, pickOf(r, "", `{"namespace":{"*":{"A":5}}}`, `{"namespace":{"*":{"A":3,"B":3}}}`), policy.MaxJobsKey, pickOf(r, "", "3", "6"))
		}
		s.Jobs = slices.DeleteFunc(s.Jobs, func(workload.Job) bool { return last || r.IntN(10) == 0 })
		for range r.IntN(3) {
			if n := 1 + r.IntN(3); !last {
				s.Pods(fmt.Sprintf("%s.j%d", pickOf(r, "n", "m"), made), pickOf(r, "x", "y"), pickOf(r, "A", "A", "B", "A|B"), n, 1, testbed.Members(int32(n)), ofPriority(int32(r.IntN(3))))
				made++
			}
		}
		for i := range s.Jobs { // some pods get a node, some lose it
			if j := &s.Jobs[i]; r.IntN(6) == 0 && run.statuses[j.Name].Phase == scheduling.PodGroupInqueue && j.Tasks[0].Annotations[card.NameKey] != "B" {
				j.Tasks = slices.Clone(j.Tasks)
				if task := &j.Tasks[r.IntN(len(j.Tasks))]; task.Status == workload.TaskPending {
					task.Status, task.Node = workload.TaskBound, "a"
				} else {
					task.Status, task.Node = workload.TaskPending, ""
				}
			}
		}
		f := run.after(t, time.Duration(r.IntN(9))*time.Minute)
		for _, j := range s.Jobs {
			before := inqueueJobs(f)
			if f.Job(j.Name).PodGroup.Status.Phase == scheduling.PodGroupPending && admit(f, j.Name) {
				admitted++
				displaced += before + 1 - inqueueJobs(f)
			}
		}
		after := promisesOfAccounts(f)
		f = run.after(t, 0)
		require.Equal(t, after, promisesOfAccounts(f), "round %d: the next session", round)
		if round%20 == 0 {
			run.restart()
			require.Equal(t, after, promisesOfAccounts(run.after(t, 0)), "round %d: a new scheduler", round)
		}
		if last {
			require.Equal(t, map[string]float64{"lists": 0}, testbed.Promises(f.Own.Index, f.Own.Intake, &f.Own.Memory.Names, f.Own.Memory.Admit.Reservations.Len()))
		}
	}
	assert.Greater(t, min(admitted, displaced*10), 100, "%d admitted, %d displaced", admitted, displaced)
}

// promisesOfAccounts returns the promises without the number of lists, because a session drops reservations that no
// cards can serve.
func promisesOfAccounts(f *testbed.Fixture) map[string]float64 {
	all := testbed.Promises(f.Own.Index, f.Own.Intake, &f.Own.Memory.Names, f.Own.Memory.Admit.Reservations.Len())
	delete(all, "lists")
	return all
}

// inqueueJobs returns the number of jobs that are Inqueue.
func inqueueJobs(f *testbed.Fixture) (n int) {
	for _, job := range f.Jobs {
		if job.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
			n++
		}
	}
	return n
}

func pickOf(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
