package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Rule is a promise.
type Rule string

// Rules at every revision.
const (
	// QuotaHolds: a pod that is bound takes no queue on its path above its quota.
	QuotaHolds Rule = "no queue is above its quota"
	// NamespaceHolds: nor its namespace above a limit of a queue on its path.
	NamespaceHolds Rule = "no namespace is above its limit"
	// GroupHolds: nor the cards of a group above a quota of the group.
	GroupHolds Rule = "no group of cards is above its quota"
	// GuaranteesStay: nor does it take a card that is guaranteed to another queue.
	GuaranteesStay Rule = "what is guaranteed is not taken"
	// RightCard: the node has a card that the pod names.
	RightCard Rule = "a pod runs on a card that it names"
	// NodeHolds: the node has the cards that its pods have.
	NodeHolds Rule = "no node has more pods than cards"
	// VictimLends: the queue of a victim has more of its card than it deserves, and keeps its guarantee.
	VictimLends Rule = "a queue loses only what it borrowed"
	// EvictedOnce: no pod is evicted a second time.
	EvictedOnce Rule = "a pod is evicted once"
	// AdmittedSays: a job that is admitted has no condition that it is not.
	AdmittedSays Rule = "the conditions of a job agree with its phase"
	// WarnedForCause: a warning about an annotation of a queue has one that is wrong.
	WarnedForCause Rule = "a warning has a cause"
)

// Rules of rest.
const (
	// EvictedForOne: another pod gets the node of a victim.
	EvictedForOne Rule = "a pod is evicted for one that then runs"
	// FitsRuns: no pod that fits waits.
	FitsRuns Rule = "what fits runs"
	// FitsAdmitted: no job that fits waits for its admission.
	FitsAdmitted Rule = "a job that fits is admitted"
	// ReasonIsTrue: the reason of a waiting pod states the quota and the usage of the queue.
	ReasonIsTrue Rule = "a reason agrees with the state"
	// EvictionsEnd: no pod is under eviction.
	EvictionsEnd Rule = "evictions end"
	// MetricsCount: metrics agree with the pods that count.
	MetricsCount Rule = "metrics equal what is counted"
)

// Finding is a broken promise.
type Finding struct {
	Revision int64
	Time     time.Time
	Rule     Rule
	// Objects are the objects that broke the rule, such as Pod default/a.
	Objects []string
	Text    string
}

func (f Finding) String() string {
	return fmt.Sprintf("revision %d, %s: %s: %s (%s)",
		f.Revision, f.Time.Format("15:04:05.000"), f.Rule, f.Text, strings.Join(f.Objects, ", "))
}

// same reports whether two findings are the same, in the same history.
func (f Finding) same(other Finding) bool {
	return f.Revision == other.Revision && f.Rule == other.Rule && f.Text == other.Text
}

// Report has the findings of a check, and counts of the changes that it checked.
type Report struct {
	Findings []Finding
	// Revisions is the number of checked revisions. Placed is the number of bound pods.
	Revisions, Placed int
	// Evicted is the number of victims. Served is the number of victims that made room for another pod on the node.
	Evicted, Served int
	// Rests is the number of marks Quiet.
	Rests int
	// Excused counts breaches of a rule that a reason excuses, by reason.
	Excused map[string]int
	// Marks counts the marks by word and name, and the gaps.
	Marks map[string]int
}

// String formats the figures and the findings.
func (r *Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d revisions checked, %d pods bound, ", r.Revisions, r.Placed)
	fmt.Fprintf(&s, "%d evicted and %d of them for a pod that got the node, %d times at rest\n",
		r.Evicted, r.Served, r.Rests)
	for _, reason := range slices.Sorted(maps.Keys(r.Excused)) {
		fmt.Fprintf(&s, "excused %d times: %s\n", r.Excused[reason], reason)
	}
	for _, finding := range r.Findings {
		fmt.Fprintln(&s, finding)
	}

	return s.String()
}

// Add adds the figures and findings of another history.
func (r *Report) Add(other *Report) {
	r.Findings = append(r.Findings, other.Findings...)
	r.Revisions += other.Revisions
	r.Placed += other.Placed
	r.Evicted += other.Evicted
	r.Served += other.Served
	r.Rests += other.Rests
	r.Excused = sum(r.Excused, other.Excused)
	r.Marks = sum(r.Marks, other.Marks)
}

func sum(a, b map[string]int) map[string]int {
	both := map[string]int{}
	for _, each := range []map[string]int{a, b} {
		for key, n := range each {
			both[key] += n
		}
	}
	return both
}
