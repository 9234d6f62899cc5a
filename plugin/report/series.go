package report

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// account is an account of queues for which Volcano has series.
type account int

const (
	// Cards have series in these accounts where they are not 0.
	deserved account = iota
	allocated
	request
	// Cards have series here only where a queue has a quota of its own. Bounds are inherited, and they are 0 for each
	// card that the quota of a leaf does not name.
	capacity
	realCapacity
	accounts // the number of accounts
)

var (
	// The series that Volcano registered for its own plugins (metrics/queue.go).
	families = [accounts]accountFamilies{
		deserved:     queueAccount("deserved", textsOf("Deserved"), accountOf(deserved)),
		allocated:    queueAccount("allocated", textsOf("Allocated"), accountOf(allocated)),
		request:      queueAccount("request", textsOf("Request"), accountOf(request)),
		capacity:     queueAccount("capacity", textsOf("Capacity"), accountOf(capacity)),
		realCapacity: queueAccount("real_capacity", textsOf("Capacity"), accountOf(realCapacity)),
	}
	shareFamily    = queueFamily("share", "Share for one queue", func(g *queueGauges) *gauge { return &g.share })
	weightFamily   = queueFamily("weight", "Weight for one queue", func(g *queueGauges) *gauge { return &g.weight })
	overusedFamily = queueFamily("overused",
		"If one queue is overused", func(g *queueGauges) *gauge { return &g.overused })

	// The series that Volcano has from v1.16 on. They have its texts, because a name has one text in a process.
	inqueueFamilies = queueAccount("inqueue",
		texts{"Inqueue CPU" + inqueueHelp, "Inqueue memory" + inqueueHelp, "Inqueue scalar resources" + inqueueHelp},
		func(g *queueGauges) *accountGauges { return &g.inqueue })

	// The series that Volcano does not have.
	leafFamily = newFamily("queue_leaf", "1 if a queue takes jobs, 0 if it has child queues, by its parent",
		[]string{"parent", queueLabel}, writeLeaves)
	windowsVec  = queueVec("windows_in_force", "Number of windows of one queue that hold now")
	problemsVec = queueVec("card_annotation_problems", "Number of problems of the card annotations of one queue")
	waitingVec  = queueVec("waiting_jobs", "Number of jobs of one queue that wait, by the rule that refuses them, "+
		"the queue that breaks it (level), and the resource that is short", "rule", "level", "resource")
	admissionVec = histogramVec("queue_admission_wait_seconds",
		"Time that jobs of one queue waited until they were admitted",
		[]float64{1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}, queueLabel)
	exhaustedVec = counterVec("queue_card_search_exhausted_total",
		"Number of times that jobs of one queue were refused "+
			"because the search for an assignment of cards used up its budget", queueLabel)
	timeoutsVec = counterVec("queue_inqueue_timeouts_total",
		"Number of times that a job of one queue was Inqueue for so long "+
			"that its minimum is not reserved any more", queueLabel)
	exchangesVec = counterVec("queue_exchanges_total",
		"Number of times that a job of one queue lost a place to another queue "+
			"which it had taken again, after the first few", queueLabel, "other")
	clusterFamilies = clusterAccount()
)

const inqueueHelp = " for admitted but not yet running jobs in one queue"

// writeLeaves writes the series of leafFamily.
func writeLeaves(m *Metrics, emit func(float64, []*dto.LabelPair)) {
	for _, g := range m.queues {
		if value, set := g.leaf.get(); set {
			emit(value, []*dto.LabelPair{g.parent, g.labels[0]})
		}
	}
}

// accountOf returns the function that returns an account of a queue.
func accountOf(a account) func(*queueGauges) *accountGauges {
	return func(g *queueGauges) *accountGauges { return &g.accounts[a] }
}

// UpstreamSeries returns the series of Volcano that Metrics writes.
func UpstreamSeries() []*Family {
	all := []*Family{shareFamily, weightFamily, overusedFamily}
	for _, v := range families {
		all = append(all, v.all()...)
	}
	return all
}

// Series are the series of a name, which can be deleted.
type Series interface {
	prometheus.Collector
	Reset()
}

// AddedSeries returns the series that Volcano does not have.
func AddedSeries() []Series {
	added := []Series{
		leafFamily, windowsVec, problemsVec, waitingVec, admissionVec, exhaustedVec, timeoutsVec, exchangesVec,
		usageVec, levelVec, savedGauge, holderCards, holderLimits,
	}

	for _, f := range slices.Concat(inqueueFamilies.all(), clusterFamilies.all()) {
		added = append(added, f)
	}
	return added
}
