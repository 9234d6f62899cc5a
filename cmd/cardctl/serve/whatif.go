package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

// The limits of simulations.
const (
	mostTrials  = 2                // at once
	trialTime   = 30 * time.Second // of a simulation, with the time until it can begin
	formBytes   = 1 << 20
	mostChanges = 100
	mostRows    = 300 // of each table of a page
)

// bounds limit the objects in a form. A simulation of such objects needs some hundred MiB at most.
var bounds = whatif.Bounds{Pods: engine.Load{Pods: 10_000, Bytes: 32 << 20}, Objects: 1000, Names: 200}

var (
	errBusy   = errors.New("too many simulations run already; try again in a moment")
	errForm   = errors.New("the change cannot be simulated")
	errEmpty  = errors.New("the form has no change: change a queue, remove an object, or add a job")
	errBroken = errors.New("the scheduler cannot simulate this; the log of the server has the cause")
)

// trials bounds the simulations that run at once, and their time. It logs simulations that panic.
type trials struct {
	running chan struct{}
	time    time.Duration // of a simulation, with the time until its first session opens
	log     func(format string, arguments ...any)
}

func newTrials(log func(format string, arguments ...any)) *trials {
	return &trials{running: make(chan struct{}, mostTrials), time: trialTime, log: log}
}

// outcome holds the result of a simulation.
type outcome struct {
	trial *whatif.Trial
	err   error
}

// run runs a simulation, or returns errBusy. When the time is over, or the client is gone, it returns
// the error of the context at once. The simulation ends soon after, and counts as running until then.
func (t *trials) run(
	ctx context.Context, simulate func(context.Context) (*whatif.Trial, error),
) (*whatif.Trial, error) {
	select {
	case t.running <- struct{}{}:
	default:
		return nil, errBusy
	}

	ctx, cancel := context.WithTimeout(ctx, t.time)
	defer cancel()

	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			// A panic in this goroutine would end the server.
			if p := recover(); p != nil {
				t.log("error: a simulation crashed: %v\n%s", p, debug.Stack())
				o.err = errBroken
			}
			<-t.running
			ended <- o
		}()
		o.trial, o.err = simulate(ctx)
	}()

	select {
	case o := <-ended:
		return o.trial, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// change holds the fields of a form.
type change struct {
	Set, Remove []string
	Add         string
	run         string // the name of the simulation
	fill        bool   // the form gets the picked change, and nothing is simulated
	pick        pick
}

// whatIfPage is the content of the view What if.
type whatIfPage struct {
	Set, Remove, Add string
	Error            string
	Warnings         []string
	Result           *trialResult
	Form             formParts
}

// trialResult is the outcome of a simulation as the page shows it.
type trialResult struct {
	Notes      []string
	Queues     []queueChange
	MoreQueues int // that are not shown
	Jobs       []whatif.JobChange
	MoreJobs   int
	Hidden     *Hidden
	Events     []engine.Event
	MoreEvents int
	Patches    []string
	Undo       []string
	Back       bool // objects that it removes or replaces need their manifests to come back
	Placed     int  // pods that have a node with the change only
	Evicted    int
	Changed    int // jobs
}

type queueChange struct {
	whatif.CardChange
	BeforeBar, AfterBar page.Bar
}

// whatIfView shows the form and, for a POST, the outcome.
func whatIfView(q *request) (any, any, error) {
	c := q.change
	if q.changeErr != nil {
		return nil, nil, q.changeErr
	}

	if c.pick.fill == "job" {
		added := strings.TrimRight(c.Add, "\n") + "\n---\n" + q.manifest(c.pick)
		c.Add = strings.TrimLeft(added, "\n-")
	}

	p := &whatIfPage{
		Set:    strings.Join(c.Set, "\n"),
		Remove: strings.Join(c.Remove, "\n"),
		Add:    c.Add,
		Form:   q.formParts(),
	}
	if q.Method != http.MethodPost || c.fill {
		return p, list{Head: document.Of("Comparison")}, nil
	}

	o, err := q.try(c)
	if errors.Is(err, errForm) && !strings.HasSuffix(q.URL.Path, ".json") {
		p.Error = err.Error()
		return p, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}

	events := o.NewEvents() // without names, events are equal
	q.hideEvents(events)
	hidden := q.hide(o.Comparison)
	added := strings.TrimSpace(c.Add) != ""
	p.Warnings = o.Warnings
	p.Result = resultOf(o, events, hidden)
	p.Result.Back = len(c.Remove) > 0 || added && !slices.Contains(o.Undo, whatif.DeleteManifest)
	return p, struct {
		*whatif.Comparison
		Hidden *Hidden `json:"hidden,omitempty"`
	}{o.Comparison, hidden}, nil
}

// try simulates a change with the rights of the viewer.
func (q *request) try(c change) (*whatif.Trial, error) {
	if len(c.Set)+len(c.Remove) == 0 && strings.TrimSpace(c.Add) == "" {
		return nil, fmt.Errorf("%w: %w", errForm, errEmpty)
	}

	trial, err := q.server.trials.run(q.Context(), func(ctx context.Context) (*whatif.Trial, error) {
		// It can outlive the request, so it has rights of its own.
		change := whatif.Change{
			Set:    c.Set,
			Remove: c.Remove,
			Add:    manifests(c.Add),
			Rights: rights{newSeen(ctx)},
		}
		if change.Add != nil {
			if err := bounds.Check(change.Add); err != nil {
				return nil, err
			}
		}

		report, end := q.server.progress.begin(c.run)
		defer end()
		return whatif.Try(ctx, q.Objects, q.Configuration, change, report)
	})

	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it takes longer than %s here; cardctl simulate has no limit", q.server.trials.time)
	}
	if err != nil && !errors.Is(err, errBusy) && !errors.Is(err, errBroken) {
		err = fmt.Errorf("%w: %w", errForm, err)
	}
	return trial, err
}

