package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// phillyJob is a job of Philly's cluster_job_log.
type phillyJob struct {
	Queue    string          `json:"vc"`
	Name     string          `json:"jobid"`
	User     string          `json:"user"`
	Submit   string          `json:"submitted_time"`
	Attempts []phillyAttempt `json:"attempts"`
}

// phillyAttempt is a run of a job: Philly runs a job that fails again.
type phillyAttempt struct {
	Start  *string `json:"start_time"`
	End    *string `json:"end_time"`
	Detail []struct {
		Cards []string `json:"gpus"`
	} `json:"detail"`
}

// readPhilly reads a list of jobs. A line in messages is the place of the job in the list, because one
// job has many lines.
func (t *Trace) readPhilly(in io.Reader) error {
	d := json.NewDecoder(in)
	if first, err := d.Token(); err != nil || first != json.Delim('[') {
		return fmt.Errorf("%s:1: expected a list of jobs, which begins with [", t.Name)
	}
	reasons := counts{}
	for n := 1; d.More(); n++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			t.Problems = append(t.Problems, Problem{t.Name, n, cut(err)})
			break // nothing tells where the next job begins
		}
		w := &row{line: n, counts: &reasons}
		var p phillyJob
		if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&p); err != nil {
			w.fail("%s", err)
		}
		t.add(w, p.job)
	}
	reasons.into(t)
	return nil
}

// cut says what is wrong with a list that cannot be read on.
func cut(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the list ends in the middle of this job"
	}
	return "the list cannot be read from this job on: " + err.Error()
}

// job makes a job of all runs together: its time is the sum of theirs, its size that of the last one.
func (p phillyJob) job(w *row) *Job {
	submit, err := time.Parse(time.DateTime, p.Submit)
	if err != nil {
		w.fail("submitted_time: %q is no date such as 2006-01-02 15:04:05", p.Submit)
		return nil
	}
	j := &Job{Name: name(p.Name), Namespace: name(p.User), Queue: p.Queue, Submit: submit.Sub(epoch)}
	for _, attempt := range p.Attempts {
		ran, complete := attempt.time()
		if !complete || len(attempt.Detail) == 0 {
			continue
		}
		j.Runtime += ran
		j.Pods, j.Cards = attempt.size()
	}
	if j.Pods == 0 {
		return w.leaveOut("the job has no attempt with a start, an end and cards")
	}
	if j.Runtime < 0 {
		w.fail("the attempts end before they start")
	}
	return j
}

// time returns how long an attempt ran, if it is known.
func (a phillyAttempt) time() (time.Duration, bool) {
	if a.Start == nil || a.End == nil {
		return 0, false
	}
	start, err := time.Parse(time.DateTime, *a.Start)
	if err != nil {
		return 0, false
	}
	end, err := time.Parse(time.DateTime, *a.End)
	return end.Sub(start), err == nil
}

// size divides the cards of an attempt among equal pods: as many on each server as the numbers on all
// servers have as a common divisor.
func (a phillyAttempt) size() (pods int, cards int64) {
	sum := 0
	for _, server := range a.Detail {
		sum += len(server.Cards)
		cards = divisor(cards, int64(len(server.Cards)))
	}
	if cards == 0 {
		return 0, 0
	}
	return sum / int(cards), cards
}

// divisor is the greatest common divisor; that of 0 and another number is the other number.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
