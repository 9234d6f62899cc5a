package oracle

import "strconv"

// Counts are the policies of a queue that bound how many jobs are admitted in it and below. The zero Counts bound
// nothing.
type Counts struct {
	MaxJobs int // the number of admitted jobs; 0 is no bound
}

const maxJobs = "volcano.sh/max-jobs"

// CountTexts are values for random clusters, by the annotation that has them.
var CountTexts = map[string][]string{maxJobs: {"1", "2", "3", "5"}}

// WrongCounts are texts that no count may be.
var WrongCounts = []string{"0", "some"}

// IsCount reports whether a text is a count: a whole number above 0.
func IsCount(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n > 0
}

// CountsOf reads the counts in the annotations of a queue. A wrong text counts as not set.
func CountsOf(annotations map[string]string) Counts {
	jobs, _ := strconv.Atoi(annotations[maxJobs])
	return Counts{MaxJobs: jobs}
}

// counted are the policies, in the order of their reasons: if several refuse a job, the first one says why.
var counted = []struct {
	reason string
	bound  func(Counts) int
}{
	{"TooManyJobs", func(c Counts) int { return c.MaxJobs }},
}

// CountRefusal is the reason of a policy that refuses a job, and the lowest queue with an exceeded bound. The zero
// CountRefusal refuses nothing.
type CountRefusal struct{ Reason, Queue string }

// CountsRefuse refuses a job of a queue that would exceed the bound of the queue or of one above.
func (o *Oracle) CountsRefuse(name string) CountRefusal {
	counts := func(q string) Counts { return o.queues[q].Counts }
	return RefuseIn(o.Path(name), counts, o.jobsBelow)
}

// RefuseIn returns the refusal of the first policy, in the lowest queue of a path, by which no further job is admitted.
// counts returns the bounds of a queue, and jobs returns the number of admitted jobs in it and below.
func RefuseIn(path []string, counts func(queue string) Counts, jobs func(queue string) int) CountRefusal {
	for _, by := range counted {
		for _, q := range path {
			bound := by.bound(counts(q))
			if bound > 0 && jobs(q)+1 > bound {
				return CountRefusal{by.reason, q}
			}
		}
	}
	return CountRefusal{}
}

// jobsBelow returns the number of jobs that are admitted in a queue and below.
func (o *Oracle) jobsBelow(name string) (jobs int) {
	for _, q := range o.names {
		if o.within(q, name) {
			jobs += o.queues[q].jobs
		}
	}
	return jobs
}

// AdmitJob counts a job that is admitted, and LeaveJob one that is not admitted any more.
func (o *Oracle) AdmitJob(name string) { o.queues[name].jobs++ }
func (o *Oracle) LeaveJob(name string) { o.queues[name].jobs-- }
