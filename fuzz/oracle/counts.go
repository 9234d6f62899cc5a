package oracle

// MaxJobs is the annotation that bounds the admitted jobs of a queue and the queues below it.
const MaxJobs = "volcano.sh/max-jobs"

// MaxJobsTexts are bounds for random clusters.
var MaxJobsTexts = []string{"1", "2", "3", "5"}

// CountRefusal is the reason of a policy that refuses a job, and the lowest queue with an exceeded bound. The zero
// CountRefusal refuses nothing.
type CountRefusal struct{ Reason, Queue string }

// CountsRefuse refuses a job of a queue that would exceed the bound of the queue or of one above.
func (o *Oracle) CountsRefuse(name string) CountRefusal {
	full := o.first(name, func(q string) bool {
		most := o.queues[q].MaxJobs
		return most > 0 && o.jobsBelow(q)+1 > most
	})
	if full == "" {
		return CountRefusal{}
	}
	return CountRefusal{"TooManyJobs", full}
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
