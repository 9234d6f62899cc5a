// Package preflight checks a cluster before its scheduler is replaced: which image fits, which settings stay, and which
// decisions change.
package preflight

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// Result is the result of a check.
type Result string

// The results, from the best to the worst.
const (
	OK      Result = "ok"
	Unknown Result = "unknown" // an input of the check could not be read
	Note    Result = "note"    // something to do or to know
	Stop    Result = "stop"    // the change must not be made like this
)

// Check is the result of one check.
type Check struct {
	Name    string `json:"name"`
	Result  Result `json:"result"`
	Message string `json:"message"` // one line
	// Do has the lines to change and the commands to run, in their order.
	Do []string `json:"do,omitempty"`
	// Details are the objects that the message counts: a Line, QueueChange, JobChange or Eviction.
	Details []fmt.Stringer `json:"details,omitempty"`
}

// Line is a detail that is a text. It can have several lines.
type Line string

// String returns the text.
func (l Line) String() string { return string(l) }

// Report is the result of all checks.
type Report struct {
	document.Head
	Plugin  string  `json:"plugin"` // the quota plugin after the change
	Verdict Result  `json:"verdict"`
	Checks  []Check `json:"checks"`
}

// Most is the number of names and details that are printed. The others are counted.
const Most = 10

// Count returns the number of checks with a result.
func (r *Report) Count(result Result) (n int) {
	for _, c := range r.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}

// Summary returns the verdict in one line.
func (r *Report) Summary() string {
	words := "nothing stops the change to " + r.Plugin
	if r.Verdict == Stop {
		words = fmt.Sprintf("do not change to %s yet: %d checks stop it", r.Plugin, r.Count(Stop))
	}

	return fmt.Sprintf("%s; %d checks have notes, %d are unknown, %d are ok",
		words, r.Count(Note), r.Count(Unknown), r.Count(OK))
}

// Subject is the input of the checks. They do not change it.
type Subject struct {
	*input.Installation
	// Objects are the objects of the cluster. If they are nil, ObjectsLack is the reason.
	Objects     *input.Objects
	ObjectsLack string
	// Nodes are the nodes of the cluster. If they could not be read, NodesLack is the reason.
	Nodes     []*v1.Node
	NodesLack string

	Plugin string // the quota plugin to change to, if Next is nil
	// Next is the configuration to change to. If it is nil, it follows from the one of the installation.
	Next *engine.Configuration
}

// Run runs all checks. It returns the error of ctx if ctx is done before.
func Run(ctx context.Context, s *Subject) (*Report, error) {
	r := &Report{Head: document.Of("Preflight"), Plugin: s.Plugin, Verdict: OK}

	now, next, configuration := s.checkConfiguration()
	if next != nil {
		r.Plugin = next.Plugin
	}

	r.Checks = append(r.Checks, s.checkVolcano(), s.checkImage(), s.checkKubernetes(), s.checkDeployment())
	r.Checks = append(r.Checks, configuration...)
	r.Checks = append(r.Checks, s.checkHelm(), s.checkNodes(next))

	decisions, err := s.checkDecisions(ctx, now, next)
	if err != nil {
		return nil, err
	}
	r.Checks = append(r.Checks, decisions...)

	for _, c := range r.Checks {
		if order(c.Result) > order(r.Verdict) {
			r.Verdict = c.Result
		}
	}
	return r, nil
}

// order numbers the results from the best to the worst.
func order(r Result) int {
	return map[Result]int{OK: 0, Unknown: 1, Note: 2, Stop: 3}[r]
}

// worse changes the result of a check if it is better than the given one.
func (c *Check) worse(r Result) {
	if order(r) > order(c.Result) {
		c.Result = r
	}
}

// detail adds a detail of a result, with what to do about it.
func (c *Check) detail(r Result, message string, do ...string) {
	c.worse(r)
	c.Details = append(c.Details, Line(message))
	c.Do = append(c.Do, do...)
}

// unknown returns a check without a result.
func unknown(name, reason string, do ...string) Check {
	return Check{Name: name, Result: Unknown, Message: reason, Do: do}
}
