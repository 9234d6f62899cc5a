package session_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// eight returns a list of eight cards, and a quota of each.
func eight(quota int) (list, quotas string) {
	var names, entries []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("C%d", i))
		entries = append(entries, fmt.Sprintf(`"C%d":%d`, i, quota))
	}
	return strings.Join(names, "|"), "{" + strings.Join(entries, ",") + "}"
}

// TestHardJobsOfOneTenant has a tenant with 200 waiting jobs of mixed sizes, for which the
// search for an assignment uses up its budget. Its reason is SearchExhausted, and a metric
// counts it. The jobs of another tenant are admitted, also where both share the room of a parent.
func TestHardJobsOfOneTenant(t *testing.T) {
	list, quotas := eight(16)
	_, shared := eight(17)
	const series = "queue_card_search_exhausted_total "
	for name, parent := range map[string]string{"tenants without a common bound": "{}", "tenants under a full parent": shared} {
		t.Run(name, func(t *testing.T) {
			testbed.Reset(report.AddedSeries())
			r := rand.New(rand.NewPCG(1, 2))
			s := testbed.NewScene().Node("n", "C0", 8).Queue("root", "").Queue("team", "root", "quota", parent).
				Queue("easy", "team", "quota", quotas).Queue("hard", "team", "quota", quotas)
			for i := range 200 {
				s.Pods(fmt.Sprintf("hard%d", i), "hard", list, 1, []int64{3, 5, 7}[r.IntN(3)])
			}
			for i := range 4 {
				s.Pods(fmt.Sprintf("easy%d", i), "easy", list, 2, 1, testbed.Members(2), func(j *workload.Job) { j.Tasks[1].Request[testbed.GPU] = 2 })
			}
			run := testbed.NewSequence(t, s)
			f := run.Open(t)
			admitted, refused := map[string]int{}, 0.0
			for _, j := range s.Jobs { // the jobs of queue hard first
				job := f.Job(j.Name)
				if f.JobEnqueueable(job) {
					f.JobEnqueued(job)
					admitted[j.Queue]++
					continue
				}
				refused++
				assert.Equal(t, fmt.Sprintf("Queue <hard> may have room for <%d> of <%s>, but the search for an assignment of cards "+
					"used up its budget in this session", j.Tasks[0].Request[testbed.GPU], list), job.JobFitErrors)
			}
			assert.Equal(t, map[string]int{"hard": 26, "easy": 4}, admitted)
			metrics := testbed.AddedMetrics(t)
			assert.Equal(t, refused, metrics[series+"hard"])
			assert.NotContains(t, metrics, series+"easy")

			s.Jobs, s.Queues = nil, s.Queues[:3]
			run.Open(t)
			assert.NotContains(t, testbed.AddedMetrics(t), series+"hard", "the queue is gone")
		})
	}
}

// TestRefundMakesRoomForAList evicts a pod in a session. A job with a list that was refused before is admitted then.
func TestRefundMakesRoomForAList(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":1,"B":1}`).
		Pods("a", "q", "A", 1, 1, testbed.On("a")).Pods("b", "q", "B", 1, 1, testbed.On("b")).
		Pods("waits", "q", "A|B", 1, 1)
	f := s.Open(t)
	assert.False(t, f.JobEnqueueable(f.Job("waits")))
	require.NoError(t, f.Evict(f.Task("a-0"), "test"))
	assert.True(t, f.JobEnqueueable(f.Job("waits")))
}
