package oracle

// Count is a policy that bounds a number with a whole number. A job is not admitted where the number with the job
// exceeds the bound of its queue or of a queue above. Random clusters draw the texts.
type Count struct {
	Annotation string
	Reason     string   // of a job that is not admitted
	Texts      []string // bounds for random clusters
	Of         func(Admission) int
}

// Admission is a job that is to be admitted, seen from one queue.
type Admission struct {
	Jobs int // that are admitted in the queue and below
	Pods int // minMember of the job
}

// Counts are the policies that bound a number, in the order in which they are asked.
var Counts = []Count{
	{
		Annotation: "volcano.sh/max-jobs",
		Reason:     "TooManyJobs",
		Texts:      []string{"1", "2", "3", "5"},
		Of:         func(a Admission) int { return a.Jobs + 1 },
	},
}

// CountRefusal is the reason of a policy that refuses a job, and the lowest queue with an exceeded bound. The zero
// CountRefusal refuses nothing.
type CountRefusal struct{ Reason, Queue string }

// CountsRefuse returns the first policy of Counts that refuses a job of a queue.
func (o *Oracle) CountsRefuse(name string, pods int) CountRefusal {
	for _, c := range Counts {
		full := o.first(name, func(q string) bool {
			bound := o.queues[q].Counts[c.Annotation]
			return bound > 0 && c.Of(Admission{Jobs: o.jobsBelow(q), Pods: pods}) > bound
		})
		if full != "" {
			return CountRefusal{c.Reason, full}
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