// manifests reads the text that a user pastes, nil if it is empty.
func manifests(text string) *input.Objects {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return input.Parse("manifest", []byte(text))
}

// readChange reads the form, or the query that fills it.
func readChange(w http.ResponseWriter, r *http.Request) (change, error) {
	form := r.URL.Query()
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, formBytes)
		if err := r.ParseForm(); err != nil {
			return change{}, fmt.Errorf("%w: %w", errForm, err)
		}
		form = r.PostForm
	}

	c := change{
		Set:    lines(form["set"]),
		Remove: lines(form["remove"]),
		Add:    strings.Join(form["add"], "\n---\n"),
		run:    form.Get("run"),
		pick:   picks(form),
	}
	c.pick.into(&c)

	if len(c.Set)+len(c.Remove) > mostChanges {
		return c, fmt.Errorf("%w: %d changes; at most %d are simulated", errForm, len(c.Set)+len(c.Remove), mostChanges)
	}
	return c, nil
}

// lines returns the lines of texts that are not empty.
func lines(texts []string) (all []string) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if text := strings.TrimSpace(line); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

// hide removes jobs that the viewer may not see from a comparison.
func (q *request) hide(c *whatif.Comparison) (hidden *Hidden) {
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j whatif.JobChange) bool {
		if q.seen.namespace(j.Namespace) {
			return false
		}
		if !j.Changed() {
			return true
		}

		pods := 0
		if j.After != nil {
			pods = j.After.Pods.Waiting
		}
		hidden = hidden.with(pods)
		return true
	})

	for i := range c.Jobs {
		for _, f := range []**explain.Finding{&c.Jobs[i].Before, &c.Jobs[i].After} {
			if *f != nil {
				visible := q.seen.job(**f)
				*f = &visible
			}
		}
	}
	q.hideOutcome(c.Before)
	q.hideOutcome(c.After)
	return hidden
}

// hideOutcome removes the names that the viewer may not see from an outcome.
func (q *request) hideOutcome(o *whatif.Outcome) {
	o.Findings = q.seen.jobs(o.Findings)
	o.Stock = q.seen.stock(o.Stock)
	q.hideEvents(o.Events)
}

// hideEvents removes such names from events.
func (q *request) hideEvents(events []engine.Event) {
	for i := range events {
		e := &events[i]
		e.Node = q.seen.node(e.Node)
		if e.For != nil {
			e.For = &q.seen.takers([]engine.Taker{*e.For})[0]
		}
		if namespace, _, _ := strings.Cut(e.Group, "/"); !q.seen.namespace(namespace) {
			e.Group = hiddenName
			e.Owner = hiddenName
			e.Pod = ""
		}
	}
}

// resultOf returns the differences of a comparison for the page. events are the new ones.
func resultOf(o *whatif.Trial, events []engine.Event, hidden *Hidden) *trialResult {
	c := o.Comparison
	r := &trialResult{Hidden: hidden, Patches: o.Patches, Undo: o.Undo}
	if c.Before.Evicts() {
		r.Notes = append(r.Notes, "Before: the next cycles evict pods, also without the changes.")
	}
	if !c.Before.Settled {
		r.Notes = append(r.Notes,
			"Before: the cluster does not settle: pods keep evicting each other. The page shows the last cycle.")
	}
	if !c.After.Settled {
		r.Notes = append(r.Notes,
			"After: the cluster does not settle: pods keep evicting each other. The page shows the last cycle.")
	}

	scales := map[string]float64{} // by card
	for _, q := range c.Queues {
		scales[q.Card] = max(scales[q.Card], q.Before, q.After, ptr.Deref(q.BeforeQuota, 0),
			ptr.Deref(q.AfterQuota, 0))
	}
	for _, q := range c.Queues {
		if q.Changed() {
			before := changeBar(q, q.Before, q.BeforeQuota, scales[q.Card])
			after := changeBar(q, q.After, q.AfterQuota, scales[q.Card])
			r.Queues = append(r.Queues, queueChange{q, before, after})
		}
	}

	for _, j := range c.Jobs {
		if j.Changed() {
			r.Jobs = append(r.Jobs, j)
		}
	}

	for _, e := range events {
		r.Placed += bit(e.Kind == engine.Placed)
		r.Evicted += bit(e.Kind == engine.Evicted)
	}

	r.Changed = len(r.Jobs)
	r.Queues, r.MoreQueues = firstRows(r.Queues)
	r.Jobs, r.MoreJobs = firstRows(r.Jobs)
	r.Events, r.MoreEvents = firstRows(events)
	return r
}

// firstRows returns the rows of a table that a page shows, and the number of other rows.
func firstRows[T any](all []T) (shown []T, more int) {
	shown = all[:min(len(all), mostRows)]
	return shown, len(all) - len(shown)
}

// changeBar returns the bar of a card before or after.
func changeBar(c whatif.CardChange, allocated float64, quota *float64, scale float64) page.Bar {
	q := queues.Queue{Queue: c.Queue}
	h := queues.Holding{Resource: c.Card, Card: true, Allocated: allocated, Capability: quota}
	return barOf(queues.Row{Queue: &q, Holding: h}, 0, scale)
}

func whatIfCommand(q *request) []string {
	c := q.change
	words := []string{"simulate"}
	for _, s := range c.Set {
		words = append(words, "--set", s)
	}
	for _, r := range c.Remove {
		words = append(words, "--remove", r)
	}
	if strings.TrimSpace(c.Add) != "" {
		words = append(words, "--add", "manifest.yaml")
	}

	return words
}
