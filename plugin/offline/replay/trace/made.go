package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Load describes the jobs that a made trace has for a queue.
type Load struct {
	Queue string
	Users []string // namespaces; each job has one of them
	Card  string
	// Node is the number of cards of a node. A pod of a large gang takes all of them.
	Node int64
	// Most is the largest number of cards of a gang.
	Most int64
	// Night and Day are the numbers of jobs in an hour, at midnight and at two in the afternoon.
	Night, Day float64
	Hours      float64 // the typical runtime
}

// MeanCards and MeanHours are the averages of a job of a made trace, on nodes with 8 cards and for a typical runtime of
// an hour. A caller needs them to choose how many jobs fill a cluster.
const (
	MeanCards = 7.3
	MeanHours = 0.82
)

// longest bounds the runtime of a made job.
const longest = 48 * time.Hour

// Make draws jobs from a seed: a few large gangs, some elastic jobs, and many single pods. It stops at the end of a
// time, and after most jobs. Equal arguments give equal jobs.
func Make(seed uint64, length time.Duration, most int, loads []Load) []Job {
	var jobs []Job
	for i, load := range loads {
		jobs = append(jobs, load.draw(rand.New(rand.NewPCG(seed, uint64(i))), length, most)...)
	}

	slices.SortStableFunc(jobs, bySubmission)
	jobs = jobs[:min(most, len(jobs))]
	for i := range jobs {
		jobs[i].Line = i + 2 // after the header
		jobs[i].Name = fmt.Sprintf("job-%06d", i)
	}
	return jobs
}

// draw draws the jobs of a queue. It draws exponential times between jobs at the rate of the busiest hour, and then
// drops jobs at other hours.
func (l Load) draw(r *rand.Rand, length time.Duration, most int) (jobs []Job) {
	busiest := max(l.Night, l.Day)
	if busiest <= 0 {
		return nil
	}

	for hour := 0.0; len(jobs) < most; {
		hour += r.ExpFloat64() / busiest
		at := time.Duration(hour * float64(time.Hour)).Truncate(time.Second)
		if at >= length {
			break
		}

		if r.Float64()*busiest < l.rate(hour) {
			jobs = append(jobs, l.job(r, at))
		}
	}
	return jobs
}

// rate is the number of jobs in an hour at a time. Daylight is from 8:00 to 20:00.
func (l Load) rate(hour float64) float64 {
	daylight := max(0, math.Sin((math.Mod(hour, 24)-8)/12*math.Pi))
	return l.Night + (l.Day-l.Night)*daylight
}

func (l Load) job(r *rand.Rand, at time.Duration) Job {
	j := Job{
		Queue:     l.Queue,
		Namespace: defaultName,
		Submit:    at,
		Card:      l.Card,
		Pods:      1,
		Minimum:   1,
		Priority:  int32(r.IntN(2)),
	}

	j.Cards = min(int64(1)<<r.IntN(3), l.Node, l.Most)
	switch kind := r.IntN(10); {
	case kind == 0: // a gang
		j.Cards = min(l.Node, l.Most)
		j.Pods = min(2+r.IntN(3), int(l.Most/j.Cards))
		j.Minimum = j.Pods
	case kind < 4:
		j.Pods = 2 + r.IntN(7) // elastic
	}
	j.CPU = 1000 * j.Cards

	runtime := time.Duration(l.Hours * float64(time.Hour) * math.Exp(r.NormFloat64()) / 2).Truncate(time.Second)
	j.Runtime = max(time.Minute, min(runtime, longest))

	if len(l.Users) > 0 {
		j.Namespace = l.Users[r.IntN(len(l.Users))]
	}
	return j
}
