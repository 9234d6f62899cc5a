package replay

import (
	"math"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/plugin/offline/replay"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/measure"
)

// Summary has the results of a replay, for programs. Times are in seconds. A part of nothing is null.
type Summary struct {
	document.Head
	Trace   string    `json:"trace"`
	Format  string    `json:"format"`
	Jobs    int       `json:"jobs"`
	Seed    uint64    `json:"seed"`
	Partial bool      `json:"partial"` // the replay was interrupted
	Runs    []Outcome `json:"runs"`
}

// Outcome has the results of a replay with one configuration.
type Outcome struct {
	Configuration string    `json:"configuration"`
	Plugin        string    `json:"plugin"`
	Partial       bool      `json:"partial"`
	Sessions      int       `json:"sessions"`
	Seconds       float64   `json:"seconds"`
	Submitted     int       `json:"submitted"`
	Started       int       `json:"started"`
	Ended         int       `json:"ended"`
	Utilisation   *float64  `json:"utilisation"`
	Jain          *float64  `json:"jain"`
	JainOfUse     *float64  `json:"jainOfUse"`
	LockOut       *LockOut  `json:"longestLockOut"`
	Evicted       Evictions `json:"evicted"`
	Wait          Wait      `json:"wait"`
	Cards         []Card    `json:"cards"`
	Queues        []Queue   `json:"queues"`
	Namespaces    []Wait    `json:"namespaces"`
	Sizes         []Wait    `json:"sizes"`
}

// Evictions is the cost of evictions.
type Evictions struct {
	Pods      int     `json:"pods"`
	Restarted int     `json:"restartedJobs"`
	CardHours float64 `json:"cardHours"`
}

// LockOut is a time in which a job waited although it fit into the deserved amount of its queue.
type LockOut struct {
	Queue   string  `json:"queue"`
	From    float64 `json:"from"`
	Seconds float64 `json:"seconds"`
}

// Wait has the times from submission to start of a group of jobs, in seconds.
type Wait struct {
	Group   string  `json:"group"`
	Jobs    int     `json:"jobs"`
	Started int     `json:"started"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	Max     float64 `json:"max"`
}

// Card is the use of a card.
type Card struct {
	Card        string   `json:"card"`
	Cards       float64  `json:"cards"`
	Utilisation *float64 `json:"utilisation"`
}

// Queue has the results of a queue.
type Queue struct {
	Queue     string   `json:"queue"`
	CardHours float64  `json:"cardHours"`
	Satisfied *float64 `json:"satisfied"` // had, as a part of the amount that it deserved and wanted
	LockOut   *LockOut `json:"longestLockOut"`
	Wait      Wait     `json:"wait"`
}

// Summarise returns the summary of the results of an input.
func Summarise(in *Input, results []*replay.Result) *Summary {
	s := &Summary{
		Head:    document.Of("Replay"),
		Trace:   in.Trace.Name,
		Format:  string(in.Trace.Format),
		Jobs:    len(in.Trace.Jobs),
		Seed:    in.Seed,
		Partial: len(results) < len(in.Configurations),
		Runs:    []Outcome{},
	}
	for i, r := range results {
		s.Partial = s.Partial || r.Partial
		s.Runs = append(s.Runs, outcome(&in.Configurations[i], r))
	}

	return s
}

func outcome(c *Named, r *replay.Result) Outcome {
	run := Outcome{
		Configuration: c.Name,
		Plugin:        c.Plugin,
		Partial:       r.Partial,
		Sessions:      r.Sessions,
		Seconds:       r.End.Seconds(),
		Submitted:     r.All.Jobs,
		Started:       r.All.Started,
		Ended:         r.Ended,
		Utilisation:   number(r.Utilisation),
		Jain:          number(r.Jain),
		JainOfUse:     number(r.JainOfUse),
		LockOut:       lockOut(r.Totals.LockOut),
		Evicted:       Evictions{r.Evicted, r.Restarted, r.LostCardHours},
		Wait:          wait(r.All),
		Cards:         []Card{},
		Queues:        []Queue{},
		Namespaces:    waits(r.ByUser),
		Sizes:         waits(r.ByCards),
	}
	for _, c := range r.Totals.Cards {
		run.Cards = append(run.Cards, Card{c.Card, c.Cards, number(c.Utilisation)})
	}

	byQueue := map[string]Wait{}
	for _, w := range r.ByQueue {
		byQueue[w.Group] = wait(w)
	}
	for _, q := range r.Totals.Queues {
		queue := Queue{
			Queue:     q.Queue,
			CardHours: q.CardHours,
			Satisfied: number(q.Satisfied),
			LockOut:   lockOut(q.LockOut),
			Wait:      byQueue[q.Queue],
		}
		queue.Wait.Group = q.Queue // a queue without jobs has no entry
		run.Queues = append(run.Queues, queue)
	}

	return run
}

func wait(w measure.Waits) Wait {
	return Wait{w.Group, w.Jobs, w.Started, w.P50.Seconds(), w.P95.Seconds(), w.Max.Seconds()}
}

func waits(all []measure.Waits) []Wait {
	rows := []Wait{}
	for _, w := range all {
		rows = append(rows, wait(w))
	}
	return rows
}

// lockOut returns nil for none.
func lockOut(l measure.LockOut) *LockOut {
	if l.Time == 0 {
		return nil
	}
	return &LockOut{l.Queue, l.From.Seconds(), l.Time.Seconds()}
}

// number returns nil for NaN and infinity, which JSON cannot express.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Text formats a time in seconds for readers, such as 2h5m or 1.5s.
func Text(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	unit := 100 * time.Millisecond
	switch {
	case d >= 10*time.Hour:
		unit = time.Minute
	case d >= time.Minute:
		unit = time.Second
	}

	return queues.ShortTime(d.Round(unit))
}
