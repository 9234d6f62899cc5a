package serve

import (
	"net/url"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/cmd/cardctl/audit"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// auditPage is the content of the view Audit.
type auditPage struct {
	*audit.Report
	HalfLife string // for people
	Covered  string
	Counts   []checkCount
	Only     audit.Check     // the check that is chosen, "" for all
	Rows     []audit.Finding // of this page
	Pages    page.Pages
	Spans    []int // days to choose from
}

// checkCount is the number of findings of a check.
type checkCount struct {
	Check audit.Check
	Count int
}

// auditView shows quotas and policies that nobody needs.
func auditView(q *request) (any, any, error) {
	r := audit.Run(q.Model.Queues, &q.Checks.Result, q.Configuration, daysOf(q.query))
	p := &auditPage{
		Report:   r,
		HalfLife: queues.ShortTime(ptr.Deref(r.HalfLife, metav1.Duration{}).Duration),
		Covered:  queues.ShortTime(ptr.Deref(r.Covered, metav1.Duration{}).Duration),
		Only:     audit.Check(q.query.Get("check")),
		Spans:    []int{1, 7, 30, 90},
	}
	r.Lacks = q.seen.lack(r.Lacks)

	for _, check := range audit.Checks {
		p.Counts = append(p.Counts, checkCount{check, 0})
	}
	selected := []audit.Finding{}
	for _, f := range r.Items {
		p.Counts[slices.Index(audit.Checks, f.Check)].Count++
		if p.Only == "" || p.Only == f.Check {
			selected = append(selected, f)
		}
	}

	p.Rows, p.Pages = rowsOfPage(q, selected)
	return p, r, nil
}

// daysOf returns the number of days of a query, else the default.
func daysOf(query url.Values) int {
	if days := number(query.Get("days")); days > 0 && days <= audit.MostDays {
		return days
	}
	return audit.DefaultDays
}

func auditCommand(q *request) []string {
	words := []string{"audit"}
	if days := daysOf(q.query); days != audit.DefaultDays {
		words = append(words, "--days", strconv.Itoa(days))
	}
	return words
}
