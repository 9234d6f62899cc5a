package preflight

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
)

// JobChange is a job that gets further, or less far, after the change: both schedulers run on a copy of the cluster
// until nothing changes, and no pod ends.
type JobChange struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner"`
	Queue     string `json:"queue"`
	Present   Place  `json:"present"` // with the present scheduler
	Next      Place  `json:"next"`    // after the change
	// Why is the reason why the job waits after the change, "" for none.
	Why string `json:"why,omitempty"`
}

// Place is the stage that a job reaches.
type Place struct {
	Admitted bool `json:"admitted"` // its PodGroup is not Pending
	Running  int  `json:"running"`  // pods on nodes
	Waiting  int  `json:"waiting"`  // pods without a node
}

// String returns a few words, such as Running 2, Waiting 1.
func (p Place) String() string {
	switch {
	case !p.Admitted:
		return "not admitted"
	case p.Running+p.Waiting == 0: // before its controller creates its pods
		return "admitted"
	case p.Waiting == 0:
		return fmt.Sprintf("%d run", p.Running)
	case p.Running == 0:
		return fmt.Sprintf("%d wait", p.Waiting)
	}
	return fmt.Sprintf("%d run, %d wait", p.Running, p.Waiting)
}

// String returns the job and what changes.
func (j JobChange) String() string {
	text := fmt.Sprintf("%s/%s of %s: present: %s; next: %s", j.Namespace, j.Owner, j.Queue, j.Present, j.Next)
	if j.Why != "" {
		text += "; " + j.Why
	}
	return text
}

// Eviction is a pod that is evicted in one of the first cycles after the change.
type Eviction struct {
	engine.Event
	Also bool `json:"also"` // the present scheduler evicts it, too
}

// String returns the pod, its queue and its node.
func (e Eviction) String() string {
	text := fmt.Sprintf("cycle %d: %s of %s, %s of queue %s", e.Cycle, e.Pod, e.Node, e.Owner, e.Queue)
	if e.Also {
		text += ", also by the present scheduler"
	}
	return text
}

// checkDecisions runs the present cluster under both configurations.
func (s *Subject) checkDecisions(ctx context.Context, now, next *engine.Configuration) ([]Check, error) {
	lack := s.ObjectsLack
	switch {
	case lack == "" && now == nil:
		lack = "the present configuration is not known"
	case lack == "" && next == nil:
		lack = "the next configuration is not known"
	}
	if lack != "" {
		return []Check{unknown("queues", lack), unknown("jobs", lack), unknown("evictions", lack)}, nil
	}

	queues, err := s.checkQueues(ctx, now, next)
	if err != nil {
		return nil, err
	}

	jobs, evictions, err := s.checkJobs(ctx, now, next)
	if err != nil {
		return nil, err
	}
	return []Check{queues, jobs, evictions}, nil
}

// checkJobs runs both schedulers until nothing changes, and compares the jobs and the evictions.
func (s *Subject) checkJobs(ctx context.Context, now, next *engine.Configuration) (jobs, evictions Check, err error) {
	before, err := s.settle(ctx, now)
	if err != nil {
		return jobs, evictions, err
	}
	after, err := s.settle(ctx, next)
	if err != nil {
		return jobs, evictions, err
	}

	// The explanation admits more jobs in its world, so the places are read first.
	then := places(after.world)
	findings, err := explain.Jobs(ctx, after.world, next, explain.Options{})
	if err != nil {
		return jobs, evictions, err
	}

	jobs = compareJobs(before.world, then, findings)
	jobs.noteUnsettled("present", before)
	jobs.noteUnsettled("next", after)
	return jobs, compareEvictions(before.events, after.events), nil
}

// noteUnsettled adds that nothing has settled: the jobs are as an arbitrary cycle left them.
func (c *Check) noteUnsettled(name string, o outcome) {
	if !o.settled {
		c.worse(Note)
		c.Message += fmt.Sprintf("; with the %s scheduler, pods keep evicting each other", name)
	}
}

// outcome is the state of the cluster after a scheduler has run, and the events until then.
type outcome struct {
	world   *engine.World
	events  []engine.Event
	settled bool // nothing changes any more
}

// settle runs a scheduler on a copy of the cluster until nothing changes.
func (s *Subject) settle(ctx context.Context, c *engine.Configuration) (outcome, error) {
	world, err := engine.Build(s.Objects.Clone())
	if err != nil {
		return outcome{}, err
	}
	events, settled, err := engine.Settle(ctx, world, c, nil)
	return outcome{world, events, settled}, err
}

// places returns how far each job gets, by its PodGroup.
func places(w *engine.World) map[string]Place {
	all := map[string]Place{}
	for _, g := range w.Groups {
		p := Place{Admitted: g.Status.Phase != scheduling.PodGroupPending}
		for _, pod := range slices.Concat(g.Pods, g.Coming) {
			switch {
			case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
			case pod.Spec.NodeName != "":
				p.Running++
			default:
				p.Waiting++
			}
		}
		all[string(g.ID())] = p
	}
	return all
}

// compareJobs returns the jobs that get further, or less far.
func compareJobs(before *engine.World, then map[string]Place, findings []explain.Finding) Check {
	why := map[string]string{}
	for _, f := range findings {
		if f.State == explain.Waiting {
			why[types.NamespacedName{Namespace: f.Namespace, Name: f.Name}.String()] = f.Message
		}
	}

	c := Check{Name: "jobs", Result: OK, Message: "all jobs run as many pods as with the present scheduler"}

	now := places(before)
	var refused, admitted int
	for _, g := range before.Groups {
		id := string(g.ID())
		change := JobChange{
			Namespace: g.Namespace, Owner: g.Owner, Queue: g.Spec.Queue,
			Present: now[id], Next: then[id], Why: why[id],
		}
		switch {
		case change.Present == change.Next:
			continue
		case change.Next.less(change.Present):
			refused++
		default:
			admitted++
		}
		c.Details = append(c.Details, change)
	}

	if len(c.Details) > 0 {
		c.Result = Note
		c.Message = fmt.Sprintf("jobs with fewer pods or no admission with the next scheduler: %d; "+
			"with more pods or an admission: %d", refused, admitted)
	}
	if refused > 0 {
		c.Do = []string{"cardctl explain --scheduler-conf volcano-scheduler.conf    # the next configuration"}
	}
	return c
}

// less reports whether a job gets less far than at another place.
func (p Place) less(other Place) bool {
	if p.Running != other.Running {
		return p.Running < other.Running
	}
	return !p.Admitted && other.Admitted
}

// compareEvictions returns the evictions after the change, in the order of the cycles.
func compareEvictions(now, then []engine.Event) Check {
	present := map[string]bool{}
	for _, e := range now {
		if e.Kind == engine.Evicted {
			present[e.Group+"/"+e.Pod] = true
		}
	}

	c := Check{Name: "evictions", Result: OK, Message: "no pod is evicted at first"}
	added := 0
	for _, e := range then {
		if e.Kind != engine.Evicted {
			continue
		}
		also := present[e.Group+"/"+e.Pod]
		if !also {
			added++
		}
		c.Details = append(c.Details, Eviction{e, also})
	}

	if len(c.Details) > 0 {
		c.Message = fmt.Sprintf("%d pods are evicted at first, %d of them not by the present scheduler",
			len(c.Details), added)
	}
	if added > 0 {
		c.Result = Note
		c.Do = []string{"no eviction at first: remove reclaim and preempt from actions, and add them later"}
	}
	return c
}
