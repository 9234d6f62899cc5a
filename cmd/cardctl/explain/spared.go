package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Evictions are pods that are evicted from one job for another one.
type Evictions struct {
	Owner string   `json:"owner"` // the other job: namespace/kind/name
	Queue string   `json:"queue"` // of the other job
	Pods  []string `json:"pods"`
	// Until is the end of the notice that the pods have. It is nil for pods that the next cycles evict.
	Until *time.Time `json:"until,omitempty"`
}

// String is the advice about pods of the other job.
func (v Evictions) String() string {
	names := namesOf(v.Pods)
	if v.Until != nil {
		return fmt.Sprintf("pods of %s in queue %s have notice, and are evicted for it from %s on: %s",
			v.Owner, v.Queue, v.Until.UTC().Format(time.RFC3339), names)
	}
	return fmt.Sprintf("the next cycles evict pods of %s in queue %s for it: %s", v.Owner, v.Queue, names)
}

// Lost names the pods that are evicted for the other job.
func (v Evictions) Lost() string {
	at := ""
	if v.Until != nil {
		at = ", from " + v.Until.UTC().Format(time.RFC3339) + " on"
	}
	return fmt.Sprintf("for %s in queue %s%s: %s", v.Owner, v.Queue, at, namesOf(v.Pods))
}

// namesOf lists some names and the number of the others.
func namesOf(names []string) string {
	const few = 8
	text := strings.Join(first(names, few), ", ")
	if len(names) > few {
		text += fmt.Sprintf(" and %d more", len(names)-few)
	}
	return text
}

// Spared counts the pods of one job that one protector keeps from being evicted.
type Spared struct {
	By    inspect.Protector `json:"by"`
	Owner string            `json:"owner"` // namespace/kind/name
	// Queue is the queue with the fence or the budget, otherwise the queue of the pods.
	Queue string `json:"queue"`
	Pods  int    `json:"pods"`
	// Until is the time from which the policy protects the pods no more, nil if it is not known.
	Until *time.Time `json:"until,omitempty"`

	Key policy.Key `json:"-"` // of a policy
}

// Policy returns the policy that protects the pods, and whether it is one.
func (s Spared) Policy() (policy.Key, bool) {
	return s.Key, strings.HasPrefix(string(s.By), policy.Prefix)
}

// spares are the protectors in words, for the end of a sentence about pods.
var spares = map[inspect.Protector]string{
	inspect.ByMinimum:   "their job needs them",
	inspect.ByDeserved:  "their queue has no more than it deserves",
	inspect.ByGuarantee: "a guarantee of their queue protects them",
	inspect.ByLending:   "by the rules of lending, their queue keeps them",
	inspect.ByClass:     "their service class protects them",
	inspect.ByNotice:    "they have notice for another job",
	inspect.ByOthers:    "another plugin protects them",
	inspect.ByQueue:     "their queue has reclaimable: false",
	inspect.ByPlace:     "their queue does not reach the root; cardctl validate says what is wrong with its place",
	inspect.ByPod:       `they have volcano.sh/preemptable: "false"`,
}

// why is the protector in words.
func (s Spared) why() string {
	why := spares[s.By]
	if why == "" {
		why = fmt.Sprintf("%s of queue %s", s.By, s.Queue)
	}
	return why
}

// String is the advice about it.
func (s Spared) String() string {
	if s.Until != nil {
		until := format.Minute(*s.Until)
		return fmt.Sprintf("%d pods of %s are spared until %s: %s", s.Pods, s.Owner, until, s.why())
	}
	return fmt.Sprintf("%d pods of %s are spared: %s", s.Pods, s.Owner, s.why())
}

func compareSpared(a, b Spared) int {
	return cmp.Or(cmp.Compare(b.Pods, a.Pods), strings.Compare(a.Owner, b.Owner), cmp.Compare(a.By, b.By))
}

// mostSpared bounds the lines about spared pods.
const mostSpared = 5

// explainReclaim names the pods that the next cycles evict for a job that waits for room, or why they evict nothing.
func (e *explainer) explainReclaim(f *Finding, job *api.JobInfo) {
	tasks := e.waiting(job)
	triesNodes := f.Stage == Node || f.Stage == Allocate
	lacksRoom := triesNodes && len(tasks) > 0 && (f.Rule == NodesFull || f.Rule == report.OverQuota)
	if lacksRoom {
		e.explainBorrowers(f, tasks[0])
	}
	var lines []string
	for _, part := range append(f.Lacks, f.Borrowers...) {
		lines = append(lines, part.String())
	}

	if e.trial != nil {
		f.Evicts = e.trial.takesFor(e.groups[job.UID])
	}
	for _, v := range f.Evicts {
		lines = append(lines, v.String())
	}
	if len(f.Evicts) > 0 {
		f.Advice = slices.DeleteFunc(f.Advice, isRoomAdvice)
	} else if e.trial != nil && lacksRoom {
		lines = append(lines, e.explainClaim(f, job)...)
	}
	f.Advice = append(lines, f.Advice...)
}

// explainClaim says why the next cycles evict nothing for a job.
func (e *explainer) explainClaim(f *Finding, job *api.JobInfo) (lines []string) {
	f.Claim = e.trial.claims[job.UID]
	f.Untaken = e.untaken(f, job)
	if f.Untaken != "" {
		lines = append(lines, f.Untaken)
	}
	if f.Claim != nil {
		for _, s := range first(f.Claim.Spared, mostSpared) {
			lines = append(lines, s.String())
		}
	}
	return lines
}

// nothing begins the sentences about jobs that nothing is evicted for.
const nothing = "nothing is evicted for it: "

// untaken returns why the next cycles evict nothing for a job, "" if there is nothing to say.
func (e *explainer) untaken(f *Finding, job *api.JobInfo) string {
	c := f.Claim
	switch {
	case !e.trial.reclaims && len(f.Borrowers) > 0:
		return nothing + "the scheduler's configuration has no action reclaim"
	case !e.trial.reclaims:
		return ""
	case c == nil && !e.JobStarving(job) && len(f.Borrowers) > 0:
		return nothing + e.unstarving(f)
	case c == nil:
		return ""
	case c.Refused != nil && c.Refused.Rule == f.Rule:
		return "" // its bound refuses the job before anybody is evicted
	case c.Refused != nil && len(c.Spared) == 0:
		return nothing + c.Refused.In(format.Gi)
	case c.found:
		return nothing + "another plugin of the scheduler refuses it"
	}

	text := nothing + fmt.Sprintf("%d of the %d pods it needs would have room", c.Fit, c.Needed)
	for i, lack := range c.Cards {
		text += map[bool]string{true: "; it lacks ", false: ", "}[i == 0]
		text += Amount(lack.Card, lack.Cards) + " " + lack.Card
	}
	return text
}

// unstarving returns why reclaim does not look at a job that has its minimum.
func (e *explainer) unstarving(f *Finding) string {
	text := fmt.Sprintf("reclaim skips jobs that have their minimum, and it has %d of %d pods; ",
		f.Pods.Placed, f.Pods.Minimum)
	if e.beyondMinimum() {
		return text + "set enableJobStarving: false of the plugin gang"
	}
	return text + fmt.Sprintf("set the argument %s of the plugin %s, and enableJobStarving: false of the plugin gang",
		arguments.ReclaimBeyondMinimum, e.Plugin)
}
