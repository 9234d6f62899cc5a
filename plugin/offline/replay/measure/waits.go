package measure

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Waits has the waits of the jobs of a group. A wait begins at the submission, and ends when the minimum of the job's
// pods runs for the first time.
type Waits struct {
	Group   string
	Jobs    int // submitted
	Started int
	P50     time.Duration
	P95     time.Duration
	Max     time.Duration
}

// Started is a job and its wait. Wait is negative for a job that never started.
type Started struct {
	Queue, Namespace string
	Cards            int64 // of all pods
	Wait             time.Duration
}

// Group summarises the waits of jobs by a name, in the order of the names.
func Group(jobs []Started, by func(Started) string) []Waits {
	waits := map[string][]time.Duration{}
	all := map[string]int{}
	for _, j := range jobs {
		group := by(j)
		all[group]++
		if j.Wait >= 0 {
			waits[group] = append(waits[group], j.Wait)
		}
	}

	var rows []Waits
	for _, group := range slices.Sorted(maps.Keys(all)) {
		w := waits[group]
		slices.Sort(w)
		rows = append(rows, Waits{
			Group:   group,
			Jobs:    all[group],
			Started: len(w),
			P50:     Percentile(w, 50),
			P95:     Percentile(w, 95),
			Max:     Percentile(w, 100),
		})
	}
	return rows
}

// BySize summarises the waits by the number of cards of a job.
func BySize(jobs []Started) []Waits {
	rows := Group(jobs, func(j Started) string { return fmt.Sprintf("%03d", bucket(j.Cards)) })
	for i := range rows {
		var n int
		_, _ = fmt.Sscanf(rows[i].Group, "%d", &n)
		rows[i].Group = sizes(n)
	}
	return rows
}

// bucket returns the number of a bucket of sizes: 0, 1, 2, 3 to 4, 5 to 8, and so on.
func bucket(cards int64) int {
	if cards == 0 {
		return 0
	}
	return 1 + int(math.Ceil(math.Log2(float64(cards))))
}

// sizes returns the text of a bucket.
func sizes(bucket int) string {
	if bucket < 3 {
		return fmt.Sprint(bucket)
	}
	return fmt.Sprintf("%d-%d", 1<<(bucket-2)+1, 1<<(bucket-1))
}

// Percentile returns the nearest rank of sorted values: the smallest value that so many percent of the values do not
// exceed. It is 0 without values.
func Percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (percent*len(sorted) + 99) / 100
	return sorted[max(1, rank)-1]
}

// LockOut is a time in which a queue was locked out.
type LockOut struct {
	Queue string
	From  time.Duration
	Time  time.Duration
}

// lockouts finds the longest lock-out of each queue.
type lockouts struct {
	since   map[string]time.Duration // of queues that are locked out now
	longest map[string]LockOut
}

// set sets whether a queue is locked out from now on.
func (l *lockouts) set(now time.Duration, queue string, locked bool) {
	since, was := l.since[queue]
	switch {
	case locked && !was:
		l.since[queue] = now
	case !locked && was:
		delete(l.since, queue)
		if now-since > l.longest[queue].Time {
			l.longest[queue] = LockOut{queue, since, now - since}
		}
	}
}

// end ends all lock-outs, and returns the longest of each queue, the longest one first.
func (l *lockouts) end(now time.Duration) []LockOut {
	for _, queue := range slices.Sorted(maps.Keys(l.since)) {
		l.set(now, queue, false)
	}

	return slices.SortedFunc(maps.Values(l.longest), func(a, b LockOut) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Queue, b.Queue))
	})
}
