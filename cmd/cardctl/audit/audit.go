// Package audit finds unused quotas, idle guarantees, and queues that only borrow. It also finds deserved amounts and
// guarantees that add up to more than there is, groups of cards that overlap, and policies that never apply.
//
// # Usage in the past
//
// The scheduler's record of usage over time (package quota/usage) has one number for a queue and a card: an average in
// which a moment counts half as much as one that is a half-life later. It is an upper bound for the average of the
// queue in the last days, for the time that the record covers. An audit concludes nothing else from it: not when a card
// was used, and not how many at a time. Without a record, an audit does not find unused quotas, and it finds only
// guarantees that idle now and queues that borrow now.
package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// Check is the kind of a finding.
type Check string

// The kinds, in the order of reports.
const (
	UnusedQuota       Check = "UnusedQuota"
	IdleGuarantee     Check = "IdleGuarantee"
	OnlyBorrows       Check = "OnlyBorrows"
	Sums              Check = "Sums"
	OverlappingGroups Check = "OverlappingGroups"
	NeverApplies      Check = "NeverApplies"
)

// Checks are all kinds, in the order of reports.
var Checks = []Check{UnusedQuota, IdleGuarantee, OnlyBorrows, Sums, OverlappingGroups, NeverApplies}

// Basis is the source of a finding.
type Basis string

// The bases of findings.
const (
	Record        Basis = "record"        // the scheduler's record of usage over time
	Now           Basis = "now"           // the current usage
	Configuration Basis = "configuration" // of the scheduler and the queues
)

// Finding is one finding.
type Finding struct {
	Check    Check  `json:"check"`
	Queue    string `json:"queue,omitempty"`
	Resource string `json:"resource,omitempty"` // a card, a group of cards, or another resource
	Field    string `json:"field,omitempty"`    // of the Queue, for an issue of validate
	Basis    Basis  `json:"basis"`
	// Amount is a quota, a guarantee or a sum; nil for a finding without an amount. Used is the used part of it: the
	// upper bound for the average in the last days, or the current usage. For a sum, Used is the bound that it exceeds.
	Amount  *float64 `json:"amount,omitempty"`
	Used    *float64 `json:"used,omitempty"`
	Message string   `json:"message"`

	// Format and Arguments make the message in another language. They are empty for an issue of validate.
	Format    string `json:"-"`
	Arguments []any  `json:"-"`
}

// Report is the result of an audit.
type Report struct {
	document.Head
	Days int `json:"days"` // the number of the last days that count
	// HalfLife and Saved describe the record of usage. Without a usable record, Lacks states the reason.
	HalfLife *metav1.Duration `json:"halfLife,omitempty"`
	Saved    *metav1.Time     `json:"saved,omitempty"`
	Lacks    string           `json:"lacks,omitempty"`
	// Judged is the number of quotas and guarantees with a known usage in these days. Short is the number with a record
	// that covers less time, and Covered is the longest time among them.
	Judged  int              `json:"judged"`
	Short   int              `json:"short,omitempty"`
	Covered *metav1.Duration `json:"covered,omitempty"`
	Items   []Finding        `json:"items"`
}

// The bounds of the number of days that count.
const (
	DefaultDays = 7
	MostDays    = 366
)

// auditor collects findings.
type auditor struct {
	report  *Report
	span    time.Duration // the time that counts
	half    time.Duration // the half-life, 0 without a record
	covered time.Duration // the longest time of a record that is too short
	queues  []*queue
	byName  map[string]*queue
}

// queue is a queue with its place in the tree.
type queue struct {
	*queues.Queue
	name  string
	own   *policy.Values // the policies that the queue itself sets
	above []*queue       // the ancestors, from the parent up
	leaf  bool
}

