package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Job is a job as its user submits it. All of its pods are equal and run for the same time.
type Job struct {
	Line      int    // of the file, or the place in its list, from 1
	Name      string // unique in its namespace
	Namespace string
	Queue     string
	Submit    time.Duration // since the beginning of the trace
	Runtime   time.Duration // of each pod
	Pods      int
	Minimum   int    // the number of pods that the job needs to run
	Cards     int64  // of each pod
	Card      string // a card list such as A|B; "" for any card
	CPU       int64  // of each pod, in thousandths of a core
	Memory    int64  // of each pod, in bytes
	Priority  int32
}

// AllCards is the number of cards of all pods.
func (j *Job) AllCards() int64 { return int64(j.Pods) * j.Cards }

// Trace is the jobs of a file, in the order of their submission.
type Trace struct {
	Name     string
	Format   Format
	Jobs     []Job
	Problems []Problem // lines that cannot be used: a part of the input is missing
	Notes    []string  // changes of the input
}

// Problem describes an error in a line.
type Problem struct {
	File string
	Line int
	What string
}

// Error names the file and the line.
func (p Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What) }

// The bounds of the sizes in a trace. A larger number is a mistake, and would take all memory.
const (
	mostPods    = 10_000
	mostCards   = 1 << 20
	mostSeconds = 100 * 365 * 24 * 3600
)

// defaultName is the namespace of a job that has none.
const defaultName = "default"

// check completes a job and returns its problem, "" for none.
func (j *Job) check() string {
	j.Namespace = cmp.Or(j.Namespace, defaultName)
	switch {
	case j.Name == "":
		return "the job has no name"
	case j.Submit < 0:
		return fmt.Sprintf("the job is submitted %v before the trace begins", -j.Submit)
	case j.Runtime < 0:
		return fmt.Sprintf("the runtime is negative: %v", j.Runtime)
	case j.Pods < 1 || j.Pods > mostPods:
		return fmt.Sprintf("%d pods: expected 1 to %d", j.Pods, mostPods)
	case j.Minimum < 0 || j.Minimum > j.Pods:
		return fmt.Sprintf("a minimum of %d of %d pods", j.Minimum, j.Pods)
	case j.Cards < 0 || j.Cards > mostCards:
		return fmt.Sprintf("%d cards: expected 0 to %d", j.Cards, mostCards)
	case j.CPU < 0 || j.Memory < 0:
		return "cpu or memory is negative"
	}

	if j.Minimum == 0 {
		j.Minimum = j.Pods
	}
	// A run of no time ends in the second in which it starts.
	j.Runtime = max(j.Runtime, time.Second)
	return ""
}

// finish sorts the jobs, moves the first one to the time 0, and leaves out jobs with a name that is taken.
func (t *Trace) finish() {
	sorted := slices.IsSortedFunc(t.Jobs, bySubmission)
	slices.SortStableFunc(t.Jobs, bySubmission)
	if !sorted {
		t.note("the times of submission are not in order: the jobs are sorted")
	}

	names := map[string]int{}
	t.Jobs = slices.DeleteFunc(t.Jobs, func(j Job) bool {
		key := j.Namespace + "/" + j.Name
		if line, taken := names[key]; taken {
			what := fmt.Sprintf("the job %s is in line %d already: each job has a name of its own", key, line)
			t.Problems = append(t.Problems, Problem{t.Name, j.Line, what})
			return true
		}
		names[key] = j.Line
		return false
	})
	if len(t.Jobs) == 0 {
		return
	}

	first := t.Jobs[0].Submit
	for i := range t.Jobs {
		t.Jobs[i].Submit -= first
	}
	slices.SortStableFunc(t.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

func bySubmission(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) }

func (t *Trace) note(format string, arguments ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, arguments...))
}

// uneven are the lines of jobs with cards that are not a multiple of their nodes.
type uneven []int

// into writes a note about the jobs.
func (u uneven) into(t *Trace) {
	if len(u) > 0 {
		t.note("the cards are not a multiple of the nodes: each pod has the larger number: "+
			"%d jobs, the first in line %d", len(u), u[0])
	}
}

// name turns a name in a trace, which may have any characters, into a name of Kubernetes.
func name(text string) string {
	// Any other character becomes a hyphen.
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, strings.TrimSpace(text))

	return strings.Trim(clean, "-.")
}
