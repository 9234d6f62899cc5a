package load

// WavesSchedulers are the schedulers that are compared while jobs arrive in waves, in the order of the
// tables: Volcano's own with its plugin capacity, and ours under two names.
var WavesSchedulers = []string{"upstream", "capacity", "capacity-card"}

// Run holds the measurements of one scheduler in one round. Left, Ended and Samples are about the whole
// run, the others about its steady part. Times count from the first wave.
type Run struct {
	Scheduler string  `json:"scheduler"`
	Round     int     `json:"round"`
	From      float64 `json:"from"` // the steady part
	Until     float64 `json:"until"`
	Ended     float64 `json:"ended"` // when the last pod ran, or the grace was over
	Left      int     `json:"left"`  // pods that did not run until then

	Submitted int `json:"submitted"` // pods of the jobs that were submitted
	// Running holds the time from the submission of a job until its pod ran, for each of these pods that ran, in order.
	Running []float64 `json:"running"`
	// Stages are the means of the parts of that time, by name.
	Stages map[string]float64 `json:"stages"`

	Bound    int       `json:"bound"`  // pods
	CPU      float64   `json:"cpu"`    // of the scheduler
	Cycles   []float64 `json:"cycles"` // scheduling cycles that ended, in order of their times
	Opens    []float64 `json:"opens"`  // times of the quota plugin to open each session, in order
	Actions  []Request `json:"actions"`
	Requests []Request `json:"requests"` // of the scheduler to the API server, by method of HTTP
	Served   []Request `json:"served"`   // requests of all clients that the API server served, without watches
	// Processors are the seconds that the processors of the machine spent on each of its users, and idle.
	Processors map[string]float64 `json:"processors"`

	Samples []Sample `json:"samples"`
}

// The stages of a pod.
const (
	Created = "created" // from the submission of its job until the pod exists
	Bound   = "bound"   // from then until it has a node
	Started = "started" // from then until it runs
)

// Stages are the stages in order.
var Stages = []string{Created, Bound, Started}

// The users of processors, in addition to the parts of the control plane, which have the names of its stages.
const (
	Scheduler = "scheduler"
	Collector = "memory management of Go"
	Harness   = "measurement"
	Others    = "other processes"
	Idle      = "idle"
)

// Request is a kind of request, with their number and their time in all. Actions of the scheduler
// are not counted.
type Request struct {
	Name  string  `json:"name"`
	Count float64 `json:"count,omitempty"`
	Time  float64 `json:"time"`
}

// Sample holds the counts and the costs at one time.
type Sample struct {
	At        float64 `json:"at"`
	Submitted int     `json:"submitted"` // pods of all jobs so far
	Bound     int     `json:"bound"`     // of these so far
	Running   int     `json:"running"`   // at that time
	Cards     int     `json:"cards"`     // whole cards of pods that are bound and have not ended
	CPU       float64 `json:"cpu"`       // of the scheduler so far
	Memory    float64 `json:"memory"`    // of the scheduler, resident, in bytes
}

func (r Run) scheduler() string { return r.Scheduler }

// Latency returns the time from submission to running that a share of the pods does not exceed. It is infinite if
// fewer pods ran.
func (r Run) Latency(share float64) float64 { return percentileOf(r.Running, r.Submitted, share) }

// Of returns the requests of a name.
func Of(requests []Request, name string) Request {
	for _, r := range requests {
		if r.Name == name {
			return r
		}
	}
	return Request{Name: name}
}

// PeakMemory returns the most memory that the scheduler had in the whole run.
func (r Run) PeakMemory() (most float64) {
	for _, s := range r.Samples {
		most = max(most, s.Memory)
	}
	return most
}
