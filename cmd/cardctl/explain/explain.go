package explain

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint/joborder"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// explainer explains the jobs of one session.
type explainer struct {
	*engine.Session
	groups   map[api.JobID]*engine.Group
	accounts map[string]inspect.Account
	children map[string][]string // leaves below a queue
	held     map[held]Holders    // what holders has found
	// unfit keeps why no node fits the first pod of a job, by what the pod requests:
	// jobs are tried one at a time, each on the same cluster.
	unfit  map[string][]Nodes
	places map[api.JobID]int  // of the jobs that wait, in the order of their queue
	last   int                // the position of the last node that a pod fit on
	unused map[string]float64 // of free; nil until it is called
	// cardsBy are the results of models; nil until it is called.
	cardsBy map[v1.ResourceName][]string
	// What spared finds: the pods that queues borrow cards for, nil until they are counted, and
	// the results by queue and cards.
	lent       map[lent]lentPods
	sparedFrom map[string][]Spared
	// displaced are the jobs that the next enqueue action does not admit any more.
	displaced map[api.JobID]bool
	// pasts and beside hold what queues have had, and the queues that wait beside them; nil until they are asked for.
	pasts  map[string]inspect.Past
	beside map[string][]inspect.Rival
}

// Options select what to explain.
type Options struct {
	// Wanted selects jobs; nil selects all.
	Wanted func(*Finding) bool
	// Reclaimers adds the jobs that can reclaim a running job.
	Reclaimers bool
	Progress   func(done, all int)
}

// Jobs explains jobs, in the order of their names, or returns the error of ctx. It changes the
// world: the jobs that its next enqueue action admits get their pods.
func Jobs(ctx context.Context, w *engine.World, c *engine.Configuration, o Options) ([]Finding, error) {
	s, displaced, err := enqueue(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	x := newExplainer(s, w)
	x.displaced = displaced
	var findings []Finding
	for i, g := range w.Groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := x.begin(g)
		if o.Wanted != nil && !o.Wanted(&f) {
			continue
		}
		x.explain(&f, s.Jobs[g.ID()])
		if o.Reclaimers && f.Pods.Placed > 0 {
			x.reclaimers(&f, s.Jobs[g.ID()])
		}
		findings = append(findings, f)
		if o.Progress != nil {
			o.Progress(i+1, len(w.Groups))
		}
	}
	return findings, nil
}

