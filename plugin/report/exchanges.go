package report

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

const (
	// exchangeCycles bounds the sessions of one exchange: a job loses a pod and gets the place on the same node again.
	exchangeCycles = 5
	// exchangeTimes is the number of exchanges of one place from which on they are reported.
	exchangeTimes = 3
)

// Exchanges finds evictions without gain: a job loses a pod on a node to another queue, takes the place again within
// a few sessions, and loses it again, and so on. The zero Exchanges is not ready; use NewExchanges.
type Exchanges struct {
	session uint64
	places  map[place]*exchange
}

// place is a pod of a job on a node that two queues exchange. The pod itself does not identify it: the controller of
// the job creates a new pod for each evicted one.
type place struct {
	job  api.JobID
	node string
	to   string // the queue that reclaims
}

type exchange struct {
	at       uint64 // the session of the last eviction
	returned bool   // the job got the place again since
	times    int
}

// NewExchanges returns an empty Exchanges.
func NewExchanges() *Exchanges { return &Exchanges{places: map[place]*exchange{}} }

// Open begins a session, and forgets places without recent evictions.
func (e *Exchanges) Open() {
	e.session++

	for p, x := range e.places {
		if e.session-x.at > exchangeCycles {
			delete(e.places, p)
		}
	}
}

// Evicted records that the queue to took a place of a job in queue from.
func (e *Exchanges) Evicted(job *api.JobInfo, node, from, to string) {
	p := place{job.UID, node, to}
	x := e.places[p]
	if x == nil {
		x = &exchange{}
		e.places[p] = x
	}

	if x.returned {
		x.times++
		if x.times == exchangeTimes {
			klog.Warningf("Queues %s and %s exchange a place on node %s without end: "+
				"job %s/%s lost it for the %dth time and took it again; see docs/spec/weights.md",
				from, to, node, job.Namespace, job.Name, x.times+1)
		}
		if x.times >= exchangeTimes {
			exchangesVec.WithLabelValues(from, to).Inc()
		}
	}

	x.at = e.session
	x.returned = false
}

// Placed records that a job got a place on a node.
func (e *Exchanges) Placed(job api.JobID, node string) {
	for p, x := range e.places {
		if p.job == job && p.node == node {
			x.returned = true
		}
	}
}

// Empty reports whether no job has lost a place recently.
func (e *Exchanges) Empty() bool { return len(e.places) == 0 }
