package plugin

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"fmt"
	"regexp"
	"sort"
	"testing"
)

var digits = regexp.MustCompile(`<[^>]*>|[0-9.]+|Queue [a-z0-9]+`)

func TestZZ(t *testing.T) {
	reasons := map[string]int{}
	for seed := uint64(1); seed < 150; seed++ {
		w := newWorld(drawScenario(seed))
		resetVolcano()
		acts := w.sorted()
		func() {
			defer func() { recover() }()
			for range w.scenario.cycles {
				w.next(acts, nil)
				if w.cycle%10 == 0 {
					c := w.open(nil)
					for _, n := range w.actions {
						actionOf(n).Execute(c.Session)
					}
					for _, j := range w.jobs {
						job := c.jobOf(j)
						if job == nil || job.IsPending() { reasons["A pending or none"]++; continue }
						if len(job.TaskStatusIndex[api.Pending]) == 0 { reasons["B no pending"]++; continue }
						if !c.JobStarving(job) { reasons["C not starving"]++; continue }
						if !c.waits(job) { reasons["D invalid"]++; continue }
						for _, task := range job.TaskStatusIndex[api.Pending] {
							if r := (Inspection{c.own}).Preempt(task); r != nil { reasons["E preemptive: "+digits.ReplaceAllString(r.String(), "N")]++ } else {
								n := 0
								for _, node := range c.NodeList { if c.PredicateFn(task, node) == nil { n++
									k := 0
									for _, v := range node.Tasks { if v.Status == api.Running && c.Jobs[v.Job] != nil && c.Jobs[v.Job].Queue != job.Queue { k++ } }
									if k == 0 { reasons["G no others on node"]++ } else { reasons["H others on node"]++ }
								} }
								if n == 0 { reasons["F no node"]++ }
							}
							break
						}
					}
				}
			}
		}()
	}
	var all []string
	for r, n := range reasons {
		all = append(all, fmt.Sprintf("%5d %.160s", n, r))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(all)))
	for _, r := range all[:min(45, len(all))] {
		fmt.Println(r)
	}
}