// WaitingIn returns the queue of each job that waits: of those for which Waits is true in the findings of Jobs. It
// tries no pod on a node, so that it costs little, and it changes the world as Jobs does.
func WaitingIn(ctx context.Context, w *engine.World, c *engine.Configuration) (queues []string, err error) {
	s, _, err := enqueue(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	x := &explainer{Session: s}
	for _, g := range w.Groups {
		if f := x.begin(g); f.State == Waiting {
			queues = append(queues, f.Queue)
		}
	}
	return queues, nil
}

// enqueue runs the next enqueue action. It returns a session after it, with the pods that have
// come, and the jobs that are not admitted any more.
func enqueue(ctx context.Context, w *engine.World, c *engine.Configuration) (*engine.Session, map[api.JobID]bool, error) {
	s, err := engine.Open(ctx, w, c)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Run("enqueue"); err != nil {
		s.Close()
		return nil, nil, err
	}
	displaced := map[api.JobID]bool{}
	for _, g := range w.Groups {
		if job := s.Jobs[g.ID()]; job != nil && g.Status.Phase == scheduling.PodGroupInqueue {
			displaced[g.ID()] = job.PodGroup.Status.Phase == scheduling.PodGroupPending
		}
	}
	if w.Follow(s) {
		s.Close()
		s, err = engine.Open(ctx, w, c)
	}
	return s, displaced, err
}

func newExplainer(s *engine.Session, w *engine.World) *explainer {
	x := &explainer{
		Session: s, groups: map[api.JobID]*engine.Group{}, accounts: map[string]inspect.Account{}, children: map[string][]string{},
		held: map[held]Holders{}, unfit: map[string][]Nodes{}, sparedFrom: map[string][]Spared{},
	}
	for _, g := range w.Groups {
		x.groups[g.ID()] = g
	}
	for _, a := range s.Quota.Accounts() {
		x.accounts[a.Queue] = a
	}
	for name, a := range x.accounts {
		if a.Leaf {
			for p := range index.Upward(a.Parent, func(name string) string { return x.accounts[name].Parent }) {
				x.children[p] = append(x.children[p], name)
			}
		}
	}
	for _, leaves := range x.children {
		slices.Sort(leaves)
	}
	x.places = places(s)
	return x
}

// places orders the jobs of each queue that wait.
func places(s *engine.Session) map[api.JobID]int {
	waiting := map[api.QueueID][]*api.JobInfo{}
	for _, job := range s.Jobs {
		if job.IsPending() || len(job.TaskStatusIndex[api.Pending]) > 0 {
			waiting[job.Queue] = append(waiting[job.Queue], job)
		}
	}
	all := map[api.JobID]int{}
	for _, jobs := range waiting {
		sort.Slice(jobs, func(i, j int) bool { return s.JobOrderFn(jobs[i], jobs[j]) })
		for i, job := range jobs {
			all[job.UID] = i + 1
		}
	}
	return all
}

// ownerOf is the namespace and the owner of a job of the session.
func (e *explainer) ownerOf(id api.JobID) string {
	return e.groups[id].Namespace + "/" + e.groups[id].Owner
}

// begin counts the pods of a job.
func (e *explainer) begin(g *engine.Group) Finding {
	if g.Over() {
		return Finding{
			Namespace: g.Namespace, Name: g.Name, Owner: g.Owner, Queue: g.Spec.Queue, Phase: string(g.Status.Phase), Ended: g.Ended,
			State: Finished, Pods: Pods{Total: len(g.Pods), Minimum: int(g.Spec.MinMember)},
		}
	}
	job := e.Session.Jobs[g.ID()]
	f := Finding{
		Namespace: g.Namespace, Name: g.Name, Owner: g.Owner, Queue: string(job.Queue), Phase: string(job.PodGroup.Status.Phase), Ended: g.Ended,
		Pods: Pods{Total: len(job.Tasks) + len(g.Coming), Minimum: int(job.MinAvailable), Waiting: len(g.Coming)},
	}
	finished := 0
	for status, tasks := range job.TaskStatusIndex {
		switch {
		case status == api.Pending:
			f.Pods.Waiting += len(tasks)
		case api.AllocatedStatus(status) || status == api.Releasing:
			f.Pods.Placed += len(tasks)
		case status == api.Succeeded || status == api.Failed:
			finished += len(tasks)
		}
	}
	switch {
	case job.PodGroup.Status.Phase == scheduling.PodGroupCompleted:
		f.State = Finished
	case job.PodGroup.Status.Phase == scheduling.PodGroupPending && conf.EnabledActionMap["enqueue"], f.Pods.Waiting > 0:
		f.State = Waiting
	case f.Pods.Total == 0:
		f.State = Startable // such as a Deployment without replicas
	case finished == f.Pods.Total:
		f.State = Finished
	default:
		f.State = Running
	}
	return f
}

// explain finds the reason why a job waits.
func (e *explainer) explain(f *Finding, job *api.JobInfo) {
	if f.State != Waiting {
		return
	}
	f.Since = e.created(job)
	f.Place = e.places[job.UID]
	f.Cards = e.cardsOf(job)
	var refused []*report.Reason
	switch {
	case e.Session.Queues[job.Queue] == nil:
		f.Stage = Enqueue
		e.refuse(f, &report.Reason{Rule: report.UnknownQueue, Queue: string(job.Queue)})
		f.Message = fmt.Sprintf("Queue <%s> does not exist", job.Queue)
	case job.IsPending() && conf.EnabledActionMap["enqueue"]:
		f.Stage = Enqueue
		if why := e.Quota.Enqueue(job); why != nil {
			e.refuse(f, why)
		} else {
			e.refuseOther(f, "enqueue", "overcommit", "proportion", "capacity")
		}
	default:
		refused = e.tryToPlace(f, job)
	}
	if f.Rule == "" {
		f.State, f.Stage = Startable, ""
	}
	f.Behind = e.behind(f, job)
	if f.Reason != nil && f.Rule == report.OverQuota {
		f.Bounds = e.bounds(f, job, refused)
	}
	f.Advice = e.advise(f)
	if f.Stage == Allocate && f.Rule == report.OverQuota && e.tooLarge(e.waiting(job)[0]) {
		f.Advice = slices.Insert(f.Advice, 0, largeAdvice)
	}
	if f.Stage == Node || f.Stage == Allocate {
		e.explainReclaim(f, job)
	}
	e.explainWindows(f)
	if e.displaced[job.UID] {
		f.Advice = append(f.Advice, "a job of its queue with a higher priority is admitted in its place (displacePromises)")
	}
	f.TimedOut = reserve.PromiseOf(job).Over && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue
	if f.TimedOut {
		f.Advice = append(f.Advice,
			"its minimum is not reserved any more, since it was Inqueue for too long ("+policy.InqueueTimeoutKey+"): other jobs may go first")
	}
}

// bounds returns all bounds that refuse a job: those of its queue and of all queues above, for all
// pods that it lacks to start. refused are the reasons of its pods of other kinds than the first one
// that is refused. It is nil where several cards would do, since then no sum is one bound's.
func (e *explainer) bounds(f *Finding, job *api.JobInfo, refused []*report.Reason) (all []report.Shortage) {
	var short []report.Shortage
	for _, why := range append([]*report.Reason{f.Reason}, refused...) {
		if strings.Contains(why.Cards, "|") {
			return nil
		}
		short = append(short, why.Shortages...)
	}
	for _, s := range short {
		requested := s.Requested
		if f.Stage == Allocate {
			requested = max(requested, e.lacking(f, job, s))
		}
		for _, level := range e.Quota.Levels(f.Queue, s.Resource, requested, f.Stage == Enqueue) {
			if !slices.ContainsFunc(all, func(s report.Shortage) bool { return s.Queue == level.Queue && s.Resource == level.Resource }) {
				all = append(all, level)
			}
		}
	}
	return all
}

// lacks returns how many pods a job lacks to start, or 1 for the next pod of a job that runs.
func lacks(f *Finding) int { return max(1, f.Pods.Minimum-f.Pods.Placed) }

// lacking returns what the pods that a job lacks to start request of what is short.
func (e *explainer) lacking(f *Finding, job *api.JobInfo, s report.Shortage) (total float64) {
	for _, task := range first(e.waiting(job), lacks(f)) {
		total += e.requestOf(task, s.Resource)
	}
	return total
}

// cardsOf returns the cards that the pending pods of a job name, or that their resource claims admit, or those of its
// annotation card.request before it has pods.
func (e *explainer) cardsOf(job *api.JobInfo) card.List {
	var names card.List
	for _, task := range job.TaskStatusIndex[api.Pending] {
		names = append(names, card.NameOf(task.Pod.Annotations)...)
		for _, r := range e.Quota.Claimed(task) {
			names = append(names, card.ParseList(r.Card)...)
		}
	}
	if len(job.Tasks) == 0 && job.PodGroup != nil {
		requests, _ := card.ParseRequest(job.PodGroup.Annotations[card.RequestKey])
		for _, r := range requests {
			names = append(names, r.List...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// created returns the creation time of a job, nil for a manifest.
func (e *explainer) created(job *api.JobInfo) *metav1.Time {
	if g := e.groups[job.UID]; !g.CreationTimestamp.IsZero() {
		return &g.CreationTimestamp
	}
	return nil
}

// refuse records a refusal of the quota plugin.
func (e *explainer) refuse(f *Finding, why *report.Reason) {
	f.Rule = why.Rule
	f.Reason = why
	f.Message = why.In(format.Gi)
	f.Level = why.Queue
	if len(why.Shortages) > 0 {
		f.Level = why.Shortages[0].Queue
	}
}

// refuseOther records a refusal of another plugin.
func (e *explainer) refuseOther(f *Finding, what string, candidates ...string) {
	f.Rule, f.Level = OtherPlugin, ""
	var has []string
	for _, name := range candidates {
		if name != e.Plugin && e.Has(name) {
			has = append(has, name)
		}
	}
	f.Message = fmt.Sprintf("The quota allows it, but another plugin refuses to %s it", what)
	if len(has) > 0 {
		f.Message += " (" + strings.Join(has, ", ") + ")"
	}
}

// Alone returns the findings on jobs that cannot run even alone on the empty cluster, or the
// error of ctx. It takes all pods of the world off their nodes.
func Alone(ctx context.Context, w *engine.World, c *engine.Configuration) ([]Finding, error) {
	w.Vacate()
	for _, g := range w.Groups { // each waits as if it were alone
		joborder.HoldsNobody(g.PodGroup)
	}
	s, err := engine.Open(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	x := newExplainer(s, w)
	var findings []Finding
	for _, g := range w.Groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, job := x.begin(g), s.Jobs[g.ID()]
		f.State = Waiting
		x.explain(&f, job)
		if f.Rule == OtherPlugin && f.Stage == Enqueue { // the quota plugin admits it
			f.Rule, f.Message = "", ""
			_ = x.tryToPlace(&f, job)
		}
		if f.Rule != "" && f.Rule != NotEnoughPods && f.Rule != Gated && f.Pods.Fit < max(1, f.Pods.Minimum) {
			findings = append(findings, f)
		}
	}
	return findings, nil
}
