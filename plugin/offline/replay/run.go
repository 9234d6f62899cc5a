package replay

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	schedulermetrics "volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/measure"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Setup is a cluster and a scheduler.
type Setup struct {
	Nodes  []*v1.Node
	Queues []*scheduling.Queue
	Labels card.Labels // name the cards of nodes in place of the labels of vendors

	Plugin         string // the quota plugin
	Tiers          []conf.Tier
	Actions        []framework.Action
	Configurations []conf.Configuration

	Seed   uint64
	Period time.Duration // the shortest time between two sessions; 0: a second, as in Volcano
	Idle   time.Duration // between sessions while pods wait and nothing happens; 0: ten minutes
	// Checkpoint is the time from one checkpoint of a pod to the next; 0: pods write none.
	Checkpoint time.Duration
	// Progress is called after sessions. It may be nil.
	Progress func(Progress)
}

// Progress is the progress of a replay.
type Progress struct {
	Ended, Jobs int
	Now         time.Duration
	Sessions    int
}

// Result holds the findings of a replay.
type Result struct {
	Jobs     int // in the trace
	Ended    int
	Sessions int
	End      time.Duration // of the last pod, or of the replay if it was interrupted
	Partial  bool          // the replay was interrupted
	*measure.Book
	*measure.Totals
}

// run is a replay under way.
type run struct {
	*Setup
	*content
	Result
	stock   Stock
	book    *measure.Book
	order   *order
	cache   *recorder
	tiers   []conf.Tier
	quota   *framework.Plugin // of the open session
	live    []*job            // in the order of submission
	coming  []trace.Job       // not submitted yet
	ends    ends
	now     time.Duration
	waiting int           // pods without a node
	held    time.Duration // when the last session was
	due     time.Duration // when the next one is, never for none
	tries   int           // the number of sessions since the last event
	reread  time.Duration // when the next look at the deserved of the queues is
	last    time.Duration // when something changed
	spared  spared
}

// never is later than any time of a replay.
const never = time.Duration(1<<63 - 1)

// mostTries bounds the sessions that follow each other without an event, while pods evict each other.
const mostTries = 100

// patience is the time after which a replay ends in which nothing runs and nothing changes.
const patience = 24 * time.Hour

// Run replays the jobs of a trace, which Fit has checked. If ctx is done, it ends after the present session, and the
// result is partial. A process can have one replay at a time, and no other session meanwhile.
func Run(ctx context.Context, setup Setup, jobs []trace.Job) *Result {
	r := newRun(setup, jobs)
	defer r.open()()

	r.loop(ctx)
	r.Partial = ctx.Err() != nil
	r.finish()
	return &r.Result
}

func newRun(setup Setup, jobs []trace.Job) *run {
	setup.Period = cmp.Or(setup.Period, time.Second)
	setup.Idle = cmp.Or(setup.Idle, 10*time.Minute)
	r := &run{
		Setup:   &setup,
		content: newContent(setup.Nodes, setup.Queues, setup.Labels),
		coming:  jobs,
		held:    -setup.Idle,
		due:     never,
		spared:  spared{setup.maySpare(), never},
		stock:   Count(setup.Nodes, setup.Labels),
	}
	r.Jobs = len(jobs)

	cards := map[string]float64{}
	for name, supply := range r.stock {
		cards[name] = supply.Cards
	}
	r.book = measure.NewBook(cards)
	return r
}

// open registers the plugins and sets the options of the scheduler. restore undoes that.
func (r *run) open() (restore func()) {
	offline.Quiet()

	// The nodes that Volcano looks at would depend on the goroutines.
	nodes := options.ServerOpts.PercentageOfNodesToFind
	options.ServerOpts.PercentageOfNodesToFind = 100
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range r.Actions {
		conf.EnabledActionMap[action.Name()] = true
	}

	plugin.RegisterAt(func() time.Time { return epoch.Add(r.now) })
	build, _ := framework.GetPluginBuilder(r.Plugin)
	r.quota = new(framework.Plugin)
	framework.RegisterPluginBuilder(r.Plugin, func(arguments framework.Arguments) framework.Plugin {
		*r.quota = build(arguments)
		return *r.quota
	})

	r.cache = &recorder{Cache: offline.NewCache(offline.NewInfo())}
	r.order = newOrder(r.Seed, r.content, func() bool { return len(r.cache.bound)+len(r.cache.evicted) > 0 })
	r.order.placesOnly = r.placesOnly()
	r.tiers = r.order.around(r.Tiers)
	r.cache.Informers = offline.NoInformers()

	return func() {
		options.ServerOpts.PercentageOfNodesToFind = nodes
		plugin.Register()
		report.DeleteMetrics()
	}
}