// Run audits the queues of a session. checks are the findings of validate on the same objects. days is above 0.
func Run(all []queues.Queue, checks *validate.Result, c *engine.Configuration, days int) *Report {
	a := &auditor{
		report: &Report{Head: document.Of("Audit"), Days: days, Items: []Finding{}},
		span:   time.Duration(days) * 24 * time.Hour,
	}
	a.readQueues(all)
	a.readRecord(c)

	// This is the order of Checks.
	a.unusedQuotas()
	a.eachLeaf(a.idleGuarantee)
	a.eachLeaf(a.onlyBorrows)
	a.takeOver(Sums, validate.Sums, checks)
	a.overlaps(checks)
	a.neverApplies(checks, c)

	if a.report.Short > 0 {
		a.report.Covered = &metav1.Duration{Duration: a.covered.Truncate(time.Minute)}
	}
	return a.report
}

// readQueues builds the tree of the queues.
func (a *auditor) readQueues(all []queues.Queue) {
	a.byName = map[string]*queue{}
	for i := range all {
		q := &queue{Queue: &all[i], name: all[i].Queue, own: ownValues(&all[i]), leaf: true}
		a.queues = append(a.queues, q)
		a.byName[q.name] = q
	}

	for _, q := range a.queues {
		// Parents can form a cycle.
		for p := a.byName[q.Parent]; p != nil && !slices.Contains(q.above, p); p = a.byName[p.Parent] {
			q.above = append(q.above, p)
			p.leaf = false
		}
	}
}

// noValues are the values of a queue without policies.
var noValues policy.Values

// ownValues returns the policies that a queue itself sets.
func ownValues(q *queues.Queue) *policy.Values {
	own := map[string]string{}
	for _, p := range q.Policies {
		if p.Queue == q.Queue {
			own[p.Policy] = strings.TrimPrefix(own[p.Policy]+","+p.Value, ",")
		}
	}
	if len(own) == 0 {
		return &noValues
	}

	values, _ := policy.Parse(own)
	return &values
}

// readRecord describes the record of usage over time.
func (a *auditor) readRecord(c *engine.Configuration) {
	r := a.report
	fairShare := c.FairShare()

	switch {
	case fairShare.HalfLife == 0:
		r.Lacks = fmt.Sprintf("the scheduler keeps none: the argument %s is not set", arguments.FairShareHalfLife)
	case c.UsageLacks != "":
		r.Lacks = c.UsageLacks
	case fairShare.Counts == arguments.FairShareCountsBorrowed:
		r.Lacks = fmt.Sprintf("it has only what queues borrow (%s: {%s: %s})", arguments.FairShareMap,
			arguments.FairShareCounts, fairShare.Counts)
	case c.Usage == nil:
		r.Lacks = "none was read"
	default:
		a.half = fairShare.HalfLife
		r.HalfLife = &metav1.Duration{Duration: fairShare.HalfLife}
		r.Saved = &metav1.Time{Time: c.Usage.Saved.UTC()}
	}
}

// add adds a finding with a message.
func (a *auditor) add(f Finding, format string, arguments ...any) {
	f.Message = fmt.Sprintf(format, arguments...)
	f.Format = format
	f.Arguments = arguments
	a.report.Items = append(a.report.Items, f)
}

// record returns the record of the usage of a resource by a queue, and whether it covers the time that counts.
func (a *auditor) record(q *queue, resource string) (r queues.Record, known bool) {
	if a.half == 0 || q.Past == nil {
		return r, false
	}

	r, known = q.Past.Records[resource]
	return r, known && r.Covered >= a.span
}

// count counts a quota or a guarantee as judged, or as one with a record that is too short.
func (a *auditor) count(r queues.Record, known bool) {
	if known {
		a.report.Judged++
		return
	}
	a.report.Short++
	a.covered = max(a.covered, r.Covered)
}

// Keep keeps the findings on the wanted queues and the findings without a queue.
func (r *Report) Keep(wanted func(queue string) bool) {
	r.Items = slices.DeleteFunc(r.Items, func(f Finding) bool { return f.Queue != "" && !wanted(f.Queue) })
}
