package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Cause is the reason why some jobs wait: a resource that one queue lacks, or a rule that refuses them.
type Cause struct {
	Rule      report.Rule `json:"rule"`
	Level     string      `json:"level,omitempty"`     // the queue that refuses, "" for none
	Resource  string      `json:"resource,omitempty"`  // that it lacks
	Namespace string      `json:"namespace,omitempty"` // that has as much as the queue allows
	// Holder has as much as the queue allows. It is not a namespace.
	Holder  report.Holder `json:"holder,omitzero"`
	Against string        `json:"against,omitempty"` // the name of the bound, such as max-jobs
	Bound   *float64      `json:"bound,omitempty"`   // nil where each card of a list has its own
	Holds   []Hold        `json:"holds,omitempty"`
	Least   float64       `json:"least,omitempty"` // of the resource: the least that a job lacks
	Most    float64       `json:"most,omitempty"`
	Pods    int           `json:"pods"` // that wait
	Oldest  *time.Time    `json:"oldest,omitempty"`
	Jobs    []*explain.Finding
	Hidden  int // jobs that the viewer may not see by name
}

// Hold names a policy that keeps waiting jobs back in addition to the cause.
type Hold struct {
	Rule report.Rule `json:"rule"`
	// Policy is the one in force; nil for an argument that holds in all queues.
	Policy *queues.Policy `json:"policy,omitempty"`
	Pods   int            `json:"pods,omitempty"` // that it spares
}

// The rules that stand for policies that hold a job back, and for jobs that nothing refuses.
const (
	TimedOut report.Rule = "InqueueTimeout" // it was Inqueue for too long: nothing is reserved for it
	Fenced   report.Rule = "ReclaimFence"   // pods that it could reclaim are behind a fence, or it is
	TooYoung report.Rule = "MinRuntime"     // they have run for too short
	Budgeted report.Rule = "EvictionBudget" // a budget of evictions is used up

	// Startable stands for the rule of jobs that nothing refuses.
	Startable report.Rule = "Startable"
)

// Causes groups jobs that wait by cause. Causes with the most jobs come first, jobs that nothing refuses come last.
// nameOf returns the name that is shown for a namespace. It also replaces the name of a queue that does not exist,
// because only the job has that name.
func (m *Model) Causes(jobs []explain.Finding, nameOf func(namespace string) string) []*Cause {
	var all []*Cause
	byKey := map[string]*Cause{}
	holds := map[string][]Hold{} // by the text of held

	for i := range jobs {
		f := &jobs[i]
		cause, lacks := causeOf(f, nameOf(f.Namespace))
		if by, is := heldOf(f); is {
			key := fmt.Sprint(by)
			if _, known := holds[key]; !known {
				holds[key] = m.holds(by)
			}
			cause.Holds = holds[key]
		}

		key := cause.Key()
		c := byKey[key]
		if c == nil {
			c = cause
			c.Least = lacks
			byKey[key] = c
			all = append(all, c)
		}
		c.add(f, lacks)
	}

	slices.SortStableFunc(all, compareCauses)
	return all
}

// causeOf returns the cause of one job, without its policies, and the amount that the job lacks. shown is the name
// that is shown for its namespace.
func causeOf(f *explain.Finding, shown string) (c *Cause, lacks float64) {
	c = &Cause{Rule: cmp.Or(f.Rule, Startable), Level: f.Level}
	c.Resource, c.Against, lacks, c.Bound = shortOf(f)
	switch {
	case f.Rule == report.OverNamespace:
		c.Namespace = shown
	case f.Rule == report.OverHolder:
		c.Holder = f.Reason.Holder
		if shown != f.Namespace {
			c.Holder.Value = shown
		}
	case f.Rule == report.UnknownQueue && shown != f.Namespace:
		c.Level = shown
	}
	return c, lacks
}

// add adds a job that lacks an amount.
func (c *Cause) add(f *explain.Finding, lacks float64) {
	c.Jobs = append(c.Jobs, f)
	c.Least = min(c.Least, lacks)
	c.Most = max(c.Most, lacks)
	c.Pods += f.Pods.Waiting
	if f.Since != nil && (c.Oldest == nil || f.Since.Time.Before(*c.Oldest)) {
		c.Oldest = &f.Since.Time
	}
}

