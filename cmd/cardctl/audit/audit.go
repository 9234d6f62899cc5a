// Package audit finds quotas that nobody uses, guarantees that idle, queues that only borrow, quotas that add up to
// more than there is, groups of cards that overlap, and policies that can never apply.
//
// # What is known of the past
//
// The scheduler's record of usage over time (package quota/usage) has one number for a queue and a card: an average in
// which a moment counts half as much as one that is a half-life later. It bounds what the queue has had on average in
// the last days from above, for the time that the record covers. Nothing is concluded beyond that: not when a card was
// used, and not how many at a time. Without such a record, quotas that are not used are not looked for, and what idles
// or is borrowed is that of now.
package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// Check is the kind of a finding.
type Check string

// The kinds, in the order of reports.
const (
	UnusedQuota       Check = "UnusedQuota"
	IdleGuarantee     Check = "IdleGuarantee"
	OnlyBorrows       Check = "OnlyBorrows"
	SumOfQuotas       Check = "SumOfQuotas"
	OverlappingGroups Check = "OverlappingGroups"
	NeverApplies      Check = "NeverApplies"
)

// Checks are all kinds, in the order of reports.
var Checks = []Check{UnusedQuota, IdleGuarantee, OnlyBorrows, SumOfQuotas, OverlappingGroups, NeverApplies}

// Basis is the source of a finding.
type Basis string

// The bases: the scheduler's record of usage over time, what queues have now, and what is configured.
const (
	Record        Basis = "record"
	Now           Basis = "now"
	Configuration Basis = "configuration"
)

// Finding is one finding.
type Finding struct {
	Check    Check  `json:"check"`
	Queue    string `json:"queue,omitempty"`
	Resource string `json:"resource,omitempty"` // a card, a group of cards, or another resource
	Field    string `json:"field,omitempty"`    // of the Queue, for an issue that validate finds as well
	Basis    Basis  `json:"basis"`
	// Amount is a quota, a guarantee or a sum; nil for a finding without any. Used is the most that the queue has had
	// of it on average in the last days, or what it has now, or what a sum is compared with.
	Amount  *float64 `json:"amount,omitempty"`
	Used    *float64 `json:"used,omitempty"`
	Message string   `json:"message"`

	// Format and Arguments make the message, for another language; "" for one of validate.
	Format    string `json:"-"`
	Arguments []any  `json:"-"`
}

// Report is the result of an audit.
type Report struct {
	Kind string `json:"kind"`
	Days int    `json:"days"` // whose use is looked at
	// HalfLife and Saved are those of the record of use, and Lacks says why there is none that can be used.
	HalfLife string       `json:"halfLife,omitempty"`
	Saved    *metav1.Time `json:"saved,omitempty"`
	Lacks    string       `json:"lacks,omitempty"`
	// Judged is the number of quotas and guarantees whose use in these days is known. Short is the number of those
	// whose record covers less than these days, and Covered the time that the longest of them covers.
	Judged  int       `json:"judged"`
	Short   int       `json:"short,omitempty"`
	Covered string    `json:"covered,omitempty"`
	Items   []Finding `json:"items"`
}

// auditor collects findings.
type auditor struct {
	report  *Report
	span    time.Duration // whose use is looked at
	half    time.Duration // the half-life, 0 without a record
	covered time.Duration // the most of records that are too short
	queues  []queues.Queue
	byName  map[string]*queues.Queue
	inner   map[string]bool
}

// DefaultDays is the number of days whose use is looked at.
const DefaultDays = 7

// Run audits the queues of a session. checks are the findings of validate on the same objects. days is above 0.
func Run(all []queues.Queue, checks *validate.Result, c *engine.Configuration, days int) *Report {
	a := &auditor{report: &Report{Kind: "Audit", Days: days, Items: []Finding{}}, span: time.Duration(days) * 24 * time.Hour, queues: all,
		byName: map[string]*queues.Queue{}, inner: map[string]bool{}}
	for i := range all {
		a.byName[all[i].Queue] = &all[i]
		a.inner[all[i].Parent] = true
	}
	a.readRecord(c)
	a.unusedQuotas()
	a.idleGuarantees()
	a.onlyBorrow()
	a.sums(checks)
	a.overlaps(checks)
	a.neverApplies(checks, c)
	if a.report.Short > 0 {
		a.report.Covered = a.covered.Truncate(time.Minute).String()
	}
	slices.SortStableFunc(a.report.Items, func(x, y Finding) int {
		return cmp.Compare(slices.Index(Checks, x.Check), slices.Index(Checks, y.Check))
	})
	return a.report
}

// readRecord states what is known of use over time.
func (a *auditor) readRecord(c *engine.Configuration) {
	with, r := c.FairShare(), a.report
	switch {
	case with.HalfLife == 0:
		r.Lacks = fmt.Sprintf("the scheduler keeps none: the argument %s is not set", arguments.FairShareHalfLife)
	case c.UsageLacks != "":
		r.Lacks = c.UsageLacks
	case with.Counts == arguments.FairShareCountsBorrowed:
		r.Lacks = fmt.Sprintf("it has only what queues borrow (%s: %s)", arguments.FairShareCounts, with.Counts)
	case c.Usage == nil:
		r.Lacks = "none was read"
	default:
		a.half = with.HalfLife
		r.HalfLife, r.Saved = with.HalfLife.String(), &metav1.Time{Time: c.Usage.Saved.UTC()}
	}
}

// add adds a finding. Its message has the arguments.
func (a *auditor) add(f Finding, format string, arguments ...any) {
	f.Message = fmt.Sprintf(format, arguments...)
	f.Format = format
	f.Arguments = arguments
	a.report.Items = append(a.report.Items, f)
}

// record returns what is known of the use of a resource by a queue, and whether it covers the days.
func (a *auditor) record(q *queues.Queue, resource string) (r queues.Record, known bool) {
	if a.half == 0 || q.Past == nil {
		return r, false
	}
	r, known = q.Past.Records[resource]
	return r, known && r.Covered >= a.span
}

// count counts a quota or a guarantee whose use is known, or whose record is too short.
func (a *auditor) count(r queues.Record, known bool) {
	switch {
	case known:
		a.report.Judged++
	case r.Covered > 0 || a.half > 0:
		a.report.Short++
		a.covered = max(a.covered, r.Covered)
	}
}

// MostDays bounds the days whose use is looked at.
const MostDays = 366

// Keep keeps the findings on queues that wanted selects, and those on no queue.
func (r *Report) Keep(wanted func(queue string) bool) {
	r.Items = slices.DeleteFunc(r.Items, func(f Finding) bool { return f.Queue != "" && !wanted(f.Queue) })
}
