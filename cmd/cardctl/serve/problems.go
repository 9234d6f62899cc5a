package serve

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

// problem is a group of issues that differ in their objects, names and numbers alone.
type problem struct {
	Severity validate.Severity `json:"severity"`
	Field    string            `json:"field,omitempty"`
	Text     string            `json:"problem"`
	Count    int               `json:"count"`
	Key      string            `json:"-"` // in the query, to open it
	Issues   []validate.Issue  `json:"-"`
}

// mostExamples bounds the objects that a problem names.
const mostExamples = 3

// Examples returns the first objects that have a problem.
func (p *problem) Examples() (objects []string) {
	for _, i := range p.Issues {
		if len(objects) < mostExamples && !slices.Contains(objects, i.Object) {
			objects = append(objects, i.Object)
		}
	}
	return objects
}

// Where returns the place of the only issue of a problem, "" for objects that are in no file.
func (p *problem) Where() string {
	if p.Count > 1 || p.Issues[0].File == "" {
		return ""
	}
	return p.Issues[0].Source.String()
}

// Finding returns why a job cannot run, if that is the only issue, else nil.
func (p *problem) Finding() *explain.Finding {
	if p.Count > 1 {
		return nil
	}
	return p.Issues[0].Finding
}

// problemsOf groups issues, in the order of their first issues. A problem has the text of its issues if they have the
// same one. Otherwise it has the text without the parts that differ, which alike returns.
func problemsOf(issues []validate.Issue, alike func(text string) string) []*problem {
	all := []*problem{}
	found := map[[3]string]*problem{}
	for _, i := range issues {
		field := alike(i.Field)
		text := alike(i.Message)
		key := [3]string{string(i.Severity), field, text}
		p := found[key]
		if p == nil {
			sum := fnv.New32a()
			_, _ = sum.Write([]byte(strings.Join(key[:], "|"))) // it has no errors
			p = &problem{Severity: i.Severity, Field: i.Field, Text: i.Message, Key: fmt.Sprintf("%08x", sum.Sum32())}
			found[key] = p
			all = append(all, p)
		}

		if p.Text != i.Message {
			p.Text = text
		}
		if p.Field != i.Field {
			p.Field = field
		}

		p.Issues = append(p.Issues, i)
		p.Count++
	}
	return all
}

// openProblems puts problems on the page, or the issues of the problem that the query opens.
func (p *healthPage) openProblems(q *request) {
	i := slices.IndexFunc(p.Problems, func(each *problem) bool { return each.Key == q.query.Get("problem") })

	if i < 0 {
		p.ShownProblems, p.Pages = rowsOfPage(q, p.Problems)
		return
	}

	p.Opened = p.Problems[i]
	p.ShownIssues, p.Pages = rowsOfPage(q, p.Opened.Issues)
}