func compareCauses(a, b *Cause) int {
	if (a.Rule == Startable) != (b.Rule == Startable) {
		return map[bool]int{true: 1, false: -1}[a.Rule == Startable]
	}
	return cmp.Or(
		cmp.Compare(len(b.Jobs), len(a.Jobs)),
		cmp.Compare(a.Level, b.Level),
		cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Holder.Key, b.Holder.Key),
		cmp.Compare(a.Holder.Value, b.Holder.Value),
		cmp.Compare(a.Against, b.Against),
	)
}

// held has the policies that hold a job.
type held struct {
	queue     string // of the job
	noReclaim report.Rule
	timedOut  bool
	spared    []explain.Spared
}

// heldOf returns the policies that hold a job, and whether there are any.
func heldOf(f *explain.Finding) (h held, is bool) {
	h = held{queue: f.Queue, timedOut: f.TimedOut}
	if f.Claim == nil {
		return h, f.TimedOut
	}

	if refused := f.Claim.Refused; refused != nil && slices.Contains(policies, refused.Rule) {
		h.noReclaim = refused.Rule
	}
	for _, s := range f.Claim.Spared {
		if key, is := s.Policy(); is && sparing[key] != "" {
			h.spared = append(h.spared, s)
		}
	}
	return h, f.TimedOut || h.noReclaim != "" || len(h.spared) > 0
}

// policies are the rules of policies by which a queue takes nothing from others.
var policies = []report.Rule{report.TrainingJob, report.ReclaimDelayed, report.ReclaimBudgetUsed}

// sparing are the rules that spare pods, by policy.
var sparing = map[policy.Key]report.Rule{
	policy.ReclaimFence:   Fenced,
	policy.MinRuntime:     TooYoung,
	policy.EvictionBudget: Budgeted,
	policy.ReclaimBudget:  report.ReclaimBudgetUsed,
}

// holds finds the policies, with their values and the queues that set them.
func (m *Model) holds(h held) (all []Hold) {
	switch h.noReclaim {
	case "":
	case report.ReclaimDelayed:
		all = append(all, Hold{Rule: h.noReclaim, Policy: m.policyOf(h.queue, policy.ReclaimDelay)})
	case report.ReclaimBudgetUsed:
		all = append(all, Hold{Rule: h.noReclaim, Policy: m.policyOf(h.queue, policy.ReclaimBudget)})
	default:
		all = append(all, Hold{Rule: h.noReclaim})
	}

	for _, s := range h.spared {
		key, _ := s.Policy()
		all = append(all, Hold{Rule: sparing[key], Policy: m.policyOf(s.Queue, key), Pods: s.Pods})
	}

	if h.timedOut {
		timeout := m.policyOf(h.queue, policy.InqueueTimeout)
		all = append(all, Hold{Rule: TimedOut, Policy: timeout})
	}
	return all
}

// policyOf returns the policy of a key that holds in a queue, nil for none.
func (m *Model) policyOf(queue string, key policy.Key) *queues.Policy {
	q := m.Queue(queue)
	if q == nil {
		return nil
	}

	for i := range q.Policies {
		if q.Policies[i].Key == key {
			return &q.Policies[i]
		}
	}
	return nil
}

// Key identifies a cause among the causes of one model.
func (c *Cause) Key() string {
	key := []string{string(c.Rule), c.Level, c.Resource, cmp.Or(c.Namespace, c.Holder.Key), c.Against}
	if c.Holder.Key != "" {
		key = append(key, c.Holder.Value)
	}

	for _, h := range c.Holds {
		key = append(key, string(h.Rule))
		if h.Policy != nil {
			key = append(key, h.Policy.Queue, h.Policy.Value)
		}
	}

	return strings.TrimRight(strings.Join(key, "|"), "|")
}

// shortOf returns the resource that a job lacks, the name of the bound that refuses the job, the missing amount, and
// the bound. For a list of cards the amount is the smallest one, because one card is enough.
func shortOf(f *explain.Finding) (resource, against string, lacks float64, bound *float64) {
	if f.Reason == nil || len(f.Reason.Shortages) == 0 {
		return "", "", 0, nil
	}

	s := f.Reason.Shortages
	resource = s[0].Resource
	against = s[0].Against
	lacks = s[0].Total - s[0].Bound
	bound = &s[0].Bound

	if len(s) > 1 && f.Reason.Cards != "" {
		resource = f.Reason.Cards
		bound = nil
		for _, other := range s[1:] {
			lacks = min(lacks, other.Total-other.Bound)
		}
	}
	return resource, against, lacks, bound
}