// loop jumps from event to event.
func (r *run) loop(ctx context.Context) {
	for ctx.Err() == nil {
		at := r.next()
		if at == never {
			return
		}
		r.now = at
		r.pass()

		ended := r.endPods()
		submitted := r.submit()
		if ended || submitted {
			r.tries = 0
			r.last = r.now
			r.due = min(r.due, max(r.now, r.held+r.Period))
		}

		if r.waiting == 0 {
			r.due = never
		}
		if r.waiting > 0 && r.now >= min(r.due, r.rested()+r.Idle) {
			r.hold()
		}
	}
}

// hold holds a session, and decides when the next one is due.
func (r *run) hold() {
	r.held = r.now
	r.due = never
	r.spared.at = never
	if r.session() {
		r.last = r.now
		if r.waiting > 0 && r.tries < mostTries {
			r.tries++
			r.follows()
		}
		// Queues without a turn in this session have one at once. Evicted pods have a period to leave.
		if r.order.freshness.stale && len(r.cache.evicted) == 0 {
			r.due = r.now
		}
	}

	if r.Progress != nil {
		r.Progress(Progress{r.Ended, r.Jobs, r.now, r.Sessions})
	}
}

// next returns the time of the next event, never for none.
func (r *run) next() time.Duration {
	at := min(r.due, r.ends.next())
	if len(r.coming) > 0 {
		at = min(at, max(r.now, r.coming[0].Submit))
	}

	if r.waiting > 0 && (at != never || r.now-r.last < patience) {
		at = min(at, r.rested()+r.Idle)
	}
	return at
}

// submit submits the jobs that are due.
func (r *run) submit() (some bool) {
	for len(r.coming) > 0 && r.coming[0].Submit <= r.now {
		j := r.newJob(&r.coming[0])
		r.coming = r.coming[1:]
		r.jobs[j.id] = j
		r.live = append(r.live, j)
		for _, p := range j.pods {
			r.tasks[p.task.UID] = p
		}

		r.waiting += j.Pods
		if j.Cards > 0 {
			r.book.Submit(r.now, j.Queue, j.list[0], float64(j.AllCards()))
		}
		some = true
	}
	return some
}

// endPods ends the pods that have run for their runtime, and the jobs without other pods.
func (r *run) endPods() (some bool) {
	var over []*job
	for r.ends.next() <= r.now {
		e := r.ends.pop()
		p := e.pod
		if p.life != e.life {
			continue // it was evicted since
		}

		some = true
		r.leave(p)
		p.ended++
		p.over = true
		if p.Cards > 0 { // it does not wait for them again
			r.book.Want(r.now, p.Queue, p.list[0], -float64(p.Cards))
		}
		p.change(func(object *v1.Pod) { object.Status.Phase = v1.PodSucceeded })

		if p.ended == p.Pods {
			over = append(over, p.job)
		}
	}

	for _, j := range over {
		r.remove(j)
		r.Ended++
		schedulermetrics.DeleteJobMetrics(j.Name, j.Queue, j.Namespace)
	}
	if len(over) > 0 {
		r.live = slices.DeleteFunc(r.live, func(j *job) bool { return j.ended == j.Pods })
	}
	if some {
		r.End = r.now
	}
	return some
}

// started notes how long a job has waited: -1 for a job that never started.
func (r *run) started(j *job, wait time.Duration) {
	r.book.Job(measure.Started{Queue: j.Queue, Namespace: j.Namespace, Cards: j.AllCards(), Wait: wait})
}

// finish adds up the results.
func (r *run) finish() {
	for _, j := range r.live {
		if !j.begun {
			r.started(j, -1)
		}
		schedulermetrics.DeleteJobMetrics(j.Name, j.Queue, j.Namespace)
	}

	r.End = max(r.End, r.last)
	if r.Partial {
		r.End = r.now
	}
	r.Book = r.book
	r.Totals = r.book.Close(r.End)
}
